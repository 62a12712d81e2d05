"""Limits concurrent reads, so that respondents do not wait for readers of results.

Concurrent requests share the interpreter's lock and slow each other down. Reads that respondents do
not need are therefore handled two at a time. The others wait, which costs a thread each. Above a
limit, requests are refused with Busy instead. One network address may use half of it. Holders of
tokens have places and a limit of their own, which others cannot use up.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING

from deniably_server.errors import Busy
from deniably_server.guard.asker import ANYBODY, Asker
from deniably_server.web.problems import refuse

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

_AT_ONCE = 2
_OF_ONE = 2
"""One network address may use the limit divided by this."""
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


class _Room:
    """Places for ``at_once`` reads that are handled, and ``maximum`` that are handled or wait."""

    def __init__(self, at_once: int, maximum: int) -> None:
        self.places, self._most = BoundedSemaphore(at_once), maximum
        self._lock, self._here = Lock(), Counter[str]()

    @contextmanager
    def one_more(self, name: str) -> Generator[None]:
        """Count a read of this account. Raises Busy."""
        with self._lock:
            of_one = bool(name) and self._here[name] >= max(1, self._most // _OF_ONE)
            if of_one or self._here.total() >= self._most:
                raise Busy("too many results and lists are asked for at once", 1)
            self._here[name] += 1
        try:
            yield
        finally:
            with self._lock:
                self._here[name] -= 1
                self._here += Counter()  # forgets names that have none


class ReadLimit:
    """WSGI middleware that limits how many reads of results and lists are handled or wait at the
    same time: ``maximum``, and a quarter of this for requests with a token. Further reads are
    refused as Busy.

    ``asker`` returns the account of a request.
    """

    def __init__(
        self,
        app: WSGIApplication,
        maximum: int,
        asker: Callable[[WSGIEnvironment], Asker] = lambda _: ANYBODY,
    ) -> None:
        self._app, self._asker = app, asker
        self._anybody, self._holders = _Room(_AT_ONCE, maximum), _Room(1, max(1, maximum // 4))

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Serve one request."""
        if not _only_looks(environ):
            return self._app(environ, start_response)
        asker = self._asker(environ)
        room = self._holders if asker.has_token else self._anybody
        try:
            with room.one_more(asker.name):
                # For ``let_others_read``, with which a view gives its place up while it only waits.
                environ[_KEY] = room.places
                with room.places:
                    return self._app(environ, start_response)
        except Busy as error:  # the application answers its own
            return refuse(error, environ)(environ, start_response)


@contextmanager
def let_others_read(environ: WSGIEnvironment) -> Generator[None]:
    """Lets another read of results be handled while the block runs, because the current one only
    waits there for a computation."""
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
