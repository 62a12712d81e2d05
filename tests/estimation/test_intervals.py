"""What an interval promises: how often it holds the truth, by enumeration of every count."""

from collections.abc import Iterator
from itertools import product
from math import exp

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from deniably.core.binomial import clopper_pearson, sum_at_most, sum_law, upper_tail, wilson
from deniably.estimation.intervals import (
    Interval,
    population_interval,
    respondents_interval,
    within_each_other,
)

Floats = npt.NDArray[np.float64]
SHARES = (0.0, 0.01, 0.05, 0.2, 0.5, 1.0)
SIZES = (50, 100, 200, 500, 1000, 2000)


def supports(k: int, epsilon: float) -> tuple[float, float]:
    """p and q of the most accurate subset selection."""
    odds = exp(epsilon)
    found: list[tuple[float, float, float]] = []
    for w in range(1, k):
        total = w * odds + k - w
        p, q = w * odds / total, w * ((w - 1) * odds + k - w) / ((k - 1) * total)
        found.append((((k - 1) * q * (1 - q) + p * (1 - p)) / (p - q) ** 2, p, q))
    return min(found)[1:]


PARTS = st.integers(0, 1000).map(lambda parts: parts / 1000)
CHANNELS = [supports(k, epsilon) for k, epsilon in product((2, 5, 10), (0.5, 1, 2, 4))]
SHARP = [supports(k, epsilon) for k, epsilon in product((2, 20), (5, 6, 7, 8))]
RARE = (*(step / 1000 for step in range(0, 30, 2)), 0.04, 0.07, 0.5, 1.0)


def cases(sizes: tuple[int, ...] = SIZES) -> Iterator[tuple[int, float, float]]:
    return ((n, p, q) for n in sizes for p, q in CHANNELS)


def law_of_sample(n: int, p: float, q: float, share: float) -> Floats:
    law: Floats = stats.binom.pmf(np.arange(n + 1), n, q + (p - q) * share)
    return law


def law_of_respondents(n: int, p: float, q: float, share: float) -> Floats:
    own = round(n * share)
    mine = stats.binom.pmf(np.arange(own + 1), own, p)
    return np.convolve(mine, stats.binom.pmf(np.arange(n - own + 1), n - own, q))


def holds(found: Interval, share: float) -> npt.NDArray[np.bool_]:
    return (found.low <= share + 1e-12) & (share - 1e-12 <= found.high)


def test_the_population_interval_covers_as_stated() -> None:
    score, wald = 1.0, 1.0
    for n, p, q in cases():
        counts = np.arange(n + 1)
        found = population_interval(counts, n, p, q, 0.05)
        raw = (counts / n - q) / (p - q)
        half = 1.96 * np.sqrt(counts / n * (1 - counts / n) / n) / (p - q)
        textbook = Interval(raw - half, raw + half, raw > 9)
        for share in SHARES:
            law = law_of_sample(n, p, q, share)
            score = min(score, law[holds(found, share)].sum())
            wald = min(wald, law[holds(textbook, share)].sum())

    assert score >= 0.935
    assert wald < 0.6  # why the textbook interval is not offered


def test_the_exact_population_interval_never_falls_short() -> None:
    for n, p, q in cases(sizes=(50, 200)):
        found = population_interval(np.arange(n + 1), n, p, q, 0.05, exact=True)
        for share in SHARES:
            assert law_of_sample(n, p, q, share)[holds(found, share)].sum() >= 0.95


def test_the_respondents_interval_covers_as_stated() -> None:
    worst = dict.fromkeys(SIZES, 1.0)
    for n, p, q in cases():
        found = respondents_interval(np.arange(n + 1), n, p, q, 0.05)
        for share in SHARES:
            share = round(n * share) / n
            law = law_of_respondents(n, p, q, share)
            worst[n] = min(worst[n], law[holds(found, share)].sum())

    assert min(worst.values()) >= 0.932


def test_rare_choices_and_little_noise_are_covered_as_stated() -> None:
    """Epsilon 5 to 8: one report more or less decides, and Wilson's own interval covers 0.85."""
    people, world, wilsons = 1.0, 1.0, 1.0
    for n, (p, q) in product((50, 200), SHARP):
        counts = np.arange(n + 1)
        here = respondents_interval(counts, n, p, q, 0.05)
        there = population_interval(counts, n, p, q, 0.05)
        low, high = wilson(counts, n, 0.05)
        plain = Interval((low - q) / (p - q), (high - q) / (p - q), counts < 0)
        for share in RARE:
            law = law_of_sample(n, p, q, share)
            world = min(world, law[holds(there, share)].sum())
            wilsons = min(wilsons, law[holds(plain, share)].sum())
            share = round(n * share) / n
            people = min(people, law_of_respondents(n, p, q, share)[holds(here, share)].sum())

    assert world >= 0.927
    assert people >= 0.928
    assert wilsons < 0.87


