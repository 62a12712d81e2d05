"""Takes reports in the form in which devices send them, in the event loop's thread and without a
WSGI environment.

Most requests at a busy server are reports, and the layers around a view cost more than checking and
storing one. A report in that form is therefore taken here, by the same functions that the layers
call, in the same order. Every other request passes the layers, and so does every refusal of a
report: ``report_fast_path`` makes it, from the marks that are given here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from deniably_server.api.report_fast_path import END, ROUTE, START, mark_refused
from deniably_server.api.reports import BegunReport, begin_report
from deniably_server.deferred import DeferredAnswer, EncodedAnswer, Refused
from deniably_server.guard.headers import NO_STORE, SECURITY_HEADERS
from deniably_server.guard.host_names import is_served
from deniably_server.guard.rate_limits import ServerLimits
from deniably_server.storage.store import Store
from deniably_server.watching.request_facts import (
    HEADER,
    AnsweredRequest,
    begin_at,
    draw_id,
    milliseconds,
)
from deniably_server.web.body import JSON

if TYPE_CHECKING:
    from uvicorn._types import HTTPScope

_START, _END, _JSON = START.encode(), END.encode(), JSON.encode()
_LARGEST = 1 << 14
"""Bytes; a report has a few hundred. Larger ones take longer than a moment to check."""
_FIELDS = (
    b"".join(
        f"{name.lower()}: {value}\r\n".encode()
        for name, value in (("Content-Type", JSON), *SECURITY_HEADERS, NO_STORE)
    )
    + f"{HEADER.lower()}: ".encode()
)
"""The header fields of every answer, up to the request's id."""


class QuickReports:
    """Takes reports in the form in which devices send them, without a thread for each.

    ``names`` are the server's host names, empty if it answers to any. Each of the ``observers`` is
    called with every answer.
    """

    def __init__(
        self,
        store: Store,
        limits: ServerLimits,
        names: frozenset[str],
        observers: Sequence[Callable[[AnsweredRequest], None]],
    ) -> None:
        self._store, self._limits, self._names, self._observers = store, limits, names, observers

    def __call__(
        self, scope: HTTPScope, body: bytes, notify: Callable[[], object]
    ) -> DeferredAnswer | None:
        """Begins to store the report that a request sends; returns None for any other request,
        which the caller must hand to the WSGI application.

        ``notify`` is called when the answer may be ready.
        """
        name = self._survey(scope)
        if name is None or len(body) > _LARGEST:
            return None
        headers = list(scope["headers"])
        fields = dict(headers)
        if (
            len(fields) < len(headers)  # a repeated one needs care
            or fields.get(b"content-type") != _JSON
            or b"content-length" not in fields
            or b"transfer-encoding" in fields
            or not is_served(fields.get(b"host", b"").decode("latin-1"), self._names)
        ):
            return None
        began = perf_counter()
        client = scope["client"]
        try:
            self._limits.admit_from(
                client[0] if client else "",
                fields.get(b"x-forwarded-for", b"").decode("latin-1"),
            )
            begun = begin_report(self._store, name, body, "", notify)
        except Exception as error:  # refusals and faults are all answered as problems
            return _RefusedReport(error, began)
        return _TakenReport(begun, began, self._observers)

    def _survey(self, scope: HTTPScope) -> str | None:
        """Returns the name of the survey whose report the request sends; None where taking it would
        read the database."""
        path = scope["raw_path"]
        if scope["method"] != "POST" or not (path.startswith(_START) and path.endswith(_END)):
            return None
        name = path[len(_START) : -len(_END)].decode("latin-1")
        return name if self._store.has_at_hand(name) else None


class _TakenReport(NamedTuple):
    """A report that waits for the disk."""

    begun: BegunReport
    began: float
    observers: Sequence[Callable[[AnsweredRequest], None]]

    def is_ready(self) -> bool:
        """Returns whether the report is on the disk, or could not be stored."""
        return self.begun.write.is_settled()

    def answer(self) -> EncodedAnswer | Refused:
        """Returns the receipt, after it is logged and counted; or what a refusal needs."""
        try:
            status, body = self.begun.answer()
        except Exception as error:  # see above
            return _RefusedReport(error, self.began).answer()
        request = draw_id()
        took = milliseconds(perf_counter() - self.began)
        answered = AnsweredRequest("POST", ROUTE, status, took, request)
        for observe in self.observers:
            observe(answered)
        return EncodedAnswer(status, b"%b%b\r\n" % (_FIELDS, request.encode()), body)


class _RefusedReport(NamedTuple):
    """A report that is refused with ``error``."""

    error: Exception
    began: float

    def is_ready(self) -> bool:
        """Returns True: a refusal waits for nothing."""
        return True

    def answer(self) -> Refused:
        """Returns the marks by which ``report_fast_path`` makes the refusal."""
        marks: dict[str, object] = {}
        begin_at(marks, self.began)
        mark_refused(marks, self.error)
        return Refused(marks)
