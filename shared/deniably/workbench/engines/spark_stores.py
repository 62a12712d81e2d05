"""Lets Spark's workers read files of a cloud store with pyarrow, which comes with pyspark.

Spark's own connectors are Java archives that an operator has to add to a cluster. This data source
needs none, and Deniably need not be installed on the workers: the class below is pickled by value,
so it must not name anything in this package. Workers find their keys in their own environment.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from deniably.workbench.files.optional_libraries import library
from deniably.workbench.files.store_addresses import Address

NAME = "deniably_store"
"""The name under which Spark knows the data source."""
OF_STORE = "deniably_store could not read"
"""The beginning of the message of an error that a worker had with a store."""


def options_of(files: Sequence[Address], names: Sequence[str]) -> dict[str, str]:
    """Returns the options, as strings, with which Spark opens the data source: the ``files``, and
    the ``names`` of the columns to read."""
    return {
        "files": json.dumps([(file.uri, file.inside) for file in files]),
        "names": json.dumps(list(names)),
    }


def data_source() -> Any:
    """Returns the class of the data source that reads stores, to be registered with Spark. Frames
    that it reads have the columns ``c0``, ``c1`` and so on."""
    module = library("pyspark.sql.datasource", "spark")
    # Local copies: a class that is pickled by value carries locals along, but not this module.
    name, failed = NAME, OF_STORE

    class Part(module.InputPartition):  # type: ignore[misc, name-defined]
        def __init__(self, uri: str, path: str) -> None:
            self.uri, self.path = uri, path

    class Reader(module.DataSourceReader):  # type: ignore[misc, name-defined]
        def __init__(self, options: Any) -> None:
            self.files = json.loads(options["files"])
            self.names = json.loads(options["names"])

        def partitions(self) -> list[Any]:
            return [Part(*file) for file in self.files]

        def read(self, partition: Any) -> Iterator[Any]:
            # By name, so that pickling does not try to send these modules.
            pa, fs, parquet = map(import_module, ("pyarrow", "pyarrow.fs", "pyarrow.parquet"))
            schema = pa.schema([(f"c{at}", pa.int64()) for at in range(len(self.names))])
            try:
                filesystem, _ = fs.FileSystem.from_uri(partition.uri)
                with filesystem.open_input_file(partition.path) as opened:
                    file = parquet.ParquetFile(opened, pre_buffer=True)
                    for batch in file.iter_batches(columns=self.names, batch_size=65_536):
                        columns = [batch.column(name).cast(pa.int64()) for name in self.names]
                        yield pa.RecordBatch.from_arrays(columns, schema=schema)
            except (OSError, pa.ArrowException) as error:
                raise RuntimeError(f"{failed} {partition.path}: {error}") from None

    class Store(module.DataSource):  # type: ignore[misc, name-defined]
        @classmethod
        def name(cls) -> str:
            return name

        def schema(self) -> str:
            return ", ".join(
                f"c{at} bigint" for at in range(len(json.loads(self.options["names"])))
            )

        def reader(self, schema: Any) -> Any:
            return Reader(self.options)

    return Store
