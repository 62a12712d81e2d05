"""Turns results into rows for spreadsheets and notebooks, one row for each figure.

The column ``figure`` says what a row is: the share of a choice, of a combination or of an area, a
mean, or the share of numbers up to the end of a range. For a question with ``show_if``, "share of
those asked" is the share of a choice among the people who were asked, and "share asked" is the
share of everybody who was asked. ``reads`` is the figure as text, rounded as in sentences and
pictures: "29 %" or "below 9 %"; ``reads_interval`` is its interval, "21 to 38 %". ``count`` counts
reports that support a choice, not people; ``count_of`` says so beside it. With ``p`` and ``q`` of
the question it gives the estimate: (count / n - q) / (p - q). Where a mixer added ``blanks``, which
support a choice with probability ``m``, that is ((count - blanks * m) / n - q) / (p - q).

For a combination, ``part_choice`` has the names of its choices, one for each part of the question,
with semicolons between them. For a range of numbers, ``bucket_low`` and ``bucket_high`` are its
ends. A row "share at most" is about all numbers up to ``bucket_high``: its ``estimate`` never falls
from range to range, while ``unbiased`` is the unbiased estimate, which may fall.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from msgspec import UNSET, structs

from deniably.results import shown
from deniably.results.document import (
    AmongAskedResult,
    AmongChoiceResult,
    BucketResult,
    CellResult,
    ChoicePartResult,
    ChoiceResult,
    MeanResult,
    NumberPartResult,
    PointResult,
    PoisoningResult,
    ProductResult,
    QuestionResult,
    ShareAskedResult,
    SurveyResult,
)
from deniably.results.drawing import rounding
from deniably.results.drawing.rounding import Reading
from deniably.survey.strata import stratum_text

COLUMNS: tuple[str, ...] = (
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
    "part_choice",
    "bucket_low",
    "bucket_high",
    "estimate",
    "unbiased",
    "low",
    "high",
    "confidence",
    "low_80",
    "high_80",
    "low_50",
    "high_50",
    "reads",
    "reads_interval",
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
    "poisoning_exchange",
    "poisoning_shift_1",
    "poisoning_shift_5",
    "poisoning_flip",
    "invited",
    "response_rate",
    "strata",
    "blanks",
    "m",
)
_OF_QUESTIONS = (
    "n", "odds", "epsilon", "delta", "design_effect", "effective_n", "p", "q", "blanks", "m",
)  # fmt: skip
"""Columns that have the same value in all rows of a question."""
_CALLED = {"name": "choice", "label": "choice_label"} | {
    column: column
    for column in ("n", "unit", "count", "estimate", "standard_error", "consistent", "stands_out")
}
"""{key of the document: its column}."""
_BANDS = {"interval_80": "_80", "interval_50": "_50"}
"""{key of a narrower interval: the ending of its two columns}."""
_COUNT_OF = "reports that support the choice, not people"
_WITH_BLANKS = "reports that support the choice, blanks among them, not people"
OF_THOSE_ASKED = "share of those asked"
"""The name of the figure: the share of a choice among those who were asked a question with
``show_if``."""
SHARE_ASKED = "share asked"
"""The name of the figure: the share of everybody who was asked a question with ``show_if``."""
_Figure = ChoiceResult | AmongChoiceResult | ShareAskedResult | MeanResult | CellResult
ResultRow = dict[str, str | float | None]
"""The cells of a row by the name of their column. A column that does not apply is absent or
None."""


def rows(result: SurveyResult) -> Iterator[ResultRow]:
    """Yields the rows of a survey's results, one for each figure; keys are in ``COLUMNS``."""
    survey: ResultRow = {
        "survey": result.survey,
        "digest": result.digest,
        "state": result.state,
        "invited": result.invited,
        "response_rate": result.response_rate,
        "confidence": result.confidence,
        "strata": stratum_text(result.strata or {}),
    }
    for question in result.questions:
        head: ResultRow = survey | {
            "question": question.name,
            "question_label": question.label,
            **{key: _given(question, key) for key in _OF_QUESTIONS},
            **_poisoning(_given(question, "poisoning")),
        }
        for figure in _figures(question):
            row = head | figure
            if question.blanks and "count_of" in figure:
                row["count_of"] = _WITH_BLANKS
            yield row


