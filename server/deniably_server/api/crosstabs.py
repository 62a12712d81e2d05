"""Serves cross-tables of two questions, as JSON, as CSV and as a page.

A cross-table is computed when it is asked for, from every report of its survey.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from flask import render_template, request

from deniably.core.errors import Incomparable
from deniably.exhibits import crosstab_exhibit
from deniably.exhibits.crosstab_exhibit import Of
from deniably.results.crosstabs import (
    CrosstabResult,
    cell_count,
    crosstab_result,
    is_crossable,
    own_filter,
)
from deniably.survey.questions import Question
from deniably.survey.readable import listed_label, short_label
from deniably.survey.strata import query_of
from deniably.survey.survey import Survey
from deniably_server.api.document_cache import cached_document
from deniably_server.api.exhibits import Kind, Shown, Ways, blueprint_of, descriptions, who_answered
from deniably_server.api.fine_parameters import LEVEL, confidence
from deniably_server.api.paper_files import WIDTH
from deniably_server.api.subgroups import (
    Respondents,
    check_asked_together,
    query_of_view,
    respondents,
    same_in_form,
    subgroup_links,
)
from deniably_server.errors import BadParameter, NotFound, TooMuch
from deniably_server.guard.app_state import current_store
from deniably_server.web.operation import NAMED, QueryParameters
from deniably_server.web.problems import sentence

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue

_OF: dict[str, Of] = {"rows": "rows", "columns": "columns", "all": "all"}
_WAYS: QueryParameters = {"of": {"enum": [*_OF], "description": "What the percentages are of."}}
_PAIR: QueryParameters = {"rows!": NAMED, "columns!": NAMED, **LEVEL}
_PAGE: QueryParameters = {"rows": NAMED, "columns": NAMED, **_WAYS, **LEVEL}
_MOST_LINKS = 15
_MOST_CELLS = 1_000
"""A cross-table of this size takes some seconds with 300,000 reports."""


def _choose(name: str) -> ResponseReturnValue | None:
    """Returns a page to choose two questions; None where the request has chosen them."""
    sample = respondents(name).closed()
    if not request.args.keys() >= {"rows", "columns"}:
        return _chooser(sample)
    try:
        _chosen(sample.survey)
    except BadParameter as error:
        return _chooser(sample, str(error)), 400
    except TooMuch as error:
        return _chooser(sample, str(error)), 422
    return None


def _show(name: str, result: CrosstabResult) -> Shown:
    sample = respondents(name)
    of = _of() or crosstab_exhibit.usual(result)
    exhibit = crosstab_exhibit.exhibit(result, sample.survey, of, current_store().closing_day(name))
    address = f"{request.path}{query_of_view(sample.survey, 'rows', 'columns', 'confidence')}"
    return Shown(
        exhibits=[exhibit],
        heading=exhibit.heading,
        chip="closed",
        who=who_answered(result["n"], result["strata"]),
        home=sample.survey.title,
        ways=Ways(
            "Percentages of",
            [(f"% of {way}", f"{address}&of={way}", way == of) for way in _OF],
            within=True,
        ),
        subgroups=subgroup_links(sample, "rows", "columns", "of", "confidence"),
        surveys=[name],
        settled={"of": of},
    )


def _chooser(sample: Respondents, why: str = "") -> str:
    """Returns a page with two selects. ``why`` says what is wrong with what was chosen."""
    survey = sample.survey
    questions = [question for question in survey.questions if is_crossable(question)]
    kept_query = same_in_form(survey)
    links = [
        (
            f"{request.path}?{urlencode({'rows': row.name, 'columns': column.name, **kept_query})}",
            text,
        )
        for row, column, text in _pairs(survey)
    ]
    return render_template(
        "crosstab_chooser.html",
        survey=survey,
        links=links,
        questions=[(question.name, listed_label(question)) for question in questions],
        given=request.args,
        same=kept_query,
        subgroups=subgroup_links(sample, "rows", "columns", "confidence"),
        why=why and sentence(why),
    )


def _current(name: str) -> CrosstabResult:
    """Returns the cross-table that the request asks for. Raises BadParameter, NotFound or
    Hidden."""
    level = confidence()
    sample = respondents(name).closed()
    survey, chosen = sample.survey, _chosen(sample.survey)
    check_asked_together(sample, chosen)

    def compute() -> CrosstabResult:
        pairs = current_store().distinct_values(name, chosen, strata=sample.numbers)
        reports = (block for _, block in pairs)
        return crosstab_result(survey, chosen, reports, level, sample.strata)

    try:
        return cached_document(("crosstab", name, query_of(sample.strata), *chosen, level), compute)
    except Incomparable as error:
        raise NotFound(str(error)) from None


def _of() -> Of | None:
    """Returns what the request's percentages are of; None where it does not say. Raises
    BadParameter."""
    of = request.args.get("of")
    if of not in (None, *_OF):
        raise BadParameter("“of” is rows, columns or all: what the percentages are of")
    return _OF[of] if of else None


def _chosen(survey: Survey) -> list[int]:
    """Returns the indices of the two questions that the request names. Raises BadParameter or
    TooMuch."""
    chosen = [_asked(survey, key) for key in ("rows", "columns")]
    if chosen[0] == chosen[1]:
        raise BadParameter("“rows” and “columns” name the same question; name two different ones")
    questions = [survey.questions[index] for index in chosen]
    if why := own_filter(*questions):
        raise BadParameter(why)
    if (cells := cell_count(*questions)) > _MOST_CELLS:
        raise TooMuch(
            f"a cross-table has at most {_MOST_CELLS:,} cells, and this one would have {cells:,};"
            " choose questions with fewer choices, or take the shares of each question by itself"
            f" from /api/surveys/{survey.name}/results.csv"
        )
    return chosen


def crosstab_links(survey: Survey, state: str) -> list[tuple[str, str]]:
    """Returns links as (address, text): to a page that chooses two questions, then to the first 15
    pairs that can be crossed. The addresses are relative to the dashboard. Empty while the survey
    is open, and where it has a mixer."""
    if survey.asked < 2 or state != "closed" or survey.mixer:
        return []
    pairs = [
        (f"crosstab?rows={row.name}&columns={column.name}", text)
        for row, column, text in _pairs(survey)
    ]
    chooser = (
        [("crosstab", "Choose two questions and see how their answers go together")]
        if pairs
        else []
    )
    return [*chooser, *pairs[:_MOST_LINKS]]


def _pairs(survey: Survey) -> Iterator[tuple[Question, Question, str]]:
    """Yields the pairs of questions that can be crossed, each with its title."""
    crossable = [question for question in survey.questions if is_crossable(question)]
    for row, column in combinations(crossable, 2):
        counted = current_store().crosses(survey.name, row.name, column.name)
        if counted and cell_count(row, column) <= _MOST_CELLS and not own_filter(row, column):
            yield row, column, f"{short_label(row)} × {short_label(column)}"


def _asked(survey: Survey, key: str) -> int:
    name = request.args.get(key, "")
    for index, question in enumerate(survey.questions):
        if question.name == name and is_crossable(question):
            return index
    names = [question.name for question in survey.questions if is_crossable(question)]
    if len(names) < 2:
        raise BadParameter("this survey has no two questions whose answers can be crossed")
    raise BadParameter(
        f"“{key}” names a question whose answers can be crossed: {', '.join(names)}; such as"
        f" ?rows={names[0]}&columns={names[1]}"
    )


CROSSTAB: Kind[CrosstabResult] = Kind(
    name="crosstab",
    about=descriptions(
        "The cross-table",
        "The joint distribution of the answers to two questions, ``rows`` and ``columns``.",
        records="each figure",
        chosen="without two questions, a page to choose them",
    ),
    document=CrosstabResult,
    reads="reports",
    query=_PAIR,
    svg={**_PAIR, **_WAYS, **WIDTH},
    page=_PAGE,
    figure=_PAGE,
    read=_current,
    sheet=lambda _, found: (crosstab_exhibit.file_name(found), crosstab_exhibit.records(found)),
    show=_show,
    check=_of,
    choose=_choose,
    choices="Other questions",
    back="The cross-table",
)
blueprint = blueprint_of(CROSSTAB, "crosstabs")
