"""Copies the whole database of a mixer into another, such as from an SQLite file to PostgreSQL."""

from __future__ import annotations

from contextlib import closing

from deniably_server.errors import Conflict
from deniably_server.storage.engines.engine import Connection, Engine
from deniably_server.storage.tables.mixes import MixState, set_state
from deniably_server.storage.writing.order_erasure import forget_marks

TABLES = {
    "offers": ("key", "opening", "signing", "offer"),
    "mixer_keys": ("survey", "opening", "signing"),
    "envelopes": ("hash", "survey", "sealed"),
    "invitations": ("hash", "survey", "blinded", "stratum"),
    "issued": ("survey", "stratum", "invitations"),
    "pieces": ("survey", "number", "bytes"),
    "settings": ("key", "value"),
}
"""Every table with its columns, besides ``mixes``, which the others refer to."""

MIXES = ("survey", "terms", "until", "source", "state", "manifest", "signature", "reason")
"""The columns of ``mixes``."""

_WAYS: dict[MixState, tuple[MixState, ...]] = {
    "open": (),
    "closed": (),
    "made": ("made",),
    "passed": ("made", "passed"),
    "too few": ("too few",),
    "told": ("too few", "told"),
    "refused": ("made", "refused"),
    "given up": ("made", "given up"),
}
"""The states after "closed" through which a survey came to its own."""


def move_mixer(source: Engine, target: Engine) -> int:
    """Copies everything in a mixer's database ``source`` into ``target``, in one transaction;
    returns the number of envelopes.

    The source's data stay unchanged. Raises Conflict where the target has surveys or offers
    already.
    """
    source.migrate()
    target.migrate()
    with closing(source.connect()) as giver, closing(target.connect()) as taker:
        giver.begin_reading()
        taker.begin_writing()
        for table in ("mixes", "offers"):
            if taker.execute(f"SELECT 1 FROM {table}").fetchone():  # noqa: S608  # of two names
                raise Conflict("the target is in use already; move into an empty database")
        taker.execute("DELETE FROM settings")
        states = _copy_mixes(giver, taker)
        for table, columns in TABLES.items():
            taker.fill(table, columns, giver.each(_all(table, columns)))
        # A batch is only ever stored for a closed survey, so the states follow the rows.
        for survey, state in states.items():
            for step in _WAYS[state]:
                set_state(taker, survey, step)
        forget_marks(taker)
        (moved,) = taker.execute("SELECT count(*) FROM envelopes").fetchone()
        taker.commit()
    return int(moved)


def _copy_mixes(giver: Connection, taker: Connection) -> dict[str, MixState]:
    """Copy the surveys, each open or closed; returns their states."""
    rows = [dict(zip(MIXES, row, strict=True)) for row in giver.each(_all("mixes", MIXES))]
    states: dict[str, MixState] = {row["survey"]: row["state"] for row in rows}
    for row in rows:
        row["state"] = "open" if row["state"] == "open" else "closed"
    taker.fill("mixes", MIXES, (tuple(row.values()) for row in rows))
    return states


def _all(table: str, columns: tuple[str, ...]) -> str:
    """Select all rows, sorted by their columns: envelopes by their hash."""
    names = ", ".join(columns)
    return f"SELECT {names} FROM {table} ORDER BY {names}"  # noqa: S608  # TABLES
