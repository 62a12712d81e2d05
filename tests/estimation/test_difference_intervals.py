"""Intervals of differences: they agree with the p-value, and cover, by enumeration."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import exp

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from deniably.estimation.difference import (
    Difference,
    ScoredTally,
    SupportCount,
    against,
    between_choices,
    between_groups,
    between_means,
    moments,
    trend_of_means,
    trend_of_shares,
)
from deniably.estimation.inversion import scores
from deniably.mechanisms.subset_selection import SubsetSelection
from support.textbook import weights_for_epsilon


def k_ary(k: int, epsilon: float) -> npt.NDArray[np.float64]:
    return (np.ones((k, k)) + (exp(epsilon) - 1) * np.eye(k)) / (exp(epsilon) + k - 1)


def subset_pairs(k: int, omega: int, epsilon: float) -> tuple[float, float, float, float]:
    """P(two choices are supported), where the answer is one of them and where not; p and q."""
    law = SubsetSelection(k, omega, *weights_for_epsilon(Fraction(epsilon))).law
    assert law.joint.pairs is not None
    own, other = map(float, law.joint.pairs)
    return own, other, float(law.p), float(law.q)


def warner(epsilon: float) -> tuple[float, float]:
    return exp(epsilon) / (1 + exp(epsilon)), 1 / (1 + exp(epsilon))


# --- the interval and the p-value say the same -----------------------------------------------

COUNTS = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
EPSILONS = st.sampled_from([0.3, 1.0, 2.5, 6.0])


def a_share(data: st.DataObject) -> Difference:
    count, n = data.draw(COUNTS)
    found = SupportCount(count, n, *warner(data.draw(EPSILONS)))
    return against(found, data.draw(st.floats(0, 1)))


def two_groups(data: st.DataObject) -> Difference:
    one, other = (SupportCount(*data.draw(COUNTS), *warner(data.draw(EPSILONS))) for _ in "ab")
    return between_groups(one, other)


def two_choices(data: st.DataObject) -> Difference:
    k, omega = data.draw(st.sampled_from([(2, 1), (3, 1), (5, 2), (12, 4)]))
    own, other, p, q = subset_pairs(k, omega, data.draw(EPSILONS))
    n = data.draw(st.integers(1, 300))
    first = data.draw(st.integers(0, n))
    second = data.draw(st.integers(0, n if omega > 1 else n - first))
    return between_choices(first, second, n, p, q, pair_own=own, pair_other=other)


def two_means(data: st.DataObject) -> Difference:
    channel, tallies = k_ary(4, data.draw(EPSILONS)), st.lists(st.integers(0, 60), min_size=4)
    v = scores(channel, [1, 2, 3, 4])
    one, other = (
        ScoredTally(data.draw(tallies.filter(any).map(lambda t: t[:4])), v, channel) for _ in "ab"
    )
    if not (any(one.counts) and any(other.counts)):  # type: ignore[arg-type]
        return between_means(
            ScoredTally([1, 0, 0, 0], v, channel), ScoredTally([1, 1, 0, 0], v, channel)
        )
    return between_means(one, other)


@pytest.mark.parametrize("test", [a_share, two_groups, two_choices, two_means])
@settings(max_examples=40, deadline=None)
@given(data=st.data(), confidence=st.sampled_from([0.5, 0.8, 0.95, 0.99]))
def test_the_interval_leaves_out_no_difference_exactly_if_p_is_below_the_level(
    test: Callable[[st.DataObject], Difference], data: st.DataObject, confidence: float
) -> None:
    found = test(data)

    low, high = found.interval(confidence)

    assert low <= high
    assert found.standard_error >= 0
    # 1 - 0.8 is no exact number; p-values this near to it do not come up by chance.
    if abs(found.p_value - (1 - confidence)) > 1e-9:
        assert (low <= 0 <= high) == (found.p_value > 1 - confidence)


def test_the_order_turns_the_interval_round() -> None:
    a, b = SupportCount(60, 90, *warner(1)), SupportCount(80, 200, *warner(2))

    forth, back = between_groups(a, b).interval(0.95), between_groups(b, a).interval(0.95)

    assert forth == pytest.approx((-back[1], -back[0]), abs=1e-8)


def test_of_many_reports_it_is_the_normal_interval() -> None:
    found = between_groups(
        SupportCount(55_000, 100_000, 0.75, 0.25), SupportCount(45_000, 100_000, 0.75, 0.25)
    )

    assert found.standard_error == pytest.approx(np.sqrt(2 * 0.55 * 0.45 / 1e5) / 0.5, rel=1e-3)
    half = 1.96 * found.standard_error
    assert found.interval(0.95) == pytest.approx((0.2 - half, 0.2 + half), abs=2e-4)


# --- coverage ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "epsilons"), [((12, 12), (1.0, 1.0)), ((12, 12), (8.0, 8.0)), ((18, 6), (1.0, 4.0))]
)
def test_differences_of_two_groups_are_covered(
    sizes: tuple[int, int], epsilons: tuple[float, float]
) -> None:
    channels = [warner(e) for e in epsilons]
    first, second = (
        [SupportCount(count, n, *channel) for count in range(n + 1)]
        for n, channel in zip(sizes, channels, strict=True)
    )
    low, high = np.moveaxis(
        np.array([[between_groups(a, b).interval(0.95) for b in second] for a in first]), 2, 0
    )
    for shares in product([0, 0.02, 0.1, 0.5, 0.8, 1], repeat=2):
        laws = (
            stats.binom.pmf(np.arange(n + 1), n, q + (p - q) * share)
            for n, (p, q), share in zip(sizes, channels, shares, strict=True)
        )
        apart = shares[0] - shares[1]
        held = (low <= apart + 1e-8) & (apart - 1e-8 <= high)
        assert np.outer(*laws)[held].sum() >= 0.95


@pytest.mark.parametrize(("k", "omega", "epsilon"), [(3, 1, 4.0), (5, 2, 0.5), (5, 1, 8.0)])
def test_differences_of_two_choices_are_covered(k: int, omega: int, epsilon: float) -> None:
    n = 20
    own, other, p, q = subset_pairs(k, omega, epsilon)
    kinds = [(a, b, c) for a in range(n + 1) for b in range(n + 1 - a)
             for c in range(n + 1 - a - b if omega > 1 else 1)]  # fmt: skip
    cells = np.array([(a, b, c, n - a - b - c) for a, b, c in kinds])
    by_tally = {
        tally: between_choices(*tally, n, p, q, pair_own=own, pair_other=other).interval(0.95)
        for tally in {(a + c, b + c) for a, b, c in kinds}
    }
    low, high = np.array([by_tally[a + c, b + c] for a, b, c in kinds]).T
    for first, second in product([0, 0.02, 0.1, 0.3, 0.5, 0.8], repeat=2):
        if first + second > 1:
            continue
        both = (first + second) * own + (1 - first - second) * other
        alone = [max(q + (p - q) * share - both, 0) for share in (first, second)]
        law = stats.multinomial.pmf(cells, n, [*alone, both, max(1 - sum(alone) - both, 0)])
        held = (low <= first - second + 1e-8) & (first - second - 1e-8 <= high)
        assert law[held].sum() >= 0.95


# --- trends -----------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(COUNTS, COUNTS, EPSILONS)
def test_the_trend_of_two_waves_is_their_difference(
    one: tuple[int, int], other: tuple[int, int], epsilon: float
) -> None:
    groups = [SupportCount(*c, *warner(epsilon)) for c in (one, other)]

    assert trend_of_shares(groups, range(len(groups))) == pytest.approx(
        between_groups(*groups).p_value
    )


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 8.0])
def test_no_trend_is_seen_in_shares_that_do_not_change_more_often_than_the_level(
    epsilon: float,
) -> None:
    """Three waves of 10, exactly."""
    n, (p, q) = 10, warner(epsilon)
    groups = [SupportCount(count, n, p, q) for count in range(n + 1)]
    found = np.array([trend_of_shares(three, range(3)) for three in product(groups, repeat=3)])
    for share in (0, 0.02, 0.1, 0.3, 0.5):
        law = stats.binom.pmf(np.arange(n + 1), n, q + (p - q) * share)
        assert np.einsum("a,b,c->abc", law, law, law).ravel()[found <= 0.05].sum() <= 0.05


def test_a_trend_is_seen_that_first_and_last_alone_do_not_show() -> None:
    p, q = warner(2)
    groups = [
        SupportCount(round(600 * (q + (p - q) * share)), 600, p, q)
        for share in (0.20, 0.22, 0.25, 0.28, 0.29)
    ]

    assert (
        trend_of_shares(groups, range(len(groups))) < between_groups(groups[0], groups[-1]).p_value
    )


@pytest.mark.parametrize("waves", [3, 4, 5, 8, 12])
def test_slow_changes_of_the_same_people_make_no_false_trend(waves: int) -> None:
    """Exactly, for many people without noise, whose waves d apart have a correlation of r**d.

    The p-value is a function of the slope alone, so the slope where it is .05 gives the level. It
    was .06, .08, .14 and .22 over 4, 5, 8 and 12 waves as if they were of different people.
    """
    n, places = 1_000_000, np.arange(waves) - (waves - 1) / 2

    def p_value(slope: float) -> float:
        shares = 0.5 + slope * places
        return trend_of_shares([SupportCount(int(n * s), n, 1, 0) for s in shares], range(waves))

    low, high = 0.0, 0.01
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if p_value(middle) > 0.05 else (low, middle)
    found = high * float(places @ places)
    apart = abs(np.subtract.outer(places, places))
    levels = [
        2 * stats.norm.sf(found / (0.25 / n * (places @ r**apart @ places)) ** 0.5)
        for r in np.linspace(0, 0.999, 500)
    ]
    assert 0.049 < max(levels) <= 0.0501


def test_real_slow_changes_make_no_false_trend() -> None:
    """8 waves of 200 people who change their mind with .06 a wave: 600 panels, fixed seed.

    At a level of .05 more than 62 are seen with a chance below 1e-7.
    """
    generator, (p, q), seen = np.random.default_rng(18), warner(6), 0
    assert stats.binom.sf(62, 600, 0.05) < 1e-7
    for _ in range(600):
        answers, groups = generator.random(200) < 0.5, []
        for _wave in range(8):
            said = generator.random(200) < np.where(answers, p, q)
            groups.append(SupportCount(int(said.sum()), 200, p, q))
            answers = np.where(generator.random(200) < 0.12, generator.random(200) < 0.5, answers)
        seen += trend_of_shares(groups, range(8)) < 0.05
    assert seen <= 62


def test_a_trend_of_means_is_told_from_none() -> None:
    channel = k_ary(3, 2.0)
    v = scores(channel, [1, 2, 3])
    laws = [np.array(law) @ channel for law in ((0.6, 0.2, 0.2), (0.4, 0.3, 0.3), (0.2, 0.3, 0.5))]
    rising = [moments(ScoredTally(np.round(500 * law), v, channel)) for law in laws]

    assert trend_of_means(rising, range(3)) < 1e-6
    assert trend_of_means([rising[1]] * 3, range(3)) == 1
    pair = rising[:2]
    assert trend_of_means(pair, range(2)) == pytest.approx(between_means(*pair).p_value)


def test_one_wave_has_no_trend() -> None:
    with pytest.raises(ValueError, match="two groups"):
        trend_of_shares([SupportCount(3, 9, *warner(1))], [1])
