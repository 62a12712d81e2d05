"""Cross-tables of two questions, as JSON and as a page.

A cross-table is computed when it is asked for, from every report of its survey.
"""

from __future__ import annotations

from flask import Blueprint, Response, render_template, request

from deniably.core.errors import Incomparable
from deniably.results.crosstabs import CrosstabResult, cell_count, crosstab_result, is_crossable
from deniably.survey.survey import Survey
from deniably_server.api.analysts import or_ask_for_a_token
from deniably_server.api.costly import costly
from deniably_server.api.results import LEVEL, confidence, given_query
from deniably_server.api.visibility import RESULTS, closed_survey
from deniably_server.errors import BadParameter, NotFound, TooMuch
from deniably_server.guard.app_state import current_store
from deniably_server.web.answer import json_answer
from deniably_server.web.body import JSON
from deniably_server.web.operation import NAMED, PAGE, Operation, Parameters

blueprint = Blueprint("crosstabs", __name__)

_PAIR: Parameters = {"rows!": NAMED, "columns!": NAMED, **LEVEL}
_MOST_LINKS = 15
_MOST_CELLS = 1_000
"""A cross-table of this size takes some seconds with 300,000 reports."""


@blueprint.get("/api/surveys/<name>/crosstab")
@Operation({200: {JSON: CrosstabResult}}, RESULTS, query=_PAIR)
@costly("reports")
def crosstab_as_json(name: str) -> Response:
    """The joint distribution of the answers to two questions, ``rows`` and ``columns``."""
    return json_answer(current_crosstab(name))


@blueprint.get("/surveys/<name>/crosstab")
@Operation(PAGE, RESULTS, query=_PAIR)
@or_ask_for_a_token
@costly("reports")
def crosstab_page(name: str) -> str:
    """The cross-table as a page."""
    table = current_crosstab(name)
    query = given_query("rows", "columns", "confidence")
    return render_template(
        "crosstab.html",
        table=table,
        title=current_store().survey(name).title,
        query=query,
        same_level=given_query("confidence"),
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


def crosstab_links(survey: Survey, state: str) -> list[tuple[str, str]]:
    """Addresses below the dashboard with their texts, of the first 15 pairs that can be crossed;
    none while the survey is open."""
    crossable = [question for question in survey.questions if is_crossable(question)]
    return [
        (f"crosstab?rows={one.name}&columns={other.name}", f"{one.label} × {other.label}")
        for index, one in enumerate(crossable)
        for other in crossable[index + 1 :]
        if survey.asked > 1 and state == "closed" and cell_count(one, other) <= _MOST_CELLS
    ][:_MOST_LINKS]


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
