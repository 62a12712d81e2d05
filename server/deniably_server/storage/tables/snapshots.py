"""Snapshots: the tallies that an open survey's results show, as of its last full batch but one.

Two looks at results reveal what changed between them. So an open survey's snapshot is renewed only
when a batch is full, which has as many reports as the author's minimum. The newest full batch is
held back: results show the snapshot before it. So two looks differ by at least a batch or not at
all, and the last look at an open survey differs from the first at the closed one by the batch that
was held back and the few reports since then. Batches of a single report are not held back: they
hide nobody's arrival, as their author wanted.

This holds with several writers at once, too. A writer renews a snapshot in the transaction that
adds its reports, and only while it has the turn, which one transaction at a time has, until its
commit can be seen.

1. A snapshot is whole. One statement reads all its counts, so it sees each transaction with all its
   reports and counts, or with none: those that were committed by then, and its own.
2. Each snapshot contains the one before. The transaction that has the turn sees the snapshot of the
   turn before, and all that this one saw: its own transaction is committed, and the others had been
   before.
3. So the number of reports that the new one has and the old one has not is the difference of their
   totals, which is at least a batch. No report is in the old one alone.

Where a report may answer only some questions (SPEC 4.7) a batch is full only when each question has
as many new reports. Else two looks could differ by a batch of reports, and at one question by one
person's.

A writer that does not get the turn does not wait, and does not see what others have not committed
yet. So a batch may be full and no snapshot show it. A writer therefore looks again when it has
nothing to do (``renew_late``), after its last commit: the last one to look sees everything. Until
then nothing is shown of an open survey but its last snapshot but one, or nothing at all.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import msgspec

from deniably.survey.survey import Survey
from deniably_server.storage.engines.engine import Connection
from deniably_server.storage.tables.surveys import find_state


class Batch(NamedTuple):
    """How many new reports it takes to renew the results of an open survey. ``size`` is this
    number, or 0 if results are shown only after closing.

    ``questions`` is the number of questions if a report may answer only some of them: then each
    question needs ``size`` new reports. Otherwise it is 0.
    """

    size: int = 0
    questions: int = 0

    def is_full(self, before: Snapshot, newest: Snapshot) -> bool:
        """Returns whether enough reports came between the snapshots ``before`` and ``newest`` to
        renew the results."""
        first, last = dict(before.reports), dict(newest.reports)
        more = [count - first.get(name, 0) for name, count in last.items()]
        # A question that nobody has answered yet has no count at all, so the batch is not full.
        whole = len(more) == 1 + self.questions if self.questions else True
        return whole and min(more if self.questions else [newest.total - before.total]) >= self.size


NO_BATCH = Batch()


class Snapshot(msgspec.Struct, frozen=True):
    """The counts of a survey at one moment.

    ``reports`` has (question, number of reports) pairs, with None for the whole survey. ``cells``
    has (question, cell, count) for every cell that is not empty.
    """

    reports: list[tuple[str | None, int]]
    cells: list[tuple[str, int, int]]

    @property
    def total(self) -> int:
        """The number of reports."""
        return dict(self.reports)[None]


_NOTHING = Snapshot([(None, 0)], [])


class Snapshots(msgspec.Struct, frozen=True):
    """Two snapshots of an open survey: ``shown``, which its results show, and the newest one,
    which is ``held`` back."""

    shown: Snapshot
    held: Snapshot


class ShownSnapshot(msgspec.Struct, frozen=True):
    """The stored ``Snapshots``, decoded without ``held``."""

    shown: Snapshot


class SnapshotSize(msgspec.Struct, frozen=True):
    """The numbers of reports in a snapshot, decoded without its cells."""

    reports: list[tuple[str | None, int]]


class ShownSize(msgspec.Struct, frozen=True):
    """The stored ``Snapshots``, of which only the numbers of reports in ``shown`` are decoded."""

    shown: SnapshotSize


_decode_size = msgspec.json.Decoder(ShownSize).decode
_decode_shown = msgspec.json.Decoder(ShownSnapshot).decode
_decode = msgspec.json.Decoder(Snapshots).decode
_encode = msgspec.json.Encoder().encode


def batch_of(survey: Survey) -> Batch:
    """Returns how many new reports it takes to renew the results of an open survey: the minimum of
    reports that its author set."""
    size = survey.results.minimum if survey.results.while_open else 0
    return Batch(size, len(survey.questions) if survey.part else 0)


def renew(database: Connection, survey: str, batch: Batch, *, wait: bool = False) -> None:
    """Renews the shown results of an open survey if another batch of reports is full: shows the
    snapshot that was held back, and holds back a snapshot of the current tallies. A batch of one
    report is shown at once.

    While another transaction renews this survey, returns at once, or waits for that transaction if
    ``wait`` is true.
    """
    if is_due(database, survey, batch.size) and database.takes_turn(survey, wait=wait):
        newest, before = current(database, survey), _held(database, survey)
        # A batch of one hides nobody, so that nothing is held back.
        shown = before if batch.size > 1 else newest
        if batch.is_full(before, newest):
            database.execute(
                "INSERT INTO snapshots (survey, reports, tallies) VALUES (?, ?, ?)"
                " ON CONFLICT (survey) DO UPDATE"
                " SET reports = excluded.reports, tallies = excluded.tallies",
                [survey, newest.total, _encode(Snapshots(shown, newest)).decode()],
            )


def renew_late(database: Connection, survey: str, batch: Batch) -> None:
    """Renews a survey's results in a transaction of its own, if a batch is full. Writers that add
    reports at the same time may each have skipped this."""
    if is_due(database, survey, batch.size):
        database.begin_adding()
        if find_state(database, survey) == "open":  # and it stays so, as no closing runs beside
            renew(database, survey, batch, wait=True)
        database.commit()


def is_due(database: Connection, survey: str, batch: int) -> bool:
    """Returns whether a survey now has at least ``batch`` reports more than its newest
    snapshot."""
    (more,) = database.execute(
        "SELECT sum(reports) - coalesce((SELECT reports FROM snapshots WHERE survey = ?), 0)"
        " FROM totals WHERE survey = ?",
        [survey, survey],
    ).fetchone()
    return bool(more >= batch)


def _held(database: Connection, survey: str) -> Snapshot:
    row = database.execute("SELECT tallies FROM snapshots WHERE survey = ?", [survey]).fetchone()
    return _NOTHING if row is None else _decode(row[0]).held


def shown_snapshot(database: Connection, survey: Survey) -> Snapshot:
    """Returns the counts that a survey's results show.

    If the survey shows results while it is open, the counts are as of its last full batch but one,
    and 0 before there were two. If a batch is a single report, they are as of the last one. Of all
    other surveys they are the current tallies.
    """
    sql = "SELECT tallies FROM snapshots WHERE survey = ?"
    row = database.execute(sql, [survey.name]).fetchone()
    if row is None:
        return _NOTHING if _has_snapshots(database, survey) else current(database, survey.name)
    return _decode_shown(row[0]).shown


def shown_reports(database: Connection, survey: Survey) -> list[tuple[str | None, int]]:
    """Returns (question, number of reports) pairs behind the shown results, with None for the whole
    survey."""
    sql = "SELECT tallies FROM snapshots WHERE survey = ?"
    row = database.execute(sql, [survey.name]).fetchone()
    if row is None:
        nothing = _has_snapshots(database, survey)
        return _NOTHING.reports if nothing else reports_now(database, survey.name)
    return _decode_size(row[0]).shown.reports


def _has_snapshots(database: Connection, survey: Survey) -> bool:
    return batch_of(survey).size > 0 and find_state(database, survey.name) == "open"


def forget(database: Connection, survey: str) -> None:
    """Deletes a survey's snapshots, so that its results show the current tallies once it is
    closed."""
    database.execute("DELETE FROM snapshots WHERE survey = ?", [survey])


def current(database: Connection, survey: str, strata: Collection[int] | None = None) -> Snapshot:
    """Returns the current tallies of some strata, by default of all, as a snapshot.

    One statement reads them: between two, a writer might commit.
    """
    which, values = among(survey, strata)
    reports: list[tuple[str | None, int]] = []
    cells: list[tuple[str, int, int]] = []
    for question, cell, count in database.execute(
        "SELECT question, choice, CAST(sum(count) AS BIGINT) FROM tallies"  # noqa: S608  # marks only
        f" WHERE {which} GROUP BY question, choice UNION ALL"
        f" SELECT question, CAST(NULL AS BIGINT), reports FROM ({_reports(which)}) AS counted",
        [*values, *values, *values],
    ):
        if cell is None:
            reports.append((question, count))
        else:
            cells.append((question, cell, count))
    return Snapshot(reports, cells)


def reports_now(
    database: Connection, survey: str, strata: Collection[int] | None = None
) -> list[tuple[str | None, int]]:
    """Returns the current (question, number of reports) pairs of some strata, by default of all,
    with None for the whole survey."""
    which, values = among(survey, strata)
    return database.execute(_reports(which), [*values, *values]).fetchall()


def _reports(which: str) -> str:
    return (
        "SELECT NULL AS question, CAST(sum(reports) AS BIGINT) AS reports FROM totals"  # noqa: S608  # marks only
        f" WHERE {which}"
        " UNION ALL SELECT question, CAST(sum(reports) AS BIGINT) FROM answered"
        f" WHERE {which} GROUP BY question"
    )


def among(survey: str, strata: Collection[int] | None) -> tuple[str, list[object]]:
    """Returns (SQL condition, its parameters), which selects the rows of a survey: those of
    ``strata``, by default of all strata."""
    if strata is None:
        return "survey = ?", [survey]
    return f"survey = ? AND stratum IN ({', '.join('?' * len(strata))})", [survey, *strata]
