"""Tests of a difference: how often they cry wolf, by enumeration of everything that can be seen."""

from fractions import Fraction
from functools import cache
from itertools import combinations
from math import exp

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from deniably.estimation.difference import (
    ScoredTally,
    SupportCount,
    against,
    between_choices,
    between_groups,
    between_means,
    holm,
    moments,
)
from deniably.estimation.difference import tested as difference_of
from deniably.estimation.inversion import scores
from deniably.mechanisms.subset_selection import SubsetSelection
from support.exact_laws import multinomial
from support.soak import soak
from support.textbook import weights_for_epsilon

Floats = npt.NDArray[np.float64]
SHARES = (0.0, 0.02, 0.1, 0.3, 0.5)


@cache
def between_choices_exactly(only_first: int, only_second: int) -> float:
    """The p-value from whole reports: how many of the n support just the one, and just the other.

    If the shares are equal each of these is heads or tails, whatever else is true (McNemar 1947):
    never above its level. With two choices every report supports just one.
    """
    alone = only_first + only_second
    return against(SupportCount(only_first, alone, 1.0, 0.0), 0.5).p_value if alone else 1.0


def warner(epsilon: float) -> tuple[float, float]:
    return exp(epsilon) / (1 + exp(epsilon)), 1 / (1 + exp(epsilon))


def subsets(k: int, omega: int, epsilon: float) -> tuple[float, float]:
    total = omega * exp(epsilon) + k - omega
    return omega * exp(epsilon) / total, omega * ((omega - 1) * exp(epsilon) + k - omega) / (
        (k - 1) * total
    )


def k_ary(k: int, epsilon: float) -> Floats:
    return (np.ones((k, k)) + (exp(epsilon) - 1) * np.eye(k)) / (exp(epsilon) + k - 1)


# --- a share against a fixed value --------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 4])
def test_a_share_against_a_value_holds_its_level(epsilon: float) -> None:
    p, q = warner(epsilon)
    for n in (5, 50, 200):
        for share in (*SHARES, 1.0):
            law = stats.binom.pmf(np.arange(n + 1), n, q + (p - q) * share)
            likely = np.flatnonzero(law > 1e-9)  # the others are counted as alarms
            found = np.zeros(n + 1)
            found[likely] = [against(SupportCount(int(c), n, p, q), share).p_value for c in likely]
            for alpha in (0.05, 0.01):
                assert law[found <= alpha].sum() <= alpha


def test_a_clear_share_is_told_from_a_value() -> None:
    found = against(SupportCount(600, 1000, 0.75, 0.25), 0.5)

    assert found.estimate == pytest.approx(0.2)
    assert found.p_value == pytest.approx(stats.binomtest(600, 1000, 0.5).pvalue, rel=1e-9)


def test_reports_that_no_share_explains_make_none_certain() -> None:
    """Nobody has it, and still fewer reports support it: then 0 is rejected, and is the nearest."""
    low, high = against(SupportCount(40, 300, 0.75, 0.25), 0).interval(0.95)

    assert low == 0
    assert high > 0.01


def test_an_interval_takes_few_p_values_and_ends_where_they_are_alpha() -> None:
    asked = list[float]()

    def p_value_at(difference: float) -> float:
        asked.append(difference)
        return 2 * float(stats.norm.sf(abs(0.2 - difference) / (0.05 + 0.01 * difference**2)))

    found = difference_of(0.2, 0.05, (-1, 1), p_value_at)
    asked.clear()
    ends = found.interval(0.95)
    assert len(asked) < 40
    assert [p_value_at(end) for end in ends] == pytest.approx([0.05, 0.05], rel=1e-9)


def test_an_end_where_p_values_jump_is_found() -> None:
    found = difference_of(0.2, 0.05, (-1, 1), lambda d: float(0 < d < 0.3125))

    assert found.interval(0.95) == pytest.approx((0, 0.3125), abs=1e-12)
    assert found.interval(0.95)[0] > 0, "0 is rejected"


def test_a_value_that_is_no_share_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        against(SupportCount(5, 9, 0.75, 0.25), 1.1)


