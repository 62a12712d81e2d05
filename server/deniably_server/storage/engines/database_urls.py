"""Database addresses: ``postgresql://...``, or the path of an SQLite file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep
from urllib.parse import urlsplit

from deniably_server.storage.engines.engine import Engine
from deniably_server.storage.engines.sqlite import MixerSqlite, Sqlite

_PATIENCE_SECONDS = 60
_AGAIN_SECONDS = 0.2


def engine_at(address: str, *, mixer: bool = False) -> Engine:
    """Returns the engine for an address: ``postgresql://...``, or the path of an SQLite file.

    With ``mixer``, the database is a mixer's and not that of surveys.
    """
    if _is_uri(address):
        from deniably_server.storage.engines.postgres import (
            MixerPostgres,
            Postgres,  # whose driver is installed where it is used
        )

        return (MixerPostgres if mixer else Postgres)(address)
    return (MixerSqlite if mixer else Sqlite)(str(file_at(address)))


def await_database(address: str, tell: Callable[[], object] = lambda: None) -> None:
    """Waits up to a minute for the database to respond, as it may start later than this server.

    Calls ``tell`` once if it has to wait. If the database refuses the connection, that is a
    response, too.
    """
    engine = engine_at(address)
    until = monotonic() + _PATIENCE_SECONDS
    waited = False
    while not engine.answers() and monotonic() < until:
        if not waited:
            tell()
            waited = True
        sleep(_AGAIN_SECONDS)


def file_at(address: str) -> Path | None:
    """Returns the path of an SQLite database, which need not exist; None for PostgreSQL."""
    return None if _is_uri(address) else Path(address.removeprefix("sqlite:///"))


def without_credentials(address: str) -> str:
    """Returns the address to show to people: without user, password and options."""
    if not _is_uri(address):
        return address
    parts = urlsplit(address)
    return f"postgresql://{parts.hostname or ''}{parts.path}"


def _is_uri(address: str) -> bool:
    return address.startswith(("postgresql://", "postgres://"))
