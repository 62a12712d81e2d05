"""CSV that is safe to open in a spreadsheet: no text can run as a formula."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence

from deniably.core.steering import one_line

Cell = str | float | bool | None

_FORMULA = "=+\\-@＝＋－＠"
"""What a formula may begin with, also in the wide forms that some spreadsheets read so."""
_STARTS = re.compile(rf"(?:^|;)[\s\"']*(?=[{_FORMULA}])")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?", re.ASCII)


def csv_table(
    columns: Sequence[str], lines: Iterable[Mapping[str, Cell]], lineterminator: str = "\r\n"
) -> str:
    """Returns a table as CSV: a line of column names, then the lines. A cell is empty where a line
    lacks the column."""
    out = io.StringIO()
    # A missing value is written as an empty cell.
    writer = csv.DictWriter(out, columns, restval=None, lineterminator=lineterminator)
    writer.writerow({key: spreadsheet_cell(key) for key in columns})
    writer.writerows({key: spreadsheet_cell(cell) for key, cell in line.items()} for line in lines)
    return out.getvalue()


def spreadsheet_cell(cell: Cell) -> Cell:
    """Returns a cell for a spreadsheet: a text is changed so that it does not count as a formula,
    any other value is returned unchanged."""
    return spreadsheet_text(cell) if isinstance(cell, str) else cell


def spreadsheet_text(text: str) -> str:
    """Returns a text on one line, with an apostrophe before everything that a spreadsheet would
    take for a formula.

    In much of Europe a semicolon ends a cell, even within quotation marks. So an apostrophe is
    also added after a semicolon. A number stays a number.

    >>> spreadsheet_text("=1+1; @a"), spreadsheet_text("-1.5")
    ("'=1+1; '@a", '-1.5')
    """
    if _NUMBER.fullmatch(text):
        return text
    return _STARTS.sub(lambda start: f"{start[0]}'", one_line(text))
