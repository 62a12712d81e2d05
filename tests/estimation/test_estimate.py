"""What an analyst may rely on: unbiased estimates, intervals that cover, a consistent display."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from deniably.core.binomial import wilson
from deniably.estimation.estimate import (
    Estimate,
    estimate,
    project,
    standard_error,
    tightened,
    variance,
)
from deniably.estimation.intervals import population_interval
from deniably.estimation.tally import Tally, tally, tally_packed
from deniably.mechanisms.subset_selection import SubsetSelection, subset_selection
from support.textbook import warner, weights_for_epsilon

EPSILONS = ["0.5", "1", "2", "4"]
SHARES = [0.0, 0.01, 0.05, 0.2, 0.5, 1.0]


def best(k: int, epsilon: str) -> SubsetSelection:
    return subset_selection(k, *weights_for_epsilon(Fraction(epsilon)))


def every_count(m: SubsetSelection, n: int) -> Iterator[tuple[npt.NDArray[np.int64], Estimate]]:
    """The estimates for every possible count 0 .. n, k counts at a time."""
    counts = np.arange(-(-(n + 1) // m.k) * m.k).clip(max=n).reshape(-1, m.k)
    for row in counts:
        yield row, estimate(Tally(n, row), m)


@pytest.mark.parametrize(
    ("k", "epsilon", "n"),
    [(2, 6, 50), (2, 6, 200), (5, 6, 50), (20, 6, 100), (20, 8, 1000), (5, 4, 50), (20, 4, 100),
     (5, 1, 100)],
)  # fmt: skip
def test_the_standard_error_shown_is_about_the_true_one(k: int, epsilon: int, n: int) -> None:
    """Its mean over the exact law of the count, from nobody's choice to everybody's."""
    m = best(k, str(epsilon))
    p, q = float(m.p), float(m.q)
    counts = np.arange(n + 1)
    shown = np.concatenate([e.standard_error for _, e in every_count(m, n)])[: n + 1]
    np.testing.assert_allclose(shown, standard_error(counts, n, p, q))

    for share, most in ((0.0, 2.3), (0.02, 1.13), (0.5, 1.01), (0.98, 1.2), (1.0, 2.3)):
        law = stats.binom.pmf(counts, n, q + (p - q) * share)
        really = float(variance(m, share, n)) ** 0.5
        assert 0.985 <= law @ shown / really <= most
        if share == 0:
            assert law[shown < 0.999 * really].sum() < 1e-6


@pytest.mark.parametrize(("k", "epsilon"), list(product([2, 5, 10], EPSILONS)))
def test_the_interval_covers_as_stated(k: int, epsilon: str) -> None:
    """Exact coverage by binomial enumeration; nominal 95 %, never below 93 %."""
    m = best(k, epsilon)
    p, q = float(m.p), float(m.q)
    worst = 1.0
    for n in (50, 100, 200, 500, 1000, 2000):
        counts = np.arange(n + 1)
        low, high = population_interval(counts, n, p, q, 0.05).ends
        for share in SHARES:
            law = stats.binom.pmf(counts, n, q + (p - q) * share)
            covered = law[(low <= share + 1e-12) & (share - 1e-12 <= high)].sum()
            worst = min(worst, float(covered))

    assert worst >= 0.93


@pytest.mark.parametrize(("k", "epsilon"), list(product([2, 5, 10], EPSILONS)))
def test_every_choice_has_the_interval_of_its_own_count(k: int, epsilon: str) -> None:
    """So that what covers for a count covers for an estimate."""
    m, n = best(k, epsilon), 200
    low, high = population_interval(np.arange(n + 1), n, float(m.p), float(m.q), 0.05).ends

    for counts, found in every_count(m, n):
        np.testing.assert_array_equal(found.low, low[counts])
        np.testing.assert_array_equal(found.high, high[counts])


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_joint_intervals_cover_both_shares_at_once(epsilon: str) -> None:
    """k = 2: exact joint coverage by enumeration; nominal 95 %, never below 93 %."""
    m = best(2, epsilon)
    p, q = float(m.p), float(m.q)
    for n in (50, 200, 1000):
        counts = np.arange(n + 1)
        alone = population_interval(counts, n, p, q, 0.025, exact=True)
        pairs = [np.stack([ends, ends[::-1]], axis=1) for ends in alone.ends]
        low, high = np.array([tightened(*both) for both in zip(*pairs, strict=True)]).swapaxes(0, 1)
        for c in range(0, n + 1, n // 50):
            box = estimate(Tally(n, np.array([c, n - c])), m)
            np.testing.assert_allclose(box.joint_low, low[c], atol=1e-12)
            np.testing.assert_allclose(box.joint_high, high[c], atol=1e-12)
        for share in SHARES:
            truth = np.array([share, 1 - share])
            inside = ((low <= truth + 1e-12) & (truth - 1e-12 <= high)).all(axis=1)
            law = stats.binom.pmf(counts, n, q + (p - q) * share)
            assert law[inside].sum() >= 0.93


@given(st.integers(2, 8), st.data())
def test_the_estimate_of_an_expected_tally_is_the_truth(k: int, data: st.DataObject) -> None:
    omega = data.draw(st.integers(1, k - 1))
    weights = data.draw(st.lists(st.integers(0, 9), min_size=k, max_size=k).filter(any))
    m = SubsetSelection(k, omega, 3, 1)
    truth = [Fraction(w, sum(weights)) for w in weights]
    n = (k - 1) * m.total * sum(weights)
    counts = [n * (m.q + (m.p - m.q) * f) for f in truth]
    assert all(c.denominator == 1 for c in counts)

    found = estimate(Tally(n, np.array([int(c) for c in counts])), m)

    shares = np.array([float(f) for f in truth])
    np.testing.assert_allclose(found.raw, shares, atol=1e-9)
    np.testing.assert_allclose(found.consistent, shares, atol=1e-9)
    assert not found.suspicious.any()


def test_raw_estimates_of_real_reports_sum_to_one() -> None:
    m = best(5, "0.5")
    rng = np.random.default_rng(1978)
    reports = [sorted(rng.permutation(5)[: m.omega].tolist()) for _ in range(500)]

    assert estimate(tally(reports, 5), m).raw.sum() == pytest.approx(1)


@given(st.lists(st.floats(-3, 3), min_size=2, max_size=6))
def test_the_consistent_estimate_is_the_nearest_point_of_the_simplex(raw: list[float]) -> None:
    found = project(raw)

    assert found.sum() == pytest.approx(1)
    assert (found >= 0).all()
    # Karush-Kuhn-Tucker: one shift for all shares that stay positive, at least it for the rest.
    shift = np.asarray(raw) - found
    assert np.ptp(shift[found > 1e-9]) < 1e-9
    assert (shift[found <= 1e-9] <= shift[found > 1e-9].max() + 1e-9).all()


def test_the_projection_agrees_with_a_general_optimiser() -> None:
    raw = np.array([0.7, -0.2, 0.45, 0.3])

    solved = optimize.minimize(
        lambda f: ((f - raw) ** 2).sum(),
        np.full(4, 0.25),
        bounds=[(0, 1)] * 4,
        constraints={"type": "eq", "fun": lambda f: f.sum() - 1},
        tol=1e-12,
    )

    np.testing.assert_allclose(project(raw), solved.x, atol=1e-6)


def test_wilson_agrees_with_scipy() -> None:
    for n, successes in ((10, 0), (10, 3), (10, 10), (1000, 17)):
        theirs = stats.binomtest(successes, n).proportion_ci(0.95, method="wilson")
        low, high = wilson(successes, n, 0.05)
        assert (float(low), float(high)) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@pytest.mark.parametrize(("epsilon", "n"), [("0.5", 6402), ("1", 1798), ("2", 662), ("3", 469)])
def test_the_margin_of_error_is_the_textbook_one(epsilon: str, n: int) -> None:
    """Warner's design, worst case: this many respondents give +-5 points at 95 % (z^2 = 3.84)."""
    needed = 3.84 * float(variance(best(2, epsilon), 0.5)) / 0.05**2

    assert round(needed) == n


