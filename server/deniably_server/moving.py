"""Everything of one database into another, such as from a file to PostgreSQL."""

from __future__ import annotations

from contextlib import closing

from deniably_server.engine import Connection, Engine
from deniably_server.errors import Conflict

_TABLES = {
    "surveys": ("name", "digest", "definition", "state"),
    "reports": ("id", "survey", "report"),
    "totals": ("survey", "reports"),
    "tallies": ("survey", "question", "choice", "count"),
    "answered": ("survey", "question", "reports"),
    "settings": ("key", "value"),
    "register": ("number", "event", "survey", "entry", "hash"),
}
"""Every table with its columns; what a row refers to comes before it."""


def move(source: Engine, target: Engine) -> int:
    """Copy all that is in ``source`` into ``target``, whole or not at all; the number of reports.

    The source stays as it is. Raises Conflict where the target has surveys already.
    """
    source.migrate()
    target.migrate()
    with closing(source.connect()) as giver, closing(target.connect()) as taker:
        giver.begin_reading()
        taker.begin_writing()
        if _count(taker, "surveys"):
            raise Conflict("there are surveys in the target already; move into an empty database")
        taker.execute("DELETE FROM settings")
        for table, columns in _TABLES.items():
            # By its first column: the order of random ids, and that of the register.
            rows = giver.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY {columns[0]}")  # noqa: S608
            taker.fill(table, columns, rows)
        moved = _count(taker, "reports")
        taker.commit()
    return moved


def _count(database: Connection, table: str) -> int:
    (count,) = database.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608
    return int(count)
