"""Everybody is heard out. Who answers without reading the body, and closes the connection because
there is more to read, resets it: the answer, such as why a report was refused, may be lost."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from deniably.report import LARGEST_BODY

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

_DIGITS = len(str(LARGEST_BODY))


class HeardOut:
    """WSGI middleware: reads what the application left of a body that is no longer than a report
    may be. Whoever sends more than that, or does not say how much, cannot count on an answer."""

    def __init__(self, app: WSGIApplication) -> None:
        self._app = app

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Serve one request."""
        answer = self._app(environ, start_response)
        length: str = environ.get("CONTENT_LENGTH", "")
        if length.isdecimal() and len(length) <= _DIGITS and int(length) <= LARGEST_BODY:
            environ["wsgi.input"].read(LARGEST_BODY)
        return answer
