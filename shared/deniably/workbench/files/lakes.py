"""Reads the logs of Delta and Iceberg tables: folders whose log says which of their files count.

The libraries of Delta and Iceberg read the logs. A table that keeps deleted rows in its files, and
lists them elsewhere, is refused: counting the files alone would count these rows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from deniably.workbench.files.file_places import Place, read_small
from deniably.workbench.files.optional_libraries import NoExport, library
from deniably.workbench.files.store_addresses import SCHEMES, Address, address_of, why

_METADATA = re.compile(r"v?(\d+)(-.*)?\.metadata\.json")
_FIELD = b"PARQUET:field_id"  # pyarrow's key for the id that Iceberg gives a column
_DELETED = (
    "has rows that were deleted and still stand in its files. Have its engine write them out first"
)


@dataclass(frozen=True, eq=False)
class Lake:
    """The data files of a Delta or Iceberg table, as of the commit that was read.

    ``layout_columns`` are columns, such as those of partitions, that the table may have besides
    the columns of reports. ``numbers`` maps the name of each column to its id in the table; it is
    empty for a table without ids. A table with ids can rename a column without rewriting its
    files.
    """

    files: list[Place]
    layout_columns: frozenset[str] = frozenset()
    numbers: Mapping[str, int] = field(default_factory=dict[str, int])

    def check_names(self, file: Place, schema: Any) -> None:
        """Raises NoExport where the table has renamed a column since ``file`` was written, so that
        a name in ``schema`` now belongs to another column."""
        for column in schema:
            metadata: dict[bytes, bytes] = column.metadata or {}
            number = metadata.get(_FIELD)
            if self.numbers and number and self.numbers.get(column.name) != int(number):
                raise NoExport(
                    f"{file}: {column.name} is the name of another column of this table by now. Let"
                    " its engine write the files again"
                )


def open_lake(folder: Place) -> Lake | None:
    """Returns the Delta or Iceberg table in a folder as of its newest commit; None where the
    folder is no such table.

    Raises NoExport where the table cannot be read, and where it marks rows as deleted that are
    still in its files.
    """
    if (folder / "_delta_log") in (logs := _folders(folder)):
        return _delta(folder)
    if (folder / "metadata") in logs:
        return _iceberg(folder)
    return None


def _folders(folder: Place) -> set[Place]:
    """Returns the folders in a folder. Raises NoExport and OSError."""
    if isinstance(folder, Address):
        return set(folder.folders())
    return {inner for inner in folder.iterdir() if inner.is_dir()} if folder.is_dir() else set()


# --- Delta --------------------------------------------------------------------------------------


def _delta(folder: Place) -> Lake:
    module, arrow = library("deltalake", "lakes"), library("pyarrow")
    with _readable(folder, "Delta"):
        # The library takes a URI, in which spaces and the like are escaped.
        where = quote(str(folder), ":/@") if isinstance(folder, Address) else folder
        table = module.DeltaTable(where, storage_options=_options())
        settings: Mapping[str, str] = table.metadata().configuration
        paths: list[str] = arrow.table(table.get_add_actions())["path"].to_pylist()
        # A deletion vector marks rows of a file as deleted, and leaves the file as it is.
        deleted = any(
            batch.num_rows
            for batch in arrow.RecordBatchReader.from_stream(table.deletion_vectors())
        )
    if deleted:
        raise NoExport(f"{folder} {_DELETED}: REORG TABLE ... APPLY (PURGE)")
    if settings.get("delta.columnMapping.mode", "none") != "none":
        raise NoExport(
            f"{folder} gives its columns other names than its files do (column mapping): write its"
            " rows to Parquet with the engine that keeps it, and name that folder"
        )
    return Lake(sorted((_of_delta(folder, path) for path in paths), key=str))


def _options() -> dict[str, str]:
    """Allows plain HTTP, which Delta's library otherwise refuses, for an S3 on this machine or
    network."""
    plain = any(
        os.environ.get(name, "").startswith("http://")
        for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
    )
    return {"AWS_ALLOW_HTTP": "true"} if plain else {}


def _of_delta(folder: Place, path: str) -> Place:
    """Returns the file of a path in the log, which is a URI: relative, or in another folder."""
    return _place(path) if "://" in path or path.startswith("/") else folder / unquote(path)


# --- Iceberg ------------------------------------------------------------------------------------


def _iceberg(folder: Place) -> Lake:
    tables, io = library("pyiceberg.table", "lakes"), library("pyiceberg.io.pyarrow", "lakes")
    metadata = library("pyiceberg.table.metadata", "lakes").TableMetadataUtil
    noop = library("pyiceberg.catalog.noop", "lakes").NoopCatalog("none")
    newest = _newest(folder)
    with _readable(folder, "Iceberg"):
        metadata_file = metadata.parse_raw(read_small(newest).decode())
        reading = io.PyArrowFileIO()
        if isinstance(folder, Address):
            # As addresses are opened, so that region and endpoint are the same for the log and the
            # files.
            reading.fs_by_scheme = _same_store(folder)
        table = tables.StaticTable((folder.name,), metadata_file, str(newest), reading, noop)
        tasks = list(table.scan().plan_files())
        schema = table.schema()
        columns = {column.name: column.field_id for column in schema.fields}
        laid_out = {schema.find_column_name(part.source_id) for part in table.spec().fields}
    if any(task.delete_files for task in tasks):
        raise NoExport(
            f"{folder} {_DELETED}: CALL rewrite_data_files, with delete-file-threshold 1"
        )
    files = sorted((_place(task.file.file_path) for task in tasks), key=str)
    return Lake(files, frozenset(laid_out), columns)


def _newest(folder: Place) -> Place:
    """Returns the table's metadata file: what version-hint.text names, else the one with the
    largest number."""
    logs = _children(folder / "metadata")
    if (hint := folder / "metadata" / "version-hint.text") in logs:
        text = read_small(hint).decode().strip()
        named = text if text.endswith(".metadata.json") else f"v{text}.metadata.json"
        if (folder / "metadata" / named) in logs:
            return folder / "metadata" / named
    numbered = {log: int(match[1]) for log in logs if (match := _METADATA.fullmatch(log.name))}
    newest = [log for log, number in numbered.items() if number == max(numbered.values())]
    if len(newest) != 1:
        raise NoExport(
            f"{folder}/metadata has {len(newest)} newest files *.metadata.json, and the catalog"
            " alone knows which one counts: write the rows to Parquet with the engine that keeps"
            " it, and name that folder"
        )
    return newest[0]


def _children(folder: Place) -> list[Place]:
    return [*folder.files()] if isinstance(folder, Address) else [*folder.iterdir()]


def _same_store(folder: Address) -> Callable[[str, str | None], Any]:
    def filesystem(scheme: str, host: str | None) -> Any:
        return Address(f"{SCHEMES.get(scheme, scheme)}://{host or ''}", "").filesystem

    return filesystem


def _place(location: str) -> Place:
    """Returns the file of a URI or path in a table's log."""
    parts = urlsplit(location)
    if parts.scheme in ("", "file"):
        return Path(parts.path)
    return address_of(location)


@contextmanager
def _readable(folder: Place, kind: str) -> Generator[None]:
    """Turns errors of the libraries, which have no common class, into NoExport."""
    try:
        yield
    except NoExport:
        raise
    except Exception as error:  # of several libraries, in Rust and in Python
        if "equality delete" in str(error):
            reason = f"{folder} {_DELETED}"
        elif isinstance(folder, Address):
            reason = f"{folder}: this table of {kind} cannot be read: {why(str(error))}"
        else:
            reason = f"{folder}: this table of {kind} cannot be read: {error}"
        raise NoExport(reason) from None
