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
    """Returns the numbers of the columns that SQL expressions use, sorted; [0] where they use no
    column.

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
        """Computes SQL aggregates, such as ``sum(c0)``, for each group of rows; null results
        become 0.

        ``by`` has the numbers of the columns whose values form the groups. Returns {values in
        these columns: one integer per expression}. Without ``by`` all rows are one group, under
        the key ().
        """
        ...

    def groups(
        self, source: Source, keys: Sequence[Sequence[int]], where: str | None = None
    ) -> list[Groups]:
        """Counts rows by their values in some columns. Returns {values: number of rows} for each
        of ``keys``, in their order.

        A key is a sequence of numbers of columns. ``where`` is an SQL condition that is never
        null; only rows that meet it are counted. None counts all rows.
        """
        ...
