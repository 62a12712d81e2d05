"""What is asked of an engine: two queries over Parquet files, in the SQL that all engines share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from deniably.workbench.files.file_places import Place

Key = tuple[int | None, ...]
"""The values of some columns in a row; None where one is empty."""
Groups = Mapping[Key, int]
"""How many rows have these values in the columns of a key."""
_COLUMN = re.compile(r"\bc(\d+)\b")


@dataclass(frozen=True)
class Source:
    """Parquet ``files`` with equal columns, of which some are read, by their ``names``.

    Conditions and expressions call the columns ``c0``, ``c1`` and so on, in the order of ``names``.
    """

    files: tuple[Place, ...]
    names: tuple[str, ...]


def columns_in(*texts: str) -> list[int]:
    """Returns the numbers of the columns that expressions use; column 0 where they use none.

    >>> columns_in("c3, count(*)", "c12 > c3")
    [3, 12]
    """
    return sorted({int(place) for place in _COLUMN.findall(" ".join(texts))}) or [0]


class CountingEngine(Protocol):
    """Something that counts rows of Parquet files.

    Both methods raise NoExport where a file cannot be read.
    """

    def aggregates(
        self, source: Source, expressions: Sequence[str], by: Sequence[int] = ()
    ) -> Mapping[Key, list[int]]:
        """Computes integers over all rows, such as ``sum(c0)``; 0 where no row has a value.

        They are those of each combination of values in the columns ``by``, by their numbers.
        """
        ...

    def groups(
        self, source: Source, keys: Sequence[Sequence[int]], where: str | None = None
    ) -> list[Groups]:
        """Counts for each of ``keys``, a choice of columns, the rows with each combination of
        values.

        A key is one or more columns, by their numbers. ``where`` is a condition that is never null;
        None for all rows.
        """
        ...
