"""Serves groups of people on the map of a point question, as JSON, as CSV and as a page."""

from __future__ import annotations

from importlib.util import find_spec

from flask import request

from deniably.estimation.clusters import clusters
from deniably.exhibits import group_exhibit
from deniably.results.document import PointResult
from deniably.results.groups import MOST_GROUPS, GroupsResult, groups_result
from deniably.survey.questions import Point
from deniably.survey.strata import query_of, titled
from deniably.survey.survey import Survey
from deniably_server.api.document_cache import cached_document
from deniably_server.api.exhibits import Kind, Shown, blueprint_of, descriptions, who_answered
from deniably_server.api.paper_files import WIDTH
from deniably_server.api.results import current_results
from deniably_server.api.subgroups import respondents, subgroup_links
from deniably_server.errors import BadParameter, NotFound
from deniably_server.guard.app_state import current_store
from deniably_server.web.operation import NAMED, QueryParameters

_GROUPS: QueryParameters = {"question!": NAMED, "count": {"type": "integer", "minimum": 1}}
_LIBRARY = "sklearn"


def _show(name: str, groups: GroupsResult) -> Shown:
    sample = respondents(name)
    survey, state = sample.survey, sample.visible.state
    (point_result,) = current_results(name, only=groups["question"]).questions
    assert isinstance(point_result, PointResult)
    closed = current_store().closing_day(survey.name)
    return Shown(
        exhibits=[group_exhibit.exhibit(groups, point_result, survey, state, closed)],
        heading=titled(survey.title, sample.strata),
        chip=state,
        who=who_answered(groups["n"], sample.strata),
        home="All results",
        subgroups=subgroup_links(sample, "question", "count"),
        surveys=[name],
    )


def group_links(survey: Survey) -> list[tuple[str, str]]:
    """Returns links to 2 to 5 groups of each point question, as (address, text). The addresses are
    relative to the dashboard. Empty on a server without scikit-learn, which finds groups."""
    if find_spec(_LIBRARY) is None:
        return []
    return [
        (f"groups?question={question.name}&count={count}", f"{question.label}: {count} groups")
        for question in survey.questions
        if isinstance(question, Point)
        for count in (2, 3, 4, 5)
    ]


def _current(name: str) -> GroupsResult:
    """Returns the document that the request asks for. Raises BadParameter, NotFound or Hidden."""
    sample = respondents(name)
    survey = sample.survey
    name_asked = request.args.get("question", "")
    question = next((q for q in survey.questions if q.name == name_asked), None)
    if not isinstance(question, Point):
        points = [point.name for point in survey.questions if isinstance(point, Point)]
        if not points:
            raise BadParameter("this survey asks for no place on a map, so there are no groups")
        raise BadParameter(
            f"“question” names a question for a place on a map: {', '.join(points)}; such as"
            f" ?question={points[0]}&count=3"
        )
    count = request.args.get("count", "3")
    # Nine digits are enough to be too many; ``int`` takes long over a long text.
    if not count.isdecimal() or not 1 <= int(count[:9]) <= MOST_GROUPS:
        raise BadParameter(f"“count” is the number of groups, from 1 to {MOST_GROUPS}")
    try:
        key = ("groups", name, query_of(sample.strata), question.name, int(count))
        tally = sample.tallies()[question.name]
        groups = cached_document(key, lambda: clusters(question, tally, int(count)))
    except ImportError:
        raise NotFound(
            "groups need scikit-learn on the server; ask its operator to install Deniably's extra"
            " clusters"
        ) from None
    return groups_result(name, question, groups, sample.strata)


GROUPS: Kind[GroupsResult] = Kind(
    name="groups",
    about=descriptions(
        "The groups",
        "Find ``count`` groups of people on the map of ``question``.",
        records="each group",
    ),
    document=GroupsResult,
    query=_GROUPS,
    svg={**_GROUPS, "width": WIDTH["width"]},
    page=_GROUPS,
    figure=_GROUPS,
    read=_current,
    sheet=lambda _, found: (group_exhibit.file_name(found), group_exhibit.records(found)),
    show=_show,
    back="The groups",
)
blueprint = blueprint_of(GROUPS, "groups")