# --- two groups ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "epsilons"),
    [((25, 25), (1.0, 1.0)), ((20, 40), (0.5, 0.5)), ((25, 60), (1.0, 4.0)),
     ((40, 40), (4.0, 4.0)), ((100, 20), (8.0, 8.0)), ((100, 20), (8.0, 1.0)),
     ((20, 100), (8.0, 4.0))],
)  # fmt: skip
def test_two_groups_hold_their_level(sizes: tuple[int, int], epsilons: tuple[float, float]) -> None:
    channels = [warner(e) for e in epsilons]
    first, second = (
        [SupportCount(c, n, *channel) for c in range(n + 1)]
        for n, channel in zip(sizes, channels, strict=True)
    )
    found = np.array([[between_groups(a, b).p_value for b in second] for a in first])
    for share in (*np.linspace(0, 1, 11), 0.0025, 0.005, 0.01, 0.02, 0.05):
        laws = (
            stats.binom.pmf(np.arange(n + 1), n, q + (p - q) * share)
            for n, (p, q) in zip(sizes, channels, strict=True)
        )
        law = np.outer(*laws)
        assert law[found <= 0.05].sum() <= 0.05
        assert law[found <= 0.01].sum() <= 0.01


def test_waves_that_differ_are_told_apart() -> None:
    """60 % against 40 % of 2000 each, epsilon ln 3; the noise of one estimate is 2 points."""
    p, q = 0.75, 0.25

    found = between_groups(SupportCount(1100, 2000, p, q), SupportCount(900, 2000, p, q))

    assert found.estimate == pytest.approx(0.2)
    assert found.p_value < 1e-9


@given(st.integers(1, 200), st.integers(1, 200), st.data())
def test_the_order_of_groups_does_not_matter(m: int, n: int, data: st.DataObject) -> None:
    a = SupportCount(data.draw(st.integers(0, m)), m, *warner(1))
    b = SupportCount(data.draw(st.integers(0, n)), n, *warner(2))

    forth, back = between_groups(a, b), between_groups(b, a)

    assert forth.estimate == -back.estimate
    assert forth.p_value == pytest.approx(back.p_value)
    assert 0 <= forth.p_value <= 1
    assert between_groups(a, a).p_value == 1


# --- two choices of one question ----------------------------------------------------------


@pytest.mark.parametrize(("k", "omega"), [(2, 1), (3, 1), (4, 2), (5, 3), (6, 3)])
def test_pair_support_counts_the_subsets(k: int, omega: int) -> None:
    """Choices 0 and 1 are compared; own weighs 3, other 1."""

    def both(answer: int) -> float:
        weights = {s: 3 if answer in s else 1 for s in combinations(range(k), omega)}
        return sum(w for s, w in weights.items() if {0, 1} <= set(s)) / sum(weights.values())

    pairs = SubsetSelection(k, omega, 3, 1).law.joint.pairs
    assert pairs is not None
    own, other = pairs

    assert own == pytest.approx(both(0))
    if k > 2:
        assert other == pytest.approx(both(2))


@pytest.mark.parametrize(
    ("k", "omega", "epsilon"), [(2, 1, 1.0), (3, 1, 1.0), (3, 1, 4.0), (5, 2, 0.5), (5, 1, 4.0)]
)
def test_two_choices_hold_their_level(k: int, omega: int, epsilon: float) -> None:
    """Exact over the four kinds of reports: both, only the first, only the second, neither."""
    n = 40
    p, q = subsets(k, omega, epsilon)
    pairs = SubsetSelection(k, omega, *weights_for_epsilon(Fraction(epsilon))).law.joint.pairs
    assert pairs is not None
    own, other = map(float, pairs)
    kinds = [(a, b, c) for a in range(n + 1) for b in range(n + 1 - a)
             for c in range(n + 1 - a - b if omega > 1 else 1)]  # fmt: skip
    cells = np.array([(a, b, c, n - a - b - c) for a, b, c in kinds])
    tallies = {(a + c, b + c) for a, b, c in kinds}
    by_tally = {t: between_choices(*t, n, p, q, pair_own=own, pair_other=other) for t in tallies}
    by_count = np.array([by_tally[a + c, b + c].p_value for a, b, c in kinds])
    alone = {(a, b): between_choices_exactly(a, b) for a, b, _ in kinds}
    exact = np.array([alone[a, b] for a, b, _ in kinds])
    law_of = multinomial(cells)
    levels: list[float] = []
    for share in SHARES if k > 2 else (0.5,):
        both = 2 * share * own + (1 - 2 * share) * other
        only = q + (p - q) * share - both
        law = law_of([only, only, both, max(1 - 2 * only - both, 0)])
        levels.append(law[by_count <= 0.05].sum())
        assert law[exact <= 0.05].sum() <= 0.05 + 1e-9
    assert 0.035 <= max(levels) <= 0.05  # nor is level given away


