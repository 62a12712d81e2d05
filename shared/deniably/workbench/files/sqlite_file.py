"""Reads and writes reports as an SQLite database, which sqlite-utils and Datasette read without
Deniably.

The table ``reports`` has a row for each report. ``columns`` says what the columns mean, with p and
q. ``results`` are the estimates. ``files`` has the definition, its signature and the design, so
that the database can be passed on alone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deniably.core.bounded_files import check_file
from deniably.core.table import Cell
from deniably.survey.survey import Survey
from deniably.workbench.files.optional_libraries import NoExport, library
from deniably.workbench.files.tables import bounded_rows
from deniably.workbench.packing import Rows
from deniably.workbench.report_columns import ROW, FileColumn, FileColumns, Filled, columns_in
from deniably.workbench.report_set import ReportSet, of_rows

if TYPE_CHECKING:
    from sqlite_utils import Database

BEGINS = b"SQLite format 3\0"
"""The first bytes of an SQLite database."""
_MOST_COLUMNS = 1_999
"""SQLite's tables have up to 2,000 columns, one of which is the number of the row."""
_BLOCK = 5_000


def write_database(
    reports: ReportSet, results: Iterable[Mapping[str, Cell]], files: Mapping[str, str], file: Path
) -> None:
    """Writes an SQLite database with the reports, the rows of ``results``, and ``files``, a
    mapping of file names to texts. Raises NoExport where sqlite-utils is missing or a table cannot
    hold the reports."""
    columns = reports.columns
    if len(columns) > _MOST_COLUMNS:
        raise NoExport(
            f"a table of SQLite has up to {_MOST_COLUMNS:,} columns, and the reports have"
            f" {len(columns):,}; take csv or parquet"
        )
    names = _distinct(columns.names)
    with closing(sqlite3.connect(file)) as connection:
        database = _opened(connection)
        kinds = {ROW: int, **dict.fromkeys(names, int)}
        database.table("reports").create(kinds, pk=ROW, strict=True)
        database.table("reports").insert_all(_records(names, columns, reports.rows))
        database.table("columns").insert_all(_meanings(names, columns), pk="column")
        database.table("results").insert_all(dict(row) for row in results)
        notes = [{"name": name, "text": text} for name, text in files.items()]
        database.table("files").insert_all(notes, pk="name", columns={"name": str, "text": str})
        database.vacuum()  # the same bytes, however the tables came to be


def read_database(survey: Survey, file: Path) -> ReportSet:
    """Reads the reports of a database into a report set. Raises NoExport where sqlite-utils is
    missing, and ValueError where the database is damaged or a row is no report to this survey."""
    with closing(_read_only(file)) as connection:
        try:
            database = _opened(connection)
            names = {str(row["column"]): str(row["name"]) for row in database.table("columns").rows}
            if "reports" not in database.table_names():
                raise ValueError("there is no table reports")
            columns = columns_in(survey, [ROW, *names.values()])
            wanted = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
            cursor = connection.execute(f"SELECT {wanted} FROM reports")  # noqa: S608
            return of_rows(
                columns.layout, bounded_rows(_blocks(cursor, [*names.values()], columns))
            )
        except (sqlite3.Error, OverflowError) as error:
            raise ValueError(f"{file.name}: {error}") from None


def files_of(file: Path) -> dict[str, str]:
    """Returns {file name: text} of the files that a database holds besides the reports, such as
    the definition. Raises ValueError where ``file`` is no database with such a table."""
    with closing(_read_only(file)) as connection:
        try:
            rows = _opened(connection).table("files").rows
            return {str(row["name"]): str(row["text"]) for row in rows}
        except sqlite3.Error as error:
            raise ValueError(f"{file.name}: {error}") from None


# --- below ------------------------------------------------------------------------------------


def _opened(connection: sqlite3.Connection) -> Database:
    """Opens a database without plug-ins of sqlite-utils, which could change what is written."""
    database: Database = library("sqlite_utils").Database(connection, execute_plugins=False)
    return database


def _read_only(file: Path) -> sqlite3.Connection:
    # Immutable, so that SQLite writes no journal or lock beside a file that may be read-only.
    return sqlite3.connect(f"{check_file(file).absolute().as_uri()}?mode=ro&immutable=1", uri=True)


def _distinct(names: Sequence[str]) -> list[str]:
    """Returns names that differ in more than capitals, which SQLite does not tell apart."""
    taken, distinct = {ROW.casefold()}, list[str]()
    for name in names:
        new, number = name, 1
        while new.casefold() in taken:
            number += 1
            new = f"{name}_{number}"
        taken.add(new.casefold())
        distinct.append(new)
    return distinct


def _records(names: Sequence[str], columns: FileColumns, rows: Rows) -> Iterator[dict[str, Any]]:
    number = 0
    for start in range(0, len(rows), _BLOCK):
        filled = columns.filled(rows[start : start + _BLOCK])
        cells = [
            [value if there else None
             for value, there in zip(column.values.tolist(), column.there.tolist(), strict=True)]
            for column in filled
        ]  # fmt: skip
        for line in zip(*cells, strict=True):
            number += 1
            yield {ROW: number, **dict(zip(names, line, strict=True))}


def _meanings(names: Sequence[str], columns: FileColumns) -> Iterator[dict[str, Any]]:
    """Yields the meaning of each column, as the codebook states it."""
    for name, column in zip(names, columns, strict=True):
        of = column if isinstance(column, FileColumn) else None
        yield {
            "column": name,
            "name": column.name,
            "randomised": int(of is not None),
            "question": of.question.name if of else None,
            "about": of.label if of else column.title,
            "choice": of.choice if of else None,
            "part": of.part if of else None,
            "p": None if of is None or of.p is None else float(of.p),
            "q": None if of is None or of.q is None else float(of.q),
            "values": "; ".join(
                f"{value}: {label}" for value, label in enumerate(column.categories)
            ),
        }


def _blocks(cursor: sqlite3.Cursor, names: Sequence[str], columns: FileColumns) -> Iterator[Rows]:
    while block := cursor.fetchmany(_BLOCK):
        yield columns.pack(dict(zip(names, map(_filled, zip(*block, strict=True)), strict=True)))


def _filled(cells: Sequence[object]) -> Filled:
    there = np.array([cell is not None for cell in cells])
    if not all(isinstance(cell, int) for cell in cells if cell is not None):
        raise ValueError("a value of a report is no integer")
    return Filled(np.array([0 if cell is None else cell for cell in cells], np.int64), there)
