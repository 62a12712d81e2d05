"""Pending writes, and the transactions that store them.

A transaction stores single reports that waited together, or one batch of a survey. Both follow
these rules. An id counts once: a repeated report is ``REPLAYED``, and a different report under a
stored id is a ``CONFLICT``. The survey's state is read inside the transaction, so every
acknowledged report is in the results computed after the closing, and no report follows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from itertools import chain, compress, islice, repeat
from operator import itemgetter
from threading import Lock

import msgspec

from deniably.survey.report import Report
from deniably.survey.survey import Survey
from deniably_server.errors import NotStored, Unavailable
from deniably_server.storage.engines.engine import Connection, ReportRow
from deniably_server.storage.tables.snapshots import NO_BATCH, Batch, batch_of, renew
from deniably_server.storage.tables.stored_settings import enter_setting, remove_setting
from deniably_server.storage.tables.surveys import State, states_of
from deniably_server.storage.tables.tallies import AddedCounts, add_counts

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[int]).decode
_AT_ONCE = 10_000
"""Placeholders in one statement; well below what both databases allow."""

_SURVEY_AND_STRATUM = itemgetter(1, 3)
"""Of a row."""


class Outcome(Enum):
    """What a transaction did with a report: stored it (``STORED``); found that it is stored
    already (``REPLAYED``); found a different report with the same id (``CONFLICT``); or refused
    it, because its survey is closed (``CLOSED``) or does not exist (``UNKNOWN``)."""

    STORED = "stored"
    REPLAYED = "replayed"
    CONFLICT = "conflict"
    CLOSED = "closed"
    UNKNOWN = "unknown"

    __hash__ = object.__hash__  # Enum's own calls Python for every report


_OF_NEW: Mapping[State | None, Outcome] = {
    "open": Outcome.STORED,
    "closed": Outcome.CLOSED,
    None: Outcome.UNKNOWN,
}
"""The outcome of a report whose id is new, by its survey's state."""


class PendingWrite:
    """Something to be stored, in the writer's queue; ``wait()`` blocks until its transaction
    commits or fails.

    ``notify`` is called when the write is on disk or has failed. Writes of one transaction with
    the same ``notify`` cause one call.
    """

    __slots__ = ("_done", "_failure", "_kind", "_outcomes", "notify")

    def __init__(self, notify: Callable[[], object] | None = None) -> None:
        self.notify = notify
        self._outcomes: list[Outcome] = []
        self._failure: Exception | None = None
        self._kind: type[NotStored | Unavailable] = NotStored
        # A bare lock, taken here and released by the writer, is the cheapest way to wait.
        self._done = Lock()
        self._done.acquire()

    def wait(self) -> list[Outcome]:
        """Block until the reports are on disk; returns the outcome of each. Call it once.

        Raises Unavailable where the disk, a lock or the network refused; a commit that broke off
        may have stored the reports. Raises NotStored where anything else failed; then nothing is
        stored.
        """
        self._done.acquire()
        if self._failure is not None:
            raise self._kind("what was sent could not be stored") from self._failure
        return self._outcomes

    def is_settled(self) -> bool:
        """Returns whether the write is on disk or has failed, so that ``wait`` does not block."""
        return not self._done.locked()

    def succeed(self, outcomes: list[Outcome]) -> None:
        """Records that the write's reports are on disk, with these outcomes, and wakes the thread
        that waits."""
        self._outcomes = outcomes
        self._done.release()

    def fail(self, failure: Exception, kind: type[NotStored | Unavailable]) -> None:
        """Records that the write failed and wakes the thread that waits: ``wait`` raises an
        exception of this ``kind``, caused by ``failure``."""
        self._failure, self._kind = failure, kind
        self._done.release()


class SingleWrite(PendingWrite):
    """One thing that somebody sent. Those that wait together are stored in one transaction."""

    __slots__ = ()

    def __len__(self) -> int:
        return 1

    def outcome(self) -> Outcome:
        """Returns what became of it, once it is on disk. Raises as ``wait`` does."""
        (outcome,) = self.wait()
        return outcome


