"""Schema migration: creates the tables, and upgrades them in place.

A step is the statements of one schema version. The table ``steps`` lists the steps that were made.
One transaction makes all missing steps, so a killed process leaves the database as it was.
"""

from __future__ import annotations

from collections.abc import Sequence

from deniably_server.errors import Newer
from deniably_server.storage.engines.engine import Connection

Steps = Sequence[Sequence[str]]


def migrate(database: Connection, steps: Steps) -> None:
    """Make the missing steps; safe when several processes start at once.

    Raises Newer where the database has steps that this version does not know.
    """
    if not _missing(database, steps):  # then do not wait for the writers' lock
        return
    database.begin_writing()
    missing = _missing(database, steps)  # another process may have been first
    database.execute("CREATE TABLE IF NOT EXISTS steps (number INTEGER PRIMARY KEY)")
    for number in missing:
        for statement in steps[number]:
            database.execute(statement)
        database.execute("INSERT INTO steps VALUES (?)", [number + 1])
    database.commit()


def _missing(database: Connection, steps: Steps) -> range:
    made = 0
    if "steps" in database.tables():
        made = int(database.execute("SELECT count(*) FROM steps").fetchone()[0])
    if made > len(steps):
        raise Newer
    return range(made, len(steps))
