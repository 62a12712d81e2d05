"""What is asked of an engine: two queries over Parquet files, in the SQL that all engines share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

Key = tuple[int | None, ...]
"""The values of some columns in a row; None where one is empty."""
Groups = Mapping[Key, int]
"""How many rows have these values in the columns of a key."""


@dataclass(frozen=True)
class Source:
    """Parquet ``files`` with equal columns, of which some are read, by their ``names``.

    Conditions and expressions call the columns ``c0``, ``c1`` and so on, in the order of ``names``.
    """

    files: tuple[str, ...]
    names: tuple[str, ...]


class CountingEngine(Protocol):
    """Something that counts rows of Parquet files.

    Both methods raise NoExport where a file cannot be read.
    """

    def aggregates(
        self, source: Source, expressions: Sequence[str], by: Sequence[int] = ()
    ) -> Mapping[Key, list[int]]:
        """Integers of all rows, such as ``sum(c0)``; 0 where no row has a value.

        They are those of each combination of values in the columns ``by``, by their numbers.
        """
        ...

    def groups(
        self, source: Source, keys: Sequence[Sequence[int]], where: str | None = None
    ) -> list[Groups]:
        """How many rows have each combination of values, for some keys.

        A key is one or more columns, by their numbers. ``where`` is a condition that is never null;
        None for all rows.
        """
        ...
