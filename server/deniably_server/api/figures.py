"""The figure of a question for a paper: the file itself, and a page with all its forms."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from flask import Blueprint, Response, render_template, request

from deniably.results import papers
from deniably.results.document import SurveyResult
from deniably.results.figures.paper import WIDTHS, Svg
from deniably_server.api.analysts import View, or_ask_for_a_token
from deniably_server.api.costly import costly
from deniably_server.api.results import LEVEL, confidence, current_results, given_query
from deniably_server.api.visibility import RESULTS, visible_survey
from deniably_server.errors import BadParameter, NotFound
from deniably_server.guard.app_state import current_store
from deniably_server.web.operation import PAGE, SVG, Operation, Parameters

blueprint = Blueprint("figures", __name__)

_WIDTH: Parameters = {
    "width": {
        "enum": [str(width) for width in WIDTHS],
        "description": "Of the figure, in millimetres: one column of a journal, or two.",
        "default": str(WIDTHS[0]),
    },
    **LEVEL,
}


def _of_a_question(view: View) -> Callable[..., Response | str]:
    """Refuses a survey whose results are hidden and a question that it does not ask, before
    anything is computed. Raises NotFound."""

    @wraps(view)
    def found(name: str, question: str) -> Response | str:
        asked = [one.name for one in visible_survey(name).survey.questions]
        if question not in asked:
            raise NotFound(f"the survey has no such question; it asks: {', '.join(asked)}")
        return view(name, question=question)  # type: ignore[return-value]

    return found


@blueprint.get("/api/surveys/<name>/figures/<question>.svg")
@Operation({200: {SVG: None}}, RESULTS, query=_WIDTH, headers=("Content-Disposition",))
@_of_a_question
@costly("tallies")
def as_svg(name: str, question: str) -> Response:
    """A figure for a paper: a file that needs nothing else."""
    width = request.args.get("width", str(WIDTHS[0]))
    if width not in map(str, WIDTHS):
        raise BadParameter("“width” is 85 or 180, in millimetres: one column of a journal, or two")
    drawn = _drawn(current_results(name, confidence=confidence(), only=question), int(width))
    response = Response(drawn, mimetype=SVG)
    file = f"{name}-{question}-{width}mm.svg"
    response.headers["Content-Disposition"] = f'inline; filename="{file}"'
    return response


@blueprint.get("/surveys/<name>/figures/<question>")
@Operation(PAGE, RESULTS, query=LEVEL)
@or_ask_for_a_token
@_of_a_question
@costly("tallies")
def page(name: str, question: str) -> str:
    """The figure in both widths, as files to save, and in words."""
    result = current_results(name, confidence=confidence(), only=question)
    (shown,) = result.questions
    private = current_store().survey(name).results.to == "analysts"
    return render_template(
        "figure.html",
        result=result,
        question=shown,
        private=private,
        # The address of an image could not show the token.
        drawn={width: _drawn(result, width) for width in WIDTHS} if private else {},
        in_words=papers.in_words(result, question),
        described=papers.described(result, question),
        query=given_query("confidence"),
    )


def _drawn(result: SurveyResult, width: int) -> Svg:
    (question,) = result.questions
    closed = current_store().closing_day(result.survey)
    return papers.figure(result, question.name, width=width, closed=closed)
