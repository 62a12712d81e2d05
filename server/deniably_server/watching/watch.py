"""The outermost layer: gives each request an id, and each answer a log line and a count."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import perf_counter
from typing import TYPE_CHECKING

from deniably_server.watching import request_facts as facts
from deniably_server.watching.request_facts import AnsweredRequest, milliseconds

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


class Watch:
    """WSGI middleware that gives each request an id, and calls every ``tell`` with each answered
    request.

    A request counts as answered once its body begins. ``tell`` has to be quick, as the respondent
    waits.
    """

    def __init__(self, app: WSGIApplication, *tell: Callable[[AnsweredRequest], None]) -> None:
        self._app = app
        self._tell = tell

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Serve one request."""
        began = facts.began(environ)
        request = facts.name_request(environ)
        status = 500

        def start(
            line: str, headers: list[tuple[str, str]], *exc_info: object
        ) -> Callable[[bytes], object]:
            nonlocal status
            status = int(line[:3])
            # A cached response would repeat the id, which belongs to one request.
            kept = not any(key == "Cache-Control" and "no-store" in how for key, how in headers)
            return start_response(line, headers if kept else [*headers, (facts.HEADER, request)])

        def tell() -> None:
            took = milliseconds(perf_counter() - began)
            method, route = facts.method(environ), facts.route(environ)
            answer = AnsweredRequest(method, route, status, took, request)
            for each in self._tell:
                each(answer)

        body = self._app(environ, start)
        tell()
        return body
