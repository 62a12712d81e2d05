"""What a supervisor asks: is the process alive, and can it do its work."""

from __future__ import annotations

from flask import Blueprint, Response

from deniably_server.guard.app_state import current_store
from deniably_server.web.operation import TEXT, Operation

health = Blueprint("health", __name__)


@health.get("/healthz")
@Operation({200: {TEXT: None}})
def alive() -> Response:
    """200 as long as the process answers; restart it where this fails."""
    return Response("alive\n", mimetype="text/plain")


@health.get("/readyz")
@Operation({200: {TEXT: None}})
def ready() -> Response:
    """200 where the database answers and stores, too; else 503: send respondents elsewhere
    meanwhile."""
    current_store().check()
    return Response("ready\n", mimetype="text/plain")
