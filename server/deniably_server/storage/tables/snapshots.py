"""Snapshots: the tallies that an open survey's results show, as of its last full batch.

Two looks at results reveal what changed between them. So an open survey's snapshot is renewed only
when a batch is full, which has as many reports as the author's minimum. Two looks then differ by at
least a batch, or not at all. The closing shows the rest, which may be a few reports. Their local
differential privacy still protects these people.

This holds with several writers at once, too. A writer renews a snapshot in the transaction that
adds its reports, and only in its turn: one transaction at a time, until its commit can be seen.

1. A snapshot is whole. One statement reads all its counts, so it sees each transaction with all its
   reports and counts, or with none: those that were committed by then, and its own.
2. Each snapshot contains the one before. Whoever has the turn sees the snapshot of the last turn,
   and whatever that one saw: its own transaction is committed, and the others had been before.
3. So the number of reports that the new one has and the old one has not is the difference of their
   totals, which is at least a batch. No report is in the old one alone.

A writer that finds another one at it does not wait, and does not see what others have not committed
yet. So a batch may be full and no snapshot show it. A writer therefore looks again when it has
nothing to do (``renew_late``), after its last commit: whoever looks last sees everything. Until
then nothing is shown of an open survey but its last snapshot, or nothing at all.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from deniably.survey.survey import Survey
from deniably_server.storage.engines.engine import Connection
from deniably_server.storage.tables.surveys import find_state


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


class SnapshotSize(msgspec.Struct, frozen=True):
    """The numbers of reports in a snapshot, decoded without its cells."""

    reports: list[tuple[str | None, int]]


_decode_counted = msgspec.json.Decoder(SnapshotSize).decode
_decode = msgspec.json.Decoder(Snapshot).decode
_encode = msgspec.json.Encoder().encode


def batch_of(survey: Survey) -> int:
    """The number of new reports that renew the results; 0 if they are shown only after closing."""
    return survey.results.minimum if survey.results.while_open else 0


def renew(database: Connection, survey: str, batch: int, *, wait: bool = False) -> None:
    """Replace the snapshot of an open survey by the current tallies, if another batch is full.

    Does nothing while another transaction does it, unless it should ``wait`` for that one.
    """
    if is_due(database, survey, batch) and database.takes_turn(survey, wait=wait):
        found = current(database, survey)
        if found.total - _kept(database, survey) >= batch:
            database.execute(
                "INSERT INTO snapshots (survey, reports, tallies) VALUES (?, ?, ?)"
                " ON CONFLICT (survey) DO UPDATE"
                " SET reports = excluded.reports, tallies = excluded.tallies",
                [survey, found.total, _encode(found).decode()],
            )


def renew_late(database: Connection, survey: str, batch: int) -> None:
    """Renew a snapshot that writers left to each other, in a transaction of its own."""
    if is_due(database, survey, batch):
        database.begin_adding()
        if find_state(database, survey) == "open":  # and it stays so, as no closing runs beside
            renew(database, survey, batch, wait=True)
        database.commit()


def is_due(database: Connection, survey: str, batch: int) -> bool:
    """Whether another batch is full."""
    (more,) = database.execute(
        "SELECT sum(reports) - coalesce((SELECT reports FROM snapshots WHERE survey = ?), 0)"
        " FROM totals WHERE survey = ?",
        [survey, survey],
    ).fetchone()
    return bool(more >= batch)


def _kept(database: Connection, survey: str) -> int:
    row = database.execute("SELECT reports FROM snapshots WHERE survey = ?", [survey]).fetchone()
    return 0 if row is None else int(row[0])


def shown_snapshot(database: Connection, survey: Survey) -> Snapshot:
    """The counts that results show: the snapshot of an open survey, or nothing before its first
    full batch; of others the current tallies."""
    sql = "SELECT tallies FROM snapshots WHERE survey = ?"
    row = database.execute(sql, [survey.name]).fetchone()
    if row is None:
        return _NOTHING if _has_snapshots(database, survey) else current(database, survey.name)
    return _decode(row[0])


def shown_reports(database: Connection, survey: Survey) -> list[tuple[str | None, int]]:
    """The numbers of reports behind the shown results, in the form of ``Snapshot.reports``."""
    sql = "SELECT tallies FROM snapshots WHERE survey = ?"
    row = database.execute(sql, [survey.name]).fetchone()
    if row is None:
        nothing = _has_snapshots(database, survey)
        return _NOTHING.reports if nothing else reports_now(database, survey.name)
    return _decode_counted(row[0]).reports


def _has_snapshots(database: Connection, survey: Survey) -> bool:
    return batch_of(survey) > 0 and find_state(database, survey.name) == "open"


def forget(database: Connection, survey: str) -> None:
    """Delete the snapshot, so that results show the current tallies."""
    database.execute("DELETE FROM snapshots WHERE survey = ?", [survey])


def current(database: Connection, survey: str, strata: Collection[int] | None = None) -> Snapshot:
    """The current tallies of some strata, by default of all, as a snapshot.

    Read by one statement: writers may commit between two.
    """
    which, given = among(survey, strata)
    reports: list[tuple[str | None, int]] = []
    cells: list[tuple[str, int, int]] = []
    for question, cell, count in database.execute(
        "SELECT question, choice, CAST(sum(count) AS BIGINT) FROM tallies"  # noqa: S608  # marks only
        f" WHERE {which} GROUP BY question, choice UNION ALL"
        f" SELECT question, CAST(NULL AS BIGINT), reports FROM ({_reports(which)}) AS counted",
        [*given, *given, *given],
    ):
        if cell is None:
            reports.append((question, count))
        else:
            cells.append((question, cell, count))
    return Snapshot(reports, cells)


def reports_now(
    database: Connection, survey: str, strata: Collection[int] | None = None
) -> list[tuple[str | None, int]]:
    """The current numbers of reports, in the form of ``Snapshot.reports``."""
    which, given = among(survey, strata)
    return database.execute(_reports(which), [*given, *given]).fetchall()


def _reports(which: str) -> str:
    return (
        "SELECT NULL AS question, CAST(sum(reports) AS BIGINT) AS reports FROM totals"  # noqa: S608  # marks only
        f" WHERE {which}"
        " UNION ALL SELECT question, CAST(sum(reports) AS BIGINT) FROM answered"
        f" WHERE {which} GROUP BY question"
    )


def among(survey: str, strata: Collection[int] | None) -> tuple[str, list[object]]:
    """A condition on rows of these strata, and its parameters."""
    if strata is None:
        return "survey = ?", [survey]
    return f"survey = ? AND stratum IN ({', '.join('?' * len(strata))})", [survey, *strata]
