"""Answers that wait for the disk without a thread, and clients that wait no longer.

A thread for each report that waits costs more than the report: all of them wake up at once, and
take turns at the interpreter's lock. A server that can wait for many reports at once therefore sets
``NOTIFY`` in the environment of a request. It may then get a ``Later`` instead of an answer's body.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from threading import Lock

NOTIFY = "deniably.notify"
"""Of the environment: is called by another thread when some answers may be ready."""


@dataclass
class Later:
    """The body of an answer that is not ready. Until it is, ``answer`` would block, and so would
    whatever reads the body as WSGI has it."""

    is_ready: Callable[[], bool]
    answer: Callable[[], Iterable[bytes]]
    """Starts the response and returns its body. To be called once."""

    def __iter__(self) -> Iterator[bytes]:
        """Start the response; the parts of its body."""
        return iter(self.answer())

    def then(self, work: Callable[[], object]) -> None:
        """Do this, too, once the response has started."""
        answer = self.answer

        def both() -> Iterable[bytes]:
            body = answer()
            work()
            return body

        self.answer = both


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
