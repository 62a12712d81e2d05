"""Reads and writes a report set as a folder of Parquet files, each of which engines can read by
itself."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, cast

from deniably.core.errors import DeniablyError
from deniably.core.languages.json import json_file
from deniably.survey.survey import Survey, read_survey
from deniably.workbench.files.arrow import batch_of, filled_of, schema_of
from deniably.workbench.files.design_file import design_of
from deniably.workbench.files.file_places import (
    Place,
    each,
    folders_in,
    footer,
    opened,
    parquet_files,
    read_small,
    version,
)
from deniably.workbench.files.lakes import open_lake
from deniably.workbench.files.optional_libraries import NoExport, library
from deniably.workbench.files.tables import even
from deniably.workbench.files.whole_folder import whole_folder
from deniably.workbench.ordering import sorted_blocks
from deniably.workbench.packing import Layout, Rows, layout
from deniably.workbench.report_columns import ROW, FileColumns, columns_in, columns_of
from deniably.workbench.report_set import ReportSet, of_rows

PART_ROWS = 10_000_000
"""The default number of rows in a file."""
_GROUP_ROWS, _GROUP_BYTES = 1_000_000, 1 << 24
"""The most rows of a row group, which an engine holds in memory, and the most bytes of these rows
packed."""


@dataclass(frozen=True)
class Parts:
    """The Parquet ``files`` of a report set, with ``rows`` reports in all. Engines read the
    ``columns`` of each file.

    For each file, ``designs`` has the bytes of the design.json in its folder; or, for a table that
    another program wrote, those of the survey's definition. ``versions`` has a text for each file
    that changes when the file is rewritten.
    """

    columns: FileColumns
    files: tuple[Place, ...]
    rows: int
    designs: tuple[bytes, ...]
    versions: tuple[str, ...]

    @property
    def survey(self) -> Survey:
        """Returns the survey that the reports answer."""
        return self.columns.layout.survey


def bare(columns: FileColumns) -> FileColumns:
    """Returns the columns without those that follow from others: a question that has a column of
    the kind "index" keeps that column alone."""
    indexed = {column.question.name for column in columns.columns if column.kind == "index"}
    kept = tuple(
        column
        for column in columns.columns
        if column.kind == "index" or column.question.name not in indexed
    )
    return replace(columns, columns=kept)


# --- written ------------------------------------------------------------------------------------


def write_parts(
    to: Path, places: Layout, blocks: Iterable[Rows], rows: int = PART_ROWS
) -> list[tuple[str, int]]:
    """Writes packed reports into Parquet files in the new folder ``to``, with ``rows`` reports to
    a file.

    ``blocks`` may be in any order: the reports are sorted by content first, in bounded memory, so
    that no file tells in which order they arrived. Returns the name and the number of rows of each
    file. Raises NoExport, and leaves nothing behind, where the folder exists already, there are no
    reports, or the disk refuses.
    """
    return write_sorted_parts(to, places, sorted_blocks(blocks, places.width), rows)


def write_sorted_parts(
    to: Path, places: Layout, blocks: Iterable[Rows], rows: int = PART_ROWS
) -> list[tuple[str, int]]:
    """Writes packed reports into Parquet files in the new folder ``to``, as ``write_parts`` does,
    but without sorting: the reports in ``blocks`` must be sorted by content, from the first block
    to the last.

    Returns the name and the number of rows of each file. Raises NoExport, and leaves nothing
    behind, where the folder exists already, there are no reports, or the disk refuses.
    """
    columns, survey = bare(columns_of(places)), places.survey
    with whole_folder(to) as folder:
        written = list(_written(folder, columns, blocks, rows))
        n = sum(count for _, count in written)
        if not n:
            raise NoExport("there are no reports to write")
        design = design_of(columns, n) | {
            "parts": [{"file": name, "rows": count} for name, count in written]
        }
        (folder / "design.json").write_text(json_file(design), encoding="utf-8")
        (folder / "survey.json").write_bytes(survey.canonical)
    return written


def _written(
    folder: Path, columns: FileColumns, blocks: Iterable[Rows], rows: int
) -> Iterator[tuple[str, int]]:
    arrow, parquet = library("pyarrow"), library("pyarrow.parquet")
    schema = schema_of(arrow, columns)
    # Engines hold a group at once: wide rows make smaller ones.
    group = min(_GROUP_ROWS, _GROUP_BYTES // columns.layout.width or 1)
    # Even groups: the sizes of blocks must not tell how the reports came.
    groups = even(blocks, group)
    for number, of_part in groupby(_cut(groups, rows), itemgetter(0)):
        name, count = f"part-{number + 1:05}.parquet", 0
        with parquet.ParquetWriter(folder / name, schema, compression="zstd") as writer:
            for _, some in of_part:
                writer.write_batch(batch_of(arrow, schema, columns.filled(some)))
                count += len(some)
        yield name, count


def _cut(blocks: Iterable[Rows], rows: int) -> Iterator[tuple[int, Rows]]:
    """Yields the blocks with the number of their file, cut where a file is full."""
    done = 0
    for block in blocks:
        while len(block):
            number, used = divmod(done, rows)
            some, block = block[: rows - used], block[rows - used :]
            done += len(some)
            yield number, some


# --- read ---------------------------------------------------------------------------------------


def open_parts(folder: Place) -> Parts:
    """Opens the report set in a folder: several files, or an export with ``reports.parquet``.

    Only the footers of the files are read. Raises NoExport where a file is missing, is cut short,
    or does not fit the definition.
    """
    try:
        survey = read_survey(read_small(folder / "survey.json"))
        text = read_small(folder / "design.json")
        design = cast("dict[str, Any]", json.loads(text))
        if design["digest"] != survey.digest:
            raise NoExport(f"{folder}: design.json is of another survey than survey.json")
        parts = design.get("parts", [{"file": "reports.parquet", "rows": design["n"]}])
        stated = {folder / _plain(part["file"]): int(part["rows"]) for part in parts}
        # Before the footers: a file that is written again in between differs when it is checked.
        versions = _versions(stated)
        footers = each(footer, stated)
        schemas = [schema for schema, _ in footers]
        columns = bare(columns_in(survey, schemas[0].names))
        for file, (schema, rows) in zip(stated, footers, strict=True):
            _check_rows(file, rows, stated[file])
            _check_digest(file, schema, survey)
            _check_schema(file, schema, columns, schemas[0])
    except OSError as error:
        raise NoExport(f"{error.filename}: {error.strerror}") from None
    except NoExport:
        raise
    except (DeniablyError, ValueError, LookupError, TypeError) as error:
        raise NoExport(f"{folder}: {error}") from None
    return Parts(columns, tuple(stated), sum(stated.values()), (text,) * len(stated), versions)


def open_table(folder: Place, survey: Survey) -> Parts:
    """Opens all Parquet files below a folder, which another program wrote, as reports to
    ``survey``.

    Folders below may be partitions with names such as ``day=2026-11-23``. For a Delta or Iceberg
    table only the files that its log lists are opened. Raises NoExport where there is no file or a
    file cannot be read, for a column that no report has, and for a table that keeps deleted rows
    in its files.
    """
    lake = open_lake(folder)
    files = lake.files if lake else parquet_files(folder)
    if not files:
        raise NoExport(f"{folder} has no Parquet files")
    versions = _versions(files)
    footers = each(footer, files)
    first = footers[0][0]
    known = {ROW, *columns_of(layout(survey, stratified=bool(survey.strata))).names}
    layout_columns = lake.layout_columns if lake else frozenset[str]()
    columns = bare(columns_in(survey, first.names))
    for file, (schema, _) in zip(files, footers, strict=True):
        _check_folders(file, folder, known)
        if unknown := [name for name in schema.names if name not in known | layout_columns]:
            raise NoExport(f"{file} has a column {unknown[0]}, and no report to {survey.name} has")
        _check_schema(file, schema, columns, first)
        if lake:
            lake.check_names(file, schema)
    rows = sum(count for _, count in footers)
    return Parts(columns, tuple(files), rows, (survey.canonical,) * len(files), versions)


def _versions(files: Iterable[Place]) -> tuple[str, ...]:
    return tuple(each(version, files))


def check_unchanged(parts: Parts) -> None:
    """Raises NoExport where a file was rewritten since the set was opened."""
    for file, before, now in zip(parts.files, parts.versions, _versions(parts.files), strict=True):
        if before != now:
            raise NoExport(
                f"{file} was written again while it was counted: count when its writer is done"
            )


def _check_folders(file: Place, folder: Place, known: Container[str]) -> None:
    for name in folders_in(file, folder):
        key, sign, _ = name.partition("=")
        if sign and key in known:
            raise NoExport(
                f"{file}: {key} is in the name of a folder, and reports need it as a column"
            )


def together(sets: Sequence[Parts]) -> Parts:
    """Joins several report sets of the same survey, such as those of several servers, into one.

    Raises NoExport where the sets are of different surveys or have different columns, or where a
    file is in two of them.
    """
    first = sets[0]
    for parts in sets:
        folder = parts.files[0].parent
        if parts.survey.digest != first.survey.digest:
            raise NoExport(f"{folder} is of another survey than {first.files[0].parent}")
        if parts.columns.names != first.columns.names:
            raise NoExport(f"{folder} has other columns than {first.files[0].parent}")
    files = tuple(file for parts in sets for file in parts.files)
    # Links and .. lead to one file by two names.
    if len({file.resolve() if isinstance(file, Path) else file for file in files}) < len(files):
        raise NoExport("the same folder is named twice, and its reports would count twice")
    designs = tuple(design for parts in sets for design in parts.designs)
    versions = tuple(each for parts in sets for each in parts.versions)
    rows = sum(parts.rows for parts in sets)
    return Parts(first.columns, files, rows, designs, versions)


def _plain(name: str) -> str:
    """Returns the name of a file in the folder. Raises ValueError for a path that leads out of the
    folder."""
    if Path(name).name != name:  # a design from elsewhere must not lead to files of this machine
        raise ValueError(f"design.json names {name!r}, which is no file of the folder")
    return name


def _check_rows(file: Place, there: int, stated: int) -> None:
    if there != stated:
        raise NoExport(f"{file} has {there:,} reports; design.json says {stated:,}")


def _check_digest(file: Place, schema: Any, survey: Survey) -> None:
    metadata: dict[bytes, bytes] = schema.metadata or {}
    if metadata.get(b"digest", b"").decode() != survey.digest:
        raise NoExport(f"{file} is of another survey than survey.json")


def _check_schema(file: Place, schema: Any, columns: FileColumns, first: Any) -> None:
    types = library("pyarrow").types
    for name in columns.names:
        if schema.get_field_index(name) < 0:
            raise NoExport(f"{file} has no column {name}")
        kind, expected = schema.field(name).type, first.field(name).type
        if not types.is_integer(kind):
            raise NoExport(f"{file}: {name} is {kind}, not a whole number")
        if kind != expected:
            raise NoExport(f"{file}: {name} is {kind}, and {expected} in the first file")


def read_blocks(parts: Parts) -> Iterator[Rows]:
    """Yields the packed reports of a set, file by file. Raises NoExport for a row that no device
    could have reported."""
    parquet = library("pyarrow.parquet")
    names = parts.columns.names
    for file in parts.files:
        with opened(file) as source, parquet.ParquetFile(source) as parquet_file:
            for batch in parquet_file.iter_batches(columns=names):
                filled = {name: filled_of(batch.column(name)) for name in names}
                try:
                    yield parts.columns.pack(filled)
                except ValueError as error:
                    raise NoExport(f"{file}: {error}") from None


def read_parts(folder: Place) -> ReportSet:
    """Reads the whole report set of a folder into memory. Raises NoExport where a file is missing,
    damaged, or does not fit the definition."""
    parts = open_parts(folder)
    return of_rows(parts.columns.layout, read_blocks(parts))
