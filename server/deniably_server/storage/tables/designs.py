"""The table of designs of means, which checks of drafts asked for: the best mechanism, as JSON.

A design depends on the number of positions and on two weights alone. So it is the same for every
draft and every author, and can be computed again at any time.
"""

from __future__ import annotations

from deniably_server.storage.engines.engine import Connection

MOST_DESIGNS = 2_000
"""Rows of the table, at most 40 kB each. Whoever drafts for ever does not fill the disk."""


def find_design(database: Connection, positions: int, own: int, other: int) -> str | None:
    """Returns the best mechanism for a mean of ``positions`` positions at the odds ``own /
    other``, as JSON; None if it is not stored."""
    sql = "SELECT mechanism FROM designs WHERE positions = ? AND own = ? AND other = ?"
    row = database.execute(sql, [positions, own, other]).fetchone()
    return None if row is None else str(row[0])


def enter_design(
    database: Connection, positions: int, own: int, other: int, mechanism: str
) -> None:
    """Stores the best mechanism for a mean, as JSON, if none is stored for these parameters. A full
    table is emptied first."""
    (count,) = database.execute("SELECT count(*) FROM designs").fetchone()
    if count >= MOST_DESIGNS:
        database.execute("DELETE FROM designs")
    row = (positions, own, other, mechanism)
    database.execute("INSERT INTO designs VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", row)
