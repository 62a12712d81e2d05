"""Lets HTTP answers wait for the disk without a thread, and tells when a client is gone.

A thread for each report that waits costs more than the report: all of them wake up at once, and
take turns at the interpreter's lock.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import NamedTuple, Protocol


class EncodedAnswer(NamedTuple):
    """An HTTP answer whose header fields are bytes already, as HTTP/1.1 sends them, each with its
    line end.

    The server adds Content-Length, the date and the fields about the connection.
    """

    status: int
    fields: bytes
    body: bytes


class Refused(NamedTuple):
    """A request that the WSGI application has to refuse. ``marks`` are the keys and values to add
    to its WSGI environment, by which the application knows the refusal."""

    marks: dict[str, object]


class DeferredAnswer(Protocol):
    """The HTTP answer to a request that may still wait for the database to store something."""

    def is_ready(self) -> bool:
        """Returns whether ``answer`` can be called."""
        ...

    def answer(self) -> EncodedAnswer | Refused:
        """Returns the answer, or ``Refused`` where the application has to refuse the request. Call
        it once, when ``is_ready`` is true."""
        ...


GONE = "deniably.gone"
"""The key of the WSGI environment with the ``ClientGone`` of a request, where the server can
tell."""


class ClientGone:
    """A flag that is set when a request's client disconnects, so that nobody waits for the
    answer."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._gone = False
        self._calls: list[Callable[[], object]] = []

    def then(self, call: Callable[[], object]) -> None:
        """Calls ``call`` once the client is gone, in any thread; at once if it is gone already."""
        with self._lock:
            if not self._gone:
                self._calls.append(call)
                return
        call()  # outside the lock, as a call takes locks of its own

    def set(self) -> None:
        """Notes that the client is gone, and calls what was given to ``then``. Call it once."""
        with self._lock:
            self._gone, calls = True, self._calls
        for call in calls:
            call()
