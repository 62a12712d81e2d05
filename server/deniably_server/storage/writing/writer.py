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
from time import monotonic
from typing import Literal, Protocol

from deniably_server.errors import NotStored, Unavailable
from deniably_server.storage.engines.engine import Connection, Engine
from deniably_server.storage.writing.commit import (
    Bulk,
    Entry,
    Outcome,
    Trial,
    commit_bulk,
    commit_entries,
    commit_trial,
)

_LARGEST_BATCH = 256
_NEWS_SECONDS = 60
"""How long the last commit tells that the next one will do."""
_PAUSE_SECONDS = 1
"""Between a failure and a trial whether it is over."""
_LONG_SECONDS = 5
"""What no transaction takes, unless a lock or the disk holds it up."""


class Observer(Protocol):
    """Who counts commits."""

    def committed(self, outcomes: Sequence[Outcome], seconds: float, waiting: int) -> None:
        """A transaction was written, and this many works wait for the next."""
        ...

    def failed(self) -> None:
        """A transaction failed."""
        ...


class Writer:
    """The one thread of a process that stores reports. Safe beside writers of other processes."""

    def __init__(self, engine: Engine, observer: Observer | None = None) -> None:
        self._engine = engine
        self._observer = observer
        self._database: Connection | None = None
        self._queue: SimpleQueue[Entry | Bulk | Trial | Literal["end"]] = SimpleQueue()
        self._gate, self._trial = Lock(), Lock()
        self._began = self._stored = self._failed = float("-inf")  # of time.monotonic
        self._closed = False
        self._thread = Thread(target=self._run, name="deniably-writer", daemon=True)
        self._thread.start()

    def begin(self, work: Entry | Bulk | Trial) -> None:
        """Begin to store; ``work.wait()`` then says what became of it. Raises Unavailable."""
        with self._gate:  # so that nothing is put behind the end of the queue
            if self._closed:
                raise Unavailable("the server is shutting down")
            self._queue.put(work)

    def check(self) -> None:
        """Raises Unavailable unless reports are stored at present.

        That is known from the last commit, or is tried. However often this is asked, there is one
        trial at a time, and none within a second of a failure.
        """
        now = monotonic()
        at_work = self._began > max(self._stored, self._failed)
        if at_work and now - self._began > _LONG_SECONDS:
            raise Unavailable("the database keeps the writer waiting")
        if self._stored > self._failed and now - self._stored < _NEWS_SECONDS:
            return
        if now - self._failed < _PAUSE_SECONDS or not self._trial.acquire(blocking=False):
            raise Unavailable("the last transaction failed")
        try:
            trial = Trial()
            self.begin(trial)
            trial.wait()
        finally:
            self._trial.release()

    def close(self) -> None:
        """Store what was accepted, then end the thread."""
        with self._gate:
            if not self._closed:
                self._closed = True
                self._queue.put("end")
        self._thread.join()

    def _run(self) -> None:
        after: Bulk | Trial | Literal["end"] | None = None
        while after != "end":
            batch, after = self._batch()
            if batch:
                self._settle(batch, partial(commit_entries, entries=batch))
            if isinstance(after, Bulk):
                self._settle([after], partial(commit_bulk, bulk=after))
            elif isinstance(after, Trial):
                self._settle([after], commit_trial)
        self._forget()

    def _batch(self) -> tuple[list[Entry], Bulk | Trial | Literal["end"] | None]:
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
        self, works: Sequence[Entry | Bulk | Trial], commit: Callable[[Connection], list[Outcome]]
    ) -> None:
        """Commit, and only then wake whoever waits. A failure fails all: the reports were checked
        before, so what fails is the disk or the lock, for all alike."""
        self._began = monotonic()
        try:
            if self._database is None:
                self._database = self._engine.connect()
            outcomes = commit(self._database)
        except Exception as failure:  # told to every request; nothing was stored
            self._failed = monotonic()
            with suppress(*self._engine.errors):
                self._forget()
            kind = Unavailable if self._engine.refuses(failure) else NotStored
            for work in works:
                work.fail(failure, kind)
            if self._observer is not None:
                self._observer.failed()
        else:
            self._stored = monotonic()
            told = iter(outcomes)
            for work in works:
                work.tell(list(islice(told, len(work))))
            if self._observer is not None:
                seconds = self._stored - self._began
                self._observer.committed(outcomes, seconds, self._queue.qsize())

    def _forget(self) -> None:
        """Close the connection, which rolls back; the next batch opens a new one."""
        database, self._database = self._database, None
        if database is not None:
            database.close()
