"""The table of owners: which token published a survey, and its share of the register.

Every device reads the register and refuses one that is too large. So quotas stop one author from
filling it.
"""

from __future__ import annotations

from dataclasses import dataclass

from deniably.core.counting import counted
from deniably.trust.register import LARGEST_REGISTER
from deniably_server.errors import Quota
from deniably_server.storage.engines.engine import Connection
from deniably_server.storage.tables.register import today

_FOR_CLOSINGS = 1 << 20
"""Bytes of the register that are reserved for the closings of published surveys."""


@dataclass(frozen=True)
class Quotas:
    """Limits of an author's token: surveys a day, and bytes of the register; 0 is no limit."""

    surveys: int = 0
    register: int = 0


def register_size(database: Connection) -> int:
    """Returns the approximate size of the register, in bytes."""
    sql = "SELECT coalesce(sum(length(entry) + 1), 0) FROM register"
    return int(database.execute(sql).fetchone()[0])


def register_room(database: Connection) -> float:
    """Returns the share of the register that is left, from 0 (full) to 1."""
    return max(0, 1 - register_size(database) / LARGEST_REGISTER)


def enter_owner(database: Connection, survey: str, token: str, size: int, quotas: Quotas) -> None:
    """Records that a token published a survey, whose register entry takes ``size`` bytes.

    Raises Quota where this survey exceeds the token's quotas or the register's limit.
    """
    check_quotas(database, token, size, quotas)
    database.execute("INSERT INTO owners VALUES (?, ?, ?, ?)", (survey, token, today(), size))


def check_quotas(database: Connection, token: str, size: int, quotas: Quotas) -> None:
    """Raises Quota where one more survey, whose register entry takes ``size`` bytes, exceeds the
    token's quotas or the register's limit."""
    published, taken = database.execute(
        "SELECT count(CASE WHEN day = ? THEN 1 END), coalesce(sum(bytes), 0) FROM owners"
        " WHERE token = ?",
        [today(), token],
    ).fetchone()
    taken = int(taken)  # PostgreSQL's sums are decimals
    if quotas.surveys and published >= quotas.surveys:
        raise Quota(
            f"this token has published {counted(published, 'survey')} today, and may publish"
            f" {quotas.surveys:,} a day; go on tomorrow (UTC), or ask the operator (--surveys)",
            f"your group published {counted(published, 'survey')} today, and may publish"
            f" {quotas.surveys:,} a day; go on tomorrow, or ask whoever runs this server",
        )
    if quotas.register and taken + size > quotas.register:
        raise Quota(
            f"the surveys of this token take {taken / 1e6:.1f} MB of the register, which every"
            f" device reads, and may take {quotas.register / 1e6:g} MB; ask the operator (--room)",
            "your group's surveys take all the room that they may take in the register, which every"
            " device reads; ask whoever runs this server for more",
        )
    if register_size(database) + size > LARGEST_REGISTER - _FOR_CLOSINGS:
        raise Quota(
            f"the register is full: devices read at most {LARGEST_REGISTER / 1e6:.0f} MB of it; new"
            " surveys need another server"
        )


def owner_of(database: Connection, survey: str) -> str | None:
    """Returns the id of the token that published a survey; None if it was published without one."""
    row = database.execute("SELECT token FROM owners WHERE survey = ?", [survey]).fetchone()
    return None if row is None else str(row[0])
