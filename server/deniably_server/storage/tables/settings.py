"""The settings' table: what a server keeps for itself, by a key."""

from __future__ import annotations

from deniably_server.storage.engines.engine import Connection


def find_setting(database: Connection, key: str) -> str | None:
    """The value under ``key``, if there is one."""
    row = database.execute("SELECT value FROM settings WHERE key = ?", [key]).fetchone()
    return None if row is None else str(row[0])


def enter_setting(database: Connection, key: str, value: str) -> bool:
    """Put ``value`` under ``key``. False where another is there, which stays."""
    done = database.execute(
        "INSERT INTO settings VALUES (?, ?) ON CONFLICT (key) DO NOTHING", [key, value]
    )
    return done.rowcount == 1


def remove_setting(database: Connection, key: str) -> None:
    """Forget what is under ``key``."""
    database.execute("DELETE FROM settings WHERE key = ?", [key])


def take_setting(database: Connection, key: str, value: str) -> bool:
    """Forget it if it is this very value; whether it was."""
    done = database.execute("DELETE FROM settings WHERE key = ? AND value = ?", [key, value])
    return done.rowcount == 1