@pytest.mark.parametrize(("alpha", "stated"), [(0.2, 0.75), (0.5, 0.4)])
def test_the_bands_cover_as_stated_where_they_break(alpha: float, stated: float) -> None:
    """Few people, many choices, high epsilon, all answers alike: the band, cut to the interval."""
    worst = 1.0
    for n, (p, q) in product((50, 200, 1000), [*CHANNELS, *SHARP]):
        counts = np.arange(n + 1)
        _, (low, high) = within_each_other(
            population_interval(counts, n, p, q, one).ends for one in (0.05, alpha)
        )
        band = Interval(low, high, counts < 0)
        for share in {*SHARES, *RARE}:
            worst = min(worst, law_of_sample(n, p, q, share)[holds(band, share)].sum())

    assert stated <= worst < 1 - alpha


def test_what_is_added_for_rare_choices_hardly_widens_the_others() -> None:
    for n, p, q in cases(sizes=(200, 1000)):
        count = round(n * (q + (p - q) / 2))
        low, high = wilson(count, n, 0.05)
        ours = population_interval(count, n, p, q, 0.05)
        assert float((ours.high - ours.low) * (p - q)) <= 1.002 * float(high - low)


def test_the_exact_respondents_interval_never_falls_short() -> None:
    for n, p, q in cases(sizes=(7, 50)):
        found = respondents_interval(np.arange(n + 1), n, p, q, 0.05, exact=True)
        for share in SHARES:
            share = round(n * share) / n
            assert law_of_respondents(n, p, q, share)[holds(found, share)].sum() >= 0.95


def test_the_respondents_are_known_better_than_the_population() -> None:
    """At epsilon 4 most of the uncertainty is who was asked: 3.8 times the width."""
    p, q = supports(2, 4)
    people, world = (
        interval(500, 1000, p, q, 0.05) for interval in (respondents_interval, population_interval)
    )

    assert (world.high - world.low) / (people.high - people.low) == pytest.approx(3.75, abs=0.05)


