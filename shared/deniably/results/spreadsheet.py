"""Results as CSV that is safe to open: a label must never run as a formula.

One row a figure: a share of a choice, of a combination or of an area, a mean, or the share of
numbers up to the end of a range; the column ``figure`` says which. A ``count`` is of reports that
support a choice and not of people, as ``count_of`` says beside it; with ``p`` and ``q`` of the
question it gives the estimate, (count / n - q) / (p - q).
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

from msgspec import UNSET, structs

from deniably.results.document import (
    BucketResult,
    CellResult,
    ChoicePartResult,
    ChoiceResult,
    CraftedResult,
    MeanResult,
    NumberPartResult,
    QuestionResult,
    SurveyResult,
)

_COLUMNS: tuple[str, ...] = (
    "survey",
    "digest",
    "state",
    "question",
    "question_label",
    "n",
    "odds",
    "epsilon",
    "design_effect",
    "effective_n",
    "choice",
    "choice_label",
    "estimate",
    "low",
    "high",
    "confidence",
    "standard_error",
    "count",
    "count_of",
    "p",
    "q",
    "joint_low",
    "joint_high",
    "consistent",
    "respondents_low",
    "respondents_high",
    "figure",
    "part",
    "unit",
    "delta",
    "stands_out",
    "fit",
    "crafted_exchange",
    "crafted_shift_1",
    "crafted_shift_5",
    "crafted_flip",
    "invited",
    "response_rate",
)
_OF_QUESTIONS = ("n", "odds", "epsilon", "delta", "design_effect", "effective_n", "p", "q")
"""Columns that are of a question."""
_CALLED = {"name": "choice", "label": "choice_label"} | {
    column: column
    for column in ("n", "unit", "count", "estimate", "standard_error", "consistent", "stands_out")
}
"""In which column what is shown of a figure stands."""
_COUNT_OF = "reports that support the choice, not people"
_FORMULA = "=+\\-@＝＋－＠"
"""What a formula may begin with, also in the wide forms that some spreadsheets read so."""
_STARTS = re.compile(rf"(?:^(?=[\t\r])|(?:^|[;\t\r\n])[\s\"']*(?=[{_FORMULA}]))")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?", re.ASCII)

_Row = dict[str, str | float | None]


def spreadsheet(result: SurveyResult) -> str:
    """The result with one row a figure, under a row of column names."""
    out = io.StringIO()
    writer = csv.DictWriter(out, _COLUMNS, restval=None)
    writer.writeheader()
    writer.writerows({key: _safe(cell) for key, cell in row.items()} for row in _rows(result))
    return out.getvalue()


def _rows(result: SurveyResult) -> Iterator[_Row]:
    survey: _Row = {
        "survey": result.survey,
        "digest": result.digest,
        "state": result.state,
        "invited": result.invited,
        "response_rate": result.response_rate,
        "confidence": result.confidence,
    }
    for question in result.questions:
        asked: _Row = survey | {
            "question": question.name,
            "question_label": question.label,
            **{key: _told(question, key) for key in _OF_QUESTIONS},
            **_crafted(_told(question, "crafted")),
        }
        for figure in _figures(question):
            yield asked | figure


def _told(question: QuestionResult, key: str) -> Any:
    """What the document says under a key; None where it has no such."""
    found = getattr(question, key, None)
    return None if found is UNSET else found


def _figures(question: QuestionResult) -> Iterator[_Row]:
    for choice in _told(question, "choices") or ():
        yield _row("share", choice)
    if mean := _told(question, "mean"):
        yield _row("mean", mean)
    for part in _told(question, "parts") or ():
        yield from ({"part": part.name} | row for row in _of_part(part))
    for cell in _told(question, "cells") or ():
        yield _row("joint share", cell)
    for bucket in _told(question, "distribution") or ():
        yield from _bucket(bucket, _told(question, "fit"))


def _of_part(part: NumberPartResult | ChoicePartResult) -> Iterator[_Row]:
    if isinstance(part, ChoicePartResult):
        yield from (_row("share", choice) for choice in part.choices)
    elif part.mean:
        yield _row("mean", part.mean) | _crafted(part.crafted)


def _crafted(crafted: CraftedResult | None) -> _Row:
    if crafted is None:
        return {}
    return {
        "crafted_exchange": crafted.exchange,
        "crafted_shift_1": crafted.shift[0],
        "crafted_shift_5": crafted.shift[1],
        "crafted_flip": crafted.flip,
    }


def _row(figure: str, shown: ChoiceResult | MeanResult | CellResult) -> _Row:
    """What is shown of a figure, each in the column of its name; an interval in two."""
    row: _Row = {"figure": figure}
    for key, value in structs.asdict(shown).items():
        if key.endswith("interval"):
            row |= _ends(key.removesuffix("interval"), value)
        elif key in _CALLED:
            row[_CALLED[key]] = value
    if isinstance(shown, CellResult):
        row["choice_label"] = "; ".join(shown.names)
    if row.get("count") is not None:
        row["count_of"] = _COUNT_OF
    return row


def _bucket(bucket: BucketResult, fit: str | None) -> Iterator[_Row]:
    reach = f"{bucket.low} to {bucket.high}"
    yield {"figure": "share", "choice_label": reach, "consistent": bucket.consistent, "fit": fit}
    if bucket.at_most_interval:
        yield {
            "figure": "share at most",
            "choice_label": bucket.high,
            "estimate": bucket.at_most,
            **_ends("", bucket.at_most_interval),
        }


def _ends(prefix: str, interval: list[float]) -> _Row:
    return {f"{prefix}low": interval[0], f"{prefix}high": interval[1]}


def _safe(cell: str | float | None) -> str | float | None:
    """A text that a spreadsheet would take for a formula gets an apostrophe in front; so does each
    part of it that stands in a cell of its own where cells end at a semicolon, a tab or a line
    (in much of Europe, and quotation marks do not help there). A number stays one."""
    if not isinstance(cell, str) or _NUMBER.fullmatch(cell):
        return cell
    return _STARTS.sub(lambda start: f"{start[0]}'", cell)
