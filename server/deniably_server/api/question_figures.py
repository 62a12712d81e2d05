"""Serves the figure of a question for a paper: the file itself, and a page with all its forms."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING

from flask import Blueprint, Response

from deniably.exhibits import question_exhibit
from deniably.exhibits.exhibit import Exhibit
from deniably.exhibits.paper import paper
from deniably_server.api.analysts import View, or_ask_for_a_token
from deniably_server.api.cached_views import cached_view
from deniably_server.api.fine_parameters import LEVEL, confidence
from deniably_server.api.paper_files import WIDTH, figure_file, figure_page, wanted_width
from deniably_server.api.results import current_results
from deniably_server.api.subgroups import query_of_view
from deniably_server.api.visibility import RESULTS, visible_survey
from deniably_server.errors import NotFound
from deniably_server.guard.app_state import current_store
from deniably_server.web.operation import PAGE, SVG, Operation

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue

blueprint = Blueprint("papers", __name__)


def _of_a_question(view: View) -> View:
    """Decorates a view of one question: refuses a survey whose results are hidden, and a question
    that it does not ask, before anything is computed. Raises NotFound."""

    @wraps(view)
    def checked(name: str, question: str) -> ResponseReturnValue:
        names = [one.name for one in visible_survey(name).survey.questions]
        if question not in names:
            raise NotFound(f"the survey has no such question; it asks: {', '.join(names)}")
        return view(name, question=question)

    return checked


@blueprint.get("/api/surveys/<name>/figures/<question>.svg")
@Operation({200: {SVG: None}}, RESULTS, query=WIDTH, headers=("Content-Disposition",), strata=True)
@_of_a_question
@cached_view("tallies")
def as_svg(name: str, question: str) -> Response:
    """Returns the figure of a question for a paper: a file that needs nothing else."""
    width = wanted_width()
    exhibit = _exhibit(name, question)
    return figure_file(paper(exhibit), width, exhibit.file)


@blueprint.get("/surveys/<name>/figures/<question>")
@Operation(PAGE, RESULTS, query=LEVEL, strata=True)
@or_ask_for_a_token
@_of_a_question
@cached_view("tallies")
def page(name: str, question: str) -> str:
    """Returns a page with the figure of a question in both widths, 85 and 180 mm, as files to
    save, and with its description in words."""
    exhibit = _exhibit(name, question)
    query = query_of_view(current_store().survey(name), "confidence")
    return figure_page(
        [name],
        paper(exhibit),
        file=exhibit.file,
        address=f"/api/surveys/{name}/figures/{question}.svg{query}",
        about=exhibit.about,
        csv=f"/api/surveys/{name}/results.csv{query}",
        back=(f"/surveys/{name}{query}", "All results"),
    )


def _exhibit(name: str, question: str) -> Exhibit:
    result = current_results(name, confidence=confidence(), only=question)
    return question_exhibit.exhibit(result, question, current_store().closing_day(name))
