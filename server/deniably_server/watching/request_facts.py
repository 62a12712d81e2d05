"""The only request attributes that logs, metrics and error responses may contain.

These are a standard HTTP method, the route template, and a random id that the response carries too.
A path, a query or an unknown method could contain anything, even an answer.
"""

from __future__ import annotations

import os
import secrets
from bisect import bisect_left
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from flask import Flask, request

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

HEADER = "Deniably-Request"
NO_ROUTE = "no route"
STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000)
"""Milliseconds: durations are rounded up to one of these, so 3 becomes 5."""
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_IDS = 256
"""Ids that are drawn at once."""
_ID, _ROUTE, _BEGAN = "deniably.id", "deniably.route", "deniably.began"


class AnsweredRequest(NamedTuple):
    """The facts about an answered request that may be logged and counted: its method, route
    template, status, duration rounded up to one of ``STEPS``, and random id."""

    method: str
    route: str
    status: int
    milliseconds: int
    request: str


def milliseconds(seconds: float) -> int:
    """Returns a duration in milliseconds, rounded up to one of ``STEPS``, but never more than the
    last of them.

    >>> milliseconds(0.003)
    5
    """
    return STEPS[min(bisect_left(STEPS, seconds * 1000), len(STEPS) - 1)]


class _Ids:
    """Draws ids of 16 hexadecimal digits, many at a time.

    To ask the system for random bytes lets go of the interpreter's lock, and the way back to it may
    take longer than the request.
    """

    def __init__(self) -> None:
        self._drawn: list[str] = []
        # Two processes must not use the same ids.
        os.register_at_fork(after_in_child=self._drawn.clear)

    def draw(self) -> str:
        """The next id. Threads may call this."""
        try:
            return self._drawn.pop()
        except IndexError:
            digits = secrets.token_hex(8 * _IDS)
            self._drawn += [digits[at : at + 16] for at in range(16, len(digits), 16)]
            return digits[:16]


_ids = _Ids()


def name_request(environ: WSGIEnvironment) -> str:
    """Draws the id of a request, 16 hexadecimal digits; sets it in the environment and returns
    it."""
    drawn = environ[_ID] = _ids.draw()
    return drawn


def draw_id() -> str:
    """Returns a new id, for a request that has no WSGI environment: 16 hexadecimal digits."""
    return _ids.draw()


def begin_at(environ: WSGIEnvironment, moment: float) -> None:
    """Sets when a request began, by ``perf_counter``, where that was before its environment was
    made."""
    environ[_BEGAN] = moment


def began(environ: WSGIEnvironment) -> float:
    """Returns when a request began, by ``perf_counter``; the current time if ``begin_at`` did not
    set it."""
    return float(environ.get(_BEGAN) or perf_counter())


def name_again(environ: WSGIEnvironment, request: str) -> None:
    """Sets the id of a request in a process to which it was passed on. The process that received
    the request has drawn the id."""
    environ[_ID] = request


def set_route(environ: WSGIEnvironment, template: str) -> None:
    """Set the route template of a request, such as ``/s/<name>``."""
    environ[_ROUTE] = template


def request_id(environ: WSGIEnvironment) -> str:
    """Returns the id of a request; empty if none was drawn."""
    return str(environ.get(_ID, ""))


def method(environ: WSGIEnvironment) -> str:
    """Returns the HTTP method of a request, or "other" for an unknown one."""
    name = str(environ["REQUEST_METHOD"])
    return name if name in _METHODS else "other"


def route(environ: WSGIEnvironment) -> str:
    """Returns the route template of a request, or "no route"."""
    return str(environ.get(_ROUTE, NO_ROUTE))


def record_route(app: Flask) -> None:
    """Makes ``app`` record the route template of every request whose path it knows."""

    @app.before_request
    def _() -> None:  # pyright: ignore[reportUnusedFunction]
        if request.url_rule is not None:
            set_route(request.environ, request.url_rule.rule)
