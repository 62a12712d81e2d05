"""Cross-tables and groups on a map: what a request may ask of them, and the pages that show them.

Both are computed when asked for; a cross-table reads every report of its survey.
"""

from __future__ import annotations

from flask import Blueprint, Response, render_template, request

from deniably.core.errors import Incomparable
from deniably.estimation.clusters import clusters
from deniably.results.crosstabs import (
    CrosstabResult,
    cell_count,
    crosstab_result,
    is_crossable,
)
from deniably.results.document import PointResult
from deniably.results.groups import GroupsResult, groups_result, on_square
from deniably.survey.questions import Point
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
from deniably_server.guard.app_state import current_store
from deniably_server.results import charts
from deniably_server.web.answer import json_answer
from deniably_server.web.body import JSON
from deniably_server.web.operation import NAMED, PAGE, Operation, Parameters

blueprint = Blueprint("together", __name__)

_PAIR: Parameters = {"rows!": NAMED, "columns!": NAMED, **LEVEL}
_GROUPS: Parameters = {"question!": NAMED, "count": {"type": "integer", "minimum": 1}}

_MOST_LINKS = 15
_MOST_GROUPS = 12
_MOST_CELLS = 1_000
"""Of a cross-table: some seconds with 300,000 reports, and more than anybody reads."""


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
        [on_square(question, group) for group in found["groups"]],
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
    if (cells := cell_count(*(survey.questions[index] for index in chosen))) > _MOST_CELLS:
        raise TooMuch(
            f"a cross-table has at most {_MOST_CELLS:,} cells, and this one would have {cells:,};"
            " choose questions with fewer choices, or take the shares of each question by itself"
            f" from /api/surveys/{name}/results.csv"
        )
    try:
        return crosstab_result(survey, chosen, current_store().values(name, *chosen), level)
    except Incomparable as error:
        raise NotFound(str(error)) from None


def links(survey: Survey, state: str) -> list[tuple[str, str]]:
    """Addresses below the dashboard with their texts; the first few where there are many pairs."""
    crossable = [question for question in survey.questions if is_crossable(question)]
    found = [
        (f"crosstab?rows={one.name}&columns={other.name}", f"{one.label} × {other.label}")
        for index, one in enumerate(crossable)
        for other in crossable[index + 1 :]
        if survey.asked > 1 and state == "closed" and cell_count(one, other) <= _MOST_CELLS
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
    return question, groups_result(name, question, found)


def _asked(survey: Survey, key: str) -> int:
    wanted = request.args.get(key, "")
    for index, question in enumerate(survey.questions):
        if question.name == wanted and is_crossable(question):
            return index
    names = [question.name for question in survey.questions if is_crossable(question)]
    if len(names) < 2:
        raise BadParameter("this survey has no two questions whose answers can be crossed")
    raise BadParameter(
        f"“{key}” names a question whose answers can be crossed: {', '.join(names)}; such as"
        f" ?rows={names[0]}&columns={names[1]}"
    )


def _title(name: str) -> str:
    return current_store().survey(name).title
