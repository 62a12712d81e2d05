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
    end. Content-Length, the date and what concerns the connection are not among them."""

    status: int
    fields: bytes
    body: bytes


class Refused(NamedTuple):
    """A request that the application answers, with what its environment must have for that."""

    marks: dict[str, object]


class DeferredAnswer(Protocol):
    """A request whose answer waits for the disk."""

    def is_ready(self) -> bool:
        """Whether ``answer`` can be called."""
        ...

    def answer(self) -> EncodedAnswer | Refused:
        """The answer. To be called once."""
        ...


GONE = "deniably.gone"
"""Of the environment: the ``ClientGone`` of a request, where the server can tell."""


class ClientGone:
    """Whether the client of a request has disconnected, so that nobody waits for the answer."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._gone = False
        self._calls: list[Callable[[], object]] = []

    def then(self, call: Callable[[], object]) -> None:
        """Call this, in any thread, once the client is gone, or now if it is."""
        with self._lock:
            if not self._gone:
                self._calls.append(call)
                return
        call()

    def set(self) -> None:
        """The client is gone. To be called once."""
        with self._lock:
            self._gone, calls = True, self._calls
        for call in calls:
            call()
