"""Takes reports by WSGI middleware, without Flask, which is several times faster.

Flask's routing, request and contexts cost more than checking and storing a report. A report as
devices send it, a POST with exactly the type application/json and a length, is therefore stored
here, unless ``quick_reports`` has taken it. Every other request goes to Flask, including reports in
another form. All paths share ``reports.begin_report`` and ``problems.refuse``.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from deniably.survey.report import LARGEST_BODY
from deniably_server.api.admission import HEADER
from deniably_server.api.reports import begin_report
from deniably_server.errors import Malformed
from deniably_server.guard.rate_limits import ServerLimits
from deniably_server.storage.store import Store
from deniably_server.watching import request_facts
from deniably_server.web.body import JSON
from deniably_server.web.problems import refuse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

START, END = "/api/surveys/", "/reports"
ROUTE = f"{START}<name>{END}"
_REFUSAL = "deniably.refusal"
_TICKET = f"HTTP_{HEADER.replace('-', '_').upper()}"
_DIGITS = len(str(LARGEST_BODY))
_LINES = {status: f"{status.value} {status.phrase}" for status in HTTPStatus}


class ReportFastPath:
    """WSGI middleware that stores reports in the form in which devices send them, and counts all
    requests with reports against the rate limit."""

    def __init__(self, app: WSGIApplication, store: Store, limits: ServerLimits) -> None:
        self._app = app
        self._store = store
        self._limits = limits

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Serve one request."""
        name = _survey_of_reports(environ)
        if name is None:
            return self._app(environ, start_response)
        request_facts.set_route(environ, ROUTE)
        if error := environ.get(_REFUSAL):
            return refuse(error, environ)(environ, start_response)
        try:
            self._limits.admit(environ)
            if not _is_plain(environ):
                return self._app(environ, start_response)
            ticket = environ.get(_TICKET, "")
            status, answer = begin_report(self._store, name, _body(environ), ticket).answer()
        except Exception as error:  # refusals and faults are all answered as problems
            return refuse(error, environ)(environ, start_response)
        headers = [("Content-Type", JSON), ("Content-Length", str(len(answer)))]
        start_response(_LINES[HTTPStatus(status)], headers)
        return [answer]


def mark_refused(environ: WSGIEnvironment, error: Exception) -> None:
    """Marks the request ``environ``, whose report was counted and checked before, so that the fast
    path answers it with the refusal ``error`` and does nothing else."""
    environ[_REFUSAL] = error


def _survey_of_reports(environ: WSGIEnvironment) -> str | None:
    """The survey's name if the request sends a report, else None."""
    path: str = environ["PATH_INFO"]
    if environ["REQUEST_METHOD"] != "POST" or not path.startswith(START) or not path.endswith(END):
        return None
    name = path[len(START) : -len(END)]
    return name if name and "/" not in name else None


def _is_plain(environ: WSGIEnvironment) -> bool:
    """Whether the request has the usual form: JSON with a length."""
    return (
        environ.get("CONTENT_TYPE") == JSON
        and "HTTP_TRANSFER_ENCODING" not in environ
        and (length := environ.get("CONTENT_LENGTH", "")).isdecimal()
        and len(length) <= _DIGITS  # before int, which takes long over a long text
        and int(length) <= LARGEST_BODY
    )


def _body(environ: WSGIEnvironment) -> bytes:
    length = int(environ["CONTENT_LENGTH"])
    body: bytes = environ["wsgi.input"].read(length)
    if len(body) < length:
        raise Malformed("the body is shorter than its Content-Length says")
    return body
