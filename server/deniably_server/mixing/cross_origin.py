"""Lets pages of every survey's server send to a mixer, and read its answers (CORS)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

# No credentials: a mixer has no cookies, and a page of any origin may do what a program may.
_EVERY_ANSWER = (
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Expose-Headers", "Deniably-Request, Retry-After"),
)
_PREFLIGHT = (
    ("Access-Control-Allow-Methods", "GET, POST"),
    ("Access-Control-Allow-Headers", "Content-Type"),
    ("Access-Control-Max-Age", "86400"),
    ("Content-Length", "0"),
)


class CrossOrigin:
    """WSGI middleware that allows every origin, and answers a browser's question before it sends.

    It is around all that refuses, because a page can only read a refusal that allows its origin.
    """

    def __init__(self, app: WSGIApplication) -> None:
        self._app = app

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Serve one request."""
        if environ["REQUEST_METHOD"] == "OPTIONS":
            start_response("204 No Content", [*_EVERY_ANSWER, *_PREFLIGHT])
            return [b""]

        def start(
            status: str, headers: list[tuple[str, str]], *exc_info: object
        ) -> Callable[[bytes], object]:
            return start_response(status, [*headers, *_EVERY_ANSWER])

        return self._app(environ, start)
