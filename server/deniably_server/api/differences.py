"""Hypothesis tests of differences, within one survey or between two: JSON, CSV and a page."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from flask import Blueprint, Response, render_template, request

from deniably.core.errors import Incomparable
from deniably.results import comparison, comparison_papers, difference_drawing
from deniably.results.comparison import (
    NOT_OF_MEANS,
    Comparison,
    DifferenceResult,
    DifferencesResult,
    Side,
    has_pairs,
)
from deniably.results.drawing.paper import Paper
from deniably.results.provenance import Protection, ResultsSource
from deniably.results.spreadsheet import written
from deniably.survey.questions import Question
from deniably.survey.readable import listed_label, short_label
from deniably.survey.survey import Survey
from deniably_server.api.analysts import or_ask_for_a_token
from deniably_server.api.costly import costly
from deniably_server.api.hidden import or_say_why_hidden
from deniably_server.api.paper_files import WIDTH, figure_file, figure_page, wanted_width
from deniably_server.api.results import LEVEL, as_attachment, confidence, given_query
from deniably_server.api.visibility import RESULTS, visible_survey
from deniably_server.errors import BadParameter, Hidden
from deniably_server.guard.app_state import current_store
from deniably_server.web.answer import json_answer
from deniably_server.web.body import JSON
from deniably_server.web.operation import CSV, NAMED, PAGE, SVG, Operation, QueryParameters

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue

blueprint = Blueprint("differences", __name__)

_HOW = (
    "compare a choice with a share (?question=q&choice=a&share=0.5), with another choice"
    " (&other=b) or with the same choice of another survey (&survey=name); or a mean with a value"
    " (?question=q&value=7) or with that of another survey (&survey=name), of several numbers that"
    " of one (&part=p)"
)
_QUESTION: QueryParameters = {"question!": NAMED, "survey": NAMED, **LEVEL}
_PAGE: QueryParameters = {"question": NAMED, "survey": NAMED, **LEVEL}
_KINDS = ("share", "other", "value", "survey")


@blueprint.get("/api/surveys/<name>/difference")
@Operation(
    {200: {JSON: DifferenceResult}},
    RESULTS,
    query={
        **dict.fromkeys(
            ("question!", "choice", "part", "share", "other", "value", "survey"), NAMED
        ),
        **LEVEL,
    },
)
@costly("tallies")
def difference(name: str) -> Response:
    """One hypothesis test. For many at once see ``differences``."""
    given = {key: request.args[key] for key in _KINDS if key in request.args}
    if len(given) != 1:
        raise BadParameter(f"{_HOW}; exactly one of share, other, value and survey is given")
    ((kind, value),) = given.items()
    side, choice = _side(name), request.args.get("choice")
    if kind != "survey" and (choice is None) != (kind == "value"):
        raise BadParameter(_HOW)
    with _comparable():
        return json_answer(_compared(side, choice, kind, value).result(confidence()))


@blueprint.get("/api/surveys/<name>/differences")
@Operation({200: {JSON: DifferencesResult}}, RESULTS, query=_QUESTION)
@costly("tallies")
def differences(name: str) -> Response:
    """Test every pair of a question's choices, or each choice here and in another ``survey``."""
    return json_answer(_current(name))


@blueprint.get("/api/surveys/<name>/differences.csv")
@Operation({200: {CSV: None}}, RESULTS, query=_QUESTION, headers=("Content-Disposition",))
@costly("tallies")
def differences_as_csv(name: str) -> Response:
    """The differences for a spreadsheet, with a row for each difference."""
    found = _current(name)
    text = written(difference_drawing.COLUMNS, difference_drawing.difference_rows(found))
    return as_attachment(text, _file(found))


@blueprint.get("/api/surveys/<name>/differences.svg")
@Operation(
    {200: {SVG: None}}, RESULTS, query={**_QUESTION, **WIDTH}, headers=("Content-Disposition",)
)
@costly("tallies")
def differences_as_svg(name: str) -> Response:
    """The differences as a figure for a paper: a file that needs nothing else."""
    width, found = wanted_width(), _current(name)
    return figure_file(_paper(found), width, _file(found))


@blueprint.get("/surveys/<name>/differences")
@Operation(PAGE, RESULTS, query=_PAGE)
@or_ask_for_a_token
@or_say_why_hidden
def differences_page(name: str) -> ResponseReturnValue:
    """The differences as a page; without a question, a page to choose one."""
    return _or_choose(name, _page)


