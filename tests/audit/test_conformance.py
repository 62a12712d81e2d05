"""Privacy and unbiasedness, proved by walking every branch of the shipped code.

Nothing here is sampled: the laws are exact fractions and compared with ==.
"""

from fractions import Fraction
from itertools import pairwise

import pytest

from deniably.audit.enumeration import INFINITE, worst_odds
from deniably.core.coins import Coins
from deniably.mechanisms.subset_selection import SubsetSelection
from support.exact_laws import distribution
from support.textbook import k_ary, warner, weights_for_epsilon

ODDS = [Fraction(3), Fraction(2), Fraction(13, 7)]
SMALL = [
    SubsetSelection(k, omega, odds.numerator, odds.denominator)
    for k in range(2, 7)
    for omega in range(1, k)
    for odds in ODDS
]
PUBLISHED = [
    SubsetSelection(k, omega, *weights_for_epsilon(Fraction(epsilon)))
    for k, omega in ((2, 1), (5, 2), (6, 3))
    for epsilon in ("0.01", "1", "10")
]
NAMED = [warner(3, 1), k_ary(4, 5, 2)]

Law = dict[tuple[int, ...], Fraction]


def laws(m: SubsetSelection) -> list[Law]:
    return [distribution(lambda coins, a=a: m.randomise(a, coins)) for a in range(m.k)]


@pytest.fixture(
    params=SMALL + PUBLISHED + NAMED, ids=lambda m: f"{m.k}-{m.omega}-{m.own}-{m.other}"
)
def walked(request: pytest.FixtureRequest) -> tuple[SubsetSelection, list[Law]]:
    return request.param, laws(request.param)


def test_every_mechanism_conforms(walked: tuple[SubsetSelection, list[Law]]) -> None:
    """Odds, unbiasedness and variance of one mechanism, on the enumerated channel."""
    m, channel = walked

    assert [sum(law.values()) for law in channel] == [1] * m.k
    assert worst_odds(channel) == m.odds == Fraction(m.own, m.other), "realised epsilon"
    for law in channel:
        for report in law:
            m.check(report)
    for answer, law in enumerate(channel):
        for choice in range(m.k):
            support = sum(pr for report, pr in law.items() if choice in report)
            assert support == (m.p if choice == answer else m.q)
            expectation = (support - m.q) / (m.p - m.q)
            assert expectation == (1 if choice == answer else 0), "unbiased"
            second = sum(
                pr * (((choice in report) - m.q) / (m.p - m.q)) ** 2 for report, pr in law.items()
            )
            p = m.p if choice == answer else m.q
            assert second - expectation**2 == p * (1 - p) / (m.p - m.q) ** 2, "variance"


def test_all_reports_of_one_kind_are_equally_likely(
    walked: tuple[SubsetSelection, list[Law]],
) -> None:
    """Two levels and no more: a report tells only whether it holds the answer."""
    _, channel = walked

    for answer, law in enumerate(channel):
        inside = {pr for report, pr in law.items() if answer in report}
        outside = {pr for report, pr in law.items() if answer not in report}
        assert len(inside) == len(outside) == 1


# --- planted faults: the auditor has to see them, with the right number -------------------


class TruthFirst(SubsetSelection, frozen=True):
    """Leaves the true answer at the front of the report (a published library does)."""

    def randomise(self, answer: int, coins: Coins) -> tuple[int, ...]:
        report = super().randomise(answer, coins)
        if answer in report:
            return (answer, *(choice for choice in report if choice != answer))
        return report


class SwappedWeights(SubsetSelection, frozen=True):
    """Takes the weight of the others for the answer's own."""

    def randomise(self, answer: int, coins: Coins) -> tuple[int, ...]:
        class Swapped(Coins):
            def choose(self, weights):  # type: ignore[no-untyped-def]
                return coins.choose(weights[::-1])

            def below(self, n: int) -> int:
                return coins.below(n)

        return super().randomise(answer, Swapped())


def test_the_auditor_sees_a_truth_that_stays_first() -> None:
    assert worst_odds(laws(TruthFirst(6, 2, 3, 1))) is INFINITE


def test_the_auditor_sees_swapped_weights() -> None:
    """k = 5, omega = 1, odds 3: the truth now has weight 4 of 7 instead of 3, each other 3/4 of
    7; the worst ratio is 4 / (3/4) = 16/3 instead of 3."""
    assert worst_odds(laws(SwappedWeights(5, 1, 3, 1))) == Fraction(16, 3)


def test_the_auditor_sees_an_ordering_that_depends_on_the_answer() -> None:
    """Without the final sort the order of a subset gives the answer away."""

    def unsorted(answer: int, coins: Coins) -> tuple[int, ...]:
        report = SubsetSelection(5, 3, 3, 1).randomise(answer, coins)
        return report[::-1] if answer == 0 else report

    channel = [distribution(lambda coins, a=a: unsorted(a, coins)) for a in range(5)]

    assert worst_odds(channel) is INFINITE


def test_the_walker_visits_every_branch_once() -> None:
    law = distribution(lambda coins: (coins.below(2), coins.below(3), coins.choose([1, 0, 4])))

    assert len(law) == 12
    assert sum(law.values()) == 1
    assert law[1, 2, 2] == Fraction(1, 6) * Fraction(4, 5)
    assert all(a < b for a, b in pairwise(sorted(law)))


def test_a_draw_may_depend_on_an_earlier_one() -> None:
    law = distribution(lambda coins: coins.below(1 + coins.below(3)))

    assert law == {0: Fraction(11, 18), 1: Fraction(5, 18), 2: Fraction(1, 9)}
