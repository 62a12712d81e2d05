"""What tallies cannot tell: how two answers go together, and where groups lie on a map.

Both are computed when asked for; a cross-table reads every report of its survey.
"""

from __future__ import annotations

from math import prod
from typing import Literal, TypedDict

import numpy as np
import numpy.typing as npt
from flask import Blueprint, Response, render_template, request

from deniably.core.binomial import Floats
from deniably.estimation.clusters import Clusters, clusters
from deniably.estimation.crosstab import count_pairs, crosstab, likeliest
from deniably.estimation.estimate import project
from deniably.estimation.independence import independence
from deniably.estimation.tally import support_rows
from deniably.mechanisms.law import Supporting
from deniably.survey.questions import Point, Question, Scale, SelectMultiple, SelectOne, YesNo
from deniably.survey.survey import Survey
from deniably_server.api.analysts import or_ask_for_a_token
from deniably_server.api.costly import costly
from deniably_server.api.results import (
    LEVEL,
    confidence,
    current_results,
    given_query,
)
from deniably_server.api.visibility import RESULTS, closed_survey, seen
from deniably_server.errors import BadParameter, NotFound, TooMuch
from deniably_server.guard.current import current_store
from deniably_server.results import charts
from deniably_server.results.document import CellResult, PointResult
from deniably_server.web.answer import json_answer
from deniably_server.web.body import JSON
from deniably_server.web.operation import NAMED, PAGE, Operation, Parameters

blueprint = Blueprint("together", __name__)

_PAIR: Parameters = {"rows!": NAMED, "columns!": NAMED, **LEVEL}
_GROUPS: Parameters = {"question!": NAMED, "count": {"type": "integer", "minimum": 1}}

_Crossable = YesNo | SelectOne | SelectMultiple | Scale
_Bits = npt.NDArray[np.bool_]
_Fit = Literal["maximum_likelihood", "projection", "clipping"]
_MOST_LINKS = 15
_MOST_GROUPS = 12
_MOST_CELLS = 1_000
"""Of a cross-table: some seconds with 300,000 reports, and more than anybody reads."""


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


class GroupResult(TypedDict):
    """One group on a map: its middle in the map's units, its share, and their standard errors."""

    centre: list[float]
    centre_error: float
    share: float
    share_error: float


class GroupsResult(TypedDict):
    """The groups of one map."""

    survey: str
    question: str
    n: int
    spread: float
    resamples: int
    groups: list[GroupResult]


@blueprint.get("/api/surveys/<name>/crosstab")
@Operation({200: {JSON: CrosstabResult}}, RESULTS, query=_PAIR)
@costly("reports")
def crosstab_as_json(name: str) -> Response:
    """How the answers to the questions ``rows`` and ``columns`` go together."""
    return json_answer(current_crosstab(name))


@blueprint.get("/surveys/<name>/crosstab")
@Operation(PAGE, RESULTS, query=_PAIR)
@or_ask_for_a_token
@costly("reports")
def crosstab_page(name: str) -> str:
    """The same for people."""
    table = current_crosstab(name)
    query = given_query("rows", "columns", "confidence")
    return render_template(
        "crosstab.html",
        table=table,
        title=_title(name),
        query=query,
        same_level=given_query("confidence"),
    )


@blueprint.get("/api/surveys/<name>/groups")
@Operation({200: {JSON: GroupsResult}}, RESULTS, query=_GROUPS)
@costly("tallies")
def groups_as_json(name: str) -> Response:
    """``count`` groups on the map of ``question``."""
    return json_answer(_groups(name)[1])


@blueprint.get("/surveys/<name>/groups")
@Operation(PAGE, RESULTS, query=_GROUPS)
@or_ask_for_a_token
@costly("tallies")
def groups_page(name: str) -> str:
    """The same for people, with a picture."""
    question, found = _groups(name)
    shown = next(one for one in current_results(name).questions if one.name == question.name)
    assert isinstance(shown, PointResult)
    picture = charts.heat_map(
        question.name,
        question.label,
        [part.label for part in question.parts],
        shown.cells,
        [_on_square(question, group) for group in found["groups"]],
    )
    return render_template(
        "groups.html", found=found, question=question, picture=picture, title=_title(name)
    )


def current_crosstab(name: str) -> CrosstabResult:
    """The cross-table that the request asks for. Raises BadParameter, NotFound or Hidden."""
    level = confidence()
    survey = closed_survey(name)
    chosen = [_asked(survey, key) for key in ("rows", "columns")]
    if chosen[0] == chosen[1]:
        raise BadParameter("“rows” and “columns” name the same question; name two")
    if (cells := _cells(*(survey.questions[index] for index in chosen))) > _MOST_CELLS:
        raise TooMuch(
            f"a cross-table has at most {_MOST_CELLS:,} cells, and this one would have {cells:,};"
            " choose questions with fewer choices, or take the shares of each question by itself"
            f" from /api/surveys/{name}/results.csv"
        )
    first, second = _supports(survey, chosen)
    rate, other = (_rates(survey.questions[index]) for index in chosen)
    found = crosstab(count_pairs(first, second), rate, other, level)
    # In the order of the survey, so that turning the table does not change the p-value.
    ordered = (first, second) if chosen[0] < chosen[1] else (second, first)
    test = independence(*ordered)
    questions = [survey.questions[index] for index in chosen]
    fit, shown = _for_display(questions, first, second, found.raw)
    crossed = [question for question in questions if isinstance(question, _Crossable)]
    rows, columns = ([choice.label for choice in question.choices] for question in crossed)
    row_names, column_names = (list(question.names) for question in crossed)
    return {
        "survey": name,
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
                    estimate=_round(found.raw[a, b]),
                    standard_error=_round(found.standard_error[a, b]),
                    interval=[_round(found.low[a, b]), _round(found.high[a, b])],
                    consistent=_round(shown[a, b]),
                )
                for b, column in enumerate(columns)
            ]
            for a, row in enumerate(rows)
        ],
    }


