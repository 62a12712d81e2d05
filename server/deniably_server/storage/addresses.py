"""Where a database is: ``postgresql://...``, or the path of an SQLite file."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from deniably_server.storage.engine import Engine
from deniably_server.storage.sqlite import Sqlite


def engine_at(address: str) -> Engine:
    """The database at an address: ``postgresql://...``, or the path of an SQLite file."""
    if _is_uri(address):
        from deniably_server.storage.postgres import (
            Postgres,  # whose driver is installed where it is used
        )

        return Postgres(address)
    return Sqlite(str(file_at(address)))


def file_at(address: str) -> Path | None:
    """The file of an SQLite database, which may be still to be made."""
    return None if _is_uri(address) else Path(address.removeprefix("sqlite:///"))


def shown(address: str) -> str:
    """The address for people to read: of a URI neither user nor password nor options."""
    if not _is_uri(address):
        return address
    parts = urlsplit(address)
    return f"postgresql://{parts.hostname or ''}{parts.path}"


def _is_uri(address: str) -> bool:
    return address.startswith(("postgresql://", "postgres://"))
