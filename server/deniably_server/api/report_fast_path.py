"""WSGI middleware that takes reports without Flask, which is several times faster.

Flask's routing, request and contexts cost more than checking and storing a report. A report as
devices send it, a POST with exactly the type application/json and a length, is therefore stored
here. Every other request goes to Flask, including reports in another form. Both paths share
``reports.begin_report`` and ``problems.refuse``.
"""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING

from deniably.survey.report import LARGEST_BODY
from deniably_server.api.admission import HEADER
from deniably_server.api.reports import BegunReport, begin_report
from deniably_server.errors import Malformed
from deniably_server.guard.limits import ServerLimits
from deniably_server.later import NOTIFY, Later
from deniably_server.storage.store import Store
from deniably_server.watching import request_facts
from deniably_server.web.body import JSON
from deniably_server.web.problems import refuse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

_START, _END = "/api/surveys/", "/reports"
_ROUTE = f"{_START}<name>{_END}"
_TICKET = f"HTTP_{HEADER.replace('-', '_').upper()}"
_DIGITS = len(str(LARGEST_BODY))
_SHORT = 1 << 14
"""Bytes; a report has a few hundred."""
_LINES = {status: f"{status.value} {status.phrase}" for status in HTTPStatus}


class ReportFastPath:
    """Stores reports in the usual form, and counts all requests with reports."""

    def __init__(self, app: WSGIApplication, store: Store, limits: ServerLimits) -> None:
        self._app = app
        self._store = store
        self._limits = limits

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Serve one request; gives a ``Later`` if the environment has ``NOTIFY``."""
        name = _survey_of_reports(environ)
        if name is None:
            return self._app(environ, start_response)
        request_facts.set_route(environ, _ROUTE)
        try:
            self._limits.admit(environ)
            if not _is_plain(environ):
                return self._app(environ, start_response)
            ticket = environ.get(_TICKET, "")
            notify = environ.get(NOTIFY)
            begun = begin_report(self._store, name, _body(environ), ticket, notify)
        except Exception as error:  # refusals and faults are all answered as problems
            return refuse(error, environ)(environ, start_response)
        if notify is None:
            return _answer(begun, environ, start_response)
        return Later(begun.write.is_settled, partial(_answer, begun, environ, start_response))


def takes_no_thread(store: Store, environ: WSGIEnvironment) -> bool:
    """Whether the request sends a usual report that is checked in a moment.

    Then nothing is read from the disk, only the answer waits for it.
    """
    name = _survey_of_reports(environ)
    return (
        name is not None
        and store.has_at_hand(name)
        and _is_plain(environ)
        and int(environ["CONTENT_LENGTH"]) <= _SHORT
    )


def _answer(
    begun: BegunReport, environ: WSGIEnvironment, start_response: StartResponse
) -> Iterable[bytes]:
    try:
        status, answer = begun.answer()
    except Exception as error:  # see above
        return refuse(error, environ)(environ, start_response)
    headers = [("Content-Type", JSON), ("Content-Length", str(len(answer)))]
    start_response(_LINES[HTTPStatus(status)], headers)
    return [answer]


def _survey_of_reports(environ: WSGIEnvironment) -> str | None:
    """The survey's name if the request sends a report, else None."""
    path: str = environ["PATH_INFO"]
    if (
        environ["REQUEST_METHOD"] != "POST"
        or not path.startswith(_START)
        or not path.endswith(_END)
    ):
        return None
    name = path[len(_START) : -len(_END)]
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
