"""Serves the results of a survey, as JSON and CSV, and reads their query parameters."""

from __future__ import annotations

from urllib.parse import urlencode

import msgspec
from flask import Blueprint, Response, request

from deniably.results.document import SurveyResult
from deniably.results.result import CONFIDENCE, result
from deniably.results.spreadsheet import spreadsheet
from deniably.survey.strata import query_of
from deniably_server.api.cached_views import cached_part, cached_view, of_closed
from deniably_server.api.document_cache import cached_document, caches_documents
from deniably_server.api.fine_parameters import LEVEL, confidence
from deniably_server.api.subgroups import respondents, shown_parts
from deniably_server.api.visibility import RESULTS, visible_survey
from deniably_server.errors import BadParameter
from deniably_server.guard.app_state import current_store
from deniably_server.web.answer import json_answer
from deniably_server.web.body import JSON
from deniably_server.web.operation import CSV, Operation, QueryParameters

blueprint = Blueprint("results", __name__)

_decode = msgspec.json.Decoder(SurveyResult).decode
SHOWN: QueryParameters = {"smooth": {"enum": ["0", "1"]}, **LEVEL}
"""The query parameters of results."""


@blueprint.get("/api/surveys/<name>/results")
@Operation({200: {JSON: SurveyResult}}, RESULTS, query=SHOWN, strata=True)
@cached_view("tallies")
def as_json(name: str) -> Response:
    """Returns the estimates of a survey, with their confidence intervals and sentences.

    In a survey with strata, values of their keys as parameters ask for a subgroup.
    """
    return json_answer(current_results(name, smooth=wants_smooth(), confidence=confidence()))


@blueprint.get("/api/surveys/<name>/results.csv")
@Operation({200: {CSV: None}}, RESULTS, query=SHOWN, headers=("Content-Disposition",), strata=True)
@cached_view("tallies")
def as_csv(name: str) -> Response:
    """Returns the estimates for a spreadsheet, with a row for each choice."""
    results = current_results(name, smooth=wants_smooth(), confidence=confidence())
    return as_attachment(spreadsheet(results), name)


def shown_results(name: str) -> SurveyResult:
    """Returns the results that ``as_json`` answers now without parameters. Raises NotFound, Hidden,
    Unauthorised and Forbidden as ``visible_survey`` does."""
    key = ("results.as_json", name, visible_survey(name).version, ())
    body = cached_part(key, f"/api/surveys/{name}/results", of_closed(name, "tallies"))
    return current_results(name) if body is None else _decode(body)


def as_attachment(text: str, name: str) -> Response:
    """Returns CSV that a browser saves as a file of this name."""
    response = Response(text, mimetype=CSV)
    response.headers["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response


def wants_smooth() -> bool:
    """Returns whether the query asks for smoothed distributions (``smooth``). Raises BadParameter
    unless its value is 0 or 1."""
    text = request.args.get("smooth", "0")
    if text not in ("0", "1"):
        raise BadParameter("“smooth” is 0 or 1: ?smooth=1 smooths the distributions that are shown")
    return text == "1"


def given_query(*names: str) -> str:
    """Returns the request's values of these parameters as a query, for links to the same answer in
    other formats.

    It begins with ``?``, or is empty without parameters.
    """
    query = urlencode({name: request.args[name] for name in names if name in request.args})
    return f"?{query}" if query else ""


def current_results(
    name: str, *, smooth: bool = False, confidence: float = CONFIDENCE, only: str | None = None
) -> SurveyResult:
    """Returns the results of a survey as of now, or only those of its question ``only``.

    If the query names a subgroup, the results are those of this subgroup. ``smooth`` smooths
    distributions. Raises as ``respondents`` does.
    """
    sample = respondents(name)
    visible, invited = sample.visible, sample.visible.invited
    if sample.numbers is not None and invited is not None:
        # The response rate of a subgroup is that of its own invitations.
        invited = current_store().issued(name, sample.numbers)

    def compute(only: str | None) -> SurveyResult:
        return result(
            visible.survey,
            visible.state,
            sample.tallies(),
            smooth=smooth,
            confidence=confidence,
            invited=invited,
            only=only,
            strata=sample.strata,
            subgroups=None if sample.strata else shown_parts(visible),
            together=sample.together(only),
            reports=sample.reports(),
        )

    # Pages that are written all at once share one computation of all questions.
    if not caches_documents():
        return compute(only)
    key = ("results", name, query_of(sample.strata), smooth, confidence)
    whole = cached_document(key, lambda: compute(None))
    chosen = [question for question in whole.questions if only in (None, question.name)]
    return msgspec.structs.replace(whole, questions=chosen)
