"""Makes a cross-table of two questions from whole reports. The tallies of two questions are not
enough: they do not tell which reports came together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal, NamedTuple, TypedDict

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from deniably.core.binomial import Floats
from deniably.core.errors import Incomparable
from deniably.estimation.crosstab import Crosstab, SupportRates, count_pairs, likeliest
from deniably.estimation.crosstab_shares import Axis, CountedPairs, Crossing, WeightedPairs
from deniably.estimation.estimate import project
from deniably.estimation.independence import Independence, independence, weighted_independence
from deniably.estimation.intervals import IntervalEnds
from deniably.estimation.shares_within_rows import ConditionalShares
from deniably.estimation.shrinkage_table import FEWEST_CELLS, shrunken_table
from deniably.estimation.tally import Repeated, Values, support_rows
from deniably.estimation.weighted_tally import Weighing
from deniably.mechanisms.law import Supporting
from deniably.results.bands import band, bands
from deniably.results.document import CellResult
from deniably.results.drawing import rounding
from deniably.results.rows import ResultRow
from deniably.survey.questions import OfChoices, Question, SelectMultiple
from deniably.survey.readable import rounded
from deniably.survey.strata import Stratum, stratum_text
from deniably.survey.survey import Survey, show_if

Blocks = Iterable[Values]
"""Reports in blocks, so that memory stays bounded."""
_Bits = npt.NDArray[np.bool_]
_Fit = Literal["maximum_likelihood", "shrinkage", "projection", "clipping"]


RISK = 0.05
"""The p-value below which two answers are said to go together."""


class WithinResult(Struct, frozen=True, kw_only=True):
    """The share of a pair of answers (a cell) among all people with the answer of the cell's row,
    or of its column.

    ``estimate`` and ``standard_error`` are None where ``interval`` is wider than 0.8, since too
    few people gave the answer of the row or column. ``interval_80`` and ``interval_50`` are the
    intervals at 80 and 50 % by the same method; None where there is no estimate, and for a level
    that is not below the ``confidence`` of the document. ``covariance`` is the covariance of two
    estimates: of the cell's share of all people, and of the share of the row or column.
    """

    estimate: float | None
    standard_error: float | None
    interval: list[float]
    interval_80: list[float] | None
    interval_50: list[float] | None
    covariance: float


class CrossedResult(CellResult, frozen=True, kw_only=True):
    """One cell of a cross-table: its share of everybody, and its shares within its row and within
    its column."""

    of_row: WithinResult
    of_column: WithinResult


class MarginResult(Struct, frozen=True, kw_only=True):
    """The share of one answer to one question, among those who were asked both."""

    name: str
    label: str
    estimate: float
    standard_error: float
    interval: list[float]


class CrosstabResult(TypedDict):
    """The shares of all pairs of answers to two questions, with the shares of each question alone.

    ``rows`` and ``columns`` are the labels of the answers, ``row_names`` and ``column_names``
    their names in the definition. ``independence`` is the p-value of the hypothesis that the
    answers to the two questions are independent. It is from a permutation test with ``shuffles``
    permutations of the reports; with too many reports for that, ``shuffles`` is None and the
    p-value is from the chi-squared distribution. ``sentence`` states the outcome of the test.

    ``strata`` has the values that the subgroup of these reports fixes; it is empty for everybody.

    ``fit`` names the method that made the ``consistent`` shares, which are for display.
    "maximum_likelihood" fits whole reports. "shrinkage", in tables of 25 cells or more, shrinks
    the estimates towards independence and empty cells. "projection", where maximum likelihood
    would take long, finds the nearest valid shares. "clipping" moves each estimate into 0..1, for
    questions with several ticks, whose shares do not sum to 1.
    """

    survey: str
    questions: list[str]
    question_names: list[str]
    strata: dict[str, str]
    rows: list[str]
    row_names: list[str]
    columns: list[str]
    column_names: list[str]
    n: int
    confidence: float
    independence: float
    shuffles: int | None
    sentence: str
    fit: _Fit
    row_margins: list[MarginResult]
    column_margins: list[MarginResult]
    cells: list[list[CrossedResult]]


COLUMNS = (
    "survey", "strata", "rows", "rows_label", "columns", "columns_label", "n", "independence",
    "figure", "row", "row_label", "column", "column_label", "estimate", "low", "high",
    "confidence", "standard_error", "covariance", "consistent",
)  # fmt: skip
"""The columns of the CSV of ``crosstab_rows``."""


def crosstab_rows(document: CrosstabResult) -> Iterator[ResultRow]:
    """Yields the rows of a cross-table's CSV: one for each margin, then three for each cell (its
    share of all, within its row and within its column)."""
    rows, columns = document["question_names"]
    first, second = document["questions"]
    head: ResultRow = {
        "survey": document["survey"],
        "strata": stratum_text(document["strata"]),
        "rows": rows,
        "rows_label": first,
        "columns": columns,
        "columns_label": second,
        "n": document["n"],
        "independence": document["independence"],
        "confidence": document["confidence"],
    }
    for which, margins in (
        ("row", document["row_margins"]),
        ("column", document["column_margins"]),
    ):
        for margin in margins:
            place: ResultRow = {which: margin.name, f"{which}_label": margin.label}
            place["figure"] = f"share of the {which}"
            yield head | place | _figures(margin)
    for row, line in zip(document["row_margins"], document["cells"], strict=True):
        for column, cell in zip(document["column_margins"], line, strict=True):
            pair: ResultRow = head | {
                "row": row.name,
                "row_label": row.label,
                "column": column.name,
                "column_label": column.label,
            }
            joint: ResultRow = {"figure": "share of all", "consistent": cell.consistent}
            yield pair | joint | _figures(cell)
            for which, share in (("row", cell.of_row), ("column", cell.of_column)):
                named: ResultRow = {"figure": f"share within the {which}"}
                yield pair | named | _figures(share)


def _figures(shown: MarginResult | CellResult | WithinResult) -> ResultRow:
    low, high = shown.interval
    return {
        "estimate": shown.estimate,
        "low": low,
        "high": high,
        "standard_error": shown.standard_error,
        "covariance": shown.covariance if isinstance(shown, WithinResult) else None,
    }


def is_crossable(question: Question) -> bool:
    """Returns whether a question can be in a cross-table: it has choices, and every report is
    about all choices (and not about a sample of them)."""
    law = question.mechanism.law
    supports = isinstance(question, OfChoices) and isinstance(law, Supporting)
    return supports and law.sampled_fraction == 1


def own_filter(first: Question, second: Question) -> str:
    """Returns the reason, as a clause, why two questions are not crossed if the answer to one
    decides who is asked the other; otherwise an empty string."""
    for question, other in ((first, second), (second, first)):
        condition = show_if(question)
        if condition is not None and condition.question == other.name:
            return (
                f"the answer to {other.name} decides who is asked {question.name}, so a cross-table"
                f" of the two tells nothing more than the results of {question.name}: the shares of"
                " those who were asked"
            )
    return ""


def cell_count(*questions: Question) -> int:
    """Returns the number of cells in the cross-table of these questions."""
    return prod(_crossed(question).k for question in questions)


def crosstab_result(
    survey: Survey,
    chosen: Sequence[int],
    blocks: Iterable[Values | Repeated],
    level: float,
    strata: Stratum | None = None,
    weighing: Weighing | None = None,
) -> CrosstabResult:
    """Returns the cross-table of the two questions with the indices ``chosen``; the first is in
    the rows.

    ``blocks`` has the reports to both questions. ``level`` is the confidence. ``strata`` has the
    values that the subgroup of these reports fixes, None for everybody. ``weighing`` has a weight
    for each report that answers both questions, in the order of the reports. Raises Incomparable
    if no report answers both questions, and BadModel if the weights cannot be used.
    """
    first, second = _supports(survey, chosen, blocks)
    questions = [survey.questions[index] for index in chosen]
    rate, other = map(_rates, questions)
    table: Crossing = (
        CountedPairs(count_pairs(first, second), (rate, other))
        if weighing is None
        else WeightedPairs(weighing.tally_of_pairs(first, second), (rate, other))
    )
    estimates = table.cells(level)
    # In the order of the survey, so that turning the table does not change the p-value.
    ordered = (first, second) if chosen[0] < chosen[1] else (second, first)
    weights = None if weighing is None else weighing.people
    test = independence(*ordered) if weights is None else weighted_independence(*ordered, weights)
    shown = _for_display(questions, table, (first, second), estimates.raw, weights)
    crossed = [question for question in questions if isinstance(question, OfChoices)]
    rows, columns = ([choice.label for choice in question.choices] for question in crossed)
    row_names, column_names = (list(question.names) for question in crossed)
    return {
        "survey": survey.name,
        "questions": [question.label for question in questions],
        "question_names": [question.name for question in questions],
        "strata": dict(sorted((strata or {}).items())),
        "rows": rows,
        "row_names": row_names,
        "columns": columns,
        "column_names": column_names,
        "n": table.n,
        "confidence": level,
        "independence": round(test.p_value, 6),
        "shuffles": test.shuffles,
        "sentence": _association(test),
        "fit": shown.fit,
        "row_margins": _margins(crossed[0], table, 0, level),
        "column_margins": _margins(crossed[1], table, 1, level),
        "cells": _cells(
            (rows, columns),
            estimates,
            shown.shares,
            _shares(table, 0, level),
            _shares(table, 1, level),
        ),
    }


def _association(test: Independence) -> str:
    """What the test of independence says, with its p-value."""
    p = test.p_value
    if p >= RISK:
        return f"These reports do not show that the two go together ({rounding.p_value(p, 2)})."
    alone = f"{1000 * p:.0f}" if p >= 0.001 else "fewer than 1"
    return (
        f"They go together ({rounding.p_value(p)}: chance alone would show this much in {alone} of"
        " 1,000 surveys)."
    )


def _margins(question: OfChoices, table: Crossing, axis: Axis, level: float) -> list[MarginResult]:
    """The shares of one question's answers, as in the results."""
    estimates = table.margin(axis, level)
    return [
        MarginResult(
            name=choice.name,
            label=choice.label,
            estimate=rounded(estimates.raw[index]),
            standard_error=rounded(estimates.standard_error[index]),
            interval=[rounded(estimates.low[index]), rounded(estimates.high[index])],
        )
        for index, choice in enumerate(question.choices)
    ]


