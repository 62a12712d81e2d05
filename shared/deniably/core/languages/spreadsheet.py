"""CSV that is safe to open in a spreadsheet: no text can run as a formula."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence

from deniably.core.steering import printable

Cell = str | float | bool | None

_FORMULA = "=+\\-@＝＋－＠"
"""What a formula may begin with, also in the wide forms that some spreadsheets read so."""
_STARTS = re.compile(rf"(?:^(?=[\t\r])|(?:^|[;\t\r\n])[\s\"']*(?=[{_FORMULA}]))")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?", re.ASCII)


def csv_table(
    columns: Sequence[str], lines: Iterable[Mapping[str, Cell]], lineterminator: str = "\r\n"
) -> str:
    """A table as CSV: a row of column names, then the lines; what a line lacks stays empty."""
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, restval=None, lineterminator=lineterminator)
    writer.writerow({key: spreadsheet_cell(key) for key in columns})
    writer.writerows({key: spreadsheet_cell(cell) for key, cell in line.items()} for line in lines)
    return out.getvalue()


def spreadsheet_cell(cell: Cell) -> Cell:
    """Puts an apostrophe before text that a spreadsheet would take for a formula.

    In much of Europe cells end at a semicolon, a tab or a line, even within quotation marks. So
    each part between those gets one, too. A number stays a number.
    """
    if not isinstance(cell, str) or _NUMBER.fullmatch(cell):
        return cell
    return _STARTS.sub(lambda start: f"{start[0]}'", printable(cell))
