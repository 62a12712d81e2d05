"""Many reports in one request, from a program that the survey's author trusts with a token.

Such a request may be as long as it likes, takes a thread for as long as it comes, and is passed on
unread by proxies that keep reports small: so it has an address of its own, and is not for everybody
who can reach a form.
"""

from __future__ import annotations

from typing import Any, TypedDict

from flask import Blueprint, Response, request

from deniably_server.api.lines import NDJSON, take_lines
from deniably_server.api.metrics import current_metrics
from deniably_server.errors import UnsupportedMediaType
from deniably_server.guard.app_state import current_limits, current_store
from deniably_server.guard.auth import require
from deniably_server.web.answer import json_answer
from deniably_server.web.body import JSON
from deniably_server.web.operation import TOKEN, Operation

batches = Blueprint("batches", __name__)


class LinesAnswer(TypedDict):
    """What became of each line (SPEC section 6), and how many became what."""

    read: int
    ended: bool
    lines: list[tuple[int, int, str]]
    refusals: list[dict[str, Any]]


_START, _END = "/api/surveys/", "/batches"


def is_batch(method: str, path: str) -> bool:
    """Whether the body of such a request is read as it comes."""
    return method == "POST" and path.startswith(_START) and path.endswith(_END)


@batches.post("/api/surveys/<name>/batches")
@Operation(
    {200: {JSON: LinesAnswer}},
    (*TOKEN, "not-found", "unsupported-media-type"),
    "author",
    body={NDJSON: None},
)
def add(name: str) -> Response:
    """Store many reports, which are sent as lines. With an author's token.

    Lines are read as they come, past Flask's limit for a body; of those above the limit for a
    network address the answer says that they are unread.
    """
    require("author", name)
    if request.mimetype != NDJSON:
        raise UnsupportedMediaType(f"send the reports as {NDJSON}, in Content-Type")
    limits, environ = current_limits(), request.environ
    body = limits.metered(environ["wsgi.input"], limits.admit(environ))
    outcomes = take_lines(current_store(), current_store().survey(name), body)
    current_metrics().lines(outcomes.counts)
    found = outcomes.document
    return json_answer(found | {"ended": True} if body.cut else found)
