"""The tables of tallies: the number of reports, and of those that name each cell, by stratum.

The stored reports can rebuild them. Each writer adds to rows of its own, its shard, so that writers
never wait for each other's. A count is the sum over the shards. The closing merges them, so that
nothing remains about which server took which reports.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deniably.estimation.tally import Tally, from_cells
from deniably.survey.mixer import Mixer
from deniably.survey.survey import Survey
from deniably_server.storage.engines.engine import Connection
from deniably_server.storage.tables.snapshots import Snapshot, among

COUNTS = {
    "totals": (("survey", "stratum"), "reports"),
    "tallies": (("survey", "stratum", "question", "choice"), "count"),
    "answered": (("survey", "stratum", "question"), "reports"),
}
"""The tables with shards: the columns that identify a count, and the column of the count."""


@dataclass
class AddedCounts:
    """The amounts that new reports add to the tallies.

    ``cells`` counts by (survey, stratum, question, cell). ``answered`` counts by (survey, stratum,
    question), for surveys that ask each person only some questions.
    """

    cells: Counter[tuple[str, int, str, int]]
    answered: Counter[tuple[str, int, str]]


def begin_tallies(database: Connection, survey: Survey) -> None:
    """Start a new survey's tallies at 0."""
    numbers = range(len(survey.every_stratum))
    rows = [(survey.name, number, 0) for number in numbers]
    database.fill("totals", ("survey", "stratum", "reports"), rows)


def add_counts(
    database: Connection, totals: Mapping[tuple[str, int], int], counts: AddedCounts
) -> None:
    """Adds new reports to the connection's shard of the tallies. ``totals`` is {(survey, number of
    the stratum): number of reports}.

    Rows are changed in the order of tables and keys. As every writer uses this order, writers that
    share a shard do not deadlock.
    """
    added: dict[str, Mapping[Any, int]] = {
        "totals": totals,
        "tallies": counts.cells,
        "answered": counts.answered,
    }
    for table, (keys, count) in COUNTS.items():
        rows = [(*key, database.shard, more) for key, more in sorted(added[table].items()) if more]
        if rows:
            columns = ", ".join((*keys, "shard"))
            marks = ", ".join("?" * len(rows[0]))
            database.executemany(
                f"INSERT INTO {table} ({columns}, {count}) VALUES ({marks})"  # noqa: S608  # COUNTS
                f" ON CONFLICT ({columns})"
                f" DO UPDATE SET {count} = {table}.{count} + excluded.{count}",
                rows,
            )


def merge_shards(database: Connection, survey: str) -> None:
    """Adds up the shards of a closed survey's tallies, so that every count has one row."""
    if not database.execute(
        "SELECT 1 FROM totals WHERE survey = ? AND shard > 0 LIMIT 1", [survey]
    ).fetchone():
        return
    for table, (keys, count) in COUNTS.items():
        sums = database.execute(summed(table, "WHERE survey = ?"), [survey]).fetchall()
        database.execute(f"DELETE FROM {table} WHERE survey = ?", [survey])  # noqa: S608  # COUNTS
        database.fill(table, (*keys, count), sums)


def summed(table: str, which: str = "") -> str:
    """Returns SQL that sums the counts of a table of ``COUNTS`` over all shards."""
    keys, count = COUNTS[table]
    columns = ", ".join(keys)
    return (
        f"SELECT {columns}, CAST(sum({count}) AS BIGINT) FROM {table} {which}"  # noqa: S608  # COUNTS
        f" GROUP BY {columns} ORDER BY {columns}"
    )


def find_total(database: Connection, survey: str) -> int:
    """Returns the number of a survey's counted reports."""
    sql = "SELECT sum(reports) FROM totals WHERE survey = ?"
    return int(database.execute(sql, [survey]).fetchone()[0])


def report_texts(
    database: Connection, survey: str, strata: Collection[int] | None = None
) -> Iterator[tuple[str, int]]:
    """Yields (JSON text, number of the stratum) of the stored reports of some strata, by default of
    all, in the order of their random ids.

    Read it within a transaction; few reports are in memory at a time.
    """
    which, values = among(survey, strata)
    sql = f"SELECT report, stratum FROM reports WHERE {which} ORDER BY id"  # noqa: S608  # marks
    return iter(database.each(sql, values))


