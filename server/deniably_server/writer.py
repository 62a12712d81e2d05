"""Group commit: one thread, one transaction for all reports that wait, told after the commit.

A commit costs a write to the disk, whatever is in it. While the writer waits for the disk, the
next reports queue up, so the batches grow with the load and nobody waits for two commits more
than needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from enum import Enum
from queue import Empty, SimpleQueue
from threading import Lock, Thread

from deniably_server.engine import Connection, Engine
from deniably_server.errors import NotStored

_LARGEST_BATCH = 256


class Outcome(Enum):
    """What became of a report."""

    STORED = "stored"
    REPLAYED = "replayed"
    CONFLICT = "conflict"
    CLOSED = "closed"
    UNKNOWN = "unknown"


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
        self._queue: SimpleQueue[Entry | None] = SimpleQueue()
        self._gate = Lock()
        self._closed = False
        self._thread = Thread(target=self._run, name="deniably-writer", daemon=True)
        self._thread.start()

    def add(self, entry: Entry) -> Outcome:
        """Store a report and return once it is on disk. Raises NotStored where that failed."""
        with self._gate:  # so that nothing is put behind the end of the queue
            if self._closed:
                raise NotStored("the server is shutting down")
            self._queue.put(entry)
        entry.done.acquire()
        if entry.outcome is None:
            raise NotStored("the report could not be stored") from entry.failure
        return entry.outcome

    def close(self) -> None:
        """Store what was accepted, then end the thread."""
        with self._gate:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        going_on = True
        while going_on:
            batch, going_on = self._batch()
            if batch:
                self._settle(batch)
        self._forget()

    def _batch(self) -> tuple[list[Entry], bool]:
        """All that waits (at least one entry), and whether more may come."""
        batch: list[Entry] = []
        entry = self._queue.get()
        while entry is not None:
            batch.append(entry)
            if len(batch) == _LARGEST_BATCH:
                return batch, True
            try:
                entry = self._queue.get_nowait()
            except Empty:
                return batch, True
        return batch, False

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
    database.executemany(
        "UPDATE totals SET reports = reports + ? WHERE survey = ?",
        [(count, survey) for survey, count in totals.items()],
    )
    database.executemany(
        "INSERT INTO tallies (survey, question, choice, count) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (survey, question, choice)"
        " DO UPDATE SET count = tallies.count + excluded.count",
        [(*key, count) for key, count in counts.items()],
    )
    if answered:
        database.executemany(
            "INSERT INTO answered (survey, question, reports) VALUES (?, ?, ?)"
            " ON CONFLICT (survey, question)"
            " DO UPDATE SET reports = answered.reports + excluded.reports",
            [(*key, count) for key, count in answered.items()],
        )
