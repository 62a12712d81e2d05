"""Reports of several waves together, held to what one memo allows.

That one report is right says nothing about two: a device that draws a memo anew in each wave makes
the same reports, one by one, and gives away more with each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from deniably.audit import follow
from deniably.binomial import upper_tail
from deniably.coins import Coins
from deniably.errors import BadReport
from deniably.laws import check, probability
from deniably.mechanisms import Memoised, Report
from deniably.walking import answers, extremes

InWaves = Callable[[Any, int, Coins], Sequence[Report]]
"""What a device sends for an answer in so many waves."""

PATHS = 1 << 12
"""Paths of one question after which no other answer is begun."""


def joint_probability(mechanism: Memoised[Any], answer: Any, reports: Sequence[Report]) -> Fraction:
    """P(these reports, wave by wave | answer).

    A memo that is none of the reports was sent in no wave; the others are added one by one.
    """
    kept = Fraction(mechanism.keep, mechanism.keep + mechanism.fresh)
    other = (1 - kept) / mechanism.reports
    never = other ** len(reports)
    return never + sum(
        probability(mechanism.memo, answer, memo)
        * (prod(other + kept * (memo == sent) for sent in reports) - never)
        for memo in set(reports)
    )


def same_twice(mechanism: Memoised[Any]) -> Fraction:
    """P(two waves send the same), whatever the answer."""
    both = Fraction(mechanism.keep, mechanism.keep + mechanism.fresh) ** 2
    return both + (1 - both) / mechanism.reports


def fault_in_waves(
    mechanism: Memoised[Any],
    send: InWaves,
    trials: int,
    alpha: float,
    coins: Callable[[], Coins] = Coins,
) -> str | None:
    """What is wrong with two waves together: every branch of them is walked, or the likeliest, and
    it is counted how often they are the same.

    A right device is accused with a probability of at most ``alpha``, where branches are left.
    """
    left, rest = PATHS, False
    for answer in answers(mechanism.memo):
        if left <= 0:
            rest = True
            break
        found = follow(lambda c, a=answer: tuple(send(a, 2, c)), left)  # type: ignore[misc]
        left -= found.paths
        rest = rest or bool(found.rest)
        for reports, share in found.law.items():
            try:
                for report in reports:
                    check(mechanism.once, report)
            except BadReport as error:
                return f"in two waves it makes a report that none can make: {error.why}"
            most = joint_probability(mechanism, answer, reports)
            if share > most:
                return (
                    f"in two waves it gives {answer} the reports {reports} with probability"
                    f" {float(share):.6g}, not {float(most):.6g}"
                )
    return _repeats(mechanism, send, trials, alpha, coins) if rest else None


def _repeats(
    mechanism: Memoised[Any],
    send: InWaves,
    trials: int,
    alpha: float,
    coins: Callable[[], Coins],
) -> str | None:
    share = float(same_twice(mechanism))
    for answer in extremes(mechanism.memo):
        runs = (send(answer, 2, coins()) for _ in range(trials))
        same = sum(first == second for first, second in runs)
        tails = upper_tail(np.array([same, trials - same]), trials, np.array([share, 1 - share]))
        if tails.min() < alpha / 4:
            expected = f"not about {trials * share:,.0f}"
            return f"{same:,} of {trials:,} times two waves send the same, {expected}"
    return None
