"""How a database gets its tables, and later those of the next version, in place.

A version of the schema is a step: a few statements. The table ``steps`` has the numbers of those
that were made. One transaction makes all that are missing, so a process that is killed halfway
leaves the database as it was.
"""

from __future__ import annotations

from collections.abc import Sequence

from deniably_server.errors import Newer
from deniably_server.storage.engines.engine import Connection

Steps = Sequence[Sequence[str]]


def migrate(database: Connection, steps: Steps) -> None:
    """Make the steps that are missing; safe where several processes start at once. Raises Newer
    where there are more than these."""
    if not _missing(database, steps):  # so that nobody waits for a writer who need not write
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
