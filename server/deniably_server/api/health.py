"""Answers health checks of supervisors: is the process alive, and is it ready."""

from __future__ import annotations

from flask import Blueprint, Response

from deniably_server.guard.app_state import current_store
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
    """Answers 200 while the database also answers and stores, else 503. Send respondents elsewhere
    until then."""
    current_store().check()
    return Response("ready\n", mimetype="text/plain")
