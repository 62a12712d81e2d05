"""Groups of people on the map of a point question, as JSON and as a page."""

from __future__ import annotations

from importlib.util import find_spec

from flask import Blueprint, Response, render_template, request

from deniably.estimation.clusters import clusters
from deniably.results import comparison_papers
from deniably.results.cards import area_map
from deniably.results.document import PointResult
from deniably.results.drawing.paper import Paper
from deniably.results.groups import GroupsResult, groups_result, on_square
from deniably.results.provenance import Protection, ResultsSource
from deniably.survey.questions import Point
from deniably.survey.strata import query_of, titled
from deniably.survey.survey import Survey
from deniably_server.api.analysts import or_ask_for_a_token
from deniably_server.api.costly import costly
from deniably_server.api.kept_documents import once
from deniably_server.api.paper_files import WIDTH, figure_file, figure_page, wanted_width
from deniably_server.api.results import current_results
from deniably_server.api.subgroups import query_of_view, respondents, subgroup_links
from deniably_server.api.visibility import RESULTS
from deniably_server.errors import BadParameter, NotFound
from deniably_server.guard.app_state import current_store
from deniably_server.web.answer import json_answer
from deniably_server.web.body import JSON
from deniably_server.web.operation import NAMED, PAGE, SVG, Operation, QueryParameters

blueprint = Blueprint("groups", __name__)

_GROUPS: QueryParameters = {"question!": NAMED, "count": {"type": "integer", "minimum": 1}}
_MOST_GROUPS = 12
_LIBRARY = "sklearn"


@blueprint.get("/api/surveys/<name>/groups")
@Operation({200: {JSON: GroupsResult}}, RESULTS, query=_GROUPS, strata=True)
@costly("tallies")
def groups_as_json(name: str) -> Response:
    """Find ``count`` groups of people on the map of ``question``."""
    return json_answer(_groups(name)[1])


@blueprint.get("/surveys/<name>/groups")
@Operation(PAGE, RESULTS, query=_GROUPS, strata=True)
@or_ask_for_a_token
@costly("tallies")
def groups_page(name: str) -> str:
    """The groups as a page, with the map."""
    question, found = _groups(name)
    among, shown = respondents(name), _map(name, question)
    centres = [on_square(question, group) for group in found["groups"]]
    picture = area_map(shown, centres)
    return render_template(
        "groups.html",
        found=found,
        question=question,
        picture=picture,
        title=titled(among.survey.title, among.strata),
        same_part=query_of_view(among.survey, "confidence"),
        query=query_of_view(among.survey, "question", "count"),
        subgroups=subgroup_links(among, "question", "count"),
    )


@blueprint.get("/api/surveys/<name>/groups.svg")
@Operation(
    {200: {SVG: None}},
    RESULTS,
    query={**_GROUPS, "width": WIDTH["width"]},
    headers=("Content-Disposition",),
    strata=True,
)
@costly("tallies")
def groups_as_svg(name: str) -> Response:
    """The groups as a figure for a paper: a file that needs nothing else."""
    width, (question, found) = wanted_width(), _groups(name)
    return figure_file(_paper(question, found), width, f"{name}-{question.name}-groups")


@blueprint.get("/surveys/<name>/groups/figure")
@Operation(PAGE, RESULTS, query=_GROUPS, strata=True)
@or_ask_for_a_token
@costly("tallies")
def groups_figure_page(name: str) -> str:
    """The figure of the groups in both widths, as files to save, and in words."""
    question, found = _groups(name)
    query = query_of_view(respondents(name).survey, "question", "count")
    return figure_page(
        [name],
        _paper(question, found),
        file=f"{name}-{question.name}-groups",
        address=f"/api/surveys/{name}/groups.svg{query}",
        about=f"the groups in “{question.label}”",
        back=(f"/surveys/{name}/groups{query}", "The groups"),
    )


def _map(name: str, question: Point) -> PointResult:
    """The result of the map itself."""
    (shown,) = current_results(name, only=question.name).questions
    assert isinstance(shown, PointResult)
    return shown


def _paper(question: Point, found: GroupsResult) -> Paper:
    among = respondents(found["survey"])
    survey, state = among.survey, among.found.state
    closed = current_store().closing_day(survey.name)
    return comparison_papers.groups(
        found,
        _map(survey.name, question),
        [on_square(question, group) for group in found["groups"]],
        ResultsSource.of_survey(survey, state, found["n"], closed, among.strata),
        Protection.of_question(question),
    )


def group_links(survey: Survey) -> list[tuple[str, str]]:
    """Addresses below the dashboard with their texts: 2 to 5 groups for each point question; none
    on a server without the library that finds them."""
    if find_spec(_LIBRARY) is None:
        return []
    return [
        (f"groups?question={question.name}&count={count}", f"{question.label}: {count} groups")
        for question in survey.questions
        if isinstance(question, Point)
        for count in (2, 3, 4, 5)
    ]


def _groups(name: str) -> tuple[Point, GroupsResult]:
    among = respondents(name)
    survey = among.survey
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
        key = ("groups", name, query_of(among.strata), question.name, int(count))
        tally = among.tallies()[question.name]
        found = once(key, lambda: clusters(question, tally, int(count)))
    except ImportError:
        raise NotFound(
            "groups need scikit-learn on the server; ask its operator to install Deniably's extra"
            " clusters"
        ) from None
    return question, groups_result(name, question, found, among.strata)
