"""The test of independence keeps its level however few people differ, and finds what there is."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from itertools import combinations, permutations
from math import exp

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from deniably.estimation.independence import independence
from support.soak import soak

Bits = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

RUNS, ALARMS = 150, 23  # at the level of 0.05, more alarms have a chance below 1e-6
FEW, FEW_ALARMS = 100, 18  # the same


def k_ary(k: int, epsilon: float) -> Floats:
    return (np.ones((k, k)) + (exp(epsilon) - 1) * np.eye(k)) / (exp(epsilon) + k - 1)


def one_hot(table: npt.ArrayLike) -> tuple[Bits, Bits]:
    """The supports of every respondent in a table of report pairs."""
    counts = np.asarray(table)
    a, b = np.divmod(np.repeat(np.arange(counts.size), counts.ravel()), counts.shape[1])
    return np.eye(counts.shape[0], dtype=bool)[a], np.eye(counts.shape[1], dtype=bool)[b]


def subsets(k: int, omega: int) -> Bits:
    """All kinds of reports of subset selection."""
    return np.array([[x in kind for x in range(k)] for kind in combinations(range(k), omega)])


def statistic(first: Bits, second: Bits) -> float:
    """n tr(S1^+ C S2^+ C'), as it is written."""
    a, b = (bits - bits.mean(axis=0) for bits in (first, second))
    n = len(a)
    left, right = (np.linalg.pinv(x.T @ x / n, hermitian=True) for x in (a, b))
    cross = a.T @ b / n
    return float(n * np.trace(left @ cross @ right @ cross.T))


# --- one choice a report ------------------------------------------------------------------


@given(st.lists(st.integers(1, 50), min_size=6, max_size=6))
def test_of_single_choices_the_statistic_is_pearsons(counts: list[int]) -> None:
    table = np.array(counts).reshape(2, 3)

    found = independence(*one_hot(table))

    expected = stats.chi2_contingency(table, correction=False)
    assert found.statistic == pytest.approx(expected.statistic, abs=1e-9)
    assert found.degrees == expected.dof


def tables(n: int) -> Iterator[tuple[int, int, int, int]]:
    """Every table of two by two of n respondents."""
    for a in range(n + 1):
        for b in range(n + 1 - a):
            for c in range(n + 1 - a - b):
                yield a, b, c, n - a - b - c


def by_enumeration(a: int, b: int, c: int, d: int) -> float:
    """The share of all pairings whose table is as far from independence: |ad - bc| on fixed
    margins."""
    n, row, column = a + b + c + d, a + b, a + c
    law = stats.hypergeom(n, row, column)
    some = np.arange(max(0, row + column - n), min(row, column) + 1)
    far = np.abs(some * n - row * column) >= abs(a * n - row * column)
    return min(float(law.pmf(some)[far].sum()), 1.0)


def test_two_by_two_is_right_for_every_table_and_holds_its_level() -> None:
    """All tables of 9 respondents. Shuffling estimates each exact p-value to within five standard
    errors, which all of them keep but for a chance below 1e-3, and always do with these seeds."""
    found = {
        table: independence(*one_hot(np.reshape(table, (2, 2)))).p_value for table in tables(9)
    }

    for table, p_value in found.items():
        exact = by_enumeration(*table)
        assert p_value == pytest.approx(exact, abs=5 * (exact * (1 - exact) / 1000) ** 0.5 + 1.5e-3)
    for first, second in ((0.5, 0.5), (0.98, 0.98), (0.9, 0.6), (0.7, 0.2)):
        law = np.outer([first, 1 - first], [second, 1 - second]).ravel()
        assert sum(
            stats.multinomial.pmf(table, 9, law)
            for table, p_value in found.items() if p_value <= 0.05
        ) <= 0.05  # fmt: skip


@pytest.mark.parametrize(("epsilon", "n"), [soak(3, 100), (4, 100), soak(4, 1000), soak(8, 200)])
def test_the_level_holds_where_nearly_all_give_one_answer(epsilon: float, n: int) -> None:
    """Five by five, 98 % alike, independent answers: chi-squared alarms in up to 18 %."""
    assert stats.binom.sf(ALARMS, RUNS, 0.05) < 1e-6
    law = np.array([0.98, 0.005, 0.005, 0.005, 0.005]) @ k_ary(5, epsilon)
    seen = np.random.default_rng(5).multinomial(n, np.outer(law, law).ravel(), size=RUNS)

    found = [independence(*one_hot(table.reshape(5, 5))).p_value for table in seen]

    assert sum(p <= 0.05 for p in found) <= ALARMS
    assert min(found) >= 0.001


@pytest.mark.parametrize(("epsilon", "n", "share"), [soak(1.0, 1000, 0.6), (2.0, 300, 0.3)])
def test_no_power_is_lost_where_chi_squared_holds(epsilon: float, n: int, share: float) -> None:
    """Five answers, of which ``share`` go together: of 200 surveys as many are found, but 2 %."""
    channel = k_ary(5, epsilon)
    joint = share * np.eye(5) / 5 + (1 - share) / 25
    law = channel.T @ joint @ channel
    seen = np.random.default_rng(6).multinomial(n, law.ravel(), size=200).reshape(-1, 5, 5)

    shuffled = [independence(*one_hot(table)).p_value <= 0.05 for table in seen]
    asymptotic = [stats.chi2_contingency(table, correction=False).pvalue <= 0.05 for table in seen]

    assert 0.15 < np.mean(asymptotic) < 0.6
    assert abs(np.mean(shuffled) - np.mean(asymptotic)) <= 0.02


def test_a_million_reports_are_shuffled_as_few_are() -> None:
    law = np.outer([0.6, 0.3, 0.1], [0.5, 0.4, 0.1])
    table = np.round(10**6 * law).astype(np.int64)

    assert independence(*one_hot(table)).p_value == 1
    table[0, 0] += 3000
    table[0, 1] -= 3000
    found = independence(*one_hot(table))
    assert (found.p_value, found.shuffles) == (0.001, 999)


# --- several choices a report ---------------------------------------------------------------


@given(st.integers(0, 2**32), st.integers(2, 60), st.integers(1, 5), st.integers(1, 5))
def test_of_whole_reports_the_statistic_is_the_trace(seed: int, n: int, k1: int, k2: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.random((n, k1)) < 0.4, rng.random((n, k2)) < 0.6

    assert independence(first, second).statistic == pytest.approx(
        statistic(first, second), abs=1e-6
    )


@pytest.mark.parametrize(("runs", "most"), [(FEW, FEW_ALARMS), soak(RUNS, ALARMS)])
@pytest.mark.parametrize(("k", "omega", "n"), [(4, 2, 200), (12, 4, 60)])
def test_the_level_holds_for_subsets(k: int, omega: int, n: int, runs: int, most: int) -> None:
    """Of few kinds, whose table is shuffled, and of more pairs of kinds than respondents."""
    assert stats.binom.sf(most, runs, 0.05) < 1e-6
    kinds = subsets(k, omega)
    shares = np.append(0.7, np.full(k - 1, 0.3 / (k - 1)))
    law = shares @ np.where(kinds.T, 9.0, 1.0)
    rng = np.random.default_rng(1900)

    alarms = 0
    for _ in range(runs):
        first, second = (kinds[rng.choice(len(law), n, p=law / law.sum())] for _ in range(2))
        found = independence(first, second)
        assert found.shuffles is not None
        alarms += found.p_value <= 0.05

    assert alarms <= most


def test_ties_count_as_far() -> None:
    """Six respondents with six kinds: many of the 720 pairings have the very same statistic."""
    kinds = subsets(4, 2)
    for order in ([0, 1, 2, 3, 4, 5], [1, 0, 2, 3, 4, 5], [3, 5, 1, 0, 4, 2]):
        second = kinds[order]
        own = statistic(kinds, second)
        pairings = [statistic(kinds, kinds[list(p)]) for p in permutations(range(6))]
        exact = np.mean(np.array(pairings) >= own - 1e-6)

        found = independence(kinds, second).p_value

        assert found == pytest.approx(exact, abs=5 * (exact * (1 - exact) / 1000) ** 0.5 + 1e-3)
    assert independence(np.eye(3), np.eye(3)).p_value == 1  # any pairing of three is as far


def test_of_too_many_kinds_to_shuffle_the_p_value_is_chi_squareds() -> None:
    rng, kinds = np.random.default_rng(1), subsets(20, 4)
    first, second = (kinds[rng.integers(0, len(kinds), 40_000)] for _ in range(2))

    found = independence(first, second)

    assert found.shuffles is None
    assert found.degrees == 19 * 19
    assert found.p_value == pytest.approx(stats.chi2.sf(found.statistic, 361), rel=1e-9)


# --- whatever the reports ---------------------------------------------------------------------


@pytest.mark.parametrize(("k", "omega"), [(3, 1), (5, 2), (14, 4)])
def test_the_p_value_is_the_same_in_any_order_of_the_reports(k: int, omega: int) -> None:
    rng, kinds = np.random.default_rng(3), subsets(k, omega)
    first, second = (kinds[rng.integers(0, len(kinds), 50)] for _ in range(2))
    order = rng.permutation(50)

    once, again = independence(first, second), independence(first[order], second[order])

    assert once.p_value == again.p_value
    assert 0.001 < once.p_value < 1


def test_dependent_answers_are_found_out() -> None:
    channel = k_ary(2, 1.0)
    law = channel.T @ np.array([[0.4, 0.1], [0.1, 0.4]]) @ channel

    assert independence(*one_hot(np.round(3000 * law).astype(np.int64))).p_value == 0.001


def test_a_question_to_which_all_reports_agree_says_nothing() -> None:
    found = independence(np.tile([1, 0], (9, 1)), np.eye(9))

    assert (found.statistic, found.degrees, found.p_value) == (0, 0, 1)


def test_both_reports_of_every_respondent_are_needed() -> None:
    with pytest.raises(ValueError, match="both reports"):
        independence(np.eye(3), np.eye(2))


def test_of_many_kinds_of_reports_few_are_in_memory_as_floats() -> None:
    """All whitened reports to the longer question were 20 MB each time."""
    rng = np.random.default_rng(2)
    first, second = rng.random((50_000, 20)) < 0.3, rng.random((50_000, 50)) < 0.3

    tracemalloc.start()
    try:
        found = independence(first, second)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert found.shuffles is None
    assert found.statistic == pytest.approx(statistic(first, second), rel=1e-9)
    assert peak < 20e6
