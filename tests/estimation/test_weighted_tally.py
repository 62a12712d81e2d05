"""Weighted tallies: what reports with weights tell, and intervals that hold at the worst weights.

That R's package survey finds the same is in ``workbench/test_golden_in_r.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniably.core.errors import BadModel
from deniably.estimation.crosstab import count_pairs
from deniably.estimation.crosstab_shares import CountedPairs, WeightedPairs
from deniably.estimation.difference import SupportCount, between_groups
from deniably.estimation.independence import independence, weighted_independence
from deniably.estimation.weighted_tally import Weighing
from support.soak import soak

Rates = tuple[tuple[float, float], tuple[float, float]]
ODDS_3: Rates = ((0.75, 0.25), (0.6, 0.2))


def rates_at(epsilon: float) -> Rates:
    p = float(np.exp(epsilon) / (1 + np.exp(epsilon)))
    return ((p, 1 - p), (p, 1 - p))


def bits(codes: npt.ArrayLike, k: int) -> npt.NDArray[np.bool_]:
    return np.eye(k, dtype=np.bool_)[np.asarray(codes)]


def figures(table: Any) -> list[npt.NDArray[np.float64]]:
    """Every estimate and every end of an interval."""
    found = [table.cells(0.9)]
    found += [part(axis, 0.9) for part in (table.within, table.margin) for axis in (0, 1)]
    return [getattr(one, name) for one in found for name in ("raw", "low", "high")]


PAIRS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2)), min_size=2, max_size=40)


@settings(deadline=None, max_examples=12)
@given(pairs=PAIRS, weight=st.floats(1e-200, 1e200))
def test_weights_that_are_alike_change_no_estimate_and_no_interval(
    pairs: list[tuple[int, int]], weight: float
) -> None:
    first, second = (
        bits(codes, k) for codes, k in zip(zip(*pairs, strict=True), (2, 3), strict=True)
    )
    weighing = Weighing(np.full(len(pairs), weight))
    plain = CountedPairs(count_pairs(first, second), ODDS_3)
    weighted = WeightedPairs(weighing.tally_of_pairs(first, second), ODDS_3)

    for one, other in zip(figures(weighted), figures(plain), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    assert weighted_independence(first, second, weighing.weights) == independence(first, second)


@settings(deadline=None, max_examples=12)
@given(pairs=PAIRS, data=st.data())
def test_whole_weights_are_as_many_people_in_estimates_and_one_in_errors(
    pairs: list[tuple[int, int]], data: st.DataObject
) -> None:
    """A weight of 3 is not three respondents: it is one, who stands for three."""
    n = len(pairs)
    times = np.array(data.draw(st.lists(st.integers(1, 5), min_size=n, max_size=n)))
    first, second = (
        bits(codes, k) for codes, k in zip(zip(*pairs, strict=True), (2, 3), strict=True)
    )
    tally = Weighing(times.astype(float)).tally_of_pairs(first, second)
    every = WeightedPairs(tally, ODDS_3).cells(0.95)
    repeated = count_pairs(np.repeat(first, times, axis=0), np.repeat(second, times, axis=0))
    plain = CountedPairs(repeated, ODDS_3).cells(0.95)

    np.testing.assert_allclose(every.raw, plain.raw, atol=1e-9)
    assert tally.kish <= n * (1 + 1e-12) <= times.sum() * (1 + 1e-12)


def test_people_of_weight_0_say_nothing() -> None:
    first, second = bits([0, 1, 1, 0, 1, 0], 2), bits([0, 1, 2, 0, 1, 2], 3)
    weights = np.array([1.0, 2, 1, 3, 0, 0])
    every = WeightedPairs(Weighing(weights).tally_of_pairs(first, second), ODDS_3)
    some = WeightedPairs(Weighing(weights[:4]).tally_of_pairs(first[:4], second[:4]), ODDS_3)

    for one, other in zip(figures(every), figures(some), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n", [2, 300])
def test_one_huge_weight_leaves_what_one_person_tells(n: int) -> None:
    """The spread around a mean that is one person's score is nothing: it would say all is known."""
    weights = np.ones(n)
    weights[0] = 1e12
    first, second = bits(np.arange(n) % 2, 2), bits(np.arange(n) % 3, 3)
    tally = Weighing(weights).tally_of_pairs(first, second)
    cells = WeightedPairs(tally, rates_at(4)).cells(0.95)

    assert tally.kish == pytest.approx(1)
    assert (cells.high - cells.low > 0.5).all()


