"""Walks the branches of a randomiser's code and compares the probabilities of its reports with its
mechanism's.

The explored paths to a report have together at most the report's probability. Where they have more,
the code is wrong. If every path was explored, both are equal as fractions, and the walk is a proof.
Otherwise ``unexplored_mass`` bounds the total variation distance between the two laws.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from math import inf, log
from typing import Any

from deniably.audit.enumeration import Exploration, explore, worst_odds
from deniably.audit.report_checker import Randomise, checked
from deniably.core.errors import BadReport
from deniably.mechanisms.law import Law, Randomiser

PATHS = 1 << 17
"""The maximum of paths of one question: after as many no further answer is walked."""
_EACH = 1 << 13  # of one answer
_NOISE = 1 << 11  # of one answer with noise: its paths are endless, each of hundreds of bits
_UNFINISHED = 3  # answers with unexplored paths after which no further answer is walked


@dataclass(frozen=True)
class Walk:
    """The outcome of walking the branches of a mechanism's code, answer by answer.

    ``answers`` of the mechanism's ``of`` answers were walked, on ``paths`` paths in all.
    ``unexplored_mass`` is the largest probability that was left unwalked for any of them, and
    ``finished`` counts the answers with none left. ``realised`` is the epsilon between the finished
    answers: infinite where one of them rules a report out, None where there are fewer than two.
    ``fault`` says what is wrong, None if nothing is.
    """

    answers: int
    of: int
    paths: int
    unexplored_mass: float
    realised: float | None
    fault: str | None
    finished: int = 0

    @property
    def complete(self) -> bool:
        """Whether every branch of every answer was walked."""
        return self.answers == self.of and not self.unexplored_mass


def walk(mechanism: Randomiser[Law], randomise: Randomise, paths: int = PATHS) -> Walk:
    """Walks the branches of ``randomise`` for as many answers as ``paths`` allow.

    The answers that differ most come first.
    """
    followed, unexplored, walked, unfinished = 0, Fraction(0), 0, 0
    law = mechanism.law
    each = _EACH if law.exact else _NOISE
    laws: list[dict[Hashable, Fraction]] = []
    fault: str | None = None
    for answer in answers(law):
        # Once a fault is found, a few more paths show the realised epsilon.
        if followed >= (_EACH if fault else paths) or unfinished == _UNFINISHED:
            break
        explored = explore(lambda coins, a=answer: randomise(a, coins), each)  # type: ignore[misc]
        followed, walked, unexplored = (
            followed + explored.paths,
            walked + 1,
            max(unexplored, explored.unexplored_mass),
        )
        if explored.unexplored_mass:
            unfinished += 1
        else:
            laws.append(dict(explored.law))
        fault = fault or fault_of(mechanism, answer, explored, law)
    odds = worst_odds(laws)
    if odds is None or odds > mechanism.loss.odds_bound:
        fault = fault or "one report shifts the odds by more than the mechanism's weights say"
    realised = None if len(laws) < 2 else inf if odds is None else log(odds)
    return Walk(walked, law.domain.count, followed, float(unexplored), realised, fault, len(laws))


def fault_of(
    mechanism: Randomiser[Law], answer: Any, explored: Exploration[Hashable], law: Law | None = None
) -> str | None:
    """Returns the first fault in one answer's explored paths, in words; None without one.

    ``law`` is the mechanism's law; without it, it is computed.
    """
    law = law or mechanism.law
    if not explored.draws:
        return "it draws no coin"
    for report, share in explored.law.items():
        try:
            lawful = law.probability(answer, checked(mechanism, report))
        except BadReport as error:
            return f"it makes a report that its mechanism cannot make: {error.why}"
        if share > lawful:
            sure = "" if not explored.unexplored_mass else "at least "
            return (
                f"it gives {answer} the report {report} with probability {sure}{float(share):.6g},"
                f" not {float(lawful):.6g}"
            )
    return None


def answers(law: Law) -> Iterator[Any]:
    """Yields answers of a law: first the two that differ most, then all others.

    Where there are very many, the others are an even selection.
    """
    first = law.extremes
    return chain(first, (answer for answer in law.domain.some(PATHS) if answer not in first))
