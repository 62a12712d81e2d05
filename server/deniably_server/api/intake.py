"""The short way in for reports, past Flask: plain ones, and many in one request.

Finding the route, building a request and pushing contexts costs several times what checking and
storing a report does. So a report that is sent as devices send it (a POST with exactly the type
application/json and a length) is taken here; whatever else comes, also a report that is sent in
another way, goes on to Flask. Both ways share ``reports.take`` and ``problems.refuse``. Lines of
reports are read as they come, which Flask's limit for a body would not let them.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from deniably.report import LARGEST_BODY
from deniably_server.api.admission import HEADER
from deniably_server.api.lines import NDJSON, take_lines
from deniably_server.api.reports import take
from deniably_server.errors import Malformed
from deniably_server.guard.limits import Limits
from deniably_server.storage.store import Store
from deniably_server.watching import told
from deniably_server.watching.metrics import Metrics
from deniably_server.web.answer import encode
from deniably_server.web.body import JSON
from deniably_server.web.problems import refuse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

_START, _END = "/api/surveys/", "/reports"
_ROUTE = f"{_START}<name>{_END}"
_TICKET = f"HTTP_{HEADER.replace('-', '_').upper()}"
_DIGITS = len(str(LARGEST_BODY))
_LINES = {status: f"{status.value} {status.phrase}" for status in HTTPStatus}


class Intake:
    """WSGI middleware around the application."""

    def __init__(
        self, app: WSGIApplication, store: Store, metrics: Metrics, limits: Limits
    ) -> None:
        self._app = app
        self._store = store
        self._metrics = metrics
        self._limits = limits

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Serve one request."""
        name = _survey_of_reports(environ)
        if name is None:
            return self._app(environ, start_response)
        told.set_route(environ, _ROUTE)
        try:
            answered = self._answer(name, environ, self._limits.admit(environ))
        except Exception as error:  # every refusal and fault is answered in the one shape
            return refuse(error, environ)(environ, start_response)
        if answered is None:
            return self._app(environ, start_response)
        status, answer = answered
        headers = [("Content-Type", JSON), ("Content-Length", str(len(answer)))]
        start_response(_LINES[HTTPStatus(status)], headers)
        return [answer]

    def _answer(
        self, name: str, environ: WSGIEnvironment, address: str | None
    ) -> tuple[int, bytes] | None:
        """Status and body; None where Flask has to look at it."""
        if _kind(environ) == NDJSON:
            return 200, self._lines(name, environ, address)
        if not _is_plain(environ):
            return None
        return take(self._store, name, _body(environ), environ.get(_TICKET, ""))

    def _lines(self, name: str, environ: WSGIEnvironment, address: str | None) -> bytes:
        """The answer to lines of reports; of those above the limit it says that they are unread."""
        body = self._limits.lines(environ["wsgi.input"], address)
        outcomes = take_lines(self._store, self._store.survey(name), body)
        self._metrics.lines(outcomes.counts)
        found = outcomes.document
        return encode(found | {"ended": True} if body.cut else found)


def _survey_of_reports(environ: WSGIEnvironment) -> str | None:
    """The survey's name if this sends reports."""
    path: str = environ["PATH_INFO"]
    if (
        environ["REQUEST_METHOD"] != "POST"
        or not path.startswith(_START)
        or not path.endswith(_END)
    ):
        return None
    name = path[len(_START) : -len(_END)]
    return name if name and "/" not in name else None


def _kind(environ: WSGIEnvironment) -> str:
    """The body's media type, without its parameters."""
    return str(environ.get("CONTENT_TYPE", "")).partition(";")[0].strip().lower()


def _is_plain(environ: WSGIEnvironment) -> bool:
    """Whether a report is sent the plain way."""
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
