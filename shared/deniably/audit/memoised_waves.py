"""Audits the reports of several waves together: memoisation must bound what they give away.

Single reports cannot show that. A device that draws a new memo (the permanently randomised answer)
in each wave sends reports that are right one by one, and gives away more with each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import comb, prod
from typing import Any

import numpy as np

from deniably.audit.enumeration import explore
from deniably.audit.report_checker import checked
from deniably.audit.walking import answers
from deniably.core.binomial import upper_tail
from deniably.core.coins import Coins
from deniably.core.errors import BadReport
from deniably.design.reidentification import overlap_law
from deniably.mechanisms import Cells, Memoised
from deniably.mechanisms.law import Finite, Supporting

InWaves = Callable[[Any, int, Coins], Sequence[Cells]]
"""Returns the reports that a device sends for an answer in a number of waves."""

PATHS = 1 << 12
"""The maximum of paths of one question: after as many no further answer is walked."""


def sent_probability(mechanism: Memoised[Any], memo: int, report: Cells) -> Fraction:
    """Returns P(report | memo), derived from the probabilities that a single report must have.

    The memo is the permanently randomised answer, from which each wave's report is made. The
    mechanism's own weights for this are not used. The true answer's memo is ``odds`` times as
    likely as each other memo. So the law of a single report is a mixture: ``odds - 1`` times the
    law given the true answer's memo, plus once the law given each memo. This is solved for the law
    given one memo. With padded ticks, ``most`` memos belong to the true answer, and each of them
    adds the same step to the probability given any other memo.
    """
    law: Finite | Supporting = mechanism.single_report_mechanism.law
    odds = Fraction(mechanism.own, mechanism.other)
    if isinstance(law, Finite):
        alone = law.output(memo, report[0])
        of_all_sets = sum((law.output(row, report[0]) for row in range(law.rows)), Fraction(0))
        return ((odds + law.rows - 1) * alone - of_all_sets) / (odds - 1)
    if held := law.padding:
        supported, other = (law.joint(frozenset((cell,)), (0,)) for cell in (0, 1))
        step = (supported - other) / (odds - 1)
        return other - step + (held * odds + law.k) * step * (memo in report)
    alone = law.probability(memo, report)
    of_all_sets = Fraction(law.k, comb(law.k, len(report)))  # all sets are alike
    return ((odds + law.k - 1) * alone - of_all_sets) / (odds - 1)


def joint_probability(mechanism: Memoised[Any], answer: Any, reports: Sequence[Cells]) -> Fraction:
    """Returns P(reports of all waves | answer).

    Given the memo, which is the permanently randomised answer, the reports are independent.
    """
    keeping = mechanism.memo.law
    return sum(
        (
            keeping.probability(answer, (memo,))
            * prod(sent_probability(mechanism, memo, sent) for sent in reports)
            for memo in range(keeping.law.cell_count)
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
    """Returns the first fault in the reports of two waves together, in words; None without one.

    ``send(answer, 2, coins)`` makes the two reports. All branches of its draws are walked, or the
    likeliest where there are too many. Where some are left over, ``trials`` pairs of reports are
    drawn, and it is counted how many numbers the reports of a pair have in common. A correct device
    is then accused with probability at most ``alpha``.
    """
    left, unexplored = PATHS, False
    for answer in answers(mechanism.memo.law):
        if left <= 0:
            unexplored = True
            break
        explored = explore(lambda c, a=answer: tuple(send(a, 2, c)), left)  # type: ignore[misc]
        left -= explored.paths
        unexplored = unexplored or bool(explored.unexplored_mass)
        for reports, share in explored.law.items():
            try:
                for report in reports:
                    checked(mechanism.single_report_mechanism, report)
            except BadReport as error:
                return f"in two waves it makes a report that none can make: {error.why}"
            lawful = joint_probability(mechanism, answer, reports)
            if share > lawful:
                return (
                    f"in two waves it gives {answer} the reports {reports} with probability"
                    f" {float(share):.6g}, not {float(lawful):.6g}"
                )
    return _repeats(mechanism, send, trials, alpha, coins) if unexplored else None


def _repeats(
    mechanism: Memoised[Any],
    send: InWaves,
    trials: int,
    alpha: float,
    coins: Callable[[], Coins],
) -> str | None:
    """A fault in how often two waves have a given number of numbers in common."""
    for answer in mechanism.memo.law.extremes:
        law = np.array([float(share) for share in common_law(mechanism, answer)])
        runs = (send(answer, 2, coins()) for _ in range(trials))
        seen = np.bincount([len({*a} & {*b}) for a, b in runs], minlength=len(law))
        counts = np.concatenate([seen, trials - seen])
        tails = upper_tail(counts, trials, np.concatenate([law, 1 - law]))
        # Two answers are tested; each has half of alpha, spread over its counts (Bonferroni).
        if tails.min() < alpha / 2 / len(counts):
            common = int(tails.argmin()) % len(law)
            return (
                f"{seen[common]:,} of {trials:,} times two waves have {common} numbers in common,"
                f" not about {trials * law[common]:,.0f}"
            )
    return None


def common_law(mechanism: Memoised[Any], answer: Any) -> list[Fraction]:
    """Returns [P(the reports of two waves have i numbers in common | answer)] for i from 0 on."""
    if sent := mechanism.fresh:
        return overlap_law(sent)
    outputs = range(mechanism.law.cell_count)
    alike = Fraction(0)
    for memo in range(mechanism.memo.law.cell_count):
        same = sum(sent_probability(mechanism, memo, (output,)) ** 2 for output in outputs)
        alike += mechanism.memo.law.probability(answer, (memo,)) * same
    # Here a report is a single number, so two have one number in common or none.
    return [1 - alike, alike]
