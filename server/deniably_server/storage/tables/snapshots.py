"""Snapshots: the tallies that an open survey's results show, as of its last full batch.

Two looks at results reveal what changed between them. So an open survey's snapshot is renewed only
when a batch is full, which has as many reports as the author's minimum. Two looks then differ by at
least a batch, or not at all. The closing shows the rest, which may be a few reports. Their local
differential privacy still protects these people.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from deniably.survey.survey import Survey
from deniably_server.storage.engines.engine import Connection


class Snapshot(msgspec.Struct, frozen=True):
    """The counts of a survey at one moment.

    ``reports`` has (question, number of reports) pairs, with None for the whole survey. ``cells``
    has (question, cell, count) for every cell that is not empty.
    """

    reports: list[tuple[str | None, int]]
    cells: list[tuple[str, int, int]]


class SnapshotSize(msgspec.Struct, frozen=True):
    """The numbers of reports in a snapshot, decoded without its cells."""

    reports: list[tuple[str | None, int]]


_decode_counted = msgspec.json.Decoder(SnapshotSize).decode
_decode = msgspec.json.Decoder(Snapshot).decode
_encode = msgspec.json.Encoder().encode


def batch_of(survey: Survey) -> int:
    """The number of new reports that renew the results; 0 if they are shown only after closing."""
    return survey.results.minimum if survey.results.while_open else 0


def renew(database: Connection, survey: str, batch: int) -> None:
    """Replace the snapshot by the current tallies, if another batch is full."""
    (total, kept) = database.execute(
        "SELECT CAST(sum(totals.reports) AS BIGINT), max(snapshots.reports) FROM totals"
        " LEFT JOIN snapshots ON snapshots.survey = totals.survey WHERE totals.survey = ?",
        [survey],
    ).fetchone()
    if total - (kept or 0) >= batch:
        tallies = _encode(current(database, survey)).decode()
        database.execute(
            "INSERT INTO snapshots (survey, reports, tallies) VALUES (?, ?, ?)"
            " ON CONFLICT (survey) DO UPDATE"
            " SET reports = excluded.reports, tallies = excluded.tallies",
            [survey, total, tallies],
        )


def shown_snapshot(database: Connection, survey: str) -> Snapshot | None:
    """The snapshot of an open survey; None before its first full batch."""
    row = database.execute("SELECT tallies FROM snapshots WHERE survey = ?", [survey]).fetchone()
    return None if row is None else _decode(row[0])


def shown_reports(database: Connection, survey: str) -> list[tuple[str | None, int]]:
    """The numbers of reports behind the shown results, in the form of ``Snapshot.reports``."""
    sql = "SELECT tallies FROM snapshots WHERE survey = ?"
    row = database.execute(sql, [survey]).fetchone()
    return reports_now(database, survey) if row is None else _decode_counted(row[0]).reports


def forget(database: Connection, survey: str) -> None:
    """Delete the snapshot, so that results show the current tallies."""
    database.execute("DELETE FROM snapshots WHERE survey = ?", [survey])


def current(database: Connection, survey: str, strata: Collection[int] | None = None) -> Snapshot:
    """The current tallies of some strata, by default of all, as a snapshot."""
    which, given = among(survey, strata)
    cells = database.execute(
        "SELECT question, choice, CAST(sum(count) AS BIGINT) FROM tallies"  # noqa: S608  # marks only
        f" WHERE {which} GROUP BY question, choice",
        given,
    ).fetchall()
    return Snapshot(reports_now(database, survey, strata), cells)


def reports_now(
    database: Connection, survey: str, strata: Collection[int] | None = None
) -> list[tuple[str | None, int]]:
    """The current numbers of reports, in the form of ``Snapshot.reports``."""
    which, given = among(survey, strata)
    return database.execute(
        f"SELECT NULL, CAST(sum(reports) AS BIGINT) FROM totals WHERE {which}"  # noqa: S608  # marks only
        " UNION ALL SELECT question, CAST(sum(reports) AS BIGINT) FROM answered"
        f" WHERE {which} GROUP BY question",
        [*given, *given],
    ).fetchall()


def among(survey: str, strata: Collection[int] | None) -> tuple[str, list[object]]:
    """A condition on rows of these strata, and its parameters."""
    if strata is None:
        return "survey = ?", [survey]
    return f"survey = ? AND stratum IN ({', '.join('?' * len(strata))})", [survey, *strata]