@dataclass(frozen=True, eq=False)
class _Shares:
    """Shares within the rows or the columns, with the intervals at 80 and 50 %."""

    within: ConditionalShares
    eighty: IntervalEnds | None
    fifty: IntervalEnds | None

    def cell(self, a: int, b: int) -> WithinResult:
        """One of them as it is in the document."""
        shares, at = self.within, (a, b)
        # An estimate of nan marks a row or column that is too small.
        known = not np.isnan(shares.raw[at])
        return WithinResult(
            estimate=rounded(shares.raw[at]) if known else None,
            standard_error=rounded(shares.standard_error[at]) if known else None,
            interval=[rounded(shares.low[at]), rounded(shares.high[at])],
            interval_80=band(self.eighty, at) if known else None,
            interval_50=band(self.fifty, at) if known else None,
            # Covariances are far below 1: significant digits, not decimals.
            covariance=float(f"{shares.covariance[at]:.6g}"),
        )


def _shares(table: Crossing, axis: Axis, level: float) -> _Shares:
    def at(level: float) -> IntervalEnds:
        shares = table.within(axis, level)
        return shares.low, shares.high

    shares = table.within(axis, level)
    return _Shares(shares, *bands((shares.low, shares.high), at, level))


def _cells(
    labels: tuple[list[str], list[str]],
    estimates: Crosstab,
    shown: Floats,
    of_row: _Shares,
    of_column: _Shares,
) -> list[list[CrossedResult]]:
    return [
        [
            CrossedResult(
                names=[row, column],
                estimate=rounded(estimates.raw[a, b]),
                standard_error=rounded(estimates.standard_error[a, b]),
                interval=[rounded(estimates.low[a, b]), rounded(estimates.high[a, b])],
                consistent=rounded(shown[a, b]),
                of_row=of_row.cell(a, b),
                of_column=of_column.cell(a, b),
            )
            for b, column in enumerate(labels[1])
        ]
        for a, row in enumerate(labels[0])
    ]