def unordered_texts(
    database: Connection, survey: str, strata: Collection[int] | None = None
) -> Iterator[tuple[str]]:
    """Yields the JSON texts of the stored reports of some strata, by default of all, in the order
    of their storage, which must not be shown."""
    which, values = among(survey, strata)
    return iter(database.each(f"SELECT report FROM reports WHERE {which}", values))  # noqa: S608  # marks


def tallies_of(survey: Survey, snapshot: Snapshot) -> dict[str, Tally]:
    """Returns the tally of every question, by name, from a snapshot. Where a mixer passed on the
    reports, its blanks are among them.

    Raises LookupError or ValueError where the snapshot counts a question or a cell that the survey
    does not have.
    """
    totals = dict(snapshot.reports)
    everybody = totals.get(None, 0) if survey.complete else 0
    cells: dict[str, dict[int, int]] = {question.name: {} for question in survey.questions}
    for question_name, cell, count in snapshot.cells:
        cells[question_name][cell] = count
    tallies = {
        question.name: from_cells(
            totals.get(question.name, everybody),
            cells[question.name],
            question.mechanism.law.cell_count,
        )
        for question in survey.questions
    }
    return {
        name: tally.with_blanks(blanks_among(survey, tally.n)) for name, tally in tallies.items()
    }


def blanks_among(survey: Survey, reports: int) -> int:
    """Returns how many of the stored ``reports`` to a question are blanks of a mixer: all that it
    adds, or none before its batch is taken."""
    return min(reports, survey.mixer.blanks) if isinstance(survey.mixer, Mixer) else 0


def recounted(
    survey: Survey,
    answered: Iterable[tuple[int, int, int]],
    cells: Iterable[tuple[int, int, int, int]],
) -> list[dict[str, Tally]]:
    """Returns the tallies of each stratum from an engine's recount of the stored reports.

    ``answered`` and ``cells`` are the rows of ``Engine.answered`` and ``Engine.cells``. Raises
    LookupError where a report is of a stratum that the survey does not have.
    """
    names = [question.name for question in survey.questions]
    snapshots = [Snapshot([], []) for _ in survey.every_stratum]
    for stratum, index, count in answered:
        snapshots[stratum].reports.append((names[index], count))
    for stratum, index, cell, count in cells:
        snapshots[stratum].cells.append((names[index], cell, count))
    return [tallies_of(survey, snapshot) for snapshot in snapshots]


def merged(tallies: Sequence[Mapping[str, Tally]]) -> dict[str, Tally]:
    """Returns the tally of every question, by name, summed over several strata."""
    first, *others = tallies
    return {name: sum((tally[name] for tally in others), first[name]) for name in first}


def replace_tallies(
    database: Connection, survey: Survey, counted: Sequence[Mapping[str, Tally]]
) -> None:
    """Replaces a survey's stored tallies by ``counted``, the recounted tallies of each stratum."""
    name, some = survey.name, not survey.complete
    sql = "SELECT stratum, count(*) FROM reports WHERE survey = ? GROUP BY 1"
    totals = dict(database.execute(sql, [name]).fetchall())
    database.execute("DELETE FROM tallies WHERE survey = ?", [name])
    database.execute("DELETE FROM answered WHERE survey = ?", [name])
    database.execute("DELETE FROM totals WHERE survey = ?", [name])
    rows = [(name, number, totals.get(number, 0)) for number in range(len(counted))]
    database.fill("totals", ("survey", "stratum", "reports"), rows)
    database.fill(
        "answered",
        ("survey", "stratum", "question", "reports"),
        [
            (name, number, question, tally.reports)
            for number, tallies in enumerate(counted)
            for question, tally in tallies.items()
            if some and tally.reports
        ],
    )
    database.fill(
        "tallies",
        ("survey", "stratum", "question", "choice", "count"),
        [
            (name, number, question, cell, count)
            for number, tallies in enumerate(counted)
            for question, tally in tallies.items()
            for cell, count in enumerate(tally.counts.tolist())
            if count
        ],
    )
