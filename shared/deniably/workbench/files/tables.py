"""Reads and writes reports as CSV: small integers, and empty cells where there is none."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np

from deniably.survey.survey import Survey
from deniably.workbench.packing import Rows
from deniably.workbench.report_columns import ROW, FileColumns, Filled, columns_in
from deniably.workbench.report_set import ReportSet, of_rows

MOST_ROWS = 20_000_000
"""The most reports that are loaded into memory; engines count any number."""
_MOST = 5_000
"""The most rows that are written at once."""


def csv_of(columns: FileColumns, blocks: Iterable[Rows]) -> Iterator[bytes]:
    """Yields CSV of sorted reports as bytes, piece by piece: a line of column names, then one line
    per report with its row number from 1 on."""
    head = io.StringIO()
    csv.writer(head, lineterminator="\r\n").writerow([ROW, *columns.names])
    yield head.getvalue().encode()
    number = 1
    for rows in pieces(blocks, _MOST):
        numbers = np.arange(number, number + len(rows))
        everybody = np.ones(len(rows), np.bool_)
        yield _text([Filled(numbers, everybody), *columns.filled(rows)])
        number += len(rows)


def read_csv(survey: Survey, lines: Iterable[str]) -> ReportSet:
    """Reads the lines of a CSV into a report set. Raises ValueError where a column is missing, a
    row is no report to this survey, or there are more than ``MOST_ROWS`` rows."""
    reader = csv.reader(lines)
    names = next(reader, list[str]())
    columns = columns_in(survey, names)

    def blocks() -> Iterator[Rows]:
        while block := list(islice(reader, _MOST)):
            yield columns.pack(
                dict(zip(names, map(_filled, zip(*block, strict=True)), strict=True))
            )

    return of_rows(columns.layout, bounded_rows(blocks()))


def bounded_rows(blocks: Iterable[Rows], maximum: int = MOST_ROWS) -> Iterator[Rows]:
    """Yields the blocks of packed reports unchanged. Raises ValueError once there are more than
    ``maximum`` reports in all, because a small compressed file can hold a huge number of equal
    reports."""
    n = 0
    for block in blocks:
        n += len(block)
        if n > maximum:
            raise ValueError(too_many(f"more than {maximum:,}", maximum))
        yield block


def too_many(n: str, maximum: int = MOST_ROWS) -> str:
    """Returns an error message: there are ``n`` reports, more than the ``maximum`` that can be
    loaded into memory."""
    return (
        f"there are {n} reports, and at most {maximum:,} are opened at once: count them with"
        " deniably tally, and open the tally file"
    )


def _filled(cells: tuple[str, ...]) -> Filled:
    texts = np.array(cells)
    there = texts != ""
    try:
        return Filled(np.where(there, texts, "0").astype(np.int64), there)
    except OverflowError:
        raise ValueError("a value is too large for any report") from None


def pieces(blocks: Iterable[Rows], maximum: int) -> Iterator[Rows]:
    """Cuts ``blocks`` into blocks of at most ``maximum`` rows each, and yields them in order."""
    for block in blocks:
        for at in range(0, len(block), maximum):
            yield block[at : at + maximum]


def even(blocks: Iterable[Rows], size: int) -> Iterator[Rows]:
    """Joins and cuts ``blocks`` into blocks of exactly ``size`` rows, with a smaller last one, and
    yields them in order. So the size of a block reveals nothing about where its rows came from."""
    held, count = list[Rows](), 0
    for piece in pieces(blocks, size):
        held.append(piece)
        count += len(piece)
        if count >= size:
            whole = np.vstack(held)
            yield whole[:size]
            held, count = [whole[size:]], count - size
    if count:
        yield np.vstack(held)


def _text(cells: list[Filled]) -> bytes:
    """Returns the CSV lines of all cells."""
    n = len(cells[0].values)
    parts = list[Rows]()
    for cell in cells:
        digits = cell.values.astype("S")
        # Every cell is as wide as the widest of its column, padded with zero bytes, which go at
        # the end.
        wide = digits.view(np.uint8).reshape(n, -1) * cell.there[:, None]
        parts += [wide, np.full((n, 1), ord(","), np.uint8)]
    parts[-1] = np.tile(np.frombuffer(b"\r\n", np.uint8), (n, 1))
    text = np.hstack(parts)
    kept: bytes = text[text != 0].tobytes()
    return kept
