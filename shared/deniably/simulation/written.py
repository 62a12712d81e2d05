"""Tables of people as they are written: in a file, in a DataFrame, in rows."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from deniably.core.errors import BadAnswer


@runtime_checkable
class Frame(Protocol):
    """What is used of a pandas DataFrame."""

    @property
    def columns(self) -> Iterable[Any]:
        """The names of the columns."""
        ...

    def itertuples(self, index: bool = ..., name: str | None = ...) -> Iterable[tuple[Any, ...]]:
        """The rows, without their index."""
        ...


Written = str | Path | Iterable[Sequence[str]] | Frame
"""A CSV file (UTF-8), rows of texts of which the first has the names, or a DataFrame."""


def rows_of(table: Written) -> Iterator[Sequence[str]]:
    """A row of names, then a row a person; a cell that is missing is empty.

    Raises OSError, and BadAnswer where a file is no CSV in UTF-8.
    """
    if isinstance(table, str | Path):
        yield from _in_file(Path(table))
    elif isinstance(table, Frame):
        yield [str(name) for name in table.columns]
        for row in table.itertuples(index=False, name=None):
            yield [_text(cell) for cell in row]
    else:
        yield from table


def _in_file(path: Path) -> Iterator[Sequence[str]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        try:
            yield from csv.reader(file)
        except (csv.Error, UnicodeDecodeError) as error:
            why = "this is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error
            raise BadAnswer(f"{path}: {why}") from None


def _text(cell: object) -> str:
    """A cell of a DataFrame as a file would have it: whole numbers come as floats where some are
    missing, and what is missing is the value that differs from itself."""
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)