class ReportWrite(SingleWrite):
    """One report to be stored: its ``row``, and the keys of the counts to which it adds 1
    (``cells`` and ``answered``), as in ``AddedCounts``.

    ``answered`` is empty unless the survey asks each person only some questions. ``batch`` says
    how many new reports it takes to renew the survey's results.
    """

    __slots__ = ("answered", "batch", "cells", "row")

    def __init__(
        self,
        row: ReportRow,
        cells: Sequence[tuple[str, int, str, int]],
        answered: Sequence[tuple[str, int, str]] = (),
        batch: Batch = NO_BATCH,
        notify: Callable[[], object] | None = None,
    ) -> None:
        super().__init__(notify)
        self.batch = batch
        self.row = row
        self.cells = cells
        self.answered = answered


class ProbeWrite(PendingWrite):
    """Stores nothing: tests whether the database accepts a write."""

    __slots__ = ()

    def __len__(self) -> int:
        return 0


class BatchWrite(PendingWrite):
    """Many reports of one survey, by column.

    ``keys`` has the id of each report, ``strata`` the number of its stratum. ``values`` has a list
    for each question, in the survey's order: the JSON text of every report's value, ``NULL`` where
    the report has no such question.
    """

    __slots__ = ("keys", "strata", "survey", "values")

    def __init__(self, survey: Survey) -> None:
        super().__init__()
        self.survey = survey
        self.keys: list[bytes] = []
        self.strata: list[int] = []
        self.values: list[list[str]] = [[] for _ in survey.questions]

    def __len__(self) -> int:
        return len(self.keys)

    def add(self, report: Report) -> None:
        """Append a report that was checked against the survey."""
        self.keys.append(bytes.fromhex(report.id))
        self.strata.append(self.survey.stratum_number(report.stratum))
        for question, texts in zip(self.survey.questions, self.values, strict=True):
            texts.append(_encode(report.values.get(question.name)).decode())

    @property
    def rows(self) -> list[ReportRow]:
        """The rows of the reports, as the table of reports has them."""
        parts = [part for values in self.values for part in (repeat(","), values)]
        texts = map("".join, zip(repeat("["), *parts[1:], repeat("]"), strict=False))
        return list(zip(self.keys, repeat(self.survey.name), texts, self.strata, strict=False))


NULL = "null"


def report_write(
    survey: Survey, report: Report, notify: Callable[[], object] | None = None
) -> ReportWrite:
    """Returns the pending write of a report that was checked against the survey."""
    name, stratum, values = survey.name, survey.stratum_number(report.stratum), report.values
    return ReportWrite(
        (
            bytes.fromhex(report.id),
            name,
            _encode([*map(values.get, survey.question_of)]).decode(),
            stratum,
        ),
        [(name, stratum, question, cell) for question, value in values.items() for cell in value],
        [(name, stratum, question) for question in values] if not survey.complete else (),
        batch_of(survey),
        notify,
    )


def batches_of(works: Iterable[PendingWrite]) -> dict[str, Batch]:
    """Returns {survey: how many new reports it takes to renew its results} for the surveys to
    which ``works`` add reports."""
    batches: dict[str, Batch] = {}
    for each in works:
        if isinstance(each, ReportWrite):
            batches[each.row[1]] = each.batch
        elif isinstance(each, BatchWrite):
            batches[each.survey.name] = batch_of(each.survey)
    return batches


def commit_reports(database: Connection, writes: Sequence[ReportWrite]) -> list[Outcome]:
    """Store single reports in one transaction; returns their outcomes in order."""

    def counted(stored: Sequence[bool]) -> AddedCounts:
        new = list(compress(writes, stored))
        return AddedCounts(
            Counter(chain.from_iterable([each.cells for each in new])),
            Counter(chain.from_iterable([each.answered for each in new])),
        )

    return _commit(database, [each.row for each in writes], counted, batches_of(writes))


