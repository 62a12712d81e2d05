"""Connections that read, several at once: who reads long keeps nobody waiting who reads little."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from threading import BoundedSemaphore, Lock

from deniably_server.storage.engines.engine import Connection, Engine

MOST = 8
"""Of one process; who comes then waits for one of them."""


class Readers:
    """The connections of a process that only read. Each is opened when it is needed, and kept."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._places = BoundedSemaphore(MOST)
        self._lock = Lock()
        self._free: list[Connection] = []
        self._age = 0

    @contextmanager
    def reading(self) -> Generator[Connection]:
        """One of them, for this block alone. Not to be nested: all may be taken."""
        with self._places:
            with self._lock:
                age, found = self._age, self._free.pop() if self._free else None
            if found is None:
                found = self._engine.connect()
                found.only_read()
            try:
                yield found
            except self._engine.errors:
                # A database server may go and come back; the next one to read connects anew.
                found.close()
                raise
            except BaseException:
                self._leave(found, age)
                raise
            self._leave(found, age)

    def close(self) -> None:
        """Close them; those in use once they are free."""
        with self._lock:
            self._age += 1
            free, self._free = self._free, []
        for each in free:
            each.close()

    def _leave(self, connection: Connection, age: int) -> None:
        with self._lock:
            if age == self._age:
                self._free.append(connection)
                return
        connection.close()
