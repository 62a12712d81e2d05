"""Reads and writes reports as Parquet: the smallest integers that hold each column, with labels
and a warning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from deniably.core.bounded_files import check_file
from deniably.survey.survey import Survey
from deniably.workbench.files.optional_libraries import library
from deniably.workbench.files.tables import bounded_rows, pieces
from deniably.workbench.packing import Rows
from deniably.workbench.report_columns import (
    ROW,
    FileColumn,
    FileColumns,
    Filled,
    StratumColumn,
    columns_in,
    randomisation_note,
)
from deniably.workbench.report_set import ReportSet, of_rows

_MOST = 5_000
"""The most rows that are converted at once."""
_CELLS = 1 << 22
"""The most cells of a row group. Larger groups cost memory, as the library holds a whole one;
smaller ones, too, as it keeps a thousand bytes or more for each column of every group that it has
written."""


def parquet_of(columns: FileColumns, blocks: Iterable[Rows]) -> Iterator[bytes]:
    """Yields the bytes of a Parquet file of sorted reports, piece by piece. Raises NoExport,
    before the first piece, where pyarrow is missing."""
    # Not in the generator itself: a missing library must be found before an answer has begun.
    arrow, parquet = library("pyarrow"), library("pyarrow.parquet")
    return _written(arrow, parquet, columns, blocks)


def read_parquet(survey: Survey, file: Path) -> ReportSet:
    """Reads a Parquet file into a report set. Raises NoExport where pyarrow is missing, and
    ValueError where a column is missing or a row is no report to this survey."""
    parquet = library("pyarrow.parquet")
    columns = columns_in(survey, parquet.read_schema(check_file(file)).names)

    def blocks() -> Iterator[Rows]:
        with parquet.ParquetFile(file) as source:
            for batch in source.iter_batches(_MOST):
                yield columns.pack(
                    {name: filled_of(batch.column(name)) for name in batch.schema.names}
                )

    return of_rows(columns.layout, bounded_rows(blocks()))


class _Sink:
    """A file that can only be appended to, and that gives away what was written."""

    closed = False

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._size = 0

    def write(self, text: Any) -> int:
        held = bytes(text)
        self._held.append(held)
        self._size += len(held)
        return len(held)

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """There is nothing to close."""

    def taken(self) -> bytes:
        """Returns what was written since the last call."""
        held, self._held = b"".join(self._held), []
        return held


def _written(
    arrow: Any, parquet: Any, columns: FileColumns, blocks: Iterable[Rows]
) -> Iterator[bytes]:
    schema, sink, number = schema_of(arrow, columns, numbered=True), _Sink(), 1
    # Dictionaries would be held beside the small integers, and make the file larger.
    options = {"compression": "zstd", "use_dictionary": False}
    row_count = max(_CELLS // (len(columns) + 1), _MOST)
    with parquet.ParquetWriter(arrow.PythonFile(sink, "w"), schema, **options) as writer:
        held, size = list[Any](), 0
        for rows in pieces(blocks, _MOST):
            numbers = Filled(np.arange(number, number + len(rows)), np.ones(len(rows), np.bool_))
            held.append(batch_of(arrow, schema, [numbers, *columns.filled(rows)]))
            number += len(rows)
            size += len(rows)
            if size + _MOST > row_count:
                writer.write_table(arrow.Table.from_batches(held, schema))
                held, size = [], 0
                yield sink.taken()
        writer.write_table(arrow.Table.from_batches(held, schema))
    yield sink.taken()


def batch_of(arrow: Any, schema: Any, filled: Iterable[Filled]) -> Any:
    """Returns a record batch of pyarrow with the columns ``filled``, in the integer types of
    ``schema``."""
    arrays = [
        _array(arrow, column, kind) for column, kind in zip(filled, schema.types, strict=True)
    ]
    return arrow.RecordBatch.from_arrays(arrays, schema=schema)


def _array(arrow: Any, column: Filled, kind: Any) -> Any:
    """Returns a column as pyarrow holds it. ``arrow.array`` would import pandas, too."""
    there = arrow.py_buffer(np.packbits(column.there, bitorder="little"))
    values = arrow.py_buffer(column.values.astype(str(kind)))
    whole = bool(column.there.all())
    return arrow.Array.from_buffers(kind, len(column.values), [None if whole else there, values])


def schema_of(arrow: Any, columns: FileColumns, numbered: bool = False) -> Any:
    """Returns pyarrow's schema of the columns, with their types and labels. With ``numbered`` a
    first column is added for the numbers of the rows."""
    fields = [arrow.field(ROW, arrow.int64(), nullable=False)] if numbered else []
    for column in columns:
        about = {"label": column.title}
        if column.categories:
            about["categories"] = "; ".join(
                f"{value} = {label}" for value, label in enumerate(column.categories)
            )
        fields.append(arrow.field(column.name, _kind(arrow, column), metadata=about))
    survey = columns.layout.survey
    about = {
        "note": randomisation_note(columns.layout),
        "survey": survey.name,
        "digest": survey.digest,
    }
    return arrow.schema(fields, metadata=about)


def filled_of(column: Any) -> Filled:
    """Returns the integers of a pyarrow column, and a mask of the cells that are not empty."""
    there = column.is_valid().to_numpy(zero_copy_only=False)
    return Filled(column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64), there)


def _kind(arrow: Any, column: FileColumn | StratumColumn) -> Any:
    """Returns the smallest type of signed integers that holds every value that a column can
    have."""
    low, high = column.reach
    for bits in (8, 16, 32):
        if -(1 << (bits - 1)) <= low and high < 1 << (bits - 1):
            return getattr(arrow, f"int{bits}")()
    return arrow.int64()
