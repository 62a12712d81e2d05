"""Group commit: one thread, one transaction for all reports that wait, told after the commit.

A commit costs a write to the disk, whatever is in it. While the writer waits for the disk, the
next reports queue up, so the batches grow with the load and nobody waits for two commits more
than needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Literal

from deniably_server.commit import Bulk, Entry, Outcome, commit_bulk, commit_entries
from deniably_server.engine import Connection, Engine
from deniably_server.errors import NotStored

_LARGEST_BATCH = 256


class Writer:
    """The one thread of a process that stores reports. Safe beside writers of other processes."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._database: Connection | None = None
        self._queue: SimpleQueue[Entry | Bulk | Literal["end"]] = SimpleQueue()
        self._gate = Lock()
        self._closed = False
        self._thread = Thread(target=self._run, name="deniably-writer", daemon=True)
        self._thread.start()

    def begin(self, work: Entry | Bulk) -> None:
        """Begin to store; ``work.wait()`` then says what became of it. Raises NotStored."""
        with self._gate:  # so that nothing is put behind the end of the queue
            if self._closed:
                raise NotStored("the server is shutting down")
            self._queue.put(work)

    def close(self) -> None:
        """Store what was accepted, then end the thread."""
        with self._gate:
            if not self._closed:
                self._closed = True
                self._queue.put("end")
        self._thread.join()

    def _run(self) -> None:
        after: Bulk | Literal["end"] | None = None
        while after != "end":
            batch, after = self._batch()
            if batch:
                self._settle(batch, partial(commit_entries, entries=batch))
            if isinstance(after, Bulk):
                self._settle([after], partial(commit_bulk, bulk=after))
        self._forget()

    def _batch(self) -> tuple[list[Entry], Bulk | Literal["end"] | None]:
        """The single reports that wait, and what comes after them; None where nothing does yet."""
        batch: list[Entry] = []
        work = self._queue.get()
        while isinstance(work, Entry):
            batch.append(work)
            if len(batch) == _LARGEST_BATCH:
                return batch, None
            try:
                work = self._queue.get_nowait()
            except Empty:
                return batch, None
        return batch, work

    def _settle(
        self, works: Sequence[Entry | Bulk], commit: Callable[[Connection], list[Outcome]]
    ) -> None:
        """Commit, and only then wake whoever waits. A failure fails all: the reports were checked
        before, so what fails is the disk or the lock, for all alike."""
        try:
            if self._database is None:
                self._database = self._engine.connect()
            outcomes = iter(commit(self._database))
        except Exception as failure:  # told to every request; nothing was stored
            with suppress(*self._engine.errors):
                self._forget()
            for work in works:
                work.fail(failure)
        else:
            for work in works:
                work.tell(list(islice(outcomes, len(work))))

    def _forget(self) -> None:
        """Close the connection, which rolls back; the next batch opens a new one."""
        database, self._database = self._database, None
        if database is not None:
            database.close()
