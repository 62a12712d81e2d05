"""Intervals for all answers at once: how often they hold every share, and how wide they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from deniably.estimation.channels import matrix
from deniably.estimation.estimate import estimate, estimate_through
from deniably.estimation.intervals import group_interval, population_interval, scores_interval
from deniably.estimation.tally import Tally
from deniably.mechanisms import SetResponse, Unary, Window
from support.designs import Design, surveys, true_shares
from support.soak import soak

LINES = [  # the design, the true shares, and the mean width of the exact intervals
    (Design(20, 4, 100), "one", 0.111), (Design(20, 6, 100), "one", 0.070),
    (Design(50, 6, 200), "one", 0.046), (Design(50, 6, 200), "zipf1.1", 0.072),
    (Design(100, 5, 200), "flat", 0.097), (Design(50, 4, 100), "one", 0.163),
    (Design(200, 4, 1000), "one", 0.0404), (Design(5, 1, 200), "five", 0.483),
    (Design(5, 6, 50), "halving", 0.262), (Design(5, 8, 100), "halving", 0.182),
]  # fmt: skip


@pytest.mark.parametrize(("design", "name", "width"), LINES, ids=str)
def test_joint_intervals_hold_all_shares_in_95_of_100_surveys(
    design: Design, name: str, width: float
) -> None:
    """100 surveys of a fixed seed; by Bonferroni's inequality 95 % hold at least, and where the
    normal curve was trusted .58 to .94 did."""
    shares = true_shares(name, design.k)
    held, widths = [], []
    for _, tally in surveys(design, shares, 100, seed=3):
        found = estimate(tally, design.mechanism)
        held.append(
            ((found.joint_low <= shares + 1e-12) & (shares - 1e-12 <= found.joint_high)).all()
        )
        widths.append((found.joint_high - found.joint_low).mean())

    assert np.mean(held) >= 0.95
    assert np.mean(widths) <= 1.01 * width + 0.0005


@pytest.mark.parametrize("design", [line[0] for line in LINES], ids=str)
def test_the_interval_of_each_share_misses_a_kth_part_of_the_risk(design: Design) -> None:
    """Exactly, by enumeration of every count, at the shares where intervals fail most easily."""
    k, _, n = design
    p, q = float(design.mechanism.p), float(design.mechanism.q)
    counts = np.arange(-(-(n + 1) // k) * k).clip(max=n).reshape(-1, k)
    # Ticks are not tightened by their sum, so these are the intervals themselves.
    found = [estimate(Tally(n, row), design.mechanism, single=False) for row in counts]
    low = np.concatenate([one.joint_low for one in found])[: n + 1]
    high = np.concatenate([one.joint_high for one in found])[: n + 1]
    for share in (0.0, 0.001, 0.01, 1 / k, 0.2, 0.5, 0.999, 1.0):
        law = stats.binom.pmf(np.arange(n + 1), n, q + (p - q) * share)
        held = (low <= share + 1e-9) & (share - 1e-9 <= high)
        assert law[~held].sum() <= 0.05 / k


@pytest.mark.parametrize(
    "mechanism", [SetResponse(4, 2, 2, 900, 1), Unary(4, 2, 900, 1, 1000)], ids=["set", "unary"]
)
def test_ticks_have_exact_intervals_too(mechanism: SetResponse | Unary) -> None:
    n, p, q = 60, float(mechanism.p), float(mechanism.q)
    counts = np.zeros(mechanism.law.cell_count, dtype=np.int64)
    counts[:4] = 0, 1, 30, 60

    found = estimate(Tally(n, counts), mechanism)

    exact = population_interval(counts[:4], n, p, q, 0.05 / 4, exact=True)
    np.testing.assert_allclose(found.joint_low, exact.low, rtol=1e-12)
    np.testing.assert_allclose(found.joint_high, exact.high, rtol=1e-12)


@given(st.integers(1, 300), st.data())
def test_a_group_of_one_choice_has_the_exact_interval_of_its_count(
    n: int, data: st.DataObject
) -> None:
    count = data.draw(st.integers(0, n))
    q = data.draw(st.floats(0.01, 0.5))
    p = data.draw(st.floats(q + 0.05, 0.99))

    found = group_interval(count, n, np.array([1 - p, p]), np.array([1 - q, q]), 0.01)

    exact = population_interval(count, n, p, q, 0.01, exact=True)
    assert float(found.low) == pytest.approx(float(exact.low), abs=1e-7)
    assert float(found.high) == pytest.approx(float(exact.high), abs=1e-7)
    assert bool(found.missed) == bool(exact.missed)


def test_a_group_has_each_share_that_leaves_both_tails() -> None:
    """Against the convolution of the whole law, for reports that name none, one or two of it."""
    n, alpha = 9, 0.1
    own, other = np.array([0.1, 0.3, 0.6]), np.array([0.5, 0.3, 0.2])

    def tails(share: float, total: int) -> tuple[float, float]:
        law, one = np.ones(1), share * own + (1 - share) * other
        for _ in range(n):
            law = np.convolve(law, one)
        return float(law[total:].sum()), float(law[: total + 1].sum())

    for total in range(2 * n + 1):
        found = group_interval(total, n, own, other, alpha)
        low, high = float(found.low), float(found.high)
        marked = min(tails(1.0, total)[0], tails(0.0, total)[1]) < alpha / 2
        assert bool(found.missed) == marked
        if not marked:
            assert (
                low == 0
                if tails(0.0, total)[0] >= alpha / 2
                else (tails(low, total)[0] == pytest.approx(alpha / 2, rel=1e-6))
            )
            assert (
                high == 1
                if tails(1.0, total)[1] >= alpha / 2
                else (tails(high, total)[1] == pytest.approx(alpha / 2, rel=1e-6))
            )


@pytest.mark.parametrize(
    ("n", "alpha", "own", "other"),
    [
        (0, 0.05, 0.7, 0.3), (9, 0.0, 0.7, 0.3), (9, 1.0, 0.7, 0.3), (9, 1.5, 0.7, 0.3),
        (9, 0.05, 0.3, 0.7), (9, 0.05, 0.5, 0.5),
    ],
)  # fmt: skip
def test_a_group_that_has_no_interval_is_refused(
    n: int, alpha: float, own: float, other: float
) -> None:
    laws = np.array([1 - own, own]), np.array([1 - other, other])

    with pytest.raises(
        ValueError, match=rf"^n is {n} and alpha {alpha:g}; .* {own:g} and {other:g}$"
    ):
        group_interval(0, n, *laws, alpha)
    assert float(group_interval(0, 1, np.array([0.3, 0.7]), np.array([0.7, 0.3]), 0.9).low) == 0


@pytest.mark.parametrize(("n", "alpha"), [(0, 0.05), (9, 0.0), (9, 1.0), (9, 1.5)])
def test_scores_that_have_no_interval_are_refused(n: int, alpha: float) -> None:
    own, others = np.array([0.6, 0.4]), np.array([[0.4, 0.6]])

    with pytest.raises(ValueError, match=rf"^n is {n} and alpha {alpha:g}; .* between 0 and 1$"):
        scores_interval(0.5, n, np.array([3.0, -2.0]), own, others, alpha)


# Three answers besides, of six reports one that nobody makes, one that only the answer makes and
# one that only the others do.
SCORE = np.array([2.0, 0.5, -1.0, 1e9, 1.8, -1.5])
OWN = np.array([0.5, 0.2, 0.2, 0.0, 0.1, 0.0])
OTHERS = np.array(
    [[0.2, 0.3, 0.4, 0.0, 0.0, 0.1], [0.3, 0.1, 0.5, 0.0, 0.0, 0.1], [0.1, 0.6, 0.2, 0.0, 0.0, 0.1]]
)


@pytest.mark.parametrize(
    ("mean", "n", "alpha"),
    [
        (0.3, 1, 0.5), (0.3, 40, 0.05), (1.0, 2000, 0.05),
        (0.55, 10**6, 0.05), (0.9, 10**6, 0.05),
        *(soak(mean, 10**6, 0.05) for mean in (0.6, 0.7, 0.8)),
    ],
)  # fmt: skip
def test_the_interval_of_scores_has_each_share_that_chernoffs_bound_leaves(
    mean: float, n: int, alpha: float
) -> None:
    """The bound at its best tilt, of a search of its own; the ends are at most a grid's step, 1 in
    16,384, farther out, and never farther in."""
    found = scores_interval(mean, n, SCORE, OWN, OTHERS, alpha)
    apart = np.delete(SCORE, 3) - mean

    def bound(share: float) -> float:
        def log(tilt: float) -> float:
            size = np.exp(tilt * apart)
            mine, theirs = size @ np.delete(OWN, 3), (np.delete(OTHERS, 3, axis=1) @ size).max()
            return n * float(np.log(share * mine + (1 - share) * theirs))

        sides = (optimize.minimize_scalar(log, bounds=each, method="bounded",
                                          options={"xatol": 1e-9}).fun
                 for each in ((0, 25), (-25, 0)))  # fmt: skip
        return min(sides) - np.log(alpha / 2)

    best = float(min(np.linspace(0, 1, 101), key=lambda share: -bound(share)))
    assert bound(best) > 0
    low = optimize.brentq(bound, 0, best) if bound(0) < 0 else 0.0
    high = optimize.brentq(bound, best, 1) if bound(1) < 0 else 1.0

    slack = 1 / 16384 + 2e-6 + 0.001 * (high - low)  # of the grid of tilts
    assert low - slack <= float(found.low) <= low + 1e-7
    assert high - 1e-7 <= float(found.high) <= high + slack
    assert found.missed.tolist() is False


def test_a_million_reports_have_an_interval_of_their_group() -> None:
    """The normal curve is right there: a share of 1/3, and 0.5567 the variance of a report."""
    own, other = np.array([0.2, 0.5, 0.3]), np.array([0.4, 0.4, 0.2])
    n, total = 1_000_000, 900_000

    found = group_interval(total, n, own, other, 0.05)

    half = stats.norm.isf(0.025) * (0.5567 / n) ** 0.5 / 0.3
    assert float(found.high + found.low) / 2 == pytest.approx(1 / 3, abs=1e-5)
    assert float(found.high - found.low) / 2 == pytest.approx(half, rel=1e-3)


def test_shares_through_any_channel_hold_by_chernoffs_bound() -> None:
    """Every tally of 11 people through a window of three starts, all true shares in tenths."""
    channel, n = matrix(Window(3, 3, 1, 403, 1)), 11
    tallies = [(a, b, n - a - b) for a in range(n + 1) for b in range(n + 1 - a)]
    found = [estimate_through(Tally(n, np.array(t)), channel) for t in tallies]
    low, high = np.array([e.joint_low for e in found]), np.array([e.joint_high for e in found])
    for a in range(11):
        for b in range(11 - a):
            shares = np.array([a, b, 10 - a - b]) / 10
            law = stats.multinomial.pmf(tallies, n, shares @ channel)
            held = ((low <= shares + 1e-9) & (shares - 1e-9 <= high)).all(axis=1)
            assert law[held].sum() >= 0.95


def test_odd_scores_give_no_certainty() -> None:
    """All scores lie where no mixture of answers puts them."""
    own, others = np.array([0.6, 0.4]), np.array([[0.4, 0.6]])

    found = scores_interval(3.0, 500, np.array([3.0, -2.0]), own, others, 0.05)

    assert (float(found.low), float(found.high), bool(found.missed)) == (0, 1, True)
