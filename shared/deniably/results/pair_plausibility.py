"""Checks whether reports name pairs of choices together as often as the randomisation makes them.

Fake reports that promote some choices name these together far more often than honest reports do. A
tally does not show that; whole reports do.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict

from deniably.estimation.figures import Shares, groups
from deniably.estimation.tally import Repeated
from deniably.mechanisms.law import Supporting
from deniably.results.plausibility import (
    RISK,
    ImplausiblePair,
    PairCounts,
    implausible_pairs,
    says_pairs,
)
from deniably.survey.questions import OfOneChoice, Point, Product
from deniably.survey.survey import Survey

_Paired = OfOneChoice | Product | Point
_MOST_PAIRS = 20


class PairResult(TypedDict):
    """Two choices: the number of reports that name both (``together``), and the number that is
    ``expected`` if reports are honest."""

    names: list[str]
    together: int
    expected: float


class CheckedResult(TypedDict):
    """The check of one question, with ``n``, the number of reports, and ``pairs``, the number of
    pairs of choices that were checked.

    ``odd`` has the implausible pairs, at most 20, the most implausible first.
    """

    name: str
    label: str
    n: int
    pairs: int
    odd: list[PairResult]


class ChecksResult(TypedDict):
    """The checks of all questions whose reports name several choices.

    If reports are honest, the probability that any pair is in ``odd`` is at most ``risk``.
    """

    survey: str
    risk: float
    questions: list[CheckedResult]


def checks_result(survey: Survey, reports: Iterable[tuple[int, Repeated]]) -> ChecksResult:
    """Returns the document that lists pairs of choices which implausibly many, or few, reports of
    a survey name together.

    Each item of ``reports`` has reports to one question: (index of the question in
    ``checkable(survey)``, (distinct values, how often each occurs)).
    """
    chosen = checkable(survey)
    counts = [PairCounts(law.k) for _, _, law in chosen]
    for place, (values, times) in reports:
        answered = [
            (value, count)
            for (value,), count in zip(values, times, strict=True)
            if value is not None
        ]
        # Only the counts of pairs are kept, not the reports: there may be millions.
        counts[place].add((value for value, _ in answered), (count for _, count in answered))
    questions: list[CheckedResult] = []
    for (_, question, law), count in zip(chosen, counts, strict=True):
        # The risk is shared out over the questions (Bonferroni).
        pairs = implausible_pairs(law, count.n, count.both, RISK / len(chosen))
        questions.append(_checked(question, count.n, law.k, pairs))
    return {"survey": survey.name, "risk": RISK, "questions": questions}


def checkable(survey: Survey) -> list[tuple[int, _Paired, Supporting]]:
    """Returns the questions with one answer whose reports name several choices, each as (index in
    the survey, question, probability law of reports)."""
    return [
        (index, question, law)
        for index, question in enumerate(survey.questions)
        if isinstance(question, _Paired)
        if isinstance(law := question.mechanism.law, Supporting) and says_pairs(law)
    ]


def _checked(question: _Paired, n: int, k: int, pairs: list[ImplausiblePair]) -> CheckedResult:
    names = _names(question)
    return {
        "name": question.name,
        "label": question.label,
        "n": n,
        "pairs": k * (k - 1) // 2,
        "odd": [
            {
                "names": [names[pair.first], names[pair.second]],
                "together": pair.together,
                "expected": round(pair.expected, 1),
            }
            for pair in pairs[:_MOST_PAIRS]
        ],
    }


def _names(question: _Paired) -> list[str]:
    """The label of each cell."""
    if not isinstance(question, Product | Point):
        return [choice.label for choice in question.choices]
    (cells,) = [
        group for group in groups(question) if isinstance(group, Shares) and group.part is None
    ]
    return [share.label for share in cells.figures]
