"""An ordered question: distribution functions and quantiles that cover, and a fitting picture."""

from math import exp

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from deniably.estimation.distribution import (
    QuantileEstimate,
    cumulative,
    density,
    quantiles_from,
    rising,
)
from support.soak import soak
from support.textbook import wasserstein

Floats = npt.NDArray[np.float64]


def k_ary(k: int, epsilon: float) -> Floats:
    return (np.ones((k, k)) + (exp(epsilon) - 1) * np.eye(k)) / (exp(epsilon) + k - 1)


def square_wave(buckets: int, reach: int, epsilon: float) -> Floats:
    channel = np.ones((buckets, buckets + 2 * reach))
    for x, row in enumerate(channel):
        row[x : x + 2 * reach + 1] = exp(epsilon)
    return channel / channel.sum(axis=1, keepdims=True)


def quantiles(
    counts: npt.ArrayLike, channel: Floats, shares: npt.ArrayLike = (0.25, 0.5, 0.75)
) -> list[QuantileEstimate]:
    return quantiles_from(density(counts, channel).shares, cumulative(counts, channel), shares)


def true_quantile(truth: Floats, share: float) -> int:
    return int(np.searchsorted(np.cumsum(truth), share - 1e-12))


@pytest.mark.parametrize("epsilon", [soak(1.0), 4.0])
@pytest.mark.parametrize("truth", [(0.2, 0.5, 0.3), (0.5, 0.25, 0.25), (0.05, 0.05, 0.9)])
def test_functions_and_medians_cover_twenty_respondents(
    truth: tuple[float, ...], epsilon: float
) -> None:
    """Exact coverage over every tally of three buckets; nominal 95 %, never below 93 %."""
    channel, n = k_ary(3, epsilon), 20
    cells = np.array([(a, b, n - a - b) for a in range(n + 1) for b in range(n - a + 1)])
    law = stats.multinomial.pmf(cells, n, np.array(truth) @ channel)
    cells, law = cells[law > 1e-5], law[law > 1e-5]
    median = true_quantile(np.array(truth), 0.5)

    functions = [cumulative(c, channel) for c in cells]
    halves = [
        quantiles_from(density(c, channel).shares, function, 0.5)[0]
        for c, function in zip(cells, functions, strict=True)
    ]
    first = [function[0].population_margin for function in functions]

    assert law[np.array([q.low <= median <= q.high for q in halves])].sum() >= 0.93
    assert law[np.array([m.low <= truth[0] <= m.high for m in first])].sum() >= 0.93


def test_functions_and_quantiles_of_a_square_wave_cover() -> None:
    """200 surveys of 300 at nominal 95 %: fewer than 173 covered has a chance below 1e-6."""
    channel, truth = square_wave(6, 2, 1.0), np.array([0.1, 0.3, 0.25, 0.2, 0.1, 0.05])
    tallies = np.random.default_rng(2020).multinomial(300, truth @ channel, size=200)
    assert stats.binom.cdf(172, 200, 0.95) < 1e-6

    functions = [cumulative(t, channel) for t in tallies]
    margins = [[m.population_margin for m in function] for function in functions]
    for at, share in enumerate(np.cumsum(truth)[:-1]):
        assert sum(m[at].low <= share <= m[at].high for m in margins) >= 173
    found = [
        quantiles_from(density(t, channel).shares, function, (0.25, 0.5, 0.75))
        for t, function in zip(tallies, functions, strict=True)
    ]
    for at, share in enumerate((0.25, 0.5, 0.75)):
        bucket = true_quantile(truth, share)
        assert sum(f[at].low <= bucket <= f[at].high for f in found) >= 173


def test_plenty_of_reports_pin_the_median() -> None:
    channel, truth = square_wave(6, 2, 1.0), np.array([0.1, 0.3, 0.25, 0.2, 0.1, 0.05])

    found = quantiles(np.round(10**7 * truth @ channel), channel)

    assert found == [
        QuantileEstimate(0.25, 1, 1, 1),
        QuantileEstimate(0.5, 2, 2, 2),
        QuantileEstimate(0.75, 3, 3, 3),
    ]


def test_a_handful_of_reports_pins_nothing() -> None:
    assert quantiles([2, 1, 2], k_ary(3, 0.5), 0.5)[0].low == 0
    assert quantiles([2, 1, 2], k_ary(3, 0.5), 0.5)[0].high == 2


