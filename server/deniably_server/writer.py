"""Group commit: one thread, one transaction for all reports that wait, told after the commit.

A commit costs a write to the disk, whatever is in it. While the writer waits for the disk, the
next reports queue up, so the batches grow with the load and nobody waits for two commits more
than needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Literal

from deniably_server.bulk import Bulk, Outcome, commit_bulk, count
from deniably_server.engine import Connection, Engine
from deniably_server.errors import NotStored

_LARGEST_BATCH = 256


class Entry:
    """A report on its way to the disk: its row, the cells it counts in, and who waits for it.

    ``key`` is the report's id; ``cells`` holds (question, cell) pairs; ``answered`` the questions
    that it has, where a survey asks only some.
    """

    __slots__ = ("answered", "cells", "done", "failure", "key", "outcome", "report", "survey")

    def __init__(
        self,
        key: bytes,
        survey: str,
        report: str,
        cells: Sequence[tuple[str, int]],
        answered: Sequence[str] = (),
    ) -> None:
        self.key = key
        self.survey = survey
        self.report = report
        self.cells = cells
        self.answered = answered
        self.outcome: Outcome | None = None
        self.failure: Exception | None = None
        # A bare lock, taken here and released by the writer, is the cheapest way to wait.
        self.done = Lock()
        self.done.acquire()

    def same(self, survey: str, report: str) -> bool:
        """Whether a stored row is this very report. The key was compared already."""
        return self.survey == survey and self.report == report


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

    def add(self, entry: Entry) -> Outcome:
        """Store a report and return once it is on disk. Raises NotStored where that failed."""
        self._put(entry)
        entry.done.acquire()
        if entry.outcome is None:
            raise NotStored("the report could not be stored") from entry.failure
        return entry.outcome

    def begin_many(self, bulk: Bulk) -> Callable[[], list[Outcome]]:
        """Begin to store many; what it gives waits for the disk. Raises NotStored, as that does."""
        self._put(bulk)

        def wait() -> list[Outcome]:
            with bulk.done:
                if bulk.failure is not None:
                    raise NotStored("the reports could not be stored") from bulk.failure
                return bulk.outcomes

        return wait

    def _put(self, work: Entry | Bulk) -> None:
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
                self._settle(batch)
            if isinstance(after, Bulk):
                self._settle_bulk(after)
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

    def _settle_bulk(self, bulk: Bulk) -> None:
        try:
            if self._database is None:
                self._database = self._engine.connect()
            bulk.outcomes = commit_bulk(self._database, bulk)
        except Exception as failure:
            with suppress(*self._engine.errors):
                self._forget()
            bulk.failure = failure
        bulk.done.release()

    def _settle(self, batch: list[Entry]) -> None:
        """Commit, and only then wake whoever waits. A failure fails the whole batch: the
        reports were checked before, so what fails is the disk or the lock, for all alike."""
        try:
            if self._database is None:
                self._database = self._engine.connect()
            outcomes = _commit(self._database, batch)
        except Exception as failure:  # told to every request; nothing was stored
            with suppress(*self._engine.errors):
                self._forget()
            for entry in batch:
                entry.failure = failure
                entry.done.release()
        else:
            for entry, outcome in zip(batch, outcomes, strict=True):
                entry.outcome = outcome
                entry.done.release()

    def _forget(self) -> None:
        """Close the connection, which rolls back; the next batch opens a new one."""
        database, self._database = self._database, None
        if database is not None:
            database.close()


def _commit(database: Connection, batch: list[Entry]) -> list[Outcome]:
    """One transaction. The state of a survey is read inside it: a report that was acknowledged
    is in every result computed after the closing, and none comes later."""
    database.begin_writing()
    known = _stored(database, batch)
    states = _states(database, {entry.survey for entry in batch})
    fresh: list[Entry] = []
    outcomes: list[Outcome] = []
    for entry in batch:
        if row := known.get(entry.key):
            outcome = Outcome.REPLAYED if entry.same(*row) else Outcome.CONFLICT
        elif (state := states.get(entry.survey)) is None:
            outcome = Outcome.UNKNOWN
        elif state == "closed":
            outcome = Outcome.CLOSED
        else:
            outcome = Outcome.STORED
            known[entry.key] = (entry.survey, entry.report)  # a twin may wait in this batch
            fresh.append(entry)
        outcomes.append(outcome)
    _insert(database, fresh)
    database.commit()
    return outcomes


def _stored(database: Connection, batch: list[Entry]) -> dict[bytes, tuple[str, str]]:
    marks = ", ".join("?" * len(batch))
    rows = database.execute(
        f"SELECT id, survey, report FROM reports WHERE id IN ({marks})",  # noqa: S608  # marks only
        [entry.key for entry in batch],
    )
    return {key: (survey, report) for key, survey, report in rows}


def _states(database: Connection, names: Iterable[str]) -> dict[str, str]:
    return {
        name: row[0]
        for name in names
        if (row := database.execute("SELECT state FROM surveys WHERE name = ?", [name]).fetchone())
    }


def _insert(database: Connection, fresh: list[Entry]) -> None:
    if not fresh:
        return
    totals = Counter(entry.survey for entry in fresh)
    counts = Counter(
        (entry.survey, question, cell) for entry in fresh for question, cell in entry.cells
    )
    answered = Counter((entry.survey, question) for entry in fresh for question in entry.answered)
    database.fill(
        "reports",
        ("id", "survey", "report"),
        [(entry.key, entry.survey, entry.report) for entry in fresh],
    )
    count(database, totals, counts, answered)
