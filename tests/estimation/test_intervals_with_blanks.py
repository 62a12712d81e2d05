"""What intervals promise where a mixer's blanks are among the reports: by enumeration."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from deniably.core.binomial import AddedCoins, exact_ends, sum_at_most, tail_with
from deniably.estimation.intervals import (
    Interval,
    group_interval,
    population_interval,
    respondents_interval,
    scores_interval,
)
from support.cases import for_each
from support.two_binomials import rates, sum_of

BLANKS = 220


# --- exact laws of counts ---------------------------------------------------------------------


@for_each("share", [0.0, 0.03, 0.4, 1.0])
@for_each("coins", [AddedCoins(0), AddedCoins(7, 0.2), AddedCoins(220, 0.5), AddedCoins(990, 0.01)])
def test_tails_are_those_of_the_sum_of_two_binomials(share: float, coins: AddedCoins) -> None:
    n = 60
    law = sum_of(n, share, coins)
    counts = np.arange(len(law))
    above, below = (
        tail_with(counts, n, share, coins, upper=True),
        tail_with(counts, n, share, coins, upper=False),
    )

    np.testing.assert_allclose(above, law[::-1].cumsum()[::-1], atol=1e-12)
    np.testing.assert_allclose(below, law.cumsum(), atol=1e-12)


def test_very_many_blanks_are_counted_where_they_are_likely() -> None:
    coins = AddedCoins(10**7, 0.3)
    deviation = math.sqrt(coins.variance)
    tail = float(tail_with(coins.expected + 2 * deviation, 50, 0.0, coins))

    assert tail == pytest.approx(stats.norm.sf(2), rel=0.01)


def test_the_law_of_a_group_is_that_of_all_reports() -> None:
    own, blank = np.array([0.1, 0.6, 0.3]), np.array([0.4, 0.4, 0.2])
    law = np.ones(1)
    for one in [own] * 12 + [blank] * 30:
        law = np.convolve(law, one)

    for total in (0, 20, 31, 45, 84):
        exact = law[: total + 1].sum()
        assert sum_at_most(own, 12, total, (blank, 30)) == pytest.approx(exact, abs=1e-12)


@given(st.integers(0, 60 + BLANKS), st.sampled_from([0.05, 0.01]))
def test_exact_ends_leave_each_tail_its_half(count: int, alpha: float) -> None:
    coins = AddedCoins(BLANKS, 0.5)
    low, high = (float(end) for end in exact_ends(np.array(count), 60, alpha, coins))

    for end, upper in ((low, True), (high, False)):
        if 0 < end < 1:
            tail = float(tail_with(count, 60, end, coins, upper=upper))
            assert tail == pytest.approx(alpha / 2, rel=1e-6)
        else:
            assert end in (-1, 0, 1, 2)
    assert high <= 1 or low >= 0


# --- the intervals of shares ------------------------------------------------------------------


def holds(found: Interval, share: float) -> npt.NDArray[np.bool_]:
    return (found.low <= share + 1e-12) & (share - 1e-12 <= found.high)


SIZES = (1, 10, 50, 1000)
SHARES = (0.0, 0.01, 0.05, 0.3, 0.5, 1.0)


@pytest.mark.parametrize("k", [2, 5, 20])
@pytest.mark.parametrize("odds", [3, 8, 20])
def test_the_promise_of_intervals_holds_with_blanks(k: int, odds: int) -> None:
    """At least 92 of 100, by enumeration; 94 with 220 blanks, and of one person, too."""
    p, q = rates(k, odds)
    for n, blanks in product(SIZES, (1, 20, BLANKS)):
        coins, counts = AddedCoins(blanks, 1 / k), np.arange(n + blanks + 1)
        population = population_interval(counts, n, p, q, 0.05, coins=coins)
        here = respondents_interval(counts, n, p, q, 0.05, coins=coins)
        for share in SHARES:
            own = round(n * share)
            mine = stats.binom.pmf(np.arange(own + 1), own, p)
            others = sum_of(n - own, q, coins)
            of_these = np.convolve(mine, others)[holds(here, own / n)].sum()
            of_all = sum_of(n, q + (p - q) * share, coins)[holds(population, share)].sum()
            assert min(of_these, of_all) >= (0.94 if blanks == BLANKS else 0.925)


@for_each("k", [2, 5])
@for_each("odds", [3, 8])
def test_exact_intervals_never_fall_short_with_blanks(k: int, odds: int) -> None:
    p, q = rates(k, odds)
    for n, blanks in ((50, BLANKS), (10, 20), (2, 5)):
        coins, counts = AddedCoins(blanks, 1 / k), np.arange(n + blanks + 1)
        population = population_interval(counts, n, p, q, 0.05, exact=True, coins=coins)
        for share in SHARES:
            law = sum_of(n, q + (p - q) * share, coins)
            assert law[holds(population, share)].sum() >= 0.95
        if n > 10:
            continue
        here = respondents_interval(counts, n, p, q, 0.05, exact=True, coins=coins)
        for own in range(n + 1):
            law = np.convolve(
                stats.binom.pmf(np.arange(own + 1), own, p), sum_of(n - own, q, coins)
            )
            assert law[holds(here, own / n)].sum() >= 0.95


def test_an_interval_that_forgets_the_blanks_covers_nothing() -> None:
    """Why they are taken out: else the share is drawn towards a half."""
    p, q = rates(2, 8)
    coins, n = AddedCoins(BLANKS, 0.5), 1000
    law = sum_of(n, q + (p - q) * 0.05, coins)
    found = population_interval(np.arange(n + BLANKS + 1), n + BLANKS, p, q, 0.05)

    assert law[holds(found, 0.05)].sum() < 0.01


def test_the_interval_of_a_group_holds_at_least_as_stated() -> None:
    """Two of four choices, one a report; by enumeration of the number that names them."""
    p, q = rates(4, 8)
    own, other = np.array([1 - p - q, p + q]), np.array([1 - 2 * q, 2 * q])
    blank, n, blanks = np.array([0.5, 0.5]), 25, 40
    for share in (0.0, 0.2, 1.0):
        named = share * own[1] + (1 - share) * other[1]
        law = sum_of(n, named, AddedCoins(blanks, 0.5))
        found = [
            group_interval(total, n, own, other, 0.05, (blank, blanks))
            for total in range(n + blanks + 1)
        ]
        held = [bool(holds(interval, share)) for interval in found]
        assert law[held].sum() >= 0.95


Z = stats.norm.isf(0.025)


def half_step(variance: float) -> float:
    """By how many reports an interval is widened: half of one, or less where many vary."""
    return 0.5 / max(1.0, variance)


@for_each(("n", "blanks"), [(40, BLANKS), (40, 3), (3, 1)])
@for_each("odds", [3, 20])
def test_the_ends_of_intervals_are_roots_of_their_equations(
    n: int, blanks: int, odds: float
) -> None:
    """Of the widened count: Wilson's for a population, that of both noises for respondents."""
    p, q = rates(2, odds)
    coins = AddedCoins(blanks, 0.5)
    made = blanks / 4
    for count in range(n + blanks + 1):
        people = count - blanks / 2
        own = min(max(people, 0), n)
        half = half_step(own * (1 - own / n) + made)
        found = population_interval(count, n, p, q, 0.05, coins=coins)
        if not found.missed:
            for end, moved in (
                (float(found.low), max(count - half, 0)),
                (float(found.high), min(count + half, n + blanks)),
            ):
                if 0 < end < 1:
                    support = q + (p - q) * end
                    variance = n * support * (1 - support) + made
                    apart = moved - blanks / 2 - n * support
                    assert apart**2 == pytest.approx(Z**2 * variance, rel=1e-6)

        share = min(max((people / n - q) / (p - q), 0), 1)
        half = half_step(n * (share * p * (1 - p) + (1 - share) * q * (1 - q)) + made)
        here = respondents_interval(count, n, p, q, 0.05, coins=coins)
        if not here.missed and half < count < n + blanks - half:
            for end, moved in ((float(here.low), count - half), (float(here.high), count + half)):
                if 0 < end < 1:
                    variance = n * (end * p * (1 - p) + (1 - end) * q * (1 - q)) + made
                    apart = moved - blanks / 2 - n * (q + (p - q) * end)
                    assert apart**2 == pytest.approx(Z**2 * variance, rel=1e-6)


