"""Describes the design of a report set as JSON: what is needed to estimate from every column."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import msgspec

from deniably.core.own_version import own_version
from deniably.mechanisms.law import Finite, Law, Several, Supporting
from deniably.survey.questions import Question
from deniably.workbench.report_columns import (
    RANDOMISED,
    FileColumn,
    FileColumns,
    StratumColumn,
    randomisation_note,
)

LARGEST_CHANNEL = 64
"""The most answers or outputs of a channel whose matrix is written in full."""


def design_of(columns: FileColumns, n: int) -> dict[str, Any]:
    """Returns the design of ``n`` reports as a dict, for JSON.

    Each probability of a column is given twice: exactly, as the text of a fraction, and as the
    nearest double.
    """
    survey = columns.layout.survey
    return {
        "note": randomisation_note(columns.layout),
        "software": f"deniably {own_version()}",
        "survey": survey.name,
        "title": survey.title,
        "digest": survey.digest,
        "n": n,
        "asked": survey.asked,
        **({"part": True} if survey.part else {}),
        "strata": [_stratum(column) for column in columns.strata],
        "questions": [_question(question, columns) for question in survey.questions],
    }


def _stratum(column: StratumColumn) -> dict[str, Any]:
    return {
        "name": column.name,
        "key": column.key,
        "kind": "stratum",
        "label": column.title,
        "randomised": False,
        "values": list(column.categories),
    }


def _question(question: Question, columns: FileColumns) -> dict[str, Any]:
    mechanism = question.report_mechanism
    law, loss = question.mechanism.law, mechanism.loss
    return {
        "name": question.name,
        "type": question.type,
        "label": f"{question.label} {RANDOMISED}",
        "described": mechanism.described,
        "mechanism": msgspec.to_builtins(mechanism),
        "odds": None if loss.exponent else _exact(loss.odds),
        "epsilon": loss.epsilon_text(),
        "delta": _exact(loss.delta),
        "columns": [_column(column) for column in columns.of(question.name)],
    } | ({"channel": matrix} if (matrix := channel(law)) else {})


def _column(column: FileColumn) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": column.name, "kind": column.kind, "label": column.title}
    if column.choice is not None:
        entry["choice"] = column.choice
    if column.part is not None:
        entry["part"] = column.part
    if column.p is not None and column.q is not None:
        entry |= {"p": _exact(column.p), "q": _exact(column.q)}
    return entry


def channel(law: Law) -> dict[str, Any] | None:
    """Returns the matrix of P(output | answer), a row per answer, as a dict for JSON.

    Returns None where the matrix is larger than ``LARGEST_CHANNEL``, and where a report is not a
    single output.
    """
    if isinstance(law, Supporting) and (law.size != 1 or law.both or not law.single):
        return None
    # Noise has no end, or too many outputs, and several numbers have a channel each.
    if isinstance(law, Several) or not isinstance(law, Supporting | Finite):
        return None
    if max(law.k, law.cell_count) > LARGEST_CHANNEL:
        return None
    rows = list(_matrix(law))
    return {
        "exact": law.exact,
        "rows": "answers",
        "fractions": [[str(probability) for probability in row] for row in rows]
        if law.exact
        else None,
        "values": [[float(probability) for probability in row] for row in rows],
    }


def _matrix(law: Supporting | Finite) -> Iterator[list[Fraction]]:
    for answer in range(law.k):
        yield [law.cell_probability(answer, output) for output in range(law.cell_count)]


def _exact(value: Fraction | int) -> dict[str, Any]:
    return {"fraction": str(Fraction(value)), "value": float(value)}
