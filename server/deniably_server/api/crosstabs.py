"""Cross-tables of two questions, as JSON, as CSV and as a page.

A cross-table is computed when it is asked for, from every report of its survey.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from flask import Blueprint, Response, render_template, request

from deniably.core.errors import Incomparable
from deniably.core.languages.spreadsheet import csv_table
from deniably.results import comparison_papers, crosstab_drawing
from deniably.results.as_product import as_product
from deniably.results.crosstab_drawing import Of
from deniably.results.crosstabs import (
    COLUMNS,
    CrosstabResult,
    cell_count,
    crosstab_result,
    crosstab_rows,
    is_crossable,
    own_filter,
)
from deniably.results.drawing.paper import Paper
from deniably.results.provenance import Protection, ResultsSource
from deniably.survey.questions import Question
from deniably.survey.readable import listed_label, short_label
from deniably.survey.strata import query_of
from deniably.survey.survey import Survey
from deniably_server.api.analysts import or_ask_for_a_token
from deniably_server.api.costly import costly
from deniably_server.api.fine_parameters import LEVEL, confidence
from deniably_server.api.hidden import or_say_why_hidden
from deniably_server.api.kept_documents import once
from deniably_server.api.paper_files import WIDTH, figure_file, figure_page, wanted_width
from deniably_server.api.results import as_attachment
from deniably_server.api.subgroups import (
    Respondents,
    check_asked_together,
    query_of_view,
    respondents,
    same_in_form,
    subgroup_links,
)
from deniably_server.api.visibility import RESULTS
from deniably_server.errors import BadParameter, NotFound, TooMuch
from deniably_server.guard.app_state import current_store
from deniably_server.web.answer import json_answer
from deniably_server.web.body import JSON
from deniably_server.web.operation import CSV, NAMED, PAGE, SVG, Operation, QueryParameters

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue

blueprint = Blueprint("crosstabs", __name__)

_OF: dict[str, Of] = {"rows": "rows", "columns": "columns", "all": "all"}
_WAYS: QueryParameters = {"of": {"enum": [*_OF], "description": "What the percentages are of."}}
_PAIR: QueryParameters = {"rows!": NAMED, "columns!": NAMED, **LEVEL}
_PAGE: QueryParameters = {"rows": NAMED, "columns": NAMED, **_WAYS, **LEVEL}
_MOST_LINKS = 15
_MOST_CELLS = 1_000
"""A cross-table of this size takes some seconds with 300,000 reports."""


@blueprint.get("/api/surveys/<name>/crosstab")
@Operation({200: {JSON: CrosstabResult}}, RESULTS, query=_PAIR, strata=True)
@costly("reports")
def crosstab_as_json(name: str) -> Response:
    """The joint distribution of the answers to two questions, ``rows`` and ``columns``."""
    return json_answer(_current(name))


@blueprint.get("/api/surveys/<name>/crosstab.csv")
@Operation({200: {CSV: None}}, RESULTS, query=_PAIR, headers=("Content-Disposition",), strata=True)
@costly("reports")
def crosstab_as_csv(name: str) -> Response:
    """The cross-table for a spreadsheet, with a row for each figure."""
    found = _current(name)
    return as_attachment(csv_table(COLUMNS, crosstab_rows(found)), _file(found))


@blueprint.get("/api/surveys/<name>/crosstab.svg")
@Operation(
    {200: {SVG: None}},
    RESULTS,
    query={**_PAIR, **_WAYS, **WIDTH},
    headers=("Content-Disposition",),
    strata=True,
)
@costly("reports")
def crosstab_as_svg(name: str) -> Response:
    """The cross-table as a figure for a paper: a file that needs nothing else."""
    width, (found, of) = wanted_width(), _current_of(name)
    return figure_file(_paper(found, of), width, _file(found))


@blueprint.get("/surveys/<name>/crosstab")
@Operation(PAGE, RESULTS, query=_PAGE, strata=True)
@or_ask_for_a_token
@or_say_why_hidden
def crosstab_page(name: str) -> ResponseReturnValue:
    """The cross-table as a page; without two questions, a page to choose them."""
    return _or_choose(name, _page)


@blueprint.get("/surveys/<name>/crosstab/figure")
@Operation(PAGE, RESULTS, query=_PAGE, strata=True)
@or_ask_for_a_token
@or_say_why_hidden
def crosstab_figure_page(name: str) -> ResponseReturnValue:
    """The figure of a cross-table in both widths, as files to save, and in words."""
    return _or_choose(name, _figure_page)


def _or_choose(name: str, page: Callable[..., ResponseReturnValue]) -> ResponseReturnValue:
    """The page of two questions, or one to choose them."""
    among = respondents(name).closed()
    if not request.args.keys() >= {"rows", "columns"}:
        return _chooser(among)
    try:
        _chosen(among.survey)
    except BadParameter as error:
        return _chooser(among, str(error)), 400
    except TooMuch as error:
        return _chooser(among, str(error)), 422
    return page(name)


@costly("reports")
def _page(name: str) -> str:
    found, of = _current_of(name)
    survey = current_store().survey(name)
    return render_template(
        "crosstab.html",
        table=found,
        survey=survey,
        titles=_titles(survey),
        of=of,
        product=as_product(survey, _chosen(survey), found),
        ways=[(way, f"% of {way}") for way in _OF],
        drawing=crosstab_drawing,
        query=query_of_view(survey, "rows", "columns", "confidence"),
        same_part=query_of_view(survey, "confidence"),
        subgroups=subgroup_links(respondents(name), "rows", "columns", "of", "confidence"),
    )


@costly("reports")
def _figure_page(name: str) -> str:
    found, of = _current_of(name)
    survey = current_store().survey(name)
    query = query_of_view(survey, "rows", "columns", "of", "confidence")
    first, second = found["questions"]
    return figure_page(
        [name],
        _paper(found, of),
        file=_file(found),
        address=f"/api/surveys/{name}/crosstab.svg{query}",
        about=f"“{first}” and “{second}”",
        csv=f"/api/surveys/{name}/crosstab.csv"
        + query_of_view(survey, "rows", "columns", "confidence"),
        back=(f"/surveys/{name}/crosstab{query}", "The cross-table"),
    )


def _paper(found: CrosstabResult, of: Of) -> Paper:
    store = current_store()
    survey = store.survey(found["survey"])
    closed = store.closing_day(survey.name)
    source = ResultsSource.of_survey(survey, "closed", found["n"], closed, found["strata"])
    protections = [Protection.of_question(survey.questions[index]) for index in _chosen(survey)]
    return comparison_papers.crosstab(found, of, _titles(survey), source, protections)


def _titles(survey: Survey) -> tuple[str, str]:
    rows, columns = (short_label(survey.questions[index]) for index in _chosen(survey))
    return rows, columns


def _file(found: CrosstabResult) -> str:
    return "-".join([found["survey"], *found["question_names"], *found["strata"].values()])


def _chooser(among: Respondents, why: str = "") -> str:
    """A page with two selects. ``why`` says what is wrong with what was chosen."""
    survey = among.survey
    questions = [question for question in survey.questions if is_crossable(question)]
    same = same_in_form(survey)
    links = [
        (f"{request.path}?{urlencode({'rows': one.name, 'columns': other.name, **same})}", text)
        for one, other, text in _pairs(survey)
    ]
    return render_template(
        "crosstab_chooser.html",
        survey=survey,
        links=links,
        questions=[(question.name, listed_label(question)) for question in questions],
        given=request.args,
        same=same,
        subgroups=subgroup_links(among, "rows", "columns", "confidence"),
        why=why and f"{why[:1].upper()}{why[1:]}.",
    )


def _current(name: str) -> CrosstabResult:
    """The cross-table that the request asks for. Raises BadParameter, NotFound or Hidden."""
    level = confidence()
    among = respondents(name).closed()
    survey, chosen = among.survey, _chosen(among.survey)
    check_asked_together(among, chosen)

    def compute() -> CrosstabResult:
        every = current_store().distinct_values(name, chosen, strata=among.numbers)
        reports = (some for _, some in every)
        return crosstab_result(survey, chosen, reports, level, among.strata)

    try:
        return once(("crosstab", name, query_of(among.strata), *chosen, level), compute)
    except Incomparable as error:
        raise NotFound(str(error)) from None


def _current_of(name: str) -> tuple[CrosstabResult, Of]:
    """The cross-table, and what its percentages are of. Raises as ``_current`` does."""
    if (wanted := request.args.get("of")) not in (None, *_OF):
        raise BadParameter("“of” is rows, columns or all: what the percentages are of")
    found = _current(name)
    return found, _OF[wanted] if wanted else crosstab_drawing.usual(found)


def _chosen(survey: Survey) -> list[int]:
    """The indices of the two questions that the request names. Raises BadParameter or TooMuch."""
    chosen = [_asked(survey, key) for key in ("rows", "columns")]
    if chosen[0] == chosen[1]:
        raise BadParameter("“rows” and “columns” name the same question; name two")
    both = [survey.questions[index] for index in chosen]
    if why := own_filter(*both):
        raise BadParameter(why)
    if (cells := cell_count(*both)) > _MOST_CELLS:
        raise TooMuch(
            f"a cross-table has at most {_MOST_CELLS:,} cells, and this one would have {cells:,};"
            " choose questions with fewer choices, or take the shares of each question by itself"
            f" from /api/surveys/{survey.name}/results.csv"
        )
    return chosen


def crosstab_links(survey: Survey, state: str) -> list[tuple[str, str]]:
    """Addresses below the dashboard with their texts, of the first 15 pairs that can be crossed;
    none while the survey is open. The first one chooses among all pairs."""
    if survey.asked < 2 or state != "closed":
        return []
    pairs = [
        (f"crosstab?rows={one.name}&columns={other.name}", text)
        for one, other, text in _pairs(survey)
    ]
    chooser = (
        [("crosstab", "Choose two questions and see how their answers go together")]
        if pairs
        else []
    )
    return [*chooser, *pairs[:_MOST_LINKS]]


def _pairs(survey: Survey) -> Iterator[tuple[Question, Question, str]]:
    """The pairs of questions that can be crossed, with what to call them."""
    crossable = [question for question in survey.questions if is_crossable(question)]
    for one, other in combinations(crossable, 2):
        counted = current_store().crosses(survey.name, one.name, other.name)
        if counted and cell_count(one, other) <= _MOST_CELLS and not own_filter(one, other):
            yield one, other, f"{short_label(one)} × {short_label(other)}"


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
