"""Publishing results: only when the definition says so, and never a hint of them before."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from flask import Blueprint, Response, request

from deniably_server.errors import BadParameter, Hidden, NotFound
from deniably_server.guard.auth import require
from deniably_server.guard.current import current_store
from deniably_server.results.result import CONFIDENCE, SurveyResult
from deniably_server.results.result import result as results
from deniably_server.results.spreadsheet import spreadsheet
from deniably_server.web.answer import json_answer

__all__ = ["Hidden", "NotFound", "current_results", "results"]

blueprint = Blueprint("results", __name__)

LEAST_CONFIDENCE, MOST_CONFIDENCE = 0.5, 0.999
_CONFIDENCE = re.compile(r"0?\.[0-9]{1,3}")


@blueprint.get("/api/surveys/<name>/results")
def as_json(name: str) -> Response:
    """The estimates, with their intervals and sentences."""
    return json_answer(current_results(name, smooth=wants_smooth(), confidence=confidence()))


@blueprint.get("/api/surveys/<name>/results.csv")
def as_csv(name: str) -> Response:
    """The estimates for a spreadsheet, one row a choice."""
    found = current_results(name, smooth=wants_smooth(), confidence=confidence())
    response = Response(spreadsheet(found), mimetype="text/csv")
    response.headers["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response


def wants_smooth() -> bool:
    """Whether the request asks for smoothed distributions. Raises BadParameter."""
    wanted = request.args.get("smooth", "0")
    if wanted not in ("0", "1"):
        raise BadParameter("“smooth” is 0 or 1: ?smooth=1 smooths the distributions that are shown")
    return wanted == "1"


def confidence() -> float:
    """The confidence of intervals that the request asks for. Raises BadParameter.

    No more than three decimals, so that there are few different answers.
    """
    wanted = request.args.get("confidence", str(CONFIDENCE))
    if not (_CONFIDENCE.fullmatch(wanted) and float(wanted) >= LEAST_CONFIDENCE):
        raise BadParameter(
            f"“confidence” is a number from {LEAST_CONFIDENCE} to {MOST_CONFIDENCE} with up to"
            " three decimals: 0.9 asks for 90 % intervals"
        )
    return float(wanted)


def given_query(*names: str) -> str:
    """Those of these parameters that the request has, for links to the same in another form; with
    the ? in front, or empty."""
    query = urlencode({name: request.args[name] for name in names if name in request.args})
    return f"?{query}" if query else ""


def current_reports(name: str) -> list[list[list[int] | None]]:
    """Every report of a survey whose results may be seen, and which is closed: of an open one
    results are shown by batches, and whole reports would show what came since.

    Raises as ``current_results`` does.
    """
    current_results(name)
    store = current_store()
    if store.state(name) == "open":
        raise Hidden("what goes together in whole reports is shown once the survey is closed")
    return store.values(name)


def current_results(
    name: str, *, smooth: bool = False, confidence: float = CONFIDENCE
) -> SurveyResult:
    """The results of a survey as of now.

    Raises NotFound; Hidden while the survey's own rules hide them; Unauthorised or Forbidden where
    they are for analysts, and who asks is none. Neither the sentence nor
    anything else says how many reports there are until they may be seen.
    """
    store = current_store()
    survey = store.survey(name)
    state = store.state(name)  # before the tally: a closed survey's tally is final
    rules = survey.results
    if rules.to == "analysts":
        require("analyst", name)  # who sees, and below, for them as well, whether it is time
    if state == "open" and not rules.while_open:
        raise Hidden(
            "the results are shown once the survey is closed, and from"
            f" {rules.minimum:,} reports on"
        )
    tallies = store.shown_tally(name)
    if min(tally.n for tally in tallies.values()) < rules.minimum:
        raise Hidden(
            f"the results are shown from {rules.minimum:,} reports on"
            + (", and the survey was closed with fewer" if state == "closed" else "")
        )
    # After the tally, so that whoever answered is among those who were invited.
    invited = store.issued(name) if survey.invited is True else None
    return results(survey, state, tallies, smooth=smooth, confidence=confidence, invited=invited)
