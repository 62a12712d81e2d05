"""Opens Parquet files as one Arrow dataset, of which only the columns that are read are fetched."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from deniably.workbench.files.file_places import Place, footer
from deniably.workbench.files.optional_libraries import library
from deniably.workbench.files.store_addresses import Address


def dataset(files: Sequence[Place]) -> Any:
    """Returns pyarrow's dataset of the files, on this machine or in stores. Raises NoExport where
    pyarrow is missing or a file cannot be read."""
    datasets = library("pyarrow.dataset", "bulk")
    schema = footer(files[0])[0].remove_metadata()
    # One file system has one dataset; groupby needs the files sorted by it.
    in_stores = [
        _of_store(list(some), schema) for _, some in groupby(sorted(files, key=_store), _store)
    ]
    return in_stores[0] if len(in_stores) == 1 else datasets.UnionDataset(schema, in_stores)


def _store(file: Place) -> str:
    return file.uri if isinstance(file, Address) else ""


def _of_store(files: Sequence[Place], schema: Any) -> Any:
    datasets, local = library("pyarrow.dataset", "bulk"), library("pyarrow.fs").LocalFileSystem()
    form = datasets.ParquetFileFormat()
    first = files[0]
    filesystem = first.filesystem if isinstance(first, Address) else local
    fragments = [
        form.make_fragment(file.inside, filesystem, file_size=file.size)
        if isinstance(file, Address)
        else form.make_fragment(str(file), filesystem)
        for file in files
    ]
    return datasets.FileSystemDataset(fragments, schema, form, filesystem)
