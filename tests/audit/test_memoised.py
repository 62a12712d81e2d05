"""Memos for repeated surveys: one report, and all reports together, on the running code.

Nothing here is sampled: laws are exact fractions, compared with ==.
"""

from collections.abc import Callable
from fractions import Fraction
from itertools import chain, combinations, product
from math import prod
from typing import Any

import pytest

from deniably.audit import distribution, worst_odds
from deniably.coins import Coins
from deniably.mechanisms import Channel, Memoised, SetResponse, SubsetSelection, Window
from deniably.mechanisms.memoised import Family, memoised

ONCE: list[Family] = [
    SubsetSelection(2, 1, 3, 1),
    SubsetSelection(3, 1, 3, 1),
    SubsetSelection(4, 2, 13, 7),
    Window(3, 2, 1, 3, 1),
    Window(3, 4, 2, 3, 2),
    Window(5, 3, 2, 5, 2),
    Channel(2, ((5, 1), (2, 4))),
    Channel(3, ((6, 2, 2), (3, 4, 3), (2, 2, 6))),
    SetResponse(2, 1, 1, 3, 1),
    SetResponse(3, 2, 2, 3, 1),
]
HISTORY = Fraction(9)


def inputs(mechanism: Family) -> list[Any]:
    if isinstance(mechanism, SetResponse):
        ticks = range(mechanism.most + 1)
        return list(chain.from_iterable(combinations(range(mechanism.k), n) for n in ticks))
    return list(range(mechanism.k))


def walked(run: Callable[[Coins], Any]) -> dict[Any, Fraction]:
    return dict(distribution(run))


def histories(mechanism: Memoised[Any], waves: int) -> list[dict[Any, Fraction]]:
    """For each answer the law of what a device sends in so many waves, all together.

    The memo is drawn once; each wave has coins of its own, so given the memo its reports are
    independent: the law is a sum over the memos of products, of laws that were walked.
    """
    memos = [walked(lambda c, a=a: mechanism.draw_memo(a, c)) for a in inputs(mechanism.memo)]
    waves_of = {memo: walked(lambda c, m=memo: mechanism.again(m, c)) for memo in memos[0]}
    laws: list[dict[Any, Fraction]] = []
    for law in memos:
        found: dict[Any, Fraction] = {}
        for memo, share in law.items():
            for sent in product(waves_of[memo].items(), repeat=waves):
                key = tuple(report for report, _ in sent)
                found[key] = found.get(key, Fraction(0)) + share * prod(pr for _, pr in sent)
        laws.append(found)
    return laws


@pytest.mark.parametrize("once", ONCE, ids=str)
def test_one_report_is_exactly_one_of_the_mechanism_that_keeps_nothing(once: Family) -> None:
    mechanism = memoised(once, HISTORY)

    for answer in inputs(once):
        walked = distribution(lambda coins, a=answer: mechanism.randomise(a, coins))
        assert walked == distribution(lambda coins, a=answer: once.randomise(a, coins))
        for report in walked:
            mechanism.check(report)
    assert mechanism.loss == once.loss
    assert mechanism.once.loss == once.loss


@pytest.mark.parametrize("once", ONCE, ids=str)
def test_all_waves_together_stay_within_the_history(once: Family) -> None:
    """And come near to it: what is promised is neither too little nor far too much."""
    mechanism = memoised(once, HISTORY)

    found = [worst_odds(histories(mechanism, waves)) for waves in (1, 2, 3)]

    one, two, three = (odds for odds in found if odds is not None)
    assert one == once.loss.odds < two < three < mechanism.history.odds <= HISTORY
