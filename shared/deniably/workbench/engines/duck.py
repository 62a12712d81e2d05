"""Counts with DuckDB, which runs in this process and uses all its cores (Raasveldt and Mühleisen
2019).

DuckDB reads files of this machine by itself. Files in a cloud store are scanned through Arrow,
which fetches only the columns that a query names: DuckDB's own access to stores is an extension
that would have to be downloaded, and would need keys of its own.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from glob import escape
from typing import Any

from deniably.workbench.engines.counting_engine import Groups, Key, Source, columns_in
from deniably.workbench.files.datasets import dataset
from deniably.workbench.files.optional_libraries import NoExport, library
from deniably.workbench.files.store_addresses import Address, why

_FILES = "read_parquet(?, hive_partitioning = false)"
"""Without hive_partitioning, names of folders such as ``day=2026-11-23`` make no columns."""


@dataclass(frozen=True, eq=False)
class DuckDB:
    """A counting engine that runs DuckDB in this process.

    ``connection`` is an open connection to a database, and ``module`` the imported module duckdb.
    """

    connection: Any
    module: Any
    datasets: dict[Source, str] = field(default_factory=dict[Source, str])
    """The names of Arrow datasets in queries. They remember the footers of files, once read."""

    def aggregates(
        self, source: Source, expressions: Sequence[str], by: Sequence[int] = ()
    ) -> dict[Key, list[int]]:
        """Computes integers from SQL aggregates, for each combination of values in the columns
        ``by``, as ``CountingEngine.aggregates`` says."""
        key = [f"c{place}" for place in by]
        grouped = f" group by {', '.join(key)}" if key else ""
        rows = self._queried(source, ", ".join([*key, *expressions]), None, grouped)
        return {
            tuple(row[: len(by)]): [int(value or 0) for value in row[len(by) :]] for row in rows
        }

    def groups(
        self, source: Source, keys: Sequence[Sequence[int]], where: str | None = None
    ) -> list[Groups]:
        """Counts rows by the columns of each key, as ``CountingEngine.groups`` says. Runs one
        query per key, which reads only the columns of that key."""
        return [
            self._grouped(source, ", ".join(f"c{place}" for place in key), where) for key in keys
        ]

    def _grouped(self, source: Source, key: str, where: str | None) -> Groups:
        rows = self._queried(source, f"{key}, count(*)", where, f" group by {key}")
        return {tuple(row[:-1]): int(row[-1]) for row in rows}

    def _queried(self, source: Source, what: str, where: str | None, rest: str = "") -> list[Any]:
        condition = f" where {where}" if where else ""
        # Columns that nothing asks for are not named: DuckDB would look each of them up.
        used = columns_in(what, condition)
        named = ", ".join(
            f'"{source.names[place].replace(chr(34), chr(34) * 2)}" as c{place}' for place in used
        )
        where_from, parameters = self._from(source)
        query = f"select {what} from (select {named} from {where_from}){condition}{rest}"  # noqa: S608  # our own SQL
        try:
            return list(self.connection.execute(query, parameters).fetchall())
        except self.module.Error as error:
            raise self._refusal(source, str(error)) from None

    def _from(self, source: Source) -> tuple[str, list[list[str]]]:
        """Returns what a query reads from, and the parameters of that."""
        if not any(isinstance(file, Address) for file in source.files):
            # What a path has of a pattern is part of its name.
            return _FILES, [[escape(str(file)) for file in source.files]]
        if source not in self.datasets:
            name = f"files{len(self.datasets)}"
            self.connection.register(name, dataset(source.files))
            self.datasets[source] = name
        return self.datasets[source], []

    def _refusal(self, source: Source, text: str) -> NoExport:
        addresses = [file for file in source.files if isinstance(file, Address)]
        if not addresses:
            return NoExport(f"DuckDB: {text}")
        named = next(
            (address for address in addresses if address.path in text), addresses[0].parent
        )
        return NoExport(f"{named}: {why(text)}")


@contextmanager
def duckdb(memory: str = "400MB") -> Generator[DuckDB]:
    """Opens an in-memory DuckDB whose tables take at most ``memory``. Raises NoExport where DuckDB
    is not installed or ``memory`` is not a size such as "400MB"."""
    module = library("duckdb", "bulk")
    try:
        connection = module.connect(":memory:", config={"memory_limit": memory})
    except module.Error as error:
        raise NoExport(f"DuckDB: {error}") from None
    with closing(connection):
        yield DuckDB(connection, module)
