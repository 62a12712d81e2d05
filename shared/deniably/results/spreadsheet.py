"""Writes results as CSV."""

from __future__ import annotations

from deniably.core.languages.csv_text import csv_table
from deniably.results.document import SurveyResult
from deniably.results.rows import COLUMNS, rows


def spreadsheet(result: SurveyResult) -> str:
    """Returns the results as CSV: a row of column names, then one row for each figure."""
    return csv_table(COLUMNS, rows(result))
