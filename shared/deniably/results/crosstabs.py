"""Makes a cross-table of two questions from whole reports; tallies do not have it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Literal, TypedDict

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import Floats
from deniably.core.errors import Incomparable
from deniably.estimation.crosstab import count_pairs, crosstab, likeliest
from deniably.estimation.estimate import project
from deniably.estimation.independence import independence
from deniably.estimation.tally import support_rows
from deniably.mechanisms.law import Supporting
from deniably.results.document import CellResult
from deniably.survey.questions import OfChoices, Question, SelectMultiple
from deniably.survey.readable import rounded
from deniably.survey.survey import Survey

Blocks = Iterable[Sequence[Sequence[list[int] | None]]]
"""Some reports at a time: of each the values of the chosen questions, in the survey's order."""
_Bits = npt.NDArray[np.bool_]
_Fit = Literal["maximum_likelihood", "projection", "clipping"]


class CrosstabResult(TypedDict):
    """Shares of all pairs of answers (``rows`` by ``columns``, labels, with their names in the
    definition beside them), with their margins, and ``independence``, the p-value of the
    hypothesis that the two answers have nothing to do with each other: by as many ``shuffles`` of
    the reports, or where that is None, of so many reports that shuffling would take long, by the
    chi-squared distribution.

    ``fit`` says how the shares for display were made: by maximum likelihood from whole reports;
    where that would take long, as the nearest shares to the estimates; and of several ticks a
    person, which do not sum to 1, from the estimates one by one."""

    survey: str
    questions: list[str]
    question_names: list[str]
    rows: list[str]
    row_names: list[str]
    columns: list[str]
    column_names: list[str]
    n: int
    confidence: float
    independence: float
    shuffles: int | None
    fit: _Fit
    cells: list[list[CellResult]]


def is_crossable(question: Question) -> bool:
    """Whether its answers can be crossed with those to another question."""
    law = question.mechanism.law
    supports = isinstance(question, OfChoices) and isinstance(law, Supporting)
    return supports and law.sampled_fraction == 1


def cell_count(*questions: Question) -> int:
    """How many cells their cross-table has."""
    return prod(_crossed(question).k for question in questions)


def crosstab_result(
    survey: Survey, chosen: Sequence[int], blocks: Blocks, level: float
) -> CrosstabResult:
    """The cross-table of two questions by their indices, the first in rows.

    Raises Incomparable if nobody was asked both.
    """
    first, second = _supports(survey, chosen, blocks)
    rate, other = (_rates(survey.questions[index]) for index in chosen)
    found = crosstab(count_pairs(first, second), rate, other, level)
    # In the order of the survey, so that turning the table does not change the p-value.
    ordered = (first, second) if chosen[0] < chosen[1] else (second, first)
    test = independence(*ordered)
    questions = [survey.questions[index] for index in chosen]
    fit, shown = _for_display(questions, first, second, found.raw)
    crossed = [question for question in questions if isinstance(question, OfChoices)]
    rows, columns = ([choice.label for choice in question.choices] for question in crossed)
    row_names, column_names = (list(question.names) for question in crossed)
    return {
        "survey": survey.name,
        "questions": [question.label for question in questions],
        "question_names": [question.name for question in questions],
        "rows": rows,
        "row_names": row_names,
        "columns": columns,
        "column_names": column_names,
        "n": found.n,
        "confidence": level,
        "independence": round(test.p_value, 6),
        "shuffles": test.shuffles,
        "fit": fit,
        "cells": [
            [
                CellResult(
                    names=[row, column],
                    estimate=rounded(found.raw[a, b]),
                    standard_error=rounded(found.standard_error[a, b]),
                    interval=[rounded(found.low[a, b]), rounded(found.high[a, b])],
                    consistent=rounded(shown[a, b]),
                )
                for b, column in enumerate(columns)
            ]
            for a, row in enumerate(rows)
        ],
    }


def _for_display(
    questions: list[Question], first: _Bits, second: _Bits, raw: Floats
) -> tuple[_Fit, Floats]:
    """Joint shares within [0, 1]; they sum to 1 if both questions are single choices."""
    if any(isinstance(question, SelectMultiple) for question in questions):
        return "clipping", np.clip(raw, 0, 1)
    one, other = (float(question.mechanism.loss.odds) for question in questions)
    shares = likeliest(first, second, (one, other))
    if shares is None:
        return "projection", project(raw.ravel()).reshape(raw.shape)
    return "maximum_likelihood", shares


def _supports(survey: Survey, chosen: Sequence[int], blocks: Blocks) -> list[_Bits]:
    """The choices that the reports of each respondent support, of people asked both questions.

    Packed until all are there: a list of blocks beside the whole would take twice the memory.
    """
    laws = [_crossed(survey.questions[index]) for index in chosen]
    places = [sorted(chosen).index(index) for index in chosen]
    parts: list[list[npt.NDArray[np.uint8]]] = [[] for _ in chosen]
    for block in blocks:
        both = [row for row in block if None not in row]
        for part, law, place in zip(parts, laws, places, strict=True):
            rows = [row[place] or () for row in both]
            supports = support_rows(rows, law.cell_count)[:, : law.k]
            part.append(np.packbits(supports, axis=1))
    if not any(map(len, parts[0])):
        raise Incomparable("no respondent was asked both questions")
    return [
        np.unpackbits(np.concatenate(part), axis=1, count=law.k).view(np.bool_)
        for part, law in zip(parts, laws, strict=True)
    ]


def _rates(question: Question) -> tuple[float, float]:
    """p and q."""
    law = _crossed(question)
    return float(law.p), float(law.q)


def _crossed(question: Question) -> Supporting:
    law = question.mechanism.law
    assert isinstance(law, Supporting)
    return law
