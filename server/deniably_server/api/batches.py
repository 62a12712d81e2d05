"""Takes many reports in one request, from a program with the author's token.

Such a request has no limit of length and occupies a thread while it is sent, so it needs a token.
It has an address of its own, so that proxies can limit the size of all other bodies.
"""

from __future__ import annotations

from typing import Any, TypedDict

from flask import Blueprint, Response, request

from deniably_server.api.admission import require_no_mixer
from deniably_server.api.metrics import current_metrics
from deniably_server.api.report_lines import NDJSON, take_lines
from deniably_server.errors import UnsupportedMediaType
from deniably_server.guard.app_state import current_limits, current_store
from deniably_server.guard.auth import require
from deniably_server.guard.ownership import require_owner_or_scope
from deniably_server.web.answer import json_answer
from deniably_server.web.body import JSON
from deniably_server.web.operation import TOKEN, Operation

batches = Blueprint("batches", __name__)


class LinesAnswer(TypedDict):
    """The outcomes of the lines of a batch (SPEC 6). ``lines`` has runs of consecutive lines with
    equal outcomes, as (first line, last line, outcome). The answer also has a member for each
    outcome, with the number of its lines."""

    read: int
    ended: bool
    lines: list[tuple[int, int, str]]
    refusals: list[dict[str, Any]]


_START, _END = "/api/surveys/", "/batches"


def is_batch(method: str, path: str) -> bool:
    """Returns whether a request sends a batch of reports. The body of such a request is streamed
    to the view and not read before."""
    return method == "POST" and path.startswith(_START) and path.endswith(_END)


@batches.post("/api/surveys/<name>/batches")
@Operation(
    {200: {JSON: LinesAnswer}},
    (*TOKEN, "not-found", "bad-report", "unsupported-media-type"),
    "author",
    body={NDJSON: None},
)
def add(name: str) -> Response:
    """Stores many reports, sent as lines, with the token that published the survey or a token for
    this survey.

    Lines are read as they arrive, without a limit for the body. ``ended`` in the answer says
    whether the last lines were left unread, for example because of the rate limit for a network
    address.
    """
    token, survey = require("author", name), current_store().survey(name)
    require_owner_or_scope(survey, token)
    require_no_mixer(survey)
    if request.mimetype != NDJSON:
        raise UnsupportedMediaType(f"send the reports as {NDJSON}, in Content-Type")
    limits, environ = current_limits(), request.environ
    body = limits.metered(environ["wsgi.input"], limits.admit(environ))
    outcomes = take_lines(current_store(), survey, body)
    current_metrics().lines(outcomes.counts)
    document = outcomes.document
    return json_answer(document | {"ended": True} if body.cut else document)
