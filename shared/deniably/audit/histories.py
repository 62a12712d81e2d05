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

from deniably.audit.audit import follow
from deniably.audit.laws import check, probability, sent_probability
from deniably.audit.walking import answers, extremes
from deniably.core.binomial import upper_tail
from deniably.core.coins import Coins
from deniably.core.errors import BadReport
from deniably.design.recognition import overlap_law
from deniably.mechanisms import Memoised, Report

InWaves = Callable[[Any, int, Coins], Sequence[Report]]
"""What a device sends for an answer in so many waves."""

PATHS = 1 << 12
"""Paths of one question after which no other answer is begun."""


def joint_probability(mechanism: Memoised[Any], answer: Any, reports: Sequence[Report]) -> Fraction:
    """P(these reports, wave by wave | answer): given the memo each is made by itself."""
    return sum(
        (
            probability(mechanism.memo, answer, (memo,))
            * prod(sent_probability(mechanism, memo, sent) for sent in reports)
            for memo in range(mechanism.memo.cell_count)
        ),
        Fraction(0),
    )


def fault_in_waves(
    mechanism: Memoised[Any],
    send: InWaves,
    trials: int,
    alpha: float,
    coins: Callable[[], Coins] = Coins,
) -> str | None:
    """What is wrong with two waves together: every branch of them is walked, or the likeliest, and
    it is counted how often they have how much in common.

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
    """What is wrong with how often two waves have so many numbers in common."""
    for answer in extremes(mechanism.memo):
        law = np.array([float(share) for share in common_law(mechanism, answer)])
        runs = (send(answer, 2, coins()) for _ in range(trials))
        seen = np.bincount([len({*one} & {*two}) for one, two in runs], minlength=len(law))
        counts = np.concatenate([seen, trials - seen])
        tails = upper_tail(counts, trials, np.concatenate([law, 1 - law]))
        if tails.min() < alpha / 2 / len(counts):
            common = int(tails.argmin()) % len(law)
            return (
                f"{seen[common]:,} of {trials:,} times two waves have {common} numbers in common,"
                f" not about {trials * law[common]:,.0f}"
            )
    return None


def common_law(mechanism: Memoised[Any], answer: Any) -> list[Fraction]:
    """P(the reports of two waves have so many numbers in common | answer), from none on."""
    if sent := mechanism.fresh:
        return overlap_law(sent)
    outputs = range(mechanism.cell_count)
    alike = Fraction(0)
    for memo in range(mechanism.memo.cell_count):
        same = sum(sent_probability(mechanism, memo, (output,)) ** 2 for output in outputs)
        alike += probability(mechanism.memo, answer, (memo,)) * same
    return [1 - alike, alike]