class _Displayed(NamedTuple):
    """Joint shares for pictures, and how they were made."""

    fit: _Fit
    shares: Floats


def _for_display(
    questions: list[Question],
    table: Crossing,
    supports: tuple[_Bits, _Bits],
    raw: Floats,
    weights: Floats | None,
) -> _Displayed:
    """Joint shares within [0, 1]; they sum to 1 if both questions are single choices."""
    if any(isinstance(question, SelectMultiple) for question in questions):
        # Several ticks are no distribution: there is nothing for the shares to sum to.
        return _Displayed("clipping", np.clip(raw, 0, 1))
    first, other = questions
    if raw.size >= FEWEST_CELLS:
        return _Displayed("shrinkage", shrunken_table(table.kinds, (_rates(first), _rates(other))))
    # The likelihood of a single choice depends only on the odds of a report, as p and q follow from
    # them.
    odds = float(first.mechanism.loss.odds), float(other.mechanism.loss.odds)
    shares = likeliest(*supports, odds, weights)
    if shares is None:
        return _Displayed("projection", project(raw.ravel()).reshape(raw.shape))
    return _Displayed("maximum_likelihood", shares)


def _supports(
    survey: Survey, chosen: Sequence[int], blocks: Iterable[Values | Repeated]
) -> list[_Bits]:
    """The choices that the reports of each respondent support, of people asked both questions.

    Packed until all are there: a list of blocks beside the whole would take twice the memory.
    """
    laws = [_crossed(survey.questions[index]) for index in chosen]
    places = [sorted(chosen).index(index) for index in chosen]
    parts: list[list[npt.NDArray[np.uint8]]] = [[] for _ in chosen]
    for block in blocks:
        # Equal reports may come once, with their number.
        values, counts = block if isinstance(block, Repeated) else (block, [1] * len(block))
        # Devices may draw which questions they report: only people with both count.
        complete = [number for number, row in enumerate(values) if None not in row]
        both, times = (
            [values[number] for number in complete],
            [counts[number] for number in complete],
        )
        for part, law, place in zip(parts, laws, places, strict=True):
            rows = [row[place] or () for row in both]
            # Cells from k on are blanks that pad answers; they are no choices.
            supports = support_rows(rows, law.cell_count)[:, law.own_cells]
            part.append(np.repeat(np.packbits(supports, axis=1), times, axis=0))
    if not any(map(len, parts[0])):
        raise Incomparable("no respondent was asked both questions")
    return [
        np.unpackbits(np.concatenate(part), axis=1, count=law.k).view(np.bool_)
        for part, law in zip(parts, laws, strict=True)
    ]


def _rates(question: Question) -> SupportRates:
    """p and q."""
    law = _crossed(question)
    return float(law.p), float(law.q)


def _crossed(question: Question) -> Supporting:
    law = question.mechanism.law
    assert isinstance(law, Supporting)
    return law
