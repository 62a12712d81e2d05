"""Traces of people that nothing here may keep: addresses, browsers, times of day, their order.

Files are read as bytes, as somebody reads them who has the disk: what was deleted and not
overwritten counts, too. What is found is told by kind and number, never by its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from deniably_server.storage.engines.addresses import file_at
from deniably_server.storage.engines.engine import Connection
from deniably_server.storage.store import Store

_CHUNK = 1 << 22
_OVERLAP = 200
"""Bytes; no trace is longer."""

_MONTH = rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_BYTE = rb"(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"
_CLOCK = rb"[0-2][0-9]:[0-5][0-9]"
# This machine's own addresses (127.0.0.1, and 0.0.0.0 for all of them) are nobody's.
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
        + rb"|(?<![0-9.])1[6-9][0-9]{8}(?:[0-9]{3}){0,3}(?![0-9])"
    ),
}  # fmt: skip


_TYPES = {"TIME": "times of day", "INET": "network addresses", "CIDR": "network addresses"}
"""Words in the type of a column, and what it is for."""

_WIPE = "deniably doctor --repair wipes it"

Column = tuple[str, str, str]


@dataclass(frozen=True)
class Trace:
    """Something that says more than it may: where, and what it is."""

    where: str
    what: str


def traces(store: Store, files: list[Path]) -> list[Trace]:
    """What the database, its log and the ``files`` (logs, backups) have that they may not."""
    own = _own_files(store)
    found = [trace for file in [*own, *files] for trace in in_file(file)]
    with closing(store.engine.connect()) as database:
        database.begin_reading()
        columns = database.columns()
        found += _columns(columns)
        found += _numbers(database, columns)
        if not own:  # on a server of its own, where its files are not ours to read
            found += _texts(database, columns)
    return found + [
        Trace("the database", f"the order in which the reports of {name} came; {_WIPE}")
        for name in store.revealing_order()
    ]


def in_file(file: Path) -> list[Trace]:
    """What a file has of each kind."""
    counts = dict.fromkeys(_KINDS, 0)
    for text, fresh in _chunks(file):
        for kind, pattern in _KINDS.items():
            counts[kind] += sum(found.end() > fresh for found in pattern.finditer(text))
    return [Trace(str(file), f"{count:,} {kind}") for kind, count in counts.items() if count]


def _chunks(file: Path) -> Iterator[tuple[bytes, int]]:
    """The bytes of a file with some of those before them, and how many these are."""
    before = b""
    with file.open("rb") as source:
        while chunk := source.read(_CHUNK):
            yield before + chunk, len(before)
            before = chunk[-_OVERLAP:]


def _own_files(store: Store) -> list[Path]:
    file = file_at(store.engine.address)
    if file is None:
        return []
    beside = [file, file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}-journal")]
    return [each for each in beside if each.exists()]


def _columns(columns: list[Column]) -> list[Trace]:
    """Columns that are for nothing else."""
    return [
        Trace(f"the table {table}", f"a column for {what}, {column}")
        for table, column, kind in columns
        for word, what in _TYPES.items()
        if word in kind
    ]


def _numbers(database: Connection, columns: list[Column]) -> list[Trace]:
    """Numbers that are a count of seconds since 1970, or of parts of seconds."""
    clock = " OR ".join(f"{{0}} BETWEEN {15 * 10**n} AND {25 * 10**n}" for n in (8, 11, 14, 17))
    found: list[Trace] = []
    for table, column, kind in columns:
        if "INT" in kind:
            (count,) = database.execute(
                f'SELECT count(*) FROM "{table}" WHERE {clock.format(column)}'  # noqa: S608  # the database's own names
            ).fetchone()
            if count:
                found.append(Trace(f"the table {table}", f"{count:,} times of day in {column}"))
    return found


def _texts(database: Connection, columns: list[Column]) -> list[Trace]:
    """What texts have of each kind."""
    found: list[Trace] = []
    for table, column, kind in columns:
        if kind in ("TEXT", "CHARACTER VARYING", "JSON", "JSONB"):
            counts = dict.fromkeys(_KINDS, 0)
            for (text,) in database.each(f'SELECT "{column}" FROM "{table}"'):  # noqa: S608  # its own names
                for what, pattern in _KINDS.items():
                    counts[what] += len(pattern.findall(str(text or "").encode()))
            where = f"the table {table}"
            found += [Trace(where, f"{count:,} {what}") for what, count in counts.items() if count]
    return found
