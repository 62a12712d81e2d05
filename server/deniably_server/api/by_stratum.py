"""A question by a key of the strata, such as north against south, as data, figure and page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from flask import Blueprint, Response, render_template, request

from deniably.core.errors import Incomparable
from deniably.core.languages.spreadsheet import csv_table
from deniably.results import comparison_papers, side_drawing, stratum_drawing
from deniably.results.among_asked import of_whom
from deniably.results.by_stratum import (
    COLUMNS,
    FEWEST,
    ByStratumResult,
    by_stratum,
    by_stratum_rows,
)
from deniably.results.drawing.paper import Paper
from deniably.results.provenance import Protection, ResultsSource
from deniably.results.side_by_side import has_figures
from deniably.survey.questions import Question
from deniably.survey.readable import listed_label
from deniably.survey.strata import Stratum, query_of
from deniably.survey.survey import Survey
from deniably_server.api.analysts import or_ask_for_a_token
from deniably_server.api.costly import costly
from deniably_server.api.fine_parameters import LEVEL, confidence
from deniably_server.api.hidden import or_say_why_hidden
from deniably_server.api.kept_documents import once
from deniably_server.api.paper_files import WIDTH, figure_file, figure_page, wanted_width
from deniably_server.api.results import as_attachment
from deniably_server.api.subgroups import (
    query_of_view,
    same_in_form,
    shown_parts,
    subgroups_by,
    wanted_subgroup,
)
from deniably_server.api.visibility import RESULTS, VisibleSurvey, visible_survey
from deniably_server.errors import BadParameter
from deniably_server.guard.app_state import current_store
from deniably_server.web.answer import json_answer
from deniably_server.web.body import JSON
from deniably_server.web.operation import CSV, NAMED, PAGE, SVG, Operation, QueryParameters

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue

blueprint = Blueprint("by_stratum", __name__)

_BY = {**NAMED, "description": "The key of the strata whose values are compared, such as site."}
_ASKED: QueryParameters = {"question!": NAMED, "by!": _BY, **LEVEL}
_PAGE: QueryParameters = {"question": NAMED, "by": _BY, **LEVEL}


@blueprint.get("/api/surveys/<name>/strata")
@Operation({200: {JSON: ByStratumResult}}, RESULTS, query=_ASKED, strata=True)
@costly("tallies")
def strata_as_json(name: str) -> Response:
    """The figures of a question for each value of a key of the strata, with tests of every two.

    Values of other keys as parameters fix these.
    """
    return json_answer(_current(name))


@blueprint.get("/api/surveys/<name>/strata.csv")
@Operation({200: {CSV: None}}, RESULTS, query=_ASKED, headers=("Content-Disposition",), strata=True)
@costly("tallies")
def strata_as_csv(name: str) -> Response:
    """The strata for a spreadsheet, with a row for each figure and for each difference."""
    found = _current(name)
    return as_attachment(csv_table(COLUMNS, by_stratum_rows(found)), _file(found))


@blueprint.get("/api/surveys/<name>/strata.svg")
@Operation(
    {200: {SVG: None}},
    RESULTS,
    query={**_ASKED, **WIDTH},
    headers=("Content-Disposition",),
    strata=True,
)
@costly("tallies")
def strata_as_svg(name: str) -> Response:
    """The strata as a figure for a paper: a file that needs nothing else."""
    width, found = wanted_width(), _current(name)
    return figure_file(_paper(found), width, _file(found))


@blueprint.get("/surveys/<name>/strata")
@Operation(PAGE, RESULTS, query=_PAGE, strata=True)
@or_ask_for_a_token
@or_say_why_hidden
def strata_page(name: str) -> ResponseReturnValue:
    """The strata as a page; without a question and a key, a page to choose them."""
    return _or_choose(name, _page)


@blueprint.get("/surveys/<name>/strata/figure")
@Operation(PAGE, RESULTS, query=_PAGE, strata=True)
@or_ask_for_a_token
@or_say_why_hidden
def strata_figure_page(name: str) -> ResponseReturnValue:
    """The figure of the strata in both widths, as files to save, and in words."""
    return _or_choose(name, _figure_page)


def comparable_keys(found: VisibleSurvey, fixed: Stratum) -> dict[str, list[str]]:
    """The keys of the strata by which a survey can be compared now, with their shown values.

    ``fixed`` are values of other keys.
    """
    shown = shown_parts(found) or []
    every = {
        key: [value for value in values if {**fixed, key: value} in shown]
        for key, values in sorted((found.survey.strata or {}).items())
        if key not in fixed
    }
    return {key: values for key, values in every.items() if len(values) >= FEWEST}


def strata_links(keys: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Addresses below the dashboard where a question is compared by a key, with their texts."""
    return [
        (f"strata?by={key}", f"Compare by {key}: {', '.join(values)}")
        for key, values in keys.items()
    ]


