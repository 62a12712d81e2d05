"""DuckDB, which runs in this process and uses all its cores (Raasveldt and Mühleisen 2019)."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from glob import escape
from typing import Any

from deniably.workbench.engines.engine import Groups, Key, Source
from deniably.workbench.files.needed import NoExport, library

_FILES = "read_parquet(?, hive_partitioning = false)"
"""Names of folders, such as ``day=2026-11-23``, make no columns."""
_COLUMN = re.compile(r"\bc(\d+)\b")


@dataclass(frozen=True, eq=False)
class DuckDB:
    """An engine in this process."""

    connection: Any
    module: Any

    def aggregates(
        self, source: Source, expressions: Sequence[str], by: Sequence[int] = ()
    ) -> dict[Key, list[int]]:
        """As of ``CountingEngine``."""
        key = [f"c{one}" for one in by]
        grouped = f" group by {', '.join(key)}" if key else ""
        rows = self._asked(source, ", ".join([*key, *expressions]), None, grouped)
        return {tuple(row[: len(by)]): [int(one or 0) for one in row[len(by) :]] for row in rows}

    def groups(
        self, source: Source, keys: Sequence[Sequence[int]], where: str | None = None
    ) -> list[Groups]:
        """As of ``CountingEngine``. A query a key: each reads its own columns alone."""
        return [self._grouped(source, ", ".join(f"c{one}" for one in key), where) for key in keys]

    def _grouped(self, source: Source, key: str, where: str | None) -> Groups:
        rows = self._asked(source, f"{key}, count(*)", where, f" group by {key}")
        return {tuple(row[:-1]): int(row[-1]) for row in rows}

    def _asked(self, source: Source, what: str, where: str | None, rest: str = "") -> list[Any]:
        condition = f" where {where}" if where else ""
        # Columns that nothing asks for are not named: DuckDB would look each of them up.
        used = {int(place) for place in _COLUMN.findall(f"{what}{condition}")} or {0}
        named = ", ".join(
            f'"{source.names[place].replace(chr(34), chr(34) * 2)}" as c{place}' for place in used
        )
        query = f"select {what} from (select {named} from {_FILES}){condition}{rest}"  # noqa: S608  # our own SQL
        try:
            # What a path has of a pattern is part of its name.
            return list(
                self.connection.execute(query, [[escape(file) for file in source.files]]).fetchall()
            )
        except self.module.Error as error:
            raise NoExport(f"DuckDB: {error}") from None


@contextmanager
def duckdb(memory: str = "400MB") -> Generator[DuckDB]:
    """DuckDB with so much memory for its own tables. Raises NoExport where it is missing."""
    module = library("duckdb", "bulk")
    try:
        connection = module.connect(":memory:", config={"memory_limit": memory})
    except module.Error as error:
        raise NoExport(f"DuckDB: {error}") from None
    with closing(connection):
        yield DuckDB(connection, module)
