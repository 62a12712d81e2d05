"""The table of deeds: what a group did, on which day. Nothing in it is ever changed or deleted.

It is for the group itself, which sees there when somebody signed in, began or deleted drafts,
published or closed. It has days, never times, and the same deed once a day. Which drafts they were
is not in it, so that whoever begins and deletes drafts does not fill it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from deniably_server.storage.engines.engine import Connection
from deniably_server.storage.tables.tokens import day_in

What = Literal[
    "founded", "signed in", "began", "deleted", "brought back", "published", "closed",
    "closed outside",
]  # fmt: skip
"""What is done. ``began``, ``deleted`` and ``brought back`` are about drafts. ``closed outside`` is
done with a command: with the group's key, or by an operator."""


@dataclass(frozen=True)
class Doer:
    """Who did something: the ids of a group, and of its member's token."""

    team: str
    token: str


@dataclass(frozen=True)
class Deed:
    """An action of a group on a ``day``, such as 2026-11-21. ``what`` is a word such as "closed";
    ``object`` is the survey concerned, or empty."""

    day: str
    what: str
    object: str


def enter_deed(database: Connection, doer: Doer, what: What, survey: str = "") -> None:
    """Stores that a member of a group did something today; does nothing if this is stored for
    today already. Call it in a transaction of ``begin_writing``, because each row gets the next
    number."""
    row = [day_in(0), doer.team, doer.token, what, survey]
    database.execute(
        "INSERT INTO deeds (number, day, team, token, what, object)"
        " SELECT (SELECT coalesce(max(number), 0) + 1 FROM deeds), ?, ?, ?, ?, ?"
        " WHERE NOT EXISTS (SELECT 1 FROM deeds WHERE day = ? AND team = ? AND token = ?"
        " AND what = ? AND object = ?)",
        row + row,
    )


def deeds_of(database: Connection, team: str, count: int) -> list[Deed]:
    """Returns the last actions of a group, at most ``count``, the newest first."""
    sql = "SELECT day, what, object FROM deeds WHERE team = ? ORDER BY number DESC LIMIT ?"
    return [Deed(*map(str, row)) for row in database.execute(sql, [team, count])]


def deeds_on(database: Connection, team: str, survey: str) -> list[Deed]:
    """Returns what a group did with one of its surveys, the newest first."""
    sql = "SELECT day, what, object FROM deeds WHERE team = ? AND object = ? ORDER BY number DESC"
    return [Deed(*map(str, row)) for row in database.execute(sql, [team, survey])]