@pytest.mark.parametrize("huge", [1e9, 1e16, 1e300])
def test_sums_of_huge_weights_that_round_leave_no_variance_below_0(huge: float) -> None:
    generator = np.random.default_rng(0)
    for _ in range(30):
        weights = np.array([huge, *(1 / 3 + generator.random(9))])
        first, second = bits(generator.integers(0, 2, 10), 2), bits(generator.integers(0, 3, 10), 3)
        tally = Weighing(weights).tally_of_pairs(first, second)
        assert (tally.totals >= 0).all()
        table = WeightedPairs(tally, ODDS_3)
        assert all(np.isfinite(one).all() for one in (table.cells(0.95).standard_error,
                                                      table.margin(0, 0.95).high))  # fmt: skip


def test_strata_of_two_reports_are_known_no_better_than_they_are() -> None:
    """From two reports each a spread over n, and not n - 1, is half of what it is: on average the
    variance of a mean of these people is that of the effective ones."""
    generator, score = np.random.default_rng(6), np.array([0.0, 1.0])
    strata = np.repeat(np.arange(200), 2)
    weights = np.where(strata < 25, 6.0, 0.4)
    likely = np.where(strata < 25, 0.5, 0.05)
    found = list[tuple[float, float]]()
    for _ in range(300):
        tally = Weighing(weights, strata).tally(generator.random(400) < likely, 2)
        mean = float(tally.mean(score))
        found.append((mean, mean * (1 - mean) / float(tally.effective(score))))
    means, variances = np.array(found).T

    assert variances.mean() / means.var() == pytest.approx(1, abs=0.3)


def test_answers_that_are_all_alike_have_an_interval_and_an_error() -> None:
    n = 200
    weights = 1.0 + np.arange(n) % 3
    first, second = bits(np.zeros(n, int), 2), bits(np.zeros(n, int), 3)
    table = WeightedPairs(Weighing(weights).tally_of_pairs(first, second), rates_at(4))
    cells, within = table.cells(0.95), table.within(0, 0.95)

    assert (cells.standard_error > 0).all()
    assert (cells.low < cells.high).all()
    assert cells.low[0, 0] > 0.9
    assert cells.high[1, 2] < 0.1
    assert np.isnan(within.raw[1]).all(), "nobody is in the row"
    assert weighted_independence(first, second, weights).p_value == 1


@pytest.mark.parametrize(
    ("weights", "strata", "why"),
    [
        ([0.0, 0.0, 0.0], None, "all weights are 0"),
        ([1.0, 2.0, 1.0], [0, 0, 1], "a stratum has only one row"),
        ([1.0], None, "at least 2 reports"),
        ([], None, "at least 2 reports"),
    ],
)
def test_weights_that_tell_nothing_are_refused(weights: Any, strata: Any, why: str) -> None:
    one = bits(np.zeros(len(weights), int), 2)
    groups = None if strata is None else np.array(strata)
    with pytest.raises(BadModel, match=why):
        Weighing(np.array(weights), groups).tally_of_pairs(one, one)


def test_errors_within_strata_leave_out_what_differs_between_them() -> None:
    """Two strata in which all reports are alike: within them nothing varies."""
    strata = np.arange(100) % 2
    weights = np.where(strata, 1.0, 3.0)
    score = np.array([1.0, 0.0])
    tally = Weighing(weights, strata * 7).tally(strata, 2)

    assert tally.variance(score) == pytest.approx(0, abs=1e-15)
    assert Weighing(weights).tally(strata, 2).variance(score) > 1e-3
    assert tally.effective(score) == pytest.approx(tally.kish), "and never more than Kish's"


# --- simulations ----------------------------------------------------------------------------------

SIZES, PEOPLE = np.array([0.6, 0.3, 0.1]), np.array([0.2, 0.2, 0.6])
"""Shares of three strata among respondents and in the population: weights from 1/3 to 6."""