def rows_among_asked(among: AmongAskedResult) -> Iterator[ResultRow]:
    """Yields one row for each figure about those who were asked a question with ``show_if``,
    without the columns about the survey and the question."""
    yield from (_row(OF_THOSE_ASKED, choice) for choice in among.choices)
    yield _row(SHARE_ASKED, among.asked)


def _given(question: QuestionResult, key: str) -> Any:
    """The value of a key in the document; None if it is absent."""
    value = getattr(question, key, None)
    return None if value is UNSET else value


def _figures(question: QuestionResult) -> Iterator[ResultRow]:
    if among := _given(question, "among_asked"):
        yield from rows_among_asked(among)
    for choice in _given(question, "choices") or ():
        yield _row("share", choice)
    if mean := _given(question, "mean"):
        yield _row("mean", mean)
    for part in _given(question, "parts") or ():
        yield from ({"part": part.name} | row for row in _of_part(part))
    for cell, names in zip(_given(question, "cells") or (), _combinations(question), strict=True):
        yield _row("joint share", cell) | {"part_choice": "; ".join(names)}
    buckets: list[BucketResult] = _given(question, "distribution") or []
    for bucket in buckets:
        yield from _bucket(bucket, _given(question, "fit"), buckets[0].low)


def _combinations(question: QuestionResult) -> Iterator[Sequence[str]]:
    """The names of the choices of each combination; of an area, the ends of its two sides."""
    if isinstance(question, ProductResult):
        yield from product(*([choice.name for choice in part.choices] for part in question.parts))
    elif isinstance(question, PointResult):
        yield from (cell.names for cell in question.cells)


def _of_part(part: NumberPartResult | ChoicePartResult) -> Iterator[ResultRow]:
    if isinstance(part, ChoicePartResult):
        yield from (_row("share", choice) for choice in part.choices)
    elif part.mean:
        yield _row("mean", part.mean) | _poisoning(part.poisoning)


def _poisoning(poisoning: PoisoningResult | None) -> ResultRow:
    if poisoning is None:
        return {}
    return {
        "poisoning_exchange": poisoning.exchange,
        "poisoning_shift_1": poisoning.shift[0],
        "poisoning_shift_5": poisoning.shift[1],
        "poisoning_flip": poisoning.flip,
    }


def _row(figure: str, result: _Figure) -> ResultRow:
    """The row of one figure. An interval fills two columns."""
    row: ResultRow = {"figure": figure}
    for key, value in structs.asdict(result).items():
        if key.endswith("interval"):
            row |= _ends(key.removesuffix("interval"), "", value)
        elif key in _BANDS and value:
            row |= _ends("", _BANDS[key], value)
        elif key in _CALLED:
            row[_CALLED[key]] = value
    if isinstance(result, CellResult):
        row["choice_label"] = "; ".join(result.names)
    row |= _reads(_reading(result))
    if row.get("count") is not None:
        row["count_of"] = _COUNT_OF
    return row


def _reading(result: _Figure) -> Reading:
    if isinstance(result, MeanResult):
        return shown.of_mean("", result).reading
    if isinstance(result, AmongChoiceResult):
        return shown.of_choice_among(result).reading
    return rounding.share(result.estimate, result.interval)


def _reads(reading: Reading) -> ResultRow:
    return {"reads": reading.value, "reads_interval": reading.interval}


def _bucket(bucket: BucketResult, fit: str | None, lowest: str) -> Iterator[ResultRow]:
    yield {
        "figure": "share",
        "choice_label": f"{bucket.low} to {bucket.high}",
        "bucket_low": bucket.low,
        "bucket_high": bucket.high,
        "consistent": bucket.consistent,
        "fit": fit,
    }
    if bucket.at_most_interval:
        yield {
            "figure": "share at most",
            "choice_label": bucket.high,
            "bucket_low": lowest,
            "bucket_high": bucket.high,
            "estimate": bucket.at_most,
            "unbiased": bucket.at_most_unbiased,
            **_reads(rounding.share(bucket.at_most or 0.0, bucket.at_most_interval)),
            **_ends("", "", bucket.at_most_interval),
        }


def _ends(prefix: str, suffix: str, interval: list[float]) -> ResultRow:
    return {f"{prefix}low{suffix}": interval[0], f"{prefix}high{suffix}": interval[1]}
