"""Results as CSV that is safe to open: a label must never run as a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from deniably_server.result import SurveyResult

_COLUMNS = (
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
    "count",
    "estimate",
    "standard_error",
    "low",
    "high",
    "joint_low",
    "joint_high",
    "consistent",
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def spreadsheet(result: SurveyResult) -> str:
    """The result with one row a choice, under a row of column names."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(_COLUMNS)
    writer.writerows([_safe(cell) for cell in row] for row in _rows(result))
    return out.getvalue()


def _rows(result: SurveyResult) -> Iterator[tuple[str | float | None, ...]]:
    survey = (result["survey"], result["digest"], result["state"])
    for question in result["questions"]:
        asked = (
            question["name"],
            question["label"],
            question["n"],
            question["odds"],
            question["epsilon"],
            question["design_effect"],
            question["effective_n"],
        )
        for choice in question["choices"]:
            yield (
                *survey,
                *asked,
                choice["name"],
                choice["label"],
                choice["count"],
                choice["estimate"],
                choice["standard_error"],
                *choice["interval"],
                *choice["joint_interval"],
                choice["consistent"],
            )


def _safe(cell: str | float | None) -> str | float | None:
    """A text that a spreadsheet would take for a formula gets an apostrophe in front."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
