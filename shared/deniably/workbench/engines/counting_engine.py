"""Defines what a counting engine does: two queries over Parquet files, in the SQL that all engines
share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from deniably.workbench.files.file_places import Place

Key = tuple[int | None, ...]
"""The values of some columns in a row; None where a column is empty."""
Groups = Mapping[Key, int]
"""How many rows have each combination of values in some columns."""
_COLUMN = re.compile(r"\bc(\d+)\b")


@dataclass(frozen=True)
class Source:
    """Parquet ``files`` with equal columns, of which those called ``names`` are read.

    SQL conditions and expressions call the columns ``c0``, ``c1`` and so on, in the order of
    ``names``.
    """

    files: tuple[Place, ...]
    names: tuple[str, ...]


def columns_in(*texts: str) -> list[int]:
    """Returns the numbers of the columns that SQL expressions use, sorted; column 0 where they use
    none.

    >>> columns_in("c3, count(*)", "c12 > c3")
    [3, 12]
    """
    return sorted({int(place) for place in _COLUMN.findall(" ".join(texts))}) or [0]


class CountingEngine(Protocol):
    """An engine that counts rows of Parquet files.

    Both methods raise NoExport where a file cannot be read.
    """

    def aggregates(
        self, source: Source, expressions: Sequence[str], by: Sequence[int] = ()
    ) -> Mapping[Key, list[int]]:
        """Computes integers over rows from SQL aggregates, such as ``sum(c0)``; null results
        become 0.

        Returns a list with one integer per expression, for each combination of values in the
        columns with the numbers ``by``; without ``by``, under the empty tuple, for all rows.
        """
        ...

    def groups(
        self, source: Source, keys: Sequence[Sequence[int]], where: str | None = None
    ) -> list[Groups]:
        """Counts rows by their values in some columns; returns the counts for each of ``keys``.

        A key is one or more numbers of columns, whose combinations of values are counted.
        ``where`` is an SQL condition that is never null; None counts all rows.
        """
        ...
