"""The waves of a panel side by side, as JSON, as CSV and as a page.

The address is that of any wave: panels of different authors may have one name.
"""

from __future__ import annotations

from collections.abc import Hashable

from flask import Blueprint, Response, render_template, request

from deniably.core.errors import Incomparable
from deniably.core.languages.spreadsheet import csv_table
from deniably.results import comparison_papers, side_drawing, wave_drawing
from deniably.results.drawing.paper import Paper
from deniably.results.provenance import Protection, ResultsSource
from deniably.results.waves import (
    COLUMNS,
    Wave,
    WaveQuestion,
    WavesResult,
    wave_rows,
    waves_result,
)
from deniably.survey.survey import Survey, Waves
from deniably_server.api.analysts import or_ask_for_a_token
from deniably_server.api.costly import costly
from deniably_server.api.fine_parameters import LEVEL, confidence
from deniably_server.api.hidden import or_say_why_hidden
from deniably_server.api.paper_files import WIDTH, figure_file, figure_page, wanted_width
from deniably_server.api.results import as_attachment, given_query
from deniably_server.api.subgroups import everybody
from deniably_server.api.visibility import RESULTS, visible_survey
from deniably_server.errors import BadParameter, Forbidden, Hidden, NotFound, Unauthorised
from deniably_server.guard.app_state import current_store
from deniably_server.web.answer import json_answer
from deniably_server.web.body import JSON
from deniably_server.web.operation import CSV, NAMED, PAGE, SVG, Operation, QueryParameters

blueprint = Blueprint("waves", __name__)

_QUESTION: QueryParameters = {"question!": NAMED}


def _others(name: str) -> tuple[Hashable, ...]:
    """What the answer depends on: all waves, and the versions of those that the caller may see."""
    versions = (visible_survey(one).version for one in _shown(name))
    return *current_store().waves(name), *versions


@blueprint.get("/api/surveys/<name>/waves")
@Operation({200: {JSON: WavesResult}}, RESULTS, query=LEVEL)
@costly("tallies", _others)
def waves_as_json(name: str) -> Response:
    """Every question of a panel over its waves, with tests of a change."""
    return json_answer(_current(name))


@blueprint.get("/api/surveys/<name>/waves.csv")
@Operation({200: {CSV: None}}, RESULTS, query=LEVEL, headers=("Content-Disposition",))
@costly("tallies", _others)
def waves_as_csv(name: str) -> Response:
    """The waves for a spreadsheet, with a row for each figure in each wave."""
    return as_attachment(csv_table(COLUMNS, wave_rows(_current(name))), f"{name}-waves")


@blueprint.get("/api/surveys/<name>/waves.svg")
@Operation(
    {200: {SVG: None}}, RESULTS, query={**_QUESTION, **WIDTH}, headers=("Content-Disposition",)
)
@costly("tallies", _others)
def waves_as_svg(name: str) -> Response:
    """One question over the waves as a figure for a paper: a file that needs nothing else."""
    width, (question, paper) = wanted_width(), _drawn(name)
    return figure_file(paper, width, _file(name, question))


@blueprint.get("/surveys/<name>/waves")
@Operation(PAGE, RESULTS, query=LEVEL)
@or_ask_for_a_token
@or_say_why_hidden
@costly("tallies", _others)
def waves_page(name: str) -> str:
    """The waves as a page."""
    found = _current(name)
    return render_template(
        "waves.html",
        found=found,
        cards=[wave_drawing.card(one) for one in found["questions"]],
        drawing=wave_drawing,
        side=side_drawing,
        kept=not current_store().survey(name).count,
        query=given_query("confidence"),
    )


@blueprint.get("/surveys/<name>/waves/figure")
@Operation(PAGE, RESULTS, query={**_QUESTION, **LEVEL})
@or_ask_for_a_token
@or_say_why_hidden
@costly("tallies", _others)
def waves_figure_page(name: str) -> str:
    """The figure of a question over the waves in both widths, as files to save, and in words."""
    question, paper = _drawn(name)
    query, level = given_query("question", "confidence"), given_query("confidence")
    return figure_page(
        _shown(name),
        paper,
        file=_file(name, question),
        address=f"/api/surveys/{name}/waves.svg{query}",
        about=f"“{question['label']}” over the waves",
        csv=f"/api/surveys/{name}/waves.csv{level}",
        back=(f"/surveys/{name}/waves{level}#{question['name']}", "All waves"),
    )


def _drawn(name: str) -> tuple[WaveQuestion, Paper]:
    """The question that the request names, and its figure. Raises as ``_current`` does."""
    found, store = _current(name), current_store()
    asked = {question["name"]: question for question in found["questions"]}
    wanted = request.args.get("question", "")
    if wanted not in asked:
        names = ", ".join(asked) or "there is none"
        raise BadParameter(f"“question” names a question that all waves ask alike: {names}")
    last = found["waves"][-1]
    survey = store.survey(last["survey"])
    source = ResultsSource.of_survey(
        survey, last["state"], last["n"], store.closing_day(survey.name)
    )
    (question,) = (one for one in survey.questions if one.name == wanted)
    protection = Protection.of_question(question)
    return asked[wanted], comparison_papers.waves(found, asked[wanted], source, protection)


def _file(name: str, question: WaveQuestion) -> str:
    return f"{name}-{question['name']}-waves"


def wave_links(survey: Survey) -> list[tuple[str, str]]:
    """The address below the dashboard of the waves of a survey's panel, with its text."""
    return [("waves", "All waves side by side")] if isinstance(survey.waves, Waves) else []


def _current(name: str) -> WavesResult:
    """The document that the request asks for. Raises BadParameter, NotFound or Hidden."""
    level, store = confidence(), current_store()
    if not isinstance(visible_survey(name).survey.waves, Waves):
        raise NotFound(f"{name} is no wave of a panel")
    every, shown = store.waves(name), _shown(name)
    waves = [
        Wave(
            every.index(one) + 1,
            found.survey,
            found.state,
            store.shown_tally(one),
            everybody(found).together(),
        )
        for one in shown
        for found in [visible_survey(one)]
    ]
    try:
        return waves_result(name, waves, len(every) - len(waves), level)
    except Incomparable as error:
        raise Hidden(str(error)) from None


def _shown(name: str) -> list[str]:
    """The waves whose results the caller may see, in the order of publication."""
    return [one for one in current_store().waves(name) if _may_see(one)]


def _may_see(name: str) -> bool:
    try:
        visible_survey(name)
    except (Hidden, Unauthorised, Forbidden):
        return False
    return True