def test_choices_that_differ_are_told_apart() -> None:
    p, q = subsets(5, 1, 2.0)
    counts = 5000 * (q + (p - q) * np.array([0.3, 0.2]))

    found = between_choices(*counts.round().astype(int), 5000, p, q, pair_own=0, pair_other=0)

    assert found.estimate == pytest.approx(0.1, abs=1e-3)
    assert found.p_value < 1e-4


def test_reports_that_support_both_or_none_say_nothing() -> None:
    assert between_choices_exactly(0, 0) == 1


# --- two means ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "epsilon"),
    [((9, 9), 0.5), ((9, 9), 8.0), soak((6, 13), 2.0), soak((5, 20), 4.0)],
)
def test_two_means_hold_their_level(sizes: tuple[int, int], epsilon: float) -> None:
    """Level 0.05, exact over both tallies of three outputs."""
    channel = k_ary(3, epsilon)
    v = scores(channel, [-1, 0, 1])
    cells = [np.array([(a, b, n - a - b) for a in range(n + 1) for b in range(n - a + 1)])
             for n in sizes]  # fmt: skip
    groups = [[moments(ScoredTally(one, v, channel)) for one in each] for each in cells]
    found = np.array([[between_means(a, b).p_value for b in groups[1]] for a in groups[0]])
    laws_of = [multinomial(one) for one in cells]
    pairs = [(t, t) for t in ((1, 0, 0), (0, 1, 0), (0.5, 0, 0.5), (0.1, 0.2, 0.7), (0.9, 0, 0.1))]
    for first, second in [*pairs, ((0, 1, 0), (0.5, 0, 0.5))]:
        laws = [law(np.array(t) @ channel)
                for law, t in zip(laws_of, (first, second), strict=True)]  # fmt: skip
        assert np.outer(*laws)[found <= 0.05].sum() <= 0.05


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 40), min_size=6, max_size=6),
    st.lists(st.integers(0, 400), min_size=6, max_size=6),
    st.floats(0.01, 1000),
    st.floats(-3000, 3000),
)
def test_a_difference_of_means_does_not_depend_on_the_scale(
    few: list[int], many: list[int], factor: float, start: float
) -> None:
    assume(any(few) and any(many))
    channel, position = k_ary(6, 8.0), np.arange(6.0)
    one, other = (
        between_means(*(ScoredTally(c, scores(channel, target), channel) for c in (few, many)))
        for target in (position, start + factor * position)
    )

    slack = 1e-7 * (factor + abs(start) / 1000)
    assert other.estimate == pytest.approx(factor * one.estimate, abs=slack)
    assert other.p_value == pytest.approx(one.p_value, abs=1e-4)


@pytest.mark.parametrize(("sizes", "epsilon"), [((30, 300), 8.0), ((300, 30), 2.0)])
def test_means_of_unequal_groups_hold_their_level_wherever_the_scale_starts(
    sizes: tuple[int, int], epsilon: float
) -> None:
    """Level 0.05 from 1930 on: of 300 tests more than 36 have a chance below 1e-6."""
    channel, rng = k_ary(5, epsilon), np.random.default_rng(20_261_122)
    v = scores(channel, 1930 + 20 * np.arange(5.0))
    law = np.array([0.6, 0.2, 0.1, 0.06, 0.04]) @ channel
    pairs = zip(*(rng.multinomial(n, law, size=300) for n in sizes), strict=True)

    found = [between_means(*(ScoredTally(c, v, channel) for c in pair)).p_value for pair in pairs]

    assert sum(p <= 0.05 for p in found) <= 36


def test_means_that_differ_are_told_apart() -> None:
    channel = k_ary(3, 1.0)
    v = scores(channel, [-1, 0, 1])
    first, second = (
        np.round(3000 * np.array(t) @ channel) for t in ((0.2, 0.5, 0.3), (0.4, 0.5, 0.1))
    )

    found = between_means(ScoredTally(first, v, channel), ScoredTally(second, v, channel))

    assert found.estimate == pytest.approx(0.4, abs=2e-3)
    assert found.p_value < 1e-6