def test_the_design_effect_is_that_of_warners_paper() -> None:
    """pi = 0.5: variance against the direct question, 25 at p = 0.6 and 1.5625 at 0.9."""
    for own, other, effect in ((3, 2, 25.0), (7, 3, 6.25), (4, 1, 2.7778), (9, 1, 1.5625)):
        found = estimate(Tally(1000, np.array([500, 500])), warner(own, other))
        assert found.design_effect == pytest.approx(effect, rel=1e-4)
        assert found.effective_n == pytest.approx(1000 / effect, rel=1e-4)


def test_a_known_survey_gives_its_published_figure() -> None:
    """Blair, Imai and Zhou 2015, data `nigeria`: forced response 2/3, 1/6, 1/6 (odds 5),
    n = 2435 of whom 831 said yes: 0.261910, standard error 0.014413."""
    found = estimate(Tally(2435, np.array([831, 2435 - 831])), warner(5, 1))

    assert found.raw[0] == pytest.approx(0.261910, abs=1e-6)
    assert found.standard_error[0] == pytest.approx(0.014413, abs=1e-6)


def test_a_count_that_nobody_could_cause_is_flagged() -> None:
    """All of 10,000 sent Yes although a quarter of the No should have sent No."""
    found = estimate(Tally(10_000, np.array([10_000, 0])), warner(3, 1))

    assert found.suspicious.all()
    assert 0.98 < found.low[0] < found.high[0] == 1