@given(st.integers(1, 400), st.data())
def test_the_respondents_interval_solves_its_equation(n: int, data: st.DataObject) -> None:
    p, q = data.draw(st.sampled_from(CHANNELS))
    count = data.draw(st.integers(0, n))

    found = respondents_interval(count, n, p, q, 0.05)

    for end in (float(found.low), float(found.high)):
        if 0 < end < 1 and not found.missed:
            inside = min(max((count / n - q) / (p - q), 0), 1)
            half = 0.5 / max(1, n * (inside * p * (1 - p) + (1 - inside) * q * (1 - q)))
            gap = (abs(count / n - q - (p - q) * end) - half / n) ** 2
            allowed = stats.norm.isf(0.025) ** 2 * (end * p * (1 - p) + (1 - end) * q * (1 - q)) / n
            assert gap == pytest.approx(allowed, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("alpha", [0.05, 0.5])
def test_the_population_interval_solves_its_equation(alpha: float) -> None:
    """Wilson's, of a count that is moved outwards by half a report or less, but not past an end."""
    z2, solved = stats.norm.isf(alpha / 2) ** 2, 0
    for n, p, q in cases(sizes=(1, 3, 50, 1000)):
        counts = np.unique(np.linspace(0, n, 12).round())
        found = population_interval(counts, n, p, q, alpha)
        half = 0.5 / np.maximum(1, counts * (1 - counts / n))
        sides = ((found.low, (counts - half).clip(0)), (found.high, (counts + half).clip(max=n)))
        for (ends, moved), side in zip(sides, (1, -1), strict=True):
            for end, count in zip(ends[~found.missed], moved[~found.missed], strict=True):
                if 0 < end < 1:
                    chance, solved = q + (p - q) * end, solved + 1
                    allowed = z2 * chance * (1 - chance) / n
                    assert (count / n - chance) ** 2 == pytest.approx(allowed, rel=1e-6, abs=1e-12)
                    assert side * (count / n - chance) > -1e-9
    assert solved > 250


@pytest.mark.parametrize("alpha", [0.05, 0.5])
def test_the_exact_population_interval_is_clopper_and_pearsons(alpha: float) -> None:
    for n, (p, q) in product((1, 12, 60), CHANNELS[::3]):
        for count in range(0, n + 1, max(1, n // 12)):
            theirs = stats.binomtest(count, n).proportion_ci(1 - alpha)
            low, high = (theirs.low - q) / (p - q), (theirs.high - q) / (p - q)
            found = population_interval(count, n, p, q, alpha, exact=True)
            assert bool(found.missed) == (high < 0 or low > 1)
            if not found.missed:
                assert float(found.low) == pytest.approx(max(low, 0), abs=1e-9)
                assert float(found.high) == pytest.approx(min(high, 1), abs=1e-9)


@pytest.mark.parametrize("alpha", [0.05, 0.5])
def test_the_exact_respondents_interval_has_each_share_that_leaves_both_tails(alpha: float) -> None:
    """By going through all of them."""
    for n, (p, q) in product((1, 2, 17), (supports(2, 1), supports(5, 4), (1.0, 0.2))):
        laws = [law_of_respondents(n, p, q, own / n) for own in range(n + 1)]
        for count in range(n + 1):
            kept = [
                own / n
                for own, law in enumerate(laws)
                if law[count:].sum() >= alpha / 2 <= law[: count + 1].sum()
            ]
            found = respondents_interval(count, n, p, q, alpha, exact=True)
            assert bool(found.missed) == (not kept)
            if kept:
                assert (float(found.low), float(found.high)) == (kept[0], kept[-1])


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("interval", [population_interval, respondents_interval])
def test_a_marked_count_has_the_interval_of_the_nearest_that_is_expected(interval, exact) -> None:  # type: ignore[no-untyped-def]
    n, p, q = 101, 0.75, 0.25
    found = interval([0, 26, 75, 101], n, p, q, 0.05, exact=exact)

    assert found.missed.tolist() == [True, False, False, True]
    for odd, nearest in ((0, 1), (3, 2)):  # 26 is the first above n q, 75 the last below n p
        assert found.low[odd] == found.low[nearest]
        assert found.high[odd] == found.high[nearest]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("interval", [population_interval, respondents_interval])
def test_intervals_have_the_shape_of_the_counts(interval, exact) -> None:  # type: ignore[no-untyped-def]
    counts = np.arange(20, 32).reshape(3, 4)
    found = interval(counts, 60, 0.75, 0.25, 0.05, exact=exact)

    for row, column in np.ndindex(3, 4):
        alone = interval(counts[row, column], 60, 0.75, 0.25, 0.05, exact=exact)
        assert found.low[row, column] == pytest.approx(float(alone.low))
        assert found.high[row, column] == pytest.approx(float(alone.high))
    assert found.low.shape == found.high.shape == found.missed.shape == (3, 4)


def test_a_report_may_be_certain_where_the_answer_is_another() -> None:
    """q is 0 for numbers that nobody else reports, p is 1 where nothing is changed."""
    found = population_interval([0, 3, 9], 9, 1.0, 0.0, 0.05, exact=True)

    theirs = [stats.binomtest(count, 9).proportion_ci(0.95) for count in (0, 3, 9)]
    np.testing.assert_allclose(found.low, [each.low for each in theirs], atol=1e-9)
    np.testing.assert_allclose(found.high, [each.high for each in theirs], atol=1e-9)


def test_each_interval_is_cut_to_the_one_before_it() -> None:
    def ends(*pairs: tuple[float, float]) -> tuple[Floats, Floats]:
        low, high = np.array(pairs).T
        return low, high

    wide = ends((0.2, 0.6), (0.2, 0.6), (0.2, 0.6), (0.2, 0.6))
    middle = ends((0.3, 0.5), (0.1, 0.5), (0.3, 0.9), (0.7, 0.8))
    narrow = ends((0.4, 0.45), (0.1, 0.45), (0.4, 0.9), (0.0, 0.1))

    found = [np.stack(each, axis=1).tolist() for each in within_each_other([wide, middle, narrow])]

    assert found[0] == [[0.2, 0.6]] * 4
    assert found[1] == [[0.3, 0.5], [0.2, 0.5], [0.3, 0.6], [0.6, 0.6]]
    assert found[2] == [[0.4, 0.45], [0.2, 0.45], [0.4, 0.6], [0.6, 0.6]]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("interval", [population_interval, respondents_interval])
def test_a_count_that_no_share_explains_is_marked(interval, exact) -> None:  # type: ignore[no-untyped-def]
    found = interval([0, 300, 500, 1000], 1000, 0.75, 0.25, 0.05, exact=exact)

    assert found.missed.tolist() == [True, False, False, True]
    assert found.low[0] == 0 < found.high[0] < 0.1
    assert found.high[3] == 1 > found.low[3] > 0.9
    assert ((found.low >= 0) & (found.low <= found.high) & (found.high <= 1)).all()


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("interval", [population_interval, respondents_interval])
def test_an_honest_count_is_hardly_ever_marked(interval, exact) -> None:  # type: ignore[no-untyped-def]
    law_of = law_of_sample if interval is population_interval else law_of_respondents
    for n, p, q in cases(sizes=(50, 200) if not exact else (50,)):
        missed = interval(np.arange(n + 1), n, p, q, 0.05, exact=exact).missed
        assert max(law_of(n, p, q, share)[missed].sum() for share in SHARES) < 0.031


def test_the_exact_binomial_interval_agrees_with_scipy() -> None:
    for n in (1, 10, 1000, 10**6):
        counts = np.unique([0, 1, n // 3, n - 1, n])
        low, high = clopper_pearson(counts, n, 0.05)
        theirs = [stats.binomtest(int(c), n).proportion_ci(0.95) for c in counts]
        np.testing.assert_allclose(low, [t.low for t in theirs], atol=1e-11)
        np.testing.assert_allclose(high, [t.high for t in theirs], atol=1e-11)


@given(st.integers(1, 10**6), PARTS, st.data())
def test_the_tail_agrees_with_scipy(n: int, share: float, data: st.DataObject) -> None:
    count = data.draw(st.integers(-1, n + 2))

    expected = stats.binom.sf(count - 1, n, share)

    assert upper_tail(count, n, share) == pytest.approx(expected, rel=1e-8, abs=1e-14)


@given(st.integers(0, 60), st.integers(0, 60), PARTS, PARTS)
def test_the_sum_of_two_binomials_is_their_convolution(m: int, n: int, p: float, q: float) -> None:
    first, second = (
        stats.binom.pmf(np.arange(size + 1), size, share) for size, share in ((m, p), (n, q))
    )

    np.testing.assert_allclose(sum_law((m, p), (n, q)), np.convolve(first, second), atol=1e-13)


@given(
    st.integers(1, 400), st.lists(st.integers(0, 9), min_size=2, max_size=5).filter(any), st.data()
)
def test_the_sum_of_many_counts_is_their_convolution(
    n: int, weights: list[int], data: st.DataObject
) -> None:
    law = np.array(weights) / sum(weights)
    whole = np.ones(1)
    for _ in range(n):
        whole = np.convolve(whole, law)
    total = data.draw(st.integers(-1, n * (len(law) - 1) + 1))

    assert sum_at_most(law, n, total) == pytest.approx(whole[: total + 1].sum(), abs=1e-12)


def test_the_sum_of_a_thousand_million_counts_is_normal() -> None:
    law, n = np.array([0.2, 0.3, 0.5]), 10**9
    for z in (-4.0, -1.0, 0.0, 2.5):
        total = round(1.3 * n + z * (0.61 * n) ** 0.5)
        assert sum_at_most(law, n, total) == pytest.approx(stats.norm.cdf(z), abs=1e-4)


@pytest.mark.parametrize(
    ("n", "p", "q", "alpha", "why"),
    [(0, 0.7, 0.3, 0.05, "^an interval needs at least one report$"),
     (9, 0.3, 0.7, 0.05, r"^p is 0\.3 and q 0\.7; they are probabilities, and p is the larger$"),
     (9, 0.5, 0.5, 0.05, "larger$"), (9, 1.1, 0.5, 0.05, "larger$"),
     (9, 0.5, -0.1, 0.05, "larger$"),
     (9, 0.7, 0.3, 0.0, "^alpha is 0; a risk of missing the truth is between 0 and 1$"),
     (9, 0.7, 0.3, 1.0, "alpha"), (9, 0.7, 0.3, float("nan"), "alpha")],
)  # fmt: skip
@pytest.mark.parametrize("interval", [population_interval, respondents_interval])
def test_what_has_no_interval_is_refused(interval, n, p, q, alpha, why) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=why):
        interval(0, n, p, q, alpha)
