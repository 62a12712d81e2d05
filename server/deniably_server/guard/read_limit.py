"""A limit on concurrent reads, so that respondents do not wait for readers of results.

Concurrent requests share the interpreter's lock and slow each other down. Reads that respondents do
not need are therefore handled two at a time. The others wait, which costs a thread each. Above a
limit, requests are refused with Busy instead.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING

from deniably_server.errors import Busy
from deniably_server.web.problems import refuse

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

_AT_ONCE = 2
_KEY = "deniably.read_limit"
_LOOKS = ("GET", "HEAD")
_LOOKED_AT = re.compile(
    r"/|/how|/lab.*|/handbook.*|/surveys/.*|/api/surveys/[^/]*/.*|/api/lab.*|/api/openapi\.json"
    r"|/schema/.*",
    re.S,
)
"""Paths of results, lists, descriptions, the lab and the handbook."""
_REGISTER, _HTML = "/register", "text/html"
"""Devices read the register as JSON; only its page is limited."""


class ReadLimit:
    """WSGI middleware. At most ``most`` reads are handled or waiting; more are refused (Busy)."""

    def __init__(self, app: WSGIApplication, most: int) -> None:
        self._app, self._most = app, most
        self._places = BoundedSemaphore(_AT_ONCE)
        self._lock, self._here = Lock(), 0

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Serve one request."""
        if not _only_looks(environ):
            return self._app(environ, start_response)
        with self._lock:
            here = self._here = self._here + 1
        try:
            if here > self._most:
                error = Busy("too many results and lists are asked for at once")
                return refuse(error, environ)(environ, start_response)
            environ[_KEY] = self._places
            with self._places:
                return self._app(environ, start_response)
        finally:
            with self._lock:
                self._here -= 1


@contextmanager
def let_others_read(environ: WSGIEnvironment) -> Generator[None]:
    """Give this read's place to others while the block runs, because it only waits there."""
    places: BoundedSemaphore | None = environ.get(_KEY)
    if places is None:
        yield
        return
    places.release()
    try:
        yield
    finally:
        places.acquire()


def _only_looks(environ: WSGIEnvironment) -> bool:
    if environ["REQUEST_METHOD"] not in _LOOKS:
        return False
    path: str = environ["PATH_INFO"]
    if path == _REGISTER:
        return _HTML in environ.get("HTTP_ACCEPT", "")
    return _LOOKED_AT.fullmatch(path) is not None
