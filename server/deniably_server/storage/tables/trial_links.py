"""The table of links to try out a draft: whoever has a link needs no session.

The table has the SHA-256 of a link's secret of 256 random bits, and its last day. A draft has one
link at a time: a new one takes the place of the one before.
"""

from __future__ import annotations

import secrets

from deniably_server.storage.engines.engine import Connection
from deniably_server.storage.tables.tokens import day_in, hash_of

GOOD_FOR = 2
"""Days after the day on which a link is made; it ends with the last of them, in UTC."""


def enter_trial(database: Connection, draft: str) -> tuple[str, str]:
    """Stores a new link to try out a draft; returns (secret, last day). The secret is stored
    nowhere.

    Deletes the earlier link to this draft, and all links that have ended.
    """
    secret, until = secrets.token_urlsafe(32), day_in(GOOD_FOR)
    database.execute(
        "DELETE FROM trials WHERE draft = ? OR until < ?",
        [draft, day_in(0)],
    )
    database.execute(
        "INSERT INTO trials (draft, hash, until) VALUES (?, ?, ?)", [draft, hash_of(secret), until]
    )
    return secret, until


def draft_of_trial(database: Connection, secret: str) -> str | None:
    """Returns the id of the draft to which the trial link with this secret leads; None if there is
    no such link, or if it has ended."""
    row = database.execute(
        "SELECT draft FROM trials WHERE hash = ? AND until >= ?", [hash_of(secret), day_in(0)]
    ).fetchone()
    return None if row is None else str(row[0])


def trial_until(database: Connection, draft: str) -> str:
    """Returns the last day on which the link to try out a draft works; empty if the draft has
    none."""
    row = database.execute(
        "SELECT until FROM trials WHERE draft = ? AND until >= ?", [draft, day_in(0)]
    ).fetchone()
    return "" if row is None else str(row[0])