@blueprint.get("/surveys/<name>/differences/figure")
@Operation(PAGE, RESULTS, query=_PAGE)
@or_ask_for_a_token
@or_say_why_hidden
def differences_figure_page(name: str) -> ResponseReturnValue:
    """The figure of the differences in both widths, as files to save, and in words."""
    return _or_choose(name, _figure_page)


def _or_choose(name: str, page: Callable[..., ResponseReturnValue]) -> ResponseReturnValue:
    """The page of a question, or one to choose it."""
    survey = visible_survey(name).survey
    if "question" not in request.args:
        return _chooser(survey)
    try:
        question = _asked(survey)
    except BadParameter as error:
        return _chooser(survey, f"{str(error)[:1].upper()}{str(error)[1:]}."), 400
    if "survey" not in request.args and not has_pairs(question):
        why = f"The answers to “{question.label}” are not compared in pairs."
        return _chooser(survey, why), 400
    return page(name)


@costly("tallies")
def _page(name: str) -> str:
    found, here = _current(name), visible_survey(name)
    return render_template(
        "differences.html",
        found=found,
        survey=here.survey,
        state=here.state,
        short=short_label(_asked(here.survey)),
        drawing=difference_drawing,
        query=given_query("question", "survey", "confidence"),
        same_level=given_query("confidence"),
    )


@costly("tallies")
def _figure_page(name: str) -> str:
    found, query = _current(name), given_query("question", "survey", "confidence")
    return figure_page(
        [name, found["other"] or name],
        _paper(found),
        file=_file(found),
        address=f"/api/surveys/{name}/differences.svg{query}",
        about=f"the differences in “{found['question']}”",
        csv=f"/api/surveys/{name}/differences.csv{query}",
        back=(f"/surveys/{name}/differences{query}", "The differences"),
    )


def _paper(found: DifferencesResult) -> Paper:
    here = visible_survey(found["survey"])
    question, closed = _asked(here.survey), current_store().closing_day(here.survey.name)
    return comparison_papers.differences(
        found,
        short_label(question),
        ResultsSource.of_survey(here.survey, here.state, found["n"], closed),
        Protection.of_question(question),
    )


def _file(found: DifferencesResult) -> str:
    return f"{found['survey']}-{found['question_name']}-differences"


def _chooser(survey: Survey, why: str = "") -> str:
    questions = [(one.name, listed_label(one)) for one in survey.questions if has_pairs(one)]
    return render_template(
        "differences_chooser.html",
        survey=survey,
        questions=questions,
        level=request.args.get("confidence"),
        why=why,
    )


def difference_links(survey: Survey) -> list[tuple[str, str]]:
    """The address below the dashboard where a question is chosen, with its text."""
    if any(map(has_pairs, survey.questions)):
        return [("differences", "Which answers of a question differ?")]
    return []


def _current(name: str) -> DifferencesResult:
    here, other = _side(name), request.args.get("survey")
    with _comparable():
        there = _there(here, other) if here.choices and other is not None else None
        return comparison.pairs(here, there, confidence())


def _compared(side: Side, choice: str | None, kind: str, value: str) -> Comparison:
    if choice is None:
        if kind == "value":
            return comparison.mean_and_value(side, value)
        return comparison.mean_apart(side, _there(side, value))
    side.answers(choice)  # an error on this side is reported before the other survey is read
    match kind:
        case "share":
            return comparison.choice_and_share(side, choice, value)
        case "other":
            return comparison.choices(side, choice, value)
        case _:
            return comparison.choice_apart(side, _there(side, value), choice)


def _side(name: str) -> Side:
    """The question that the request names, in a survey whose results the caller may see."""
    survey = visible_survey(name).survey
    question = _asked(survey)
    tally = current_store().shown_tally(name)[question.name]
    return Side(survey, question, tally, request.args.get("part"))


def _asked(survey: Survey) -> Question:
    """The question that the request names. Raises BadParameter."""
    wanted = request.args.get("question", "")
    for question in survey.questions:
        if question.name == wanted:
            return question
    names = ", ".join(question.name for question in survey.questions)
    raise BadParameter(f"“question” names one of the questions of {survey.name}: {names}")


def _there(here: Side, other: str) -> Side:
    """The question of this name in another survey."""
    if other == here.survey.name:
        raise BadParameter("“survey” names another survey, of other people or another wave")
    try:
        return _side(other)
    except Hidden as hidden:
        raise Hidden(f"of the other survey, {other}, {hidden.why}") from None


@contextmanager
def _comparable() -> Generator[None]:
    try:
        yield
    except Incomparable as error:
        why = str(error)
        raise BadParameter(f"{why}; {_HOW}" if why == NOT_OF_MEANS else why) from None
