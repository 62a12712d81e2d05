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
