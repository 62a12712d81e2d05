"""Where a database is: ``postgresql://...``, or the path of an SQLite file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep
from urllib.parse import urlsplit

from deniably_server.storage.engines.engine import Engine
from deniably_server.storage.engines.sqlite import Sqlite

_PATIENCE_SECONDS = 60
_AGAIN_SECONDS = 0.2


def engine_at(address: str) -> Engine:
    """The database at an address: ``postgresql://...``, or the path of an SQLite file."""
    if _is_uri(address):
        from deniably_server.storage.engines.postgres import (
            Postgres,  # whose driver is installed where it is used
        )

        return Postgres(address)
    return Sqlite(str(file_at(address)))


def await_database(address: str, tell: Callable[[], object] = lambda: None) -> None:
    """Wait, for up to a minute, until whoever serves the database answers: after a crash, or where
    a whole machine starts, it may come later than we do. ``tell`` is called once if that takes
    time. Whether it lets us in is another question, and its answer is not waited for."""
    engine = engine_at(address)
    until = monotonic() + _PATIENCE_SECONDS
    told = False
    while not engine.answers() and monotonic() < until:
        if not told:
            tell()
            told = True
        sleep(_AGAIN_SECONDS)


def file_at(address: str) -> Path | None:
    """The file of an SQLite database, which may be still to be made."""
    return None if _is_uri(address) else Path(address.removeprefix("sqlite:///"))


def without_credentials(address: str) -> str:
    """The address for people to read: of a URI neither user nor password nor options."""
    if not _is_uri(address):
        return address
    parts = urlsplit(address)
    return f"postgresql://{parts.hostname or ''}{parts.path}"


def _is_uri(address: str) -> bool:
    return address.startswith(("postgresql://", "postgres://"))
