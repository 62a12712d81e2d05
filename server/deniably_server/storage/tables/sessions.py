"""The table of the studio's sessions: a browser that sends the cookie acts with the token in its
row.

The table has the SHA-256 of a cookie of 256 random bits, and days, never times.
"""

from __future__ import annotations

import secrets

from deniably_server.storage.engines.engine import Connection
from deniably_server.storage.tables.tokens import day_in, hash_of

UNUSED, AT_MOST = 30, 180
"""Days after which a session ends: since its last use, and since its beginning."""


def begin_session(database: Connection, token: str, word: str) -> str | None:
    """Stores a new session that acts with this token; returns its cookie, which is stored nowhere.

    ``word`` is the hash of the challenge that was signed; returns None where a session was begun
    with it already.
    """
    cookie = secrets.token_urlsafe(32)
    done = database.execute(
        "INSERT INTO sessions (hash, word, token, used, until) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (word) DO NOTHING",
        [hash_of(cookie), word, token, day_in(0), day_in(AT_MOST)],
    )
    return cookie if done.rowcount == 1 else None


def session_token(database: Connection, cookie: str) -> tuple[str, str] | None:
    """Returns (id of the token, day of the last use) of the session with this cookie; None where
    there is none or it has ended."""
    row = database.execute(
        "SELECT token, used FROM sessions WHERE hash = ? AND used >= ? AND until >= ?",
        [hash_of(cookie), day_in(-UNUSED), day_in(0)],
    ).fetchone()
    return None if row is None else (str(row[0]), str(row[1]))


def use_session(database: Connection, cookie: str) -> None:
    """Note that a session was used today."""
    database.execute("UPDATE sessions SET used = ? WHERE hash = ?", [day_in(0), hash_of(cookie)])


def end_session(database: Connection, cookie: str) -> None:
    """Delete a session, and all that have ended by themselves."""
    database.execute(
        "DELETE FROM sessions WHERE hash = ? OR used < ? OR until < ?",
        [hash_of(cookie), day_in(-UNUSED), day_in(0)],
    )