def test_a_count_that_no_share_explains_has_the_interval_of_the_nearest_one() -> None:
    p, q = rates(2, 8)
    n, coins = 50, AddedCoins(BLANKS, 0.5)
    for interval in (population_interval, respondents_interval):
        few, many = (interval(count, n, p, q, 0.05, coins=coins) for count in (60, 210))
        least = interval(math.ceil(n * q + 110), n, p, q, 0.05, coins=coins)
        most = interval(math.floor(n * p + 110), n, p, q, 0.05, coins=coins)

        found = (few, many, least, most)
        assert [bool(one.missed) for one in found] == [True, True, False, False]
        assert [float(end) for end in few.ends] == [float(end) for end in least.ends]
        assert [float(end) for end in many.ends] == [float(end) for end in most.ends]

    own, other, blank = np.array([1 - p, p]), np.array([1 - q, q]), np.array([0.5, 0.5])
    for count in (60, 140, 210):
        group = group_interval(count, n, own, other, 0.05, (blank, BLANKS))
        exact = population_interval(count, n, p, q, 0.05, exact=True, coins=coins)
        assert bool(group.missed) == bool(exact.missed)
        np.testing.assert_allclose(np.stack(group.ends), np.stack(exact.ends), atol=1e-6)


def test_intervals_of_any_scores_hold_with_blanks_and_are_not_much_wider() -> None:
    """Three outputs, by enumeration of all counts; a score that is not centred."""
    channel = np.array([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]])
    score = np.linalg.solve(channel, np.array([1.0, 0.0, 0.0])) + 5
    blank, n, blanks = channel.mean(axis=0), 12, 15
    start = 5.0
    found: dict[tuple[int, int], tuple[float, float]] = {}
    for first in range(n + blanks + 1):
        for second in range(n + blanks + 1 - first):
            counts = np.array([first, second, n + blanks - first - second])
            mean = (float(counts @ score) - blanks * float(blank @ score)) / n
            interval = scores_interval(
                mean - start, n, score - start, channel[0], channel[1:], 0.05, (blank, blanks)
            )
            moved = scores_interval(mean, n, score, channel[0], channel[1:], 0.05, (blank, blanks))
            np.testing.assert_allclose(np.stack(interval.ends), np.stack(moved.ends), atol=1e-9)
            found[first, second] = float(interval.low), float(interval.high)
    for share in (0.0, 0.3, 1.0):
        law = _three(n, share * channel[0] + (1 - share) * channel[1])
        both = _convolved(law, _three(blanks, blank))
        held = sum(
            mass
            for (first, second), mass in np.ndenumerate(both)
            if (first, second) in found
            and found[first, second][0] <= share + 1e-9
            and share - 1e-9 <= found[first, second][1]
        )
        assert held >= 0.95

    # About a quarter wider than a normal interval, where many reports are.
    wide = scores_interval(0.5, 2000, score - 5, channel[0], channel[1:], 0.05, (blank, 1000))
    half = (channel[0] + channel[1]) / 2
    variance, made = (
        float(law @ (score - 5) ** 2 - (law @ (score - 5)) ** 2) for law in (half, blank)
    )
    normal = Z * math.sqrt(variance / 2000 + 1000 * made / 2000**2)
    assert 1.1 < (float(wide.high) - float(wide.low)) / (2 * normal) < 1.6


def _three(n: int, shares: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The law of the counts of the first two of three outputs."""
    law = np.zeros((n + 1, n + 1))
    for first in range(n + 1):
        for second in range(n + 1 - first):
            counts = [first, second, n - first - second]
            law[first, second] = stats.multinomial.pmf(counts, n, shares / shares.sum())
    return law


def _convolved(
    one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    size = len(one) + len(other) - 1
    law: npt.NDArray[np.float64] = np.fft.irfft2(
        np.fft.rfft2(one, (size, size)) * np.fft.rfft2(other, (size, size)), (size, size)
    )
    return law
