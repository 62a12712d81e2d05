"""Serves checks for fake reports that look at whole reports, as JSON and as a page. They read every
report, so they are computed when they are asked for."""

from __future__ import annotations

from flask import Blueprint, Response, render_template

from deniably.results.pair_plausibility import ChecksResult, checkable, checks_result
from deniably_server.api.analysts import or_ask_for_a_token
from deniably_server.api.cached_views import cached_view
from deniably_server.api.hidden_results import or_say_why_hidden
from deniably_server.api.subgroups import respondents
from deniably_server.api.visibility import RESULTS
from deniably_server.guard.app_state import current_store
from deniably_server.web.answer import json_answer
from deniably_server.web.body import JSON
from deniably_server.web.operation import PAGE, Operation

blueprint = Blueprint("checks", __name__)


@blueprint.get("/api/surveys/<name>/checks")
@Operation({200: {JSON: ChecksResult}}, RESULTS)
@cached_view("reports")
def checks_as_json(name: str) -> Response:
    """Returns the pairs of choices whose joint frequency chance does not explain: a sign of fake
    reports."""
    return json_answer(current_checks(name))


@blueprint.get("/surveys/<name>/checks")
@Operation(PAGE, RESULTS)
@or_ask_for_a_token
@or_say_why_hidden
@cached_view("reports")
def checks_page(name: str) -> str:
    """Returns a page with the pairs of choices whose joint frequency chance does not explain: a
    sign of fake reports."""
    title = current_store().survey(name).title
    return render_template("checks.html", checks=current_checks(name), title=title)


def current_checks(name: str) -> ChecksResult:
    """Returns the result of the check for fake reports that needs a survey's whole reports. Raises
    NotFound where there is no such survey, and Hidden while the results are hidden or the survey
    is open."""
    survey = respondents(name).closed().survey
    chosen = [index for index, _, _ in checkable(survey)]
    pair_counts = current_store().distinct_values(name, *([index] for index in chosen))
    return checks_result(survey, pair_counts if chosen else ())
