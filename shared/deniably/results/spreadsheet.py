"""Results as CSV that is safe to open: a label must never run as a formula."""

from __future__ import annotations

import csv
import io
import re

from deniably.results.document import SurveyResult
from deniably.results.rows import COLUMNS, rows

_FORMULA = "=+\\-@＝＋－＠"
"""What a formula may begin with, also in the wide forms that some spreadsheets read so."""
_STARTS = re.compile(rf"(?:^(?=[\t\r])|(?:^|[;\t\r\n])[\s\"']*(?=[{_FORMULA}]))")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?", re.ASCII)


def spreadsheet(result: SurveyResult) -> str:
    """The result with one row a figure, under a row of column names."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, restval=None)
    writer.writeheader()
    writer.writerows({key: _safe(cell) for key, cell in row.items()} for row in rows(result))
    return out.getvalue()


def _safe(cell: str | float | None) -> str | float | None:
    """A text that a spreadsheet would take for a formula gets an apostrophe in front; so does each
    part of it that stands in a cell of its own where cells end at a semicolon, a tab or a line
    (in much of Europe, and quotation marks do not help there). A number stays one."""
    if not isinstance(cell, str) or _NUMBER.fullmatch(cell):
        return cell
    return _STARTS.sub(lambda start: f"{start[0]}'", cell)