# --- many tests ---------------------------------------------------------------------------


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9), st.floats(0.001, 0.999))
def test_holm_rejects_from_the_smallest_up(p_values: list[float], alpha: float) -> None:
    """Holm's own rule: the i-th smallest of m is rejected while it is at most alpha / (m - i)."""
    rejected, m = set[int](), len(p_values)
    for i, test in enumerate(sorted(range(m), key=p_values.__getitem__)):
        if (m - i) * p_values[test] > alpha:
            break
        rejected.add(test)

    assert {test for test, p in enumerate(holm(p_values)) if p <= alpha} == rejected


def test_holm_of_nothing_is_nothing() -> None:
    assert holm([]) == []


@pytest.mark.parametrize(
    ("count", "n", "p", "q"), [(0, 0, 0.7, 0.3), (6, 5, 0.7, 0.3), (1, 5, 0.3, 0.7)]
)
def test_counts_that_cannot_be_are_refused(count: int, n: int, p: float, q: float) -> None:
    with pytest.raises(ValueError, match=r"at least one|larger"):
        SupportCount(count, n, p, q)


# --- two waves of one panel -----------------------------------------------------------------------


def pairs(epsilon: float, first: int, second: int) -> Floats:
    """P(the reports of two waves support, or not), shape (2, 2), of a person with two answers.

    A history of twice the epsilon. Where the answers are the same both reports come from one memo,
    else each from a memo of its own.
    """
    odds, history = exp(epsilon), exp(2 * epsilon)
    ratio = (odds - 1) * (history + 1) / (2 * (history - odds))
    own, same = history / (1 + history), (1 + 2 * ratio) / (2 + 2 * ratio)
    memo = np.array([[own, 1 - own], [1 - own, own]])  # [answer, memo]
    sent = np.array([[same, 1 - same], [1 - same, same]])  # [memo, report]
    np.testing.assert_allclose((memo @ sent)[0, 0], odds / (1 + odds))
    if first == second:
        return np.array(np.einsum("m,ma,mb->ab", memo[first], sent, sent))
    return np.outer((memo @ sent)[first], (memo @ sent)[second])


def counts_of(one: Floats, n: int) -> Floats:
    """P(so many of n people support in the first wave, so many in the second)."""
    law = np.zeros((n + 1, n + 1))
    law[0, 0] = 1.0
    for _ in range(n):
        after = one[0, 0] * law
        after[1:, :] += one[1, 0] * law[:-1, :]
        after[:, 1:] += one[0, 1] * law[:, :-1]
        after[1:, 1:] += one[1, 1] * law[:-1, :-1]
        law = after
    return law


@cache
def all_p_values(n: int, epsilon: float) -> Floats:
    """Of every pair of counts of two groups of n, shape (n + 1, n + 1)."""
    counts = [SupportCount(count, n, *warner(epsilon)) for count in range(n + 1)]
    return np.array([[between_groups(a, b).p_value for b in counts] for a in counts])


def false_alarms(law: Floats, epsilon: float, alpha: float) -> float:
    return float(law[all_p_values(len(law) - 1, epsilon) <= alpha].sum())


@pytest.mark.parametrize("epsilon", [0.5, 1, 2])
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_two_waves_of_people_who_do_not_change_are_tested_with_caution(
    epsilon: float, share: float
) -> None:
    """Their reports go together, through their answers and their memos: the test for different
    people then has fewer false alarms than among different people, never more."""
    n = 30
    stay = [pairs(epsilon, answer, answer) for answer in (0, 1)]
    one = share * stay[0] + (1 - share) * stay[1]
    alone = np.outer(one.sum(axis=1), one.sum(axis=0))

    for alpha in (0.05, 0.01):
        together = false_alarms(counts_of(one, n), epsilon, alpha)
        apart = false_alarms(counts_of(alone, n), epsilon, alpha)
        assert together < apart <= alpha


@pytest.mark.parametrize(
    ("epsilon", "alarms"), [(0.5, 0.0366), (1, 0.0497), (2, 0.0819), (4, 0.1116)]
)
def test_where_all_people_swap_their_answers_it_is_not_cautious(
    epsilon: float, alarms: float
) -> None:
    """What the note beside a result warns of, at its worst: no share changes, all answers do."""
    one = sum(pairs(epsilon, answer, 1 - answer) for answer in (0, 1)) / 2

    assert false_alarms(counts_of(one, 30), epsilon, 0.05) == pytest.approx(alarms, abs=1e-3)
