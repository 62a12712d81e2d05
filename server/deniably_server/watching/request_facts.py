"""What is told of a request, in the log, in the metrics and in refusals; nothing else of it is.

Its method, where it is one of HTTP's own; the template of its address, where it has one; and an id,
drawn at random, that its sender is told. A path, a query or an unknown method could be anything,
also an answer.
"""

from __future__ import annotations

import secrets
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from flask import Flask, request

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

HEADER = "Deniably-Request"
NO_ROUTE = "no route"
STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000)
"""Milliseconds: what took 3 is told as 5."""
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_ID, _ROUTE = "deniably.id", "deniably.route"


class Answer(NamedTuple):
    """What is told of an answered request."""

    method: str
    route: str
    status: int
    milliseconds: int
    request: str


def milliseconds(seconds: float) -> int:
    """The least step that is not below."""
    return STEPS[min(bisect_left(STEPS, seconds * 1000), len(STEPS) - 1)]


def name_request(environ: WSGIEnvironment) -> str:
    """Draw the id of a request: 16 hexadecimal digits."""
    found = environ[_ID] = secrets.token_hex(8)
    return found


def name_again(environ: WSGIEnvironment, request: str) -> None:
    """Give a request that another process passes on the id that it has there."""
    environ[_ID] = request


def set_route(environ: WSGIEnvironment, template: str) -> None:
    """Tell the template of the address, such as ``/s/<name>``."""
    environ[_ROUTE] = template


def request_id(environ: WSGIEnvironment) -> str:
    """The id of a request, empty where none was drawn."""
    return str(environ.get(_ID, ""))


def method(environ: WSGIEnvironment) -> str:
    """The method of a request, or "other"."""
    found = str(environ["REQUEST_METHOD"])
    return found if found in _METHODS else "other"


def route(environ: WSGIEnvironment) -> str:
    """The template of the address, or "no route"."""
    return str(environ.get(_ROUTE, NO_ROUTE))


def record_route(app: Flask) -> None:
    """Let ``app`` tell the template of each address that it finds."""

    @app.before_request
    def _() -> None:  # pyright: ignore[reportUnusedFunction]
        if request.url_rule is not None:
            set_route(request.environ, request.url_rule.rule)
