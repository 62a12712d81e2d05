"""Finds traces of people: network addresses, browser names, times of day, order of arrival.

It reads files as raw bytes, so it also finds deleted data that was not overwritten. It reports the
kind and number of traces, never their text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from deniably_server.storage.engines.database_urls import file_at
from deniably_server.storage.engines.engine import Connection
from deniably_server.storage.store import Store

_CHUNK = 1 << 22
_OVERLAP = 200
"""Bytes; longer than any trace."""

_MONTH = rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_BYTE = rb"(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"
_CLOCK = rb"[0-2][0-9]:[0-5][0-9]"
# 127.0.0.0/8 and 0.0.0.0 are this machine's own addresses, not a person's.
_KINDS = {
    "network addresses": re.compile(
        rb"(?<![0-9.])(?!127\.|0\.0\.0\.0(?![0-9.]))"
        + _BYTE + rb"(?:\." + _BYTE + rb"){3}(?![0-9.])"
        rb"|(?<![0-9A-Fa-f:])(?=[0-9A-Fa-f:]{8,39}(?![0-9A-Fa-f:]))"
        rb"(?:(?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}"
        rb"|(?:[0-9A-Fa-f]{1,4}:){1,6}(?::[0-9A-Fa-f]{1,4}){1,6})(?![0-9A-Fa-f:])"
    ),
    "names of browsers or programs": re.compile(
        rb"Mozilla/|AppleWebKit/|Gecko/|Chrome/|Safari/|Firefox/|curl/|Wget/|okhttp/|Dalvik/"
        rb"|CFNetwork/|python-requests/"
    ),
    "times of day": re.compile(
        rb"[12][0-9]{3}-[01][0-9]-[0-3][0-9][T _]" + _CLOCK
        + rb"|[0-3][0-9]/" + _MONTH + rb"/[12][0-9]{3}:" + _CLOCK
        + rb"|[0-3][0-9] " + _MONTH + rb" [12][0-9]{3} " + _CLOCK
        + rb"|" + _MONTH + rb" [ 0-3][0-9] " + _CLOCK
        # Unix times from 2020 to 2033, in seconds, milli-, micro- or nanoseconds.
        + rb"|(?<![0-9.])1[6-9][0-9]{8}(?:[0-9]{3}){0,3}(?![0-9])"
    ),
}  # fmt: skip

_READABLE = re.compile(rb"[ -~]{5,}")
"""Where traces can be: all have five characters or more. Most of a small database is nothing."""

_DIGEST = re.compile(rb"(?=[0-9]*[a-f])[0-9a-f]{32,}")
"""A hexadecimal word. One SHA-256 digest in 250 has ten digits in it that look like a Unix time."""

_TYPES = {"TIME": "times of day", "INET": "network addresses", "CIDR": "network addresses"}
"""Words in the type of a column, and what such a column holds."""

_WIPE = "deniably doctor --repair wipes it"

_Column = tuple[str, str, str]


@dataclass(frozen=True)
class Trace:
    """Something that may identify people or show when they answered, such as network addresses:
    ``where`` it is, and ``what`` it is."""

    where: str
    what: str


def traces(store: Store) -> list[Trace]:
    """Returns the traces of people in the database and its log. It looks in the raw files of
    SQLite, in the columns and their values, and at the order of rows on the disk."""
    own = _own_files(store)
    seen = [trace for file in own for trace in in_file(file)]
    with closing(store.engine.connect()) as database:
        database.begin_reading()
        columns = database.columns()
        seen += _columns(columns)
        seen += _numbers(database, columns)
        if not own:  # a database server, whose files this process cannot read
            seen += _texts(database, columns)
    return seen + [
        Trace("the database", f"the order in which the reports of {name} came; {_WIPE}")
        for name in store.revealing_order()
    ]


def in_file(file: Path) -> list[Trace]:
    """Returns the traces in a file: one for network addresses, one for times, and so on, each with
    its number of occurrences."""
    counts = dict.fromkeys(_KINDS, 0)
    for text, fresh in _chunks(file):
        for kind, pattern in _KINDS.items():
            # A match that ends in what was repeated was counted with the chunk before.
            counts[kind] += sum(match.end() > fresh for match in _matches(pattern, text))
    return [Trace(str(file), f"{count:,} {kind}") for kind, count in counts.items() if count]


def _matches(pattern: re.Pattern[bytes], text: bytes) -> list[re.Match[bytes]]:
    """The matches that are no part of a digest."""
    return [
        match
        for readable in _READABLE.finditer(text)
        for match in pattern.finditer(text, *readable.span())
        if not _in_digest(match, text)
    ]


def _in_digest(match: re.Match[bytes], text: bytes) -> bool:
    around = _DIGEST.finditer(text, max(0, match.start() - _OVERLAP), match.end() + _OVERLAP)
    return any(each.start() <= match.start() and match.end() <= each.end() for each in around)


def _chunks(file: Path) -> Iterator[tuple[bytes, int]]:
    """The chunks of a file, each with the end of the one before it, and the length of that end."""
    before = b""
    with file.open("rb") as source:
        while chunk := source.read(_CHUNK):
            yield before + chunk, len(before)
            before = chunk[-_OVERLAP:]


def _own_files(store: Store) -> list[Path]:
    file = file_at(store.engine.address)
    if file is None:
        return []
    files = [file, file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}-journal")]
    return [each for each in files if each.exists()]


def _columns(columns: list[_Column]) -> list[Trace]:
    """Columns whose type is for times or addresses."""
    return [
        Trace(f"the table {table}", f"a column for {what}, {column}")
        for table, column, kind in columns
        for word, what in _TYPES.items()
        if word in kind
    ]


def _numbers(database: Connection, columns: list[_Column]) -> list[Trace]:
    """Integer columns with Unix times, in seconds, milli-, micro- or nanoseconds."""
    clock = " OR ".join(f"{{0}} BETWEEN {15 * 10**n} AND {25 * 10**n}" for n in (8, 11, 14, 17))
    seen: list[Trace] = []
    for table, column, kind in columns:
        if "INT" in kind:
            (count,) = database.execute(
                f'SELECT count(*) FROM "{table}" WHERE {clock.format(column)}'  # noqa: S608  # the database's own names
            ).fetchone()
            if count:
                seen.append(Trace(f"the table {table}", f"{count:,} times of day in {column}"))
    return seen


def _texts(database: Connection, columns: list[_Column]) -> list[Trace]:
    """The traces in text columns, for each column and kind."""
    seen: list[Trace] = []
    for table, column, kind in columns:
        if kind in ("TEXT", "CHARACTER VARYING", "JSON", "JSONB"):
            counts = dict.fromkeys(_KINDS, 0)
            for (text,) in database.each(f'SELECT "{column}" FROM "{table}"'):  # noqa: S608  # its own names
                for what, pattern in _KINDS.items():
                    counts[what] += len(_matches(pattern, str(text or "").encode()))
            where = f"the table {table}"
            seen += [Trace(where, f"{count:,} {what}") for what, count in counts.items() if count]
    return seen
