"""Copies a whole database into another, such as from an SQLite file to PostgreSQL."""

from __future__ import annotations

from contextlib import closing

from deniably_server.errors import Conflict
from deniably_server.storage.engines.engine import Engine
from deniably_server.storage.tables.tallies import COUNTS, summed
from deniably_server.storage.writing.order_erasure import forget_marks

TABLES = {
    "surveys": ("name", "digest", "definition", "state"),
    "reports": ("id", "survey", "report", "stratum"),
    **{table: (*keys, count) for table, (keys, count) in COUNTS.items()},
    "snapshots": ("survey", "reports", "tallies"),
    "settings": ("key", "value"),
    "tokens": ("id", "hash", "role", "survey", "until", "note", "revoked"),
    "keys": ("survey", "secret"),
    "invitations": ("hash", "survey", "blinded", "stratum"),
    "issued": ("survey", "stratum", "invitations"),
    "owners": ("survey", "token", "day", "bytes"),
    "envelope_keys": ("open", "secret", "token", "day", "survey"),
    "mixed": ("survey", "manifest", "signature", "state", "refused", "why"),
    "mixed_pieces": ("survey", "start", "bytes"),
    "mixed_hashes": ("survey", "number", "hashes"),
    "register": ("number", "event", "survey", "entry", "hash"),
    "teams": ("id", "name", "contact", "key"),
    "members": ("token", "team"),
    "sessions": ("hash", "word", "token", "used", "until"),
    "drafts": ("id", "team", "revision", "day", "gone"),
    "draft_versions": ("draft", "revision", "edit", "document"),
    "trials": ("draft", "hash", "until"),
    "designs": ("positions", "own", "other", "mechanism"),
    "deeds": ("number", "day", "team", "token", "what", "object"),
    "published_drafts": ("survey", "draft", "team", "document"),
}
"""Every table with its columns, ordered so that foreign keys refer to earlier tables. Shards are
merged, as the writers that they belong to stay behind."""


def move(source: Engine, target: Engine) -> int:
    """Copies everything in ``source`` into ``target``, in one transaction; returns the number of
    reports.

    Brings both databases to the newest schema; the source's data stay unchanged. Raises Conflict
    where the target has surveys already.
    """
    source.migrate()
    target.migrate()
    with closing(source.connect()) as giver, closing(target.connect()) as taker:
        giver.begin_reading()
        taker.begin_writing()
        if taker.execute("SELECT 1 FROM surveys").fetchone():
            raise Conflict("there are surveys in the target already; move into an empty database")
        # A server that was started on the empty target may have stored keys and tokens of its own.
        taker.execute("DELETE FROM settings")
        taker.execute("DELETE FROM tokens")
        for table, columns in TABLES.items():
            taker.fill(table, columns, giver.each(_all(table, columns)))
        forget_marks(taker)
        (moved,) = taker.execute("SELECT count(*) FROM reports").fetchone()
        taker.commit()
    return int(moved)


def _all(table: str, columns: tuple[str, ...]) -> str:
    """Select all rows, sorted by their columns: reports by random id, the register by number."""
    if table in COUNTS:
        return summed(table)
    names = ", ".join(columns)
    return f"SELECT {names} FROM {table} ORDER BY {names}"  # noqa: S608  # TABLES
