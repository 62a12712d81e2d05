"""The settings' table: values that a server stores for itself, by key."""

from __future__ import annotations

from deniably_server.storage.engines.engine import Connection


def find_setting(database: Connection, key: str) -> str | None:
    """Returns the value under ``key``; None if there is none."""
    row = database.execute("SELECT value FROM settings WHERE key = ?", [key]).fetchone()
    return None if row is None else str(row[0])


def enter_setting(database: Connection, key: str, value: str) -> bool:
    """Store ``value`` under ``key``. Returns False and changes nothing if there is a value."""
    done = database.execute(
        "INSERT INTO settings VALUES (?, ?) ON CONFLICT (key) DO NOTHING", [key, value]
    )
    return done.rowcount == 1


def remove_setting(database: Connection, key: str) -> None:
    """Delete the value under ``key``."""
    database.execute("DELETE FROM settings WHERE key = ?", [key])


def take_setting(database: Connection, key: str, value: str) -> bool:
    """Delete the value under ``key`` if it is ``value``; returns whether it was."""
    done = database.execute("DELETE FROM settings WHERE key = ? AND value = ?", [key, value])
    return done.rowcount == 1