def commit_batch(database: Connection, batch: BatchWrite) -> list[Outcome]:
    """Store a batch in one transaction; returns the outcomes of its reports in order."""
    survey = batch.survey
    some = not survey.complete

    def counted(stored: Sequence[bool]) -> AddedCounts:
        added = AddedCounts(Counter(), Counter())
        for number in set(batch.strata):
            chosen = [
                kept and own == number for kept, own in zip(stored, batch.strata, strict=True)
            ]
            for question, texts in zip(survey.questions, batch.values, strict=True):
                # Equal values have equal texts, and there are few different ones: each is parsed
                # once.
                by_text = Counter(compress(texts, chosen))
                nothing = by_text.pop(NULL, 0)
                if some:
                    added.answered[survey.name, number, question.name] = sum(chosen) - nothing
                for text, more in by_text.items():
                    for cell in _decode(text):
                        added.cells[survey.name, number, question.name, cell] += more
        return added

    return _commit(database, batch.rows, counted, batches_of([batch]))


def commit_probe(database: Connection) -> list[Outcome]:
    """Write a setting and remove it again, which fails where storing a report would fail."""
    database.begin_adding()
    enter_setting(database, "probe", "")
    remove_setting(database, "probe")
    database.commit()
    return []


def _commit(
    database: Connection,
    rows: Sequence[ReportRow],
    counted: Callable[[Sequence[bool]], AddedCounts],
    batches: Mapping[str, Batch],
) -> list[Outcome]:
    """Store rows in one transaction.

    ``counted`` returns what the stored rows add to the tallies. ``batches`` has, by survey, the
    number of new reports that renew its results; every row is of one of these surveys.

    Where the transaction ran into another one, it begins again, alone.
    """
    database.begin_adding()
    try:
        return _added(database, rows, counted, batches)
    except database.collisions:
        database.rollback()
    database.begin_writing()
    return _added(database, rows, counted, batches)


def _added(
    database: Connection,
    rows: Sequence[ReportRow],
    counted: Callable[[Sequence[bool]], AddedCounts],
    batches: Mapping[str, Batch],
) -> list[Outcome]:
    """Store rows in the transaction that was begun, and commit it."""
    keys = [row[0] for row in rows]
    # Sorted by id: their order on disk does not follow their order of arrival, and transactions
    # that insert the same ids do not deadlock. Of equal ids the first stays the first.
    order = sorted(range(len(rows)), key=keys.__getitem__)
    states = states_of(database, batches)
    outcomes = [_OF_NEW[states.get(row[1])] for row in rows]
    wanted = [index for index in order if outcomes[index] is Outcome.STORED]
    known = [wanted[place] for place in database.insert_new([rows[index] for index in wanted])]
    for index in known:
        # Perhaps a repetition: ``_compare`` looks at what is stored.
        outcomes[index] = Outcome.CONFLICT
    if len(wanted) - len(known) < len(rows):
        _compare(database, rows, outcomes)
    stored = [outcome is Outcome.STORED for outcome in outcomes]
    totals = Counter(map(_SURVEY_AND_STRATUM, compress(rows, stored)))
    if totals:
        add_counts(database, totals, counted(stored))
        for survey in sorted({survey for survey, _ in totals}):
            if batches[survey].size:
                renew(database, survey, batches[survey])
    database.commit()
    return outcomes


def _compare(database: Connection, rows: Sequence[ReportRow], outcomes: list[Outcome]) -> None:
    """Correct the outcomes of the rows that were not inserted, once the others were.

    A row's id may be stored from before, or from an earlier row of this transaction.
    """
    others = [index for index, outcome in enumerate(outcomes) if outcome is not Outcome.STORED]
    stored = _stored(database, (rows[index][0] for index in others))
    for index in others:
        if (row := stored.get(rows[index][0])) is not None:
            outcomes[index] = Outcome.REPLAYED if row == rows[index] else Outcome.CONFLICT


def _stored(database: Connection, keys: Iterable[bytes]) -> dict[bytes, ReportRow]:
    rest, stored = iter(keys), dict[bytes, ReportRow]()
    while some := list(islice(rest, _AT_ONCE)):
        marks = ", ".join("?" * len(some))
        sql = f"SELECT id, survey, report, stratum FROM reports WHERE id IN ({marks})"  # noqa: S608  # marks only
        stored |= {row[0]: (row[0], row[1], row[2], row[3]) for row in database.execute(sql, some)}
    return stored
