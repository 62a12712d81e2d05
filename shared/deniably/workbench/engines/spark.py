"""Counts with Apache Spark, on one machine or many (Zaharia et al. 2016).

Only DataFrames are used, never RDDs, so that Spark Connect and managed services work, too.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from os import environ
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

from deniably.workbench.engines.counting_engine import Groups, Key, Source, columns_in
from deniably.workbench.engines.spark_stores import NAME, OF_STORE, data_source, options_of
from deniably.workbench.files.optional_libraries import NoExport, library
from deniably.workbench.files.store_addresses import Address, why

LOCAL = "local[*]"
"""The master URL that stands for this machine, with all its cores."""
_SPECIAL, _ESCAPED = r"[][{}*?^\\]", r"\\\g<0>"  # of Hadoop's patterns of paths
_CONNECT = "sc://"
_TO_CONNECT = ("grpc", "grpc_status", "google.rpc", "zstandard")
"""The packages that Spark Connect needs beside pyspark."""
_TRIES = 5
"""How often a service is asked again before an error says that nothing answers: for 20 seconds."""
_ALL_REMOTE = "SPARK_CONNECT_MODE_ENABLED"
"""The environment variable that Spark sets once a session uses Spark Connect, and never removes."""
_FEW = ("spark.sql.shuffle.partitions", "8")
"""A setting of few partitions, as only a few counts are shuffled between workers."""
_SETTINGS = {
    _FEW[0]: _FEW[1],
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@dataclass(frozen=True, eq=False)
class Spark:
    """A counting engine on a Spark ``session``. All machines must see the files under the same
    path or address.

    ``functions`` is the module pyspark.sql.functions, and ``failures`` are the errors that Spark
    raises.
    """

    session: Any
    functions: Any
    failures: tuple[type[Exception], ...]

    def aggregates(
        self, source: Source, expressions: Sequence[str], by: Sequence[int] = ()
    ) -> dict[Key, list[int]]:
        """Computes integers from SQL aggregates, for each combination of values in the columns
        ``by``, as ``CountingEngine.aggregates`` says."""
        values = [self.functions.expr(expression) for expression in expressions]
        try:
            used = columns_in(*expressions, *(f"c{place}" for place in by))
            frame = self._frame(source, used).groupBy(*(f"c{place}" for place in by))
            rows = frame.agg(*values).collect()
        except self.failures as error:
            raise _refusal(error, source) from None
        return {
            tuple(row[: len(by)]): [int(value or 0) for value in row[len(by) :]] for row in rows
        }

    def groups(
        self, source: Source, keys: Sequence[Sequence[int]], where: str | None = None
    ) -> list[Groups]:
        """Counts rows by the columns of each key, as ``CountingEngine.groups`` says. Counts all
        keys in one Spark job."""
        if not keys:
            return []
        widest = max(len(key) for key in keys)
        try:
            jobs = [
                self._grouped(self._frame(source, key, where), number, key, widest)
                for number, key in enumerate(keys)
            ]
            # One job: starting one takes longer than to count.
            rows: list[Any] = reduce(_and, jobs).collect()
        except self.failures as error:
            raise _refusal(error, source) from None
        grouped: list[dict[tuple[int | None, ...], int]] = [{} for _ in keys]
        for row in rows:
            number = int(row[0])
            grouped[number][tuple(row[1 : 1 + len(keys[number])])] = int(row[-1])
        return list(grouped)

    def _grouped(self, frame: Any, number: int, key: Sequence[int], widest: int) -> Any:
        """Returns rows of: the number of the key, the values of its columns, empty columns up to
        the widest key, and the count."""
        functions = self.functions
        values = [functions.col(f"c{place}").cast("long") for place in key]
        # A union needs as many columns of the same types on both sides.
        gaps = [functions.lit(None).cast("long")] * (widest - len(key))
        counted = frame.groupBy(*(f"c{place}" for place in key)).agg(
            functions.expr("count(1) as n")
        )
        return counted.select(functions.lit(number), *values, *gaps, "n")

    def _frame(self, source: Source, columns: Sequence[int], where: str | None = None) -> Any:
        """Returns these columns of all files, and those that ``where`` needs."""
        used = sorted({*columns, *(columns_in(where) if where else ())})
        here = [file for file in source.files if isinstance(file, Path)]
        away = [file for file in source.files if isinstance(file, Address)]
        frames = [self._of_paths(here, source, used)] if here else []
        frames += [self._of_addresses(away, source, used)] if away else []
        frame = reduce(_and, frames)
        return frame.where(where) if where else frame

    def _of_paths(self, files: Sequence[Path], source: Source, used: Sequence[int]) -> Any:
        named = [
            self.functions.col(f"`{source.names[place].replace('`', '``')}`").alias(f"c{place}")
            for place in used
        ]
        return self.session.read.parquet(*map(_pattern, files)).select(*named)

    def _of_addresses(self, files: Sequence[Address], source: Source, used: Sequence[int]) -> Any:
        options = options_of(files, [source.names[place] for place in used])
        frame = self.session.read.format(NAME).options(**options).load()
        return frame.toDF(*(f"c{place}" for place in used))


@contextmanager
def spark(master: str = LOCAL) -> Generator[Spark]:
    """Opens a session on a Spark master, such as ``spark://host:7077``, or with Spark Connect,
    such as ``sc://host``.

    Raises NoExport where pyspark, one of the packages that it needs, or Java is missing, and where
    no service answers.
    """
    library("pyspark", "spark")
    sql, functions = library("pyspark.sql", "spark"), library("pyspark.sql.functions", "spark")
    errors = library("pyspark.errors", "spark")
    failures = (errors.PySparkException, *_of_java())
    opened = _connected if master.startswith(_CONNECT) else _started
    try:
        with catch_warnings():
            # Spark warns of a new pandas, which it does not need here, where it is first imported.
            simplefilter("ignore")
            session = opened(sql, master)
    except failures as error:
        raise _refusal(error) from None
    try:
        session.dataSource.register(data_source())
        yield Spark(session, functions, failures)
    finally:
        session.stop()
        environ.pop(_ALL_REMOTE, None)


def _started(sql: Any, master: str) -> Any:
    if master.startswith("local"):
        # Else Spark takes the first python3 that it finds, which may have no pyarrow.
        environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = sql.SparkSession.builder.appName("deniably").master(master)
    for key, value in _SETTINGS.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _connected(sql: Any, address: str) -> Any:
    """Returns a session of Spark Connect, with the service's own settings except one. Raises if
    nothing answers."""
    for name in _TO_CONNECT:
        library(name, "spark")
    session = sql.SparkSession.builder.remote(address).getOrCreate()
    retries = library("pyspark.sql.connect.client.retries", "spark")
    # Spark asks again for ten minutes, which is for a service that was there.
    patient = session.client.get_retry_policies()
    session.client.set_retry_policies([retries.DefaultPolicy(max_retries=_TRIES)])
    try:
        session.conf.set(*_FEW)
    except BaseException:
        session.release_session_on_close = False  # there is none to release
        session.stop()
        environ.pop(_ALL_REMOTE, None)
        raise
    session.client.set_retry_policies(patient)
    return session


def _pattern(file: Path) -> str:
    """Returns a pattern that matches this file alone, as Spark takes every path as a pattern."""
    return f"file://{re.sub(_SPECIAL, _ESCAPED, str(file.absolute()))}"


def _and(first: Any, other: Any) -> Any:
    return first.unionAll(other)


def _of_java() -> tuple[type[Exception], ...]:
    try:
        protocol = library("py4j.protocol", "spark")
    except NoExport:  # a client of Spark Connect alone
        return ()
    return (protocol.Py4JError,)


def _refusal(error: Exception, source: Source | None = None) -> NoExport:
    text = str(error).strip()
    addresses = [file for file in source.files if isinstance(file, Address)] if source else []
    if of_store := [line for line in text.splitlines() if OF_STORE in line]:
        named = next(
            (address for address in addresses if address.path in of_store[-1]), addresses[0].parent
        )
        return NoExport(f"{named}: on a worker of Spark {why(of_store[-1])}")
    if "No module named 'pyarrow'" in text:
        return NoExport(
            "Spark: the Python of a worker has no pyarrow, which reads files of a store: install it"
            " there, or set PYSPARK_PYTHON to a Python that has it"
        )
    details = re.search(r'details = "(.+)"', text)  # of Spark Connect, on a line of its own
    first = details[1] if details else text.partition("\n")[0]
    hint = "; Spark needs Java 17 or later" if "JAVA" in first.upper() else ""
    return NoExport(f"Spark: {first}{hint}")
