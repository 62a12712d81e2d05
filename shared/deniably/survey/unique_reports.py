"""How many lines of a published list of reports are unique, so that a copy finds its line.

Reports carry no name. But a report of many questions is a fingerprint: somebody who sees the copy
that a device keeps finds the one line of a published list that equals it.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache, reduce
from math import comb

from deniably.mechanisms.law import (
    CoinEach,
    CoinForSome,
    Finite,
    HasLaw,
    Law,
    Noise,
    One,
    Several,
    Supporting,
)
from deniably.survey.survey import Survey

MANY = 0.1
"""The share of unique lines from which on a list needs its author's ``linkable``."""

_FEWEST = 10  # lines of a list, where results are shown from fewer on
_MOST_WEIGHTS = 200_000  # of a matrix that is added up; larger ones spread over all outputs


def fewest_lines(survey: Survey) -> int:
    """Returns the smallest number of lines that a published list of reports may have.

    In shorter lists more reports would be unique.
    """
    return max(survey.results.minimum, _FEWEST)


def lone_share(survey: Survey, lines: int) -> float:
    """Returns the expected share of unique lines in a list of ``lines`` reports, for evenly spread
    answers.

    The share is ``(1 - c) ** (lines - 1)``, where c is the probability that two people send the
    same report. In a survey that asks some of the questions both people must have drawn the same
    questions. Where some reports are more frequent than others, this share is a little below the
    truth (Jensen's inequality).
    """
    alike = [_alike(question.mechanism) for question in survey.questions]
    drawn = comb(len(alike), survey.asked)
    # A sum over the sets of questions: P(both drew it) times P(all its reports are equal). The
    # stratum is in the report, too.
    same = _elementary(alike, survey.asked) / drawn**2
    return float((1 - same / max(1, len(survey.every_stratum))) ** (lines - 1))


def _elementary(values: Iterable[float], degree: int) -> float:
    """The sum of all products of ``degree`` of the values."""

    def extended(sums: list[float], value: float) -> list[float]:
        # Elementary symmetric polynomials, value by value: e_i gains value * e_(i-1).
        return [sums[0], *(sums[i] + value * sums[i - 1] for i in range(1, len(sums)))]

    return reduce(extended, values, [1.0, *[0.0] * degree])[degree]


@lru_cache(maxsize=256)
def _alike(mechanism: HasLaw[Law]) -> float:
    """P(two people's reports of a question are equal), near enough for a sentence.

    Of several ticks, as many are assumed as are allowed, but no more than half of all.
    """
    return _of_law(mechanism.law)


def _of_law(law: Law) -> float:
    match law:
        case Supporting(joint=CoinEach(cells=cells)):
            limit = 1 if isinstance(law.domain, One) else law.domain.most
            ticked = Fraction(min(2 * limit, law.k), 2 * law.k)
            return _same_coin(law.q + (law.p - law.q) * ticked) ** cells
        case Supporting(joint=CoinForSome(p=p, q=q, ways=ways)):
            return _same_coin((p + q) / 2) ** law.most / ways
        case Supporting():
            return 1 / comb(law.cell_count, law.most)
        case Finite():
            return _same_output(law)
        case Noise():
            # A little too much for Laplace and Gaussian noise, whose squared densities integrate to
            # less.
            return 1 / (1 + 4 * law.usual)
        case Several():
            sampled = _elementary(map(_of_law, law.parts), law.s)
            return sampled / comb(len(law.parts), law.s) ** 2


def _same_coin(heads: Fraction) -> float:
    return float(heads**2 + (1 - heads) ** 2)


def _same_output(law: Finite) -> float:
    if law.rows * law.outputs > _MOST_WEIGHTS:
        return 1 / law.outputs
    totals = [0.0] * law.outputs
    for row in range(law.rows):
        weights = law.row(row)
        whole = sum(weights) * law.rows
        for output, weight in enumerate(weights):
            totals[output] += weight / whole
    return sum(share**2 for share in totals)
