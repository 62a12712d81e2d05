"""Reads files wherever they are: under paths of this machine, or addresses in cloud stores."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from deniably.core.bounded_files import SMALL, check_file, read_file
from deniably.core.errors import BadInput
from deniably.workbench.files.optional_libraries import NoExport, library
from deniably.workbench.files.store_addresses import Address, in_words, why

Place = Path | Address
_AT_ONCE = 16
"""The number of files of a store that are requested at the same time: waiting takes longest."""
_T = TypeVar("_T")


def read_small(place: Place) -> bytes:
    """Returns the bytes of a document of up to 16 MiB. Raises NoExport where a store refuses,
    BadInput for a larger file, and OSError."""
    return place.read(SMALL) if isinstance(place, Address) else read_file(place, SMALL)


@contextmanager
def opened(file: Place) -> Generator[Any]:
    """Opens a file to read and seek in. Raises OSError, or NoExport where a store refuses."""
    with file.open() if isinstance(file, Address) else file.open("rb") as stream:
        if isinstance(file, Address):
            with in_words(file):
                yield stream
        else:
            yield stream


def each(function: Callable[[Place], _T], files: Iterable[Place]) -> list[_T]:
    """Calls a function on each file and returns the results in order; files of a store are read
    several at a time."""
    some = list(files)
    if not any(isinstance(file, Address) for file in some):
        return [function(file) for file in some]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(function, some))


def parquet_files(folder: Place) -> list[Place]:
    """Returns all Parquet files below a folder, sorted by name. Raises NoExport where a store
    refuses.

    Files and folders whose name begins with a dot or ``_`` are left out, as engines do.
    """
    inside: Iterable[Place] = (
        folder.files() if isinstance(folder, Address) else sorted(folder.rglob("*.parquet"))
    )
    return [file for file in inside if file.name.endswith(".parquet") and _is_plain(file, folder)]


def folders_in(file: Place, folder: Place) -> list[str]:
    """Returns the names of the folders between ``folder`` and ``file``, the outermost first."""
    return str(file)[len(str(folder)) :].strip("/").split("/")[:-1]


def _is_plain(file: Place, folder: Place) -> bool:
    names = (*folders_in(file, folder), file.name)
    return not any(name.startswith((".", "_")) for name in names)


def version(file: Place) -> str:
    """Returns a text that changes whenever a file is rewritten; empty where there is no file.

    Raises NoExport where a store refuses, and OSError.
    """
    if isinstance(file, Address):
        return file.version()
    try:
        status = file.stat()
    except FileNotFoundError:
        return ""
    return repr((status.st_size, status.st_mtime_ns, status.st_ino))


def footer(file: Place) -> tuple[Any, int]:
    """Returns the schema and the number of rows of a Parquet file, both read from the end of the
    file.

    Raises NoExport where the file is missing, damaged, or cannot be read.
    """
    arrow, parquet = library("pyarrow"), library("pyarrow.parquet")
    try:
        source = file.open() if isinstance(file, Address) else check_file(file)
        with parquet.ParquetFile(source) as parquet_file:
            return parquet_file.schema_arrow, parquet_file.metadata.num_rows
    except FileNotFoundError:
        raise NoExport(f"{file} is missing") from None
    except BadInput as error:
        raise NoExport(str(error)) from None
    except (arrow.ArrowException, OSError) as error:
        # pyarrow raises OSError for a store that refuses as for a damaged file; only the text
        # tells.
        if "AWS Error" in str(error) or "google::cloud" in str(error):
            raise NoExport(f"{file}: {why(str(error))}") from None
        raise NoExport(f"{file} is cut short or damaged: {error}") from None