def test_unanimity_has_no_design_effect() -> None:
    found = estimate(Tally(10_000, np.array([10_000, 0])), warner(3, 1))

    assert found.design_effect is None
    assert found.effective_n is None


@given(st.integers(2, 6), st.integers(1, 500), st.data())
def test_every_number_is_finite_and_in_order(k: int, n: int, data: st.DataObject) -> None:
    m = SubsetSelection(k, data.draw(st.integers(1, k - 1)), 3, 1)
    counts = data.draw(st.lists(st.integers(0, n), min_size=k, max_size=k))

    e = estimate(Tally(n, np.array(counts)), m)

    for array in (e.raw, e.standard_error, e.low, e.high, e.joint_low, e.joint_high, e.consistent):
        assert np.isfinite(array).all()
        assert array.shape == (k,)
    assert (e.low <= e.high).all()
    assert (e.joint_low <= e.joint_high + 1e-12).all()
    assert e.consistent.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("n", "counts", "confidence", "why"),
    [(0, [0, 0], 0.95, "at least one"), (5, [1, 2, 3], 0.95, "has 3 cells but the mechanism has 2"),
     (5, [2, 3], 1.0, "confidence"), (5, [2, 3], float("nan"), "confidence")],
)  # fmt: skip
def test_what_cannot_be_estimated_is_refused(
    n: int, counts: list[int], confidence: float, why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        estimate(Tally(n, np.array(counts)), warner(3, 1), confidence)


# --- tallies ------------------------------------------------------------------------------

REPORTS = st.lists(st.sets(st.integers(0, 8), min_size=1).map(sorted), max_size=30)


@given(REPORTS, REPORTS, REPORTS)
def test_tallies_merge_in_any_order(
    a: list[list[int]], b: list[list[int]], c: list[list[int]]
) -> None:
    whole = tally([*a, *b, *c], 9)

    assert tally(a, 9) + tally(b, 9) + tally(c, 9) == whole
    assert tally(c, 9) + (tally(a, 9) + tally(b, 9)) == whole
    assert tally([*c, *b, *a][::-1], 9) == whole


@given(REPORTS)
def test_packed_reports_have_the_same_tally(reports: list[list[int]]) -> None:
    bits = np.zeros((len(reports), 16), dtype=np.uint8)
    for row, report in zip(bits, reports, strict=True):
        row[report] = 1

    packed = np.packbits(bits, axis=1, bitorder="little")

    assert tally_packed(packed, 9) == tally(reports, 9)


def test_tallies_of_different_questions_do_not_merge() -> None:
    with pytest.raises(ValueError, match="different questions"):
        tally([[0]], 2) + tally([[0]], 3)
