"""Reads the rows of a table of people from a CSV file, a DataFrame or a list of rows."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from deniably.core.bounded_files import text_lines
from deniably.core.errors import BadAnswer


@runtime_checkable
class Frame(Protocol):
    """A table with the two members of a pandas DataFrame that this module uses, so that pandas
    need not be imported."""

    @property
    def columns(self) -> Iterable[Any]:
        """The names of the columns."""
        ...

    def itertuples(self, index: bool = ..., name: str | None = ...) -> Iterable[tuple[Any, ...]]:
        """Returns an iterator over the rows. This module calls it with ``index=False``."""
        ...


Written = str | Path | Iterable[Sequence[object]] | Frame
"""A CSV file (UTF-8), a DataFrame, or rows whose first row has the column names."""


def rows_of(table: Written) -> Iterator[Sequence[str]]:
    """Yields the header (the names of the columns), then one row for each person. A missing cell is
    "".

    Raises OSError if a file cannot be read (BadInput for a pipe or a device), and BadAnswer if it
    is not CSV in UTF-8.
    """
    if isinstance(table, str | Path):
        yield from _in_file(Path(table))
    elif isinstance(table, Frame):
        yield [str(name) for name in table.columns]
        for row in table.itertuples(index=False, name=None):
            yield [_text(cell) for cell in row]
    else:
        for cells in table:
            yield [cell if isinstance(cell, str) else _text(cell) for cell in cells]


def _in_file(path: Path) -> Iterator[Sequence[str]]:
    try:
        yield from csv.reader(text_lines(path))
    except (csv.Error, UnicodeDecodeError) as error:
        why = "this is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error
        raise BadAnswer(f"{path}: {why}") from None


def _text(cell: object) -> str:
    """A cell of a DataFrame or of a row as a file would have it.

    Whole numbers come as floats if some are missing. A missing value (None, nan, NaT, pandas.NA)
    is one that is not known to equal itself.
    """
    if cell is None or str(cell == cell) != "True":
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)