@given(st.lists(st.integers(0, 300), min_size=9, max_size=9).filter(any), st.floats(0.01, 0.99))
def test_a_quantile_lies_within_its_interval(counts: list[int], share: float) -> None:
    (found,) = quantiles(counts, square_wave(5, 2, 1.0), share)

    assert 0 <= found.low <= found.bucket <= found.high <= 4


def test_the_function_of_the_expected_tally_is_the_truth() -> None:
    channel, truth = square_wave(6, 2, 1.0), np.array([0.1, 0.3, 0.25, 0.2, 0.1, 0.05])

    found = cumulative(np.round(10**9 * truth @ channel), channel)

    np.testing.assert_allclose([f.estimate for f in found], np.cumsum(truth)[:-1], atol=1e-6)


@pytest.mark.parametrize("share", [0.0, 1.0, float("nan")])
def test_there_is_no_quantile_of_nothing(share: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        quantiles([5, 5], k_ary(2, 1.0), share)


def test_a_function_that_reports_do_not_determine_is_refused() -> None:
    with pytest.raises(ValueError, match="do not tell"):
        cumulative([50, 50], [[0.7, 0.3], [0.5, 0.5], [0.3, 0.7]])


@given(st.lists(st.integers(0, 12), min_size=8, max_size=8).filter(any), st.sampled_from([1, 3]))
def test_shares_up_to_a_number_rise_from_0_to_1_whatever_the_reports(
    counts: list[int], reach: int
) -> None:
    """Also where intervals cross, and no rising function lies in all of them."""
    channel = square_wave(8, reach, 1.0)
    tallied = np.resize(np.array(counts), channel.shape[1])
    fitted, at_most = density(tallied, channel).shares, cumulative(tallied, channel)

    for isotonic in (False, True):
        shown = rising(fitted, at_most, isotonic=isotonic)

        assert shown.shape == (7,)
        assert (np.diff(shown) >= 0).all()
        assert (shown >= 0).all()
        assert (shown <= 1).all()


@pytest.mark.parametrize(
    ("reach", "epsilon", "most"), [(4, 1.0, 0.3), soak(1, 2.0, 0.5), (0, 4.0, 1.0)]
)
def test_rising_shares_are_nearer_to_the_truth(reach: int, epsilon: float, most: float) -> None:
    """20 surveys of 1,000 of a fixed seed, a hump over 32 buckets: squared error over that of the
    unbiased shares, which fall in nearly every survey."""
    channel = square_wave(32, reach, epsilon)
    truth = stats.norm.pdf(np.arange(32), 12, 5)
    truth /= truth.sum()
    reached, errors, falls = np.cumsum(truth)[:-1], np.zeros(2), 0
    for counts in np.random.default_rng(1972).multinomial(1000, truth @ channel, size=20):
        at_most = cumulative(counts, channel)
        unbiased = np.array([mean.estimate for mean in at_most])
        fitted = density(counts, channel).shares
        shown = rising(fitted, at_most, isotonic=not reach)
        errors += ((shown - reached) ** 2).sum(), ((unbiased - reached) ** 2).sum()
        falls += bool((np.diff(unbiased) < 0).any())

    assert falls >= 10
    assert errors[0] <= most * errors[1]


def test_smoothing_is_for_few_reports_of_a_smooth_truth() -> None:
    channel = square_wave(16, 4, 1.0)
    few, many = (np.round(n * np.linspace(1, 3, 16) / 32 @ channel) for n in (500, 50_000))
    few[3] += 60

    assert not np.allclose(density(few, channel, smooth=True).shares, density(few, channel).shares)
    np.testing.assert_array_equal(
        density(many, channel, smooth=True).shares, density(many, channel).shares
    )


def test_the_picture_approaches_the_truth() -> None:
    channel, truth = square_wave(16, 4, 1.0), np.linspace(1, 3, 16) / 32
    rng = np.random.default_rng(3)

    errors = [
        np.mean([wasserstein(density(rng.multinomial(n, truth @ channel), channel).shares, truth)
                 for _ in range(10)])
        for n in (300, 3000, 30_000)
    ]  # fmt: skip

    assert errors[0] > errors[1] > errors[2]


@given(st.lists(st.integers(0, 9), min_size=4, max_size=4).filter(any),
       st.lists(st.integers(0, 9), min_size=4, max_size=4).filter(any))  # fmt: skip
def test_the_distance_is_that_of_scipy(a: list[int], b: list[int]) -> None:
    first, second = np.array(a) / sum(a), np.array(b) / sum(b)

    expected = stats.wasserstein_distance(range(4), range(4), first, second)

    assert wasserstein(first, second, 0.25) == pytest.approx(0.25 * expected, abs=1e-12)
