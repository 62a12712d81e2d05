"""Reads the raw pages of an SQLite file, as an attacker who has the disk would.

SQL returns rows in the order of their keys, but the bytes of a page lie in the order of writing.
Source: SQLite's file format, https://www.sqlite.org/fileformat2.html, sections 1.6 and 2.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# Kinds of pages of index b-trees, in which tables WITHOUT ROWID are stored.
_LEAF, _INTERIOR = 0x0A, 0x02
_SIZE_AT = 16  # of the page size, in the file's header
_FIRST_HEADER = 100  # bytes of that header, with which the first page begins
KEY_BYTES = 16
"""A report's id has so many; of longer keys these are the first."""


@dataclass(frozen=True)
class ReportPage:
    """The ids of the reports on a page, in the order of their bytes on the disk. SQLite fills a
    page from its end, so the report that was written last comes first."""

    number: int
    ids: tuple[bytes, ...]


def report_pages(file: Path, known: set[bytes]) -> Iterator[ReportPage]:
    """Yields every page that holds reports with ids in ``known``, as of the last checkpoint."""
    with file.open("rb") as source:
        size = int.from_bytes(source.read(_SIZE_AT + 2)[_SIZE_AT:], "big")
        # 65,536 does not fit the two bytes of the header, which have a 1 instead.
        size = 65536 if size == 1 else size
        source.seek(0)
        number = 0
        while page := source.read(size):
            number += 1
            ids = tuple(each for each in _ids(page, _FIRST_HEADER * (number == 1)) if each in known)
            if ids:
                yield ReportPage(number, ids)


def _ids(page: bytes, header: int) -> Iterator[bytes]:
    kind = page[header]
    if kind not in (_LEAF, _INTERIOR):
        return
    count = int.from_bytes(page[header + 3 : header + 5], "big")
    first = header + (8 if kind == _LEAF else 12)
    places = [int.from_bytes(page[at : at + 2], "big") for at in range(first, first + 2 * count, 2)]
    # The list of places is in the order of keys. The bytes are in the order of writing, which is
    # what somebody with the disk learns.
    for place in sorted(places):
        at = place + (0 if kind == _LEAF else 4)  # in an interior page a child pointer precedes it
        _, at = _varint(page, at)  # the size of the row
        length, _ = _varint(page, at)
        yield page[at + length : at + length + KEY_BYTES]  # the key is the row's first column


def _varint(page: bytes, at: int) -> tuple[int, int]:
    """Decode a number of 1 to 9 bytes; returns it and the position behind it."""
    value = 0
    for end in range(at, min(at + 8, len(page))):
        value = value << 7 | page[end] & 0x7F
        if page[end] < 0x80:
            return value, end + 1
    return value << 8, at + 9


def in_key_order(page: ReportPage) -> bool:
    """Returns whether a page's rows were written in the order of their keys, which hides the order
    in which reports came.

    SQLite fills a page from its end. So if rows were written in the order of their keys, each key
    on the page is smaller than the one before it. Rows of different lengths make exceptions, in up
    to a quarter of the places (simulated with rows of up to 3,000 bytes). If rows were written in
    the order of arrival, half of the keys are larger than the one before.
    """
    following = zip(page.ids, [*page.ids[1:], *page.ids[:1]], strict=True)
    return sum(key < next_key for key, next_key in following) <= max(2, len(page.ids) / 4)
