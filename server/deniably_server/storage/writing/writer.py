"""Group commit: one thread stores all waiting reports in one transaction.

Every commit costs one write to the disk, however many reports it holds. While the writer waits for
the disk, new reports queue up for the next transaction, so transactions grow with the load. A
request is acknowledged only after its commit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from math import inf
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import Any, Literal, Protocol

from deniably_server.errors import NotStored, Unavailable
from deniably_server.storage.engines.engine import Connection, Engine
from deniably_server.storage.tables.snapshots import Batch, renew_late
from deniably_server.storage.writing.commit import (
    BatchWrite,
    Outcome,
    ProbeWrite,
    SingleWrite,
    batches_of,
    commit_batch,
    commit_probe,
    commit_reports,
)

_LARGEST_BATCH = 256
_NEWS_SECONDS = 60
"""For this long after a commit, the database counts as writable."""
_PAUSE_SECONDS = 1
"""The pause between a failure and the next probe."""
_LONG_SECONDS = 5
"""A transaction that takes longer is held up by a lock or the disk."""
_IDLE_SECONDS = 0.05
"""After this long without a write, the writer looks whether it left results to be renewed."""
_LATE_SECONDS = 1
"""After this long it looks even under load."""

_Write = SingleWrite | BatchWrite | ProbeWrite


class Observer(Protocol):
    """An object whose methods are called after every transaction, such as the metrics."""

    def committed(self, outcomes: Sequence[Outcome], seconds: float, waiting: int) -> None:
        """Called after a transaction commits: with the ``outcomes`` of its reports, its duration in
        ``seconds``, and the number of writes ``waiting`` for the next one."""
        ...

    def failed(self) -> None:
        """Called after a transaction failed."""
        ...


class Writer:
    """The thread that stores reports; one in each process. Writers of several processes may share
    a database. A subclass stores something else than reports."""

    def __init__(self, engine: Engine, observer: Observer | None = None) -> None:
        self._engine = engine
        self._observer = observer
        self._database: Connection | None = None
        self._queue: SimpleQueue[_Write | Literal["end"]] = SimpleQueue()
        # The gate keeps "end" the last thing in the queue; the probe keeps all but one caller from
        # asking the disk.
        self._gate, self._probe = Lock(), Lock()
        self._began = self._stored = self._failed = -inf  # of time.monotonic
        # Of the surveys that were added to since the last look: what renews their results.
        self._unseen: dict[str, Batch] = {}
        self._looked = -inf
        self._closed = False
        self._thread = Thread(target=self._run, name="deniably-writer", daemon=True)
        self._thread.start()

    def begin(self, work: _Write) -> None:
        """Queues a write; ``work.wait()`` then returns its outcomes.

        Raises Unavailable after ``close``.
        """
        with self._gate:  # so that nothing is put behind the end of the queue
            if self._closed:
                raise Unavailable("the server is shutting down")
            self._queue.put(work)

    def check(self) -> None:
        """Raises Unavailable unless the database accepts writes at present.

        A recent commit is proof of that; without one, a test write is made. However often this is
        called, one test write runs at a time, and none within a second of a failure.
        """
        now = monotonic()
        # These times are read without a lock: each is replaced at once, and an old one only makes
        # this answer a moment late.
        at_work = self._began > max(self._stored, self._failed)
        if at_work and now - self._began > _LONG_SECONDS:
            raise Unavailable("the database keeps the writer waiting")
        if self._stored > self._failed and now - self._stored < _NEWS_SECONDS:
            return
        if now - self._failed < _PAUSE_SECONDS or not self._probe.acquire(blocking=False):
            raise Unavailable("the last transaction failed")
        try:
            probe = ProbeWrite()
            self.begin(probe)
            probe.wait()
        finally:
            self._probe.release()

    def close(self) -> None:
        """Store what is queued, then end the thread."""
        with self._gate:
            if not self._closed:
                self._closed = True
                self._queue.put("end")
        self._thread.join()

    def _run(self) -> None:
        after: BatchWrite | ProbeWrite | Literal["end"] | None = None
        while after != "end":
            batch, after = self._batch()
            if batch:
                self._settle(batch, partial(self._commit, writes=batch))
            if isinstance(after, BatchWrite):
                self._settle([after], partial(commit_batch, batch=after))
            elif isinstance(after, ProbeWrite):
                self._settle([after], commit_probe)
            idle = after == "end" or (not batch and after is None)
            if self._unseen and (idle or monotonic() - self._looked > _LATE_SECONDS):
                self._look()
        self._forget()

    def _commit(self, database: Connection, writes: Sequence[Any]) -> list[Outcome]:
        """Store single writes in one transaction; returns their outcomes in order."""
        return commit_reports(database, writes)

    def _batch(self) -> tuple[list[SingleWrite], BatchWrite | ProbeWrite | Literal["end"] | None]:
        """The single writes that wait, and the other work behind them, if any.

        Nothing, where results may have to be renewed and nothing came for a moment.
        """
        batch: list[SingleWrite] = []
        try:
            work = self._queue.get(timeout=_IDLE_SECONDS if self._unseen else None)
        except Empty:
            return batch, None
        while isinstance(work, SingleWrite):
            batch.append(work)
            if len(batch) == _LARGEST_BATCH:
                return batch, None
            try:
                work = self._queue.get_nowait()
            except Empty:
                return batch, None
        return batch, work

    def _settle(
        self, works: Sequence[_Write], commit: Callable[[Connection], list[Outcome]]
    ) -> None:
        """Commit, and only then wake the waiting threads.

        A failure fails all writes: the reports were checked before, so the cause is the disk or a
        lock, not one of them.
        """
        self._began = monotonic()
        try:
            if self._database is None:
                self._database = self._engine.connect()
                self._database.claim_shard()
            outcomes = commit(self._database)
        except Exception as failure:  # every waiting request gets it
            self._failed = monotonic()
            # A connection that failed may fail to close, too; the next commit opens another one.
            with suppress(*self._engine.errors):
                self._forget()
            # Unavailable tells a device to send again later; NotStored tells the operator of a
            # mistake.
            kind = Unavailable if self._engine.refuses(failure) else NotStored
            for work in works:
                work.fail(failure, kind)
            _notify(works)
            if self._observer is not None:
                self._observer.failed()
        else:
            self._stored = monotonic()
            rest = iter(outcomes)
            for work in works:
                work.succeed(list(islice(rest, len(work))))
            _notify(works)
            if self._observer is not None:
                seconds = self._stored - self._began
                self._observer.committed(outcomes, seconds, self._queue.qsize())
            if not self._engine.one_writer:
                batches = batches_of(works)
                self._unseen |= {survey: batch for survey, batch in batches.items() if batch.size}

    def _look(self) -> None:
        """Renew the results that this writer and another one left to each other.

        The reports are stored and acknowledged. So a failure is nobody's; the next look, of
        whichever writer, mends it.
        """
        unseen, self._unseen = self._unseen, {}
        self._looked = monotonic()
        try:
            for survey, batch in unseen.items():
                if self._database is not None:
                    renew_late(self._database, survey, batch)
        except Exception:  # whatever it is, the thread goes on
            with suppress(*self._engine.errors):
                self._forget()

    def _forget(self) -> None:
        """Close the connection, which rolls back; the next batch opens a new one."""
        database, self._database = self._database, None
        if database is not None:
            database.close()


def _notify(works: Sequence[_Write]) -> None:
    for notify in {work.notify for work in works if work.notify is not None}:
        notify()
