"""Takes many reports in one request, from a program with the author's token.

Such a request has no limit of length and occupies a thread while it is sent, so it needs a token.
It has an address of its own, so that proxies can limit the size of all other bodies.
"""

from __future__ import annotations

from typing import Any, TypedDict

from flask import Blueprint, Response, request

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
    """What became of the lines of a batch (SPEC 6): ``lines`` has runs of equal outcomes, as (first
    line, last line, outcome). The number of each outcome is a member of its own."""

    read: int
    ended: bool
    lines: list[tuple[int, int, str]]
    refusals: list[dict[str, Any]]


_START, _END = "/api/surveys/", "/batches"


def is_batch(method: str, path: str) -> bool:
    """Returns whether a request holds a batch of reports, so that its body is streamed to its
    view."""
    return method == "POST" and path.startswith(_START) and path.endswith(_END)


@batches.post("/api/surveys/<name>/batches")
@Operation(
    {200: {JSON: LinesAnswer}},
    (*TOKEN, "not-found", "unsupported-media-type"),
    "author",
    body={NDJSON: None},
)
def add(name: str) -> Response:
    """Stores many reports, sent as lines, with the token that published the survey or one for it.

    Lines are read as they arrive, without a limit for the body. The answer says if lines were left
    unread because of the rate limit for a network address.
    """
    token, survey = require("author", name), current_store().survey(name)
    require_owner_or_scope(survey, token)
    if request.mimetype != NDJSON:
        raise UnsupportedMediaType(f"send the reports as {NDJSON}, in Content-Type")
    limits, environ = current_limits(), request.environ
    body = limits.metered(environ["wsgi.input"], limits.admit(environ))
    outcomes = take_lines(current_store(), survey, body)
    current_metrics().lines(outcomes.counts)
    document = outcomes.document
    return json_answer(document | {"ended": True} if body.cut else document)
