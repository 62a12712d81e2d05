"""What the results of an open survey show: the tallies as of the last time that a batch was full.

Whoever looks at results twice sees what came between the two. So those of an open survey are
renewed in batches of as many reports as the author's minimum, by the commit that fills one: two
looks differ by so many people or by none. The closing shows the rest, which may be few; of them is
known what whoever has their reports knows, for each is randomised.
"""

from __future__ import annotations

import msgspec

from deniably.survey.survey import Survey
from deniably_server.storage.engines.engine import Connection


class Snapshot(msgspec.Struct, frozen=True):
    """How many reports there were (of a question, or under None of all) and the counts of the
    cells that are not empty."""

    reports: list[tuple[str | None, int]]
    cells: list[tuple[str, int, int]]


class Counted(msgspec.Struct, frozen=True):
    """Of a snapshot how many reports there were."""

    reports: list[tuple[str | None, int]]


_decode_counted = msgspec.json.Decoder(Counted).decode
_decode = msgspec.json.Decoder(Snapshot).decode
_encode = msgspec.json.Encoder().encode


def batch_of(survey: Survey) -> int:
    """How many more reports renew the results; 0 where they wait for the closing."""
    return survey.results.minimum if survey.results.while_open else 0


def renew(database: Connection, survey: str, batch: int) -> None:
    """Keep the tallies as they are now, where another batch is full."""
    (total, kept) = database.execute(
        "SELECT totals.reports, snapshots.reports FROM totals"
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
    """What is shown of an open survey; None where no batch was full yet."""
    row = database.execute("SELECT tallies FROM snapshots WHERE survey = ?", [survey]).fetchone()
    return None if row is None else _decode(row[0])


def shown_reports(database: Connection, survey: str) -> list[tuple[str | None, int]]:
    """Of how many reports results are made, as ``Snapshot.reports`` has it."""
    sql = "SELECT tallies FROM snapshots WHERE survey = ?"
    row = database.execute(sql, [survey]).fetchone()
    return reports_now(database, survey) if row is None else _decode_counted(row[0]).reports


def forget(database: Connection, survey: str) -> None:
    """Of a closed survey all is shown."""
    database.execute("DELETE FROM snapshots WHERE survey = ?", [survey])


def current(database: Connection, survey: str) -> Snapshot:
    """The tallies as they are now."""
    cells = database.execute(
        "SELECT question, choice, count FROM tallies WHERE survey = ?", [survey]
    ).fetchall()
    return Snapshot(reports_now(database, survey), cells)


def reports_now(database: Connection, survey: str) -> list[tuple[str | None, int]]:
    """How many reports there are now."""
    return database.execute(
        "SELECT NULL, reports FROM totals WHERE survey = ?"
        " UNION ALL SELECT question, reports FROM answered WHERE survey = ?",
        [survey, survey],
    ).fetchall()