def _for_display(
    questions: list[Question], first: _Bits, second: _Bits, raw: Floats
) -> tuple[_Fit, Floats]:
    """Joint shares within [0, 1], which of single choices sum to 1."""
    if any(isinstance(question, SelectMultiple) for question in questions):
        return "clipping", np.clip(raw, 0, 1)
    one, other = (float(question.once.loss.odds) for question in questions)
    shares = likeliest(first, second, (one, other))
    if shares is None:
        return "projection", project(raw.ravel()).reshape(raw.shape)
    return "maximum_likelihood", shares


def links(survey: Survey, state: str) -> list[tuple[str, str]]:
    """Addresses below the dashboard with their texts; the first few where there are many pairs."""
    crossable = [question for question in survey.questions if _is_crossable(question)]
    found = [
        (f"crosstab?rows={one.name}&columns={other.name}", f"{one.label} × {other.label}")
        for index, one in enumerate(crossable)
        for other in crossable[index + 1 :]
        if survey.asked > 1 and state == "closed" and _cells(one, other) <= _MOST_CELLS
    ][:_MOST_LINKS]
    found += [
        (f"groups?question={question.name}&count={count}", f"{question.label}: {count} groups")
        for question in survey.questions
        if isinstance(question, Point)
        for count in (2, 3, 4, 5)
    ]
    return found


def _groups(name: str) -> tuple[Point, GroupsResult]:
    store, survey = current_store(), seen(name).survey
    wanted = request.args.get("question", "")
    question = next((q for q in survey.questions if q.name == wanted), None)
    if not isinstance(question, Point):
        points = [one.name for one in survey.questions if isinstance(one, Point)]
        if not points:
            raise BadParameter("this survey asks for no place on a map, so there are no groups")
        raise BadParameter(
            f"“question” names a question for a place on a map: {', '.join(points)}; such as"
            f" ?question={points[0]}&count=3"
        )
    count = request.args.get("count", "3")
    if not count.isdecimal() or not 1 <= int(count[:9]) <= _MOST_GROUPS:
        raise BadParameter(f"“count” is the number of groups, from 1 to {_MOST_GROUPS}")
    try:
        found = clusters(question, store.shown_tally(name)[question.name], int(count))
    except ImportError:
        raise NotFound(
            "groups need scikit-learn on the server; install it with pip install"
            " 'deniably[clusters]'"
        ) from None
    return question, _as_result(name, question, found)


def _as_result(name: str, question: Point, found: Clusters) -> GroupsResult:
    return {
        "survey": name,
        "question": question.name,
        "n": found.n,
        "spread": _round(found.spread),
        "resamples": found.resamples,
        "groups": [
            {
                "centre": [_round(place) for place in group.centre],
                "centre_error": _round(group.centre_error),
                "share": _round(group.share),
                "share_error": _round(group.share_error),
            }
            for group in found.groups
        ],
    }


def _on_square(question: Point, group: GroupResult) -> tuple[float, float]:
    """The centre as fractions of the two ranges."""
    first, second = (
        (place - float(part.range.minimum))
        / (float(part.range.maximum) - float(part.range.minimum))
        for place, part in zip(group["centre"], question.parts, strict=True)
    )
    return first, second


def _asked(survey: Survey, key: str) -> int:
    wanted = request.args.get(key, "")
    for index, question in enumerate(survey.questions):
        if question.name == wanted and _is_crossable(question):
            return index
    names = [question.name for question in survey.questions if _is_crossable(question)]
    if len(names) < 2:
        raise BadParameter("this survey has no two questions whose answers can be crossed")
    raise BadParameter(
        f"“{key}” names a question whose answers can be crossed: {', '.join(names)}; such as"
        f" ?rows={names[0]}&columns={names[1]}"
    )


def _is_crossable(question: Question) -> bool:
    law = question.once.law
    return isinstance(question, _Crossable) and isinstance(law, Supporting) and law.heard == 1


def _cells(*questions: Question) -> int:
    return prod(_crossed(question).k for question in questions)


def _supports(survey: Survey, chosen: list[int]) -> list[_Bits]:
    """For each respondent who was asked both: which choices the reports to each support. Packed
    until all are there, for a list of blocks and the whole are twice as much."""
    laws = [_crossed(survey.questions[index]) for index in chosen]
    places = [sorted(chosen).index(index) for index in chosen]
    parts: list[list[npt.NDArray[np.uint8]]] = [[] for _ in chosen]
    for block in current_store().values(survey.name, *chosen):
        both = [row for row in block if None not in row]
        for part, law, place in zip(parts, laws, places, strict=True):
            rows = [row[place] or () for row in both]
            supports = support_rows(rows, law.cell_count)[:, : law.k]
            part.append(np.packbits(supports, axis=1))
    if not any(map(len, parts[0])):
        raise NotFound("no respondent was asked both questions")
    return [
        np.unpackbits(np.concatenate(part), axis=1, count=law.k).view(np.bool_)
        for part, law in zip(parts, laws, strict=True)
    ]


def _rates(question: Question) -> tuple[float, float]:
    """p and q."""
    law = _crossed(question)
    return float(law.p), float(law.q)


def _crossed(question: Question) -> Supporting:
    law = question.once.law
    assert isinstance(law, Supporting)
    return law


def _title(name: str) -> str:
    return current_store().survey(name).title


def _round(value: float) -> float:
    return round(float(value), 6) + 0.0
