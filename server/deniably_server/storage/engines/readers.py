"""Keeps a pool of read-only connections, so that long reads do not delay short ones."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from threading import BoundedSemaphore, Lock

from deniably_server.storage.engines.engine import Connection, Engine

MOST = 8
"""Connections of one process; a reader beyond them waits."""


class Readers:
    """A pool of read-only connections for a process, opened when first needed and then kept."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._places = BoundedSemaphore(MOST)
        self._lock = Lock()
        self._free: list[Connection] = []
        self._age = 0

    @contextmanager
    def reading(self) -> Generator[Connection]:
        """Returns a context manager that lends a connection to a ``with`` block. Never nest such
        blocks: that can deadlock."""
        with self._places:  # before the lock, which a reader that leaves needs
            with self._lock:
                age, reader = self._age, self._free.pop() if self._free else None
            if reader is None:
                reader = self._engine.connect()
                reader.only_read()
            try:
                yield reader
            except self._engine.errors:
                # The database server may have restarted; the next reader connects again.
                reader.close()
                raise
            except BaseException:
                self._leave(reader, age)
                raise
            self._leave(reader, age)

    def close(self) -> None:
        """Close the connections; those in use close when their blocks end."""
        with self._lock:
            self._age += 1
            free, self._free = self._free, []
        for each in free:
            each.close()

    def _leave(self, connection: Connection, age: int) -> None:
        with self._lock:
            if age == self._age:  # else ``close`` came in between, and nobody would close it
                self._free.append(connection)
                return
        connection.close()
