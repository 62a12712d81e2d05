"""Answers health checks of supervisors: is the process alive, and is it ready."""

from __future__ import annotations

from flask import Blueprint, Response

from deniably_server.guard.app_state import current_base_store
from deniably_server.web.operation import TEXT, Operation

health = Blueprint("health", __name__)


@health.get("/healthz")
@Operation({200: {TEXT: None}})
def alive() -> Response:
    """Answers 200 while the process runs. Restart the process if this fails."""
    return Response("alive\n", mimetype="text/plain")


@health.get("/readyz")
@Operation({200: {TEXT: None}})
def ready() -> Response:
    """Answers 200 while the database answers and can store reports, else 503. While it is 503,
    send respondents to another server."""
    current_base_store().check()
    return Response("ready\n", mimetype="text/plain")
