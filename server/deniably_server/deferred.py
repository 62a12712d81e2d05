"""Answers that wait for the disk without a thread, and clients that wait no longer.

A thread for each report that waits costs more than the report: all of them wake up at once, and
take turns at the interpreter's lock.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import NamedTuple, Protocol


class EncodedAnswer(NamedTuple):
    """An answer whose header fields are bytes already, as HTTP/1.1 sends them, each with its line
    end.

    The server adds Content-Length, the date and the fields about the connection.
    """

    status: int
    fields: bytes
    body: bytes


class Refused(NamedTuple):
    """A request that the application refuses by its usual way. ``marks`` are what its environment
    must have for that."""

    marks: dict[str, object]


class DeferredAnswer(Protocol):
    """The answer to a request, once the disk has what it waits for."""

    def is_ready(self) -> bool:
        """Returns whether ``answer`` can be called."""
        ...

    def answer(self) -> EncodedAnswer | Refused:
        """Returns the answer, or what its refusal needs. Call it once."""
        ...


GONE = "deniably.gone"
"""Of the environment: the ``ClientGone`` of a request, where the server can tell."""


class ClientGone:
    """Whether a request's client has disconnected, so that nobody waits for the answer."""

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
        """Notes that the client is gone. Call it once."""
        with self._lock:
            self._gone, calls = True, self._calls
        for call in calls:
            call()