def _or_choose(name: str, page: Callable[..., ResponseReturnValue]) -> ResponseReturnValue:
    """The page of a question and a key, or one to choose them."""
    found = visible_survey(name)
    if not request.args.keys() >= {"question", "by"}:
        return _chooser(found)
    try:
        _asked(found.survey)
        subgroups_by(name, request.args["by"])
    except BadParameter as error:
        return _chooser(found, str(error)), 400
    return page(name)


@costly("tallies")
def _page(name: str) -> ResponseReturnValue:
    here = visible_survey(name)
    try:
        found = _current(name)
    except BadParameter as error:
        return _chooser(here, str(error)), 400
    survey, fixed = here.survey, wanted_subgroup(here.survey)
    return render_template(
        "strata.html",
        found=found,
        survey=survey,
        cards=stratum_drawing.cards(found),
        drawing=stratum_drawing,
        side=side_drawing,
        of_whom=of_whom(_asked(survey), asked=stratum_drawing.is_of_asked(found)),
        query=query_of_view(survey, "question", "by", "confidence"),
        same_part=query_of_view(survey, "confidence"),
        keys=_other_keys(comparable_keys(here, fixed), survey),
    )


def _other_keys(keys: Mapping[str, Sequence[str]], survey: Survey) -> list[tuple[str, str]]:
    """The keys by which the question can be compared, with the addresses of that."""
    same = {"question": request.args["question"], **same_in_form(survey)}
    return [(key, f"{request.path}?{urlencode({**same, 'by': key})}") for key in keys]


@costly("tallies")
def _figure_page(name: str) -> str:
    found, survey = _current(name), current_store().survey(name)
    query = query_of_view(survey, "question", "by", "confidence")
    return figure_page(
        [name],
        _paper(found),
        file=_file(found),
        address=f"/api/surveys/{name}/strata.svg{query}",
        about=f"“{found['question']}” by {found['by']}",
        csv=f"/api/surveys/{name}/strata.csv{query}",
        back=(f"/surveys/{name}/strata{query}", "The comparison"),
    )


def _paper(found: ByStratumResult) -> Paper:
    survey = current_store().survey(found["survey"])
    people = sum(one["n"] for one in found["subgroups"])
    closed = current_store().closing_day(survey.name)
    return comparison_papers.by_stratum(
        found,
        ResultsSource.of_survey(survey, "closed", people, closed, found["strata"]),
        Protection.of_question(_asked(survey)),
    )


def _file(found: ByStratumResult) -> str:
    of = [found["survey"], *found["strata"].values(), found["question_name"], "by", found["by"]]
    return "-".join(of)


def _chooser(found: VisibleSurvey, why: str = "") -> str:
    survey = found.survey
    fixed, same = wanted_subgroup(survey), same_in_form(survey)
    questions = [(one.name, listed_label(one)) for one in survey.questions if has_figures(one)]
    keys = comparable_keys(found, fixed)
    return render_template(
        "strata_chooser.html",
        survey=survey,
        questions=questions,
        keys=keys,
        links=[
            (
                f"{request.path}?{urlencode({'question': name, 'by': key, **same})}",
                f"{label} by {key}",
            )
            for key in keys
            if request.args.get("by", key) == key
            for name, label in questions
        ],
        given=request.args,
        fixed=fixed,
        same=same,
        open=found.state == "open",
        why=why and f"{why[:1].upper()}{why[1:]}.",
    )


def _current(name: str) -> ByStratumResult:
    """The document that the request asks for. Raises BadParameter, NotFound or Hidden."""
    level, by = confidence(), request.args.get("by", "")
    shown = subgroups_by(name, by)
    survey = current_store().survey(name)
    question = _asked(survey)
    fixed = wanted_subgroup(survey)

    def compute() -> ByStratumResult:
        tallies = {value: among.tallies() for value, among in shown.items()}
        together = {value: among.together(question.name) for value, among in shown.items()}
        return by_stratum(
            survey, question, by, tallies, strata=fixed, confidence=level, together=together
        )

    try:
        return once(("strata", name, query_of(fixed), question.name, by, level), compute)
    except Incomparable as error:
        raise BadParameter(str(error)) from None


def _asked(survey: Survey) -> Question:
    """The question that the request names. Raises BadParameter."""
    wanted = request.args.get("question", "")
    for question in survey.questions:
        if question.name == wanted:
            return question
    names = ", ".join(question.name for question in survey.questions if has_figures(question))
    raise BadParameter(f"“question” names one of the questions of {survey.name}: {names}")