def drawn(
    generator: np.random.Generator, n: int, epsilon: float, first: Any, second: Any
) -> tuple[Any, Any, Any]:
    """Supports of n people's two reports, and their weights. In each stratum ``first`` say yes to
    one, and to the other ``second[answer]``."""
    p = rates_at(epsilon)[0][0]
    stratum = generator.choice(3, n, p=SIZES)
    x = (generator.random(n) < np.array(first)[stratum]).astype(int)
    y = (generator.random(n) < np.array(second)[x, stratum]).astype(int)
    sent = (np.where(generator.random(n) < p, one, 1 - one) for one in (x, y))
    return (*(bits(one, 2) for one in sent), (PEOPLE / SIZES)[stratum])


def covered(runs: int, n: int, epsilon: float, first: Any, second: Any) -> npt.NDArray[np.float64]:
    """How often the intervals of a cell, of its margin and of its share in the row are right."""
    generator = np.random.default_rng([runs, n, int(epsilon)])
    row = float(PEOPLE @ first)
    cell = float(PEOPLE @ (np.array(first) * second[1]))
    truth = [cell, row, cell / row]
    hits = np.zeros(3)
    for _ in range(runs):
        one, other, weights = drawn(generator, n, epsilon, first, second)
        tally = Weighing(weights).tally_of_pairs(one, other)
        table = WeightedPairs(tally, rates_at(epsilon))
        found = [table.cells(0.95), table.margin(0, 0.95), table.within(0, 0.95)]
        places: list[Any] = [(1, 1), 1, (1, 1)]
        hits += [
            part.low[at] <= true <= part.high[at]
            for part, at, true in zip(found, places, truth, strict=True)
        ]
    return hits / runs


SOME = ([0.3, 0.5, 0.2], np.array([[0.3, 0.5, 0.6], [0.6, 0.8, 0.9]]))
RARE = ([0.02, 0.05, 0.01], np.array([[0.3, 0.5, 0.6], [0.6, 0.8, 0.9]]))


@pytest.mark.parametrize(
    ("runs", "n", "epsilon", "people"),
    [
        (60, 300, 2, SOME),
        *(
            soak(1_000, n, e, people)
            for n in (60, 1_000)
            for e in (1, 4, 8)
            for people in (SOME, RARE)
        ),
    ],
)
def test_intervals_hold_where_strata_differ_and_weights_do(
    runs: int, n: int, epsilon: float, people: Any
) -> None:
    """At a nominal 0.95. Below 0.90 of 1,000 runs is beyond five standard errors of 0.94."""
    assert covered(runs, n, epsilon, *people).min() > (0.8 if runs < 100 else 0.9)


def false_alarms(runs: int, n: int, epsilon: float, share: float) -> float:
    """How often two groups of strata with the same weighted share are found to differ at 0.05."""
    p = rates_at(epsilon)[0][0]
    generator = np.random.default_rng([runs, n, int(epsilon)])
    within = np.array([0.0, 0.0, share / PEOPLE[2]])  # who have it are the few with large weights
    alarms = 0
    for _ in range(runs):
        groups: list[SupportCount] = []
        for people in (n, n // 2):
            one, _, weights = drawn(generator, people, epsilon, within, [[0] * 3] * 2)
            tally = Weighing(weights).tally(one[:, 1], 2)
            score = np.array([0.0, 1.0])
            effective = float(tally.effective(score))
            groups.append(SupportCount(tally.counts(score)[1], effective, p, 1 - p))
        alarms += between_groups(*groups).p_value < 0.05
    return alarms / runs


@pytest.mark.parametrize(
    ("runs", "n", "epsilon", "share"),
    [
        (150, 300, 2, 0.3),
        *(soak(1_000, n, e, share) for n in (60, 600) for e in (1, 4, 8) for share in (0.06, 0.3)),
    ],
)
def test_groups_that_do_not_differ_are_seldom_found_to(
    runs: int, n: int, epsilon: float, share: float
) -> None:
    """At level 0.05; 0.085 of 1,000 runs is five standard errors above it."""
    assert false_alarms(runs, n, epsilon, share) < (0.14 if runs < 1_000 else 0.085)
