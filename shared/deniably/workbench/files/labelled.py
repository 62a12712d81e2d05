"""Reads and writes reports with labels: for SPSS, Stata and Excel."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from deniably.core.bounded_files import check_file, check_zip
from deniably.core.steering import one_line
from deniably.survey.survey import Survey
from deniably.workbench.files.column_names import LIMITS, FileLimits, shortened
from deniably.workbench.files.optional_libraries import NoExport, library
from deniably.workbench.packing import layout
from deniably.workbench.report_columns import (
    NOT_RANDOMISED,
    RANDOMISED,
    ROW,
    FileColumn,
    FileColumns,
    Filled,
    StratumColumn,
    columns_in,
    columns_of,
    note,
    randomisation_note,
)
from deniably.workbench.report_set import ReportSet, of_rows

if TYPE_CHECKING:
    import pandas as pd

_HEAD = 1_000
"""The bytes at the beginning of a file in which its time of writing stands."""
_NEVER = datetime(1980, 1, 1, tzinfo=UTC)
_SHEET = "reports"
_MOST_ROWS, _MOST_COLUMNS = 1_048_576, 16_384
"""The most rows, including the row of names, and columns of a sheet in Excel."""


def write_sav(reports: ReportSet, file: Path) -> None:
    """Writes a file for SPSS. Raises NoExport where pyreadstat is missing or the format cannot
    hold the reports."""
    _write(reports, file, "sav", lambda its, frame, labels: its.write_sav(
        frame, str(file), note=wrap(randomisation_note(reports.layout), 78),
        file_label=_cut(reports.survey.title, 64), **labels,
    ))  # fmt: skip


def write_dta(reports: ReportSet, file: Path) -> None:
    """Writes a file for Stata 14 and later. Raises NoExport where pyreadstat is missing or the
    format cannot hold the reports."""
    _write(reports, file, "dta", lambda its, frame, labels: its.write_dta(
        frame, str(file), version=14, file_label=_cut(f"Randomised. {reports.survey.title}", 80),
        **labels,
    ))  # fmt: skip


def read_labelled(survey: Survey, file: Path) -> ReportSet:
    """Reads a file for SPSS or Stata into a report set. Raises NoExport where pyreadstat is
    missing, and ValueError where a column is missing or a row is no report to this survey."""
    pyreadstat = library("pyreadstat")
    ending = file.suffix.removeprefix(".")
    read = pyreadstat.read_sav if ending == "sav" else pyreadstat.read_dta
    frame, _ = read(str(check_file(file)), user_missing=False)
    columns = _columns_in(survey, frame.columns, LIMITS[ending])
    names = shortened([ROW, *columns.names], LIMITS[ending])
    filled = {
        name: _filled(frame[short].to_numpy(dtype=np.float64))
        for short, name in zip(names[1:], columns.names, strict=True)
    }
    return of_rows(columns.layout, [columns.pack(filled)])


def _columns_in(survey: Survey, names: Iterable[str], limits: FileLimits) -> FileColumns:
    """Returns the columns of a file with these shortened names; with strata if the file has
    them."""
    columns = columns_of(layout(survey, stratified=bool(survey.strata)))
    whole = set(shortened([ROW, *columns.names], limits)) <= set(names)
    return columns if whole else columns_of(layout(survey))


def write_xlsx(reports: ReportSet, file: Path) -> None:
    """Writes a workbook with two sheets: the reports, and the meaning of each column.

    The reports come first, because programs read the first sheet (``pandas.read_excel``); Excel
    opens the other one. Raises NoExport where xlsxwriter is missing or a sheet cannot hold the
    reports.
    """
    xlsxwriter, columns = library("xlsxwriter"), reports.columns
    if len(reports) >= _MOST_ROWS or len(columns) >= _MOST_COLUMNS:
        raise NoExport(
            f"a sheet of Excel holds {_MOST_ROWS - 1:,} reports and {_MOST_COLUMNS:,} columns;"
            " take csv or parquet"
        )
    # Texts of authors must not become formulas or links in a spreadsheet.
    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    with xlsxwriter.Workbook(str(file), options) as book:
        book.set_properties({"created": _NEVER})
        sheet, about = book.add_worksheet(_SHEET), book.add_worksheet("read this first")
        about.activate()
        _lines(
            about,
            [
                (randomisation_note(reports.layout),),
                ("column", "about", "values", "p", "q"),
                *_meanings(columns),
            ],
        )
        sheet.write_row(0, 0, [ROW, *columns.names])
        filled = columns.filled(reports.rows)
        for number in range(len(reports)):
            sheet.write_number(number + 1, 0, number + 1)
            for place, column in enumerate(filled, 1):
                if column.there[number]:
                    sheet.write_number(number + 1, place, int(column.values[number]))


def read_xlsx(survey: Survey, file: Path) -> ReportSet:
    """Reads a workbook into a report set. Raises NoExport where openpyxl is missing, and
    ValueError where a column is missing or a row is no report to this survey."""
    book = library("openpyxl").load_workbook(str(check_zip(file)), read_only=True)
    names, *lines = book[_SHEET].iter_rows(values_only=True)
    book.close()
    cells = np.array(lines, dtype=np.float64).reshape(len(lines), len(names))  # None is nan
    filled = {str(name): _filled(column) for name, column in zip(names, cells.T, strict=True)}
    columns = columns_in(survey, filled)
    return of_rows(columns.layout, [columns.pack(filled)])


def _write(
    reports: ReportSet, file: Path, ending: str, write: Callable[[Any, Any, Any], object]
) -> None:
    pyreadstat, limits, columns = library("pyreadstat"), LIMITS[ending], reports.columns
    if len(columns) + 1 > limits.columns:
        raise NoExport(
            f"{len(columns) + 1:,} columns are more than the {limits.columns:,} of"
            f" {limits.called}; take csv or parquet"
        )
    names = shortened([ROW, *columns.names], limits)
    labels = {
        "column_labels": [_of_row(columns), *(_label(column, limits) for column in columns)],
        "variable_value_labels": {
            name: {
                value: _cut(label, limits.value) for value, label in enumerate(column.categories)
            }
            for name, column in zip(names[1:], columns, strict=True)
            if column.categories
        },
    }  # fmt: skip
    try:
        write(pyreadstat, _frame(reports, names), labels)
        _forget_the_time(file)
    except pyreadstat.ReadstatError as error:
        raise NoExport(f"{limits.called} cannot hold these reports: {error}") from None


def _forget_the_time(file: Path) -> None:
    """Replace the time of writing in the header, so that equal reports make equal files."""
    with file.open("r+b") as target:
        head = target.read(_HEAD)
        if file.suffix == ".sav":
            start = 92  # PSPP, System File Format: creation_date[9] and creation_time[8]
            new = b"01 Jan 7000:00:00"
        else:
            start = head.index(b"<timestamp>") + len(b"<timestamp>") + 1
            new = b" 1 Jan 1970 00:00"
        target.seek(start)
        target.write(new)


def _of_row(columns: FileColumns) -> str:
    """Returns the label of the first column; in Stata only this can say that strata are left
    out."""
    left_out = note(columns.layout) and not columns.strata
    return "Number of the row" + ("; strata are left out: see codebook.html" if left_out else "")


def _label(column: FileColumn | StratumColumn, limits: FileLimits) -> str:
    """Returns the column's full name, which a file may shorten, and its title."""
    whole = one_line(f"{column.name}: {column.title}")
    if len(whole.encode()) <= limits.label:
        return whole
    # Cut at its end, a title would lose the remark that the column is randomised: it comes first
    # then.
    role = NOT_RANDOMISED if isinstance(column, StratumColumn) else RANDOMISED
    return _cut(f"{role} {whole}", limits.label)


def _frame(reports: ReportSet, names: list[str]) -> pd.DataFrame:
    import pandas as pd

    filled = reports.columns.filled(reports.rows)
    columns = [np.arange(1.0, len(reports) + 1)]
    columns += [np.where(column.there, column.values, np.nan) for column in filled]
    return pd.DataFrame(dict(zip(names, columns, strict=True)))


def _meanings(columns: FileColumns) -> list[tuple[str, ...]]:
    return [
        (
            column.name,
            column.title,
            "; ".join(f"{value} = {label}" for value, label in enumerate(column.categories)),
            *(str(exact or "") for exact in column.p_and_q),
        )
        for column in columns
    ]


def _lines(sheet: Any, lines: list[tuple[str, ...]]) -> None:
    for number, line in enumerate(lines):
        for place, text in enumerate(line):
            sheet.write_string(number, place, _cut(text, 32_767))


def _filled(values: np.ndarray[Any, Any]) -> Filled:
    there = ~np.isnan(values)
    return Filled(np.where(there, values, 0).astype(np.int64), there)


def _cut(text: str, maximum: int) -> str:
    """Returns a text on one line, cut to at most ``maximum`` bytes."""
    return one_line(text).encode()[:maximum].decode(errors="ignore")
