"""The tallies' tables: the number of reports, and of those that name each cell.

The stored reports can rebuild them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from deniably.estimation.tally import Tally, from_cells
from deniably.survey.survey import Survey
from deniably_server.storage.engines.engine import Connection
from deniably_server.storage.tables.snapshots import Snapshot


@dataclass
class AddedCounts:
    """What new reports add to the tallies.

    ``cells`` counts by (survey, question, cell). ``answered`` counts by (survey, question), for
    surveys that ask each person only some questions.
    """

    cells: Counter[tuple[str, str, int]]
    answered: Counter[tuple[str, str]]


def begin_tallies(database: Connection, survey: str) -> None:
    """Start a new survey's tallies at 0."""
    database.execute("INSERT INTO totals VALUES (?, 0)", [survey])


def add_counts(database: Connection, totals: Mapping[str, int], counts: AddedCounts) -> None:
    """Add new reports to the tallies; ``totals`` has their number by survey."""
    database.executemany(
        "UPDATE totals SET reports = reports + ? WHERE survey = ?",
        [(more, survey) for survey, more in totals.items()],
    )
    database.executemany(
        "INSERT INTO tallies (survey, question, choice, count) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (survey, question, choice)"
        " DO UPDATE SET count = tallies.count + excluded.count",
        [(*key, more) for key, more in counts.cells.items()],
    )
    database.executemany(
        "INSERT INTO answered (survey, question, reports) VALUES (?, ?, ?)"
        " ON CONFLICT (survey, question)"
        " DO UPDATE SET reports = answered.reports + excluded.reports",
        [(*key, more) for key, more in counts.answered.items() if more],
    )


def find_total(database: Connection, survey: str) -> int:
    """The number of a survey's counted reports."""
    sql = "SELECT reports FROM totals WHERE survey = ?"
    return int(database.execute(sql, [survey]).fetchone()[0])


def report_texts(database: Connection, survey: str) -> Iterator[str]:
    """The texts of the stored reports, in the order of their random ids."""
    sql = "SELECT report FROM reports WHERE survey = ? ORDER BY id"
    return (text for (text,) in database.execute(sql, [survey]))


def tallies_of(survey: Survey, found: Snapshot) -> dict[str, Tally]:
    """The tally of every question, by name, from a snapshot.

    Raises LookupError or ValueError where the snapshot counts what the survey does not have.
    """
    totals = dict(found.reports)
    everybody = totals.get(None, 0) if survey.asked == len(survey.questions) else 0
    cells: dict[str, dict[int, int]] = {question.name: {} for question in survey.questions}
    for question_name, cell, count in found.cells:
        cells[question_name][cell] = count
    return {
        question.name: from_cells(
            totals.get(question.name, everybody),
            cells[question.name],
            question.mechanism.law.cell_count,
        )
        for question in survey.questions
    }


def recounted(
    survey: Survey, answered: Iterable[tuple[int, int]], cells: Iterable[tuple[int, int, int]]
) -> dict[str, Tally]:
    """The tallies from an engine's recount of the stored reports.

    ``answered`` and ``cells`` are the rows of ``Engine.answered`` and ``Engine.cells``.
    """
    names = [question.name for question in survey.questions]
    return tallies_of(
        survey,
        Snapshot(
            [(names[index], count) for index, count in answered],
            [(names[index], cell, count) for index, cell, count in cells],
        ),
    )


def replace_tallies(database: Connection, survey: Survey, counted: Mapping[str, Tally]) -> None:
    """Replace a survey's tallies by a recount."""
    name, some = survey.name, survey.asked < len(survey.questions)
    (total,) = database.execute("SELECT count(*) FROM reports WHERE survey = ?", [name]).fetchone()
    database.execute("DELETE FROM tallies WHERE survey = ?", [name])
    database.execute("DELETE FROM answered WHERE survey = ?", [name])
    database.execute("DELETE FROM totals WHERE survey = ?", [name])
    database.fill("totals", ("survey", "reports"), [(name, total)])
    database.fill(
        "answered",
        ("survey", "question", "reports"),
        [(name, question, tally.n) for question, tally in counted.items() if some and tally.n],
    )
    database.fill(
        "tallies",
        ("survey", "question", "choice", "count"),
        [
            (name, question, cell, count)
            for question, tally in counted.items()
            for cell, count in enumerate(tally.counts.tolist())
            if count
        ],
    )
