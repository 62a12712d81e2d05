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

from deniably_server.results.crafted import CraftedResult
from deniably_server.results.result import (
    AreaResult,
    BucketResult,
    ChoiceResult,
    MeanResult,
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
        "survey": result["survey"],
        "digest": result["digest"],
        "state": result["state"],
        "invited": result["invited"],
        "response_rate": result["response_rate"],
        "confidence": result["confidence"],
    }
    for question in result["questions"]:
        asked: _Row = survey | {
            "question": question["name"],
            "question_label": question["label"],
            "n": question["n"],
            "odds": question["odds"],
            "epsilon": question["epsilon"],
            "delta": question["delta"],
            "design_effect": question["design_effect"],
            "effective_n": question["effective_n"],
            "p": question["p"],
            "q": question["q"],
            **_crafted(question["crafted"]),
        }
        for figure in _figures(question):
            yield asked | figure


def _figures(question: QuestionResult) -> Iterator[_Row]:
    yield from map(_share, question["choices"])
    if question["mean"]:
        yield _mean(question["mean"])
    for part in question["parts"]:
        named: _Row = {"part": part["name"]}
        if part["mean"]:
            yield named | _mean(part["mean"]) | _crafted(part["crafted"])
        yield from (named | _share(choice) for choice in part["choices"])
    yield from map(_cell, question["cells"])
    for bucket in question["distribution"]:
        yield from _bucket(bucket, question["fit"])


def _crafted(crafted: CraftedResult | None) -> _Row:
    if crafted is None:
        return {}
    return {
        "crafted_exchange": crafted["exchange"],
        "crafted_shift_1": crafted["shift"][0],
        "crafted_shift_5": crafted["shift"][1],
        "crafted_flip": crafted["flip"],
    }


def _share(choice: ChoiceResult) -> _Row:
    return {
        "figure": "share",
        "choice": choice["name"],
        "choice_label": choice["label"],
        "count": choice["count"],
        "count_of": None if choice["count"] is None else _COUNT_OF,
        "estimate": choice["estimate"],
        "standard_error": choice["standard_error"],
        "consistent": choice["consistent"],
        "stands_out": choice["stands_out"],
        **_ends("", choice["interval"]),
        **_ends("joint_", choice["joint_interval"]),
        **_ends("respondents_", choice["respondents_interval"]),
    }


def _mean(mean: MeanResult) -> _Row:
    return {
        "figure": "mean",
        "n": mean["n"],
        "unit": mean["unit"],
        "estimate": mean["estimate"],
        "standard_error": mean["standard_error"],
        **_ends("", mean["interval"]),
        **_ends("respondents_", mean["respondents_interval"]),
    }


def _cell(cell: AreaResult) -> _Row:
    return {
        "figure": "joint share",
        "choice_label": "; ".join(cell["names"]),
        "estimate": cell["estimate"],
        "standard_error": cell["standard_error"],
        "consistent": cell["consistent"],
        "stands_out": cell["stands_out"],
        **_ends("", cell["interval"]),
    }


def _bucket(bucket: BucketResult, fit: str | None) -> Iterator[_Row]:
    reach = f"{bucket['low']} to {bucket['high']}"
    yield {
        "figure": "share",
        "choice_label": reach,
        "consistent": bucket["consistent"],
        "fit": fit,
    }
    if bucket["at_most_interval"]:
        yield {
            "figure": "share at most",
            "choice_label": bucket["high"],
            "estimate": bucket["at_most"],
            **_ends("", bucket["at_most_interval"]),
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
