"""Schema migration: creates the tables, and upgrades them in place.

A step is the statements of one schema version. The table ``steps`` lists the steps that were made,
with digests of their statements. One transaction makes all missing steps, so a killed process
leaves the database as it was.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from deniably_server.errors import Newer, OtherDatabase, Unreleased
from deniably_server.storage.engines.engine import Connection

Steps = Sequence[Sequence[str]]


def migrate(database: Connection, steps: Steps) -> None:
    """Runs the steps of the schema that the database lacks; safe when several processes start at
    once.

    Raises OtherDatabase where the database has not even the first table, Newer where it has steps
    that this version does not know, and Unreleased where a step that was run had other statements
    than this version's.
    """
    if not _missing(database, steps):  # then do not wait for the writers' lock
        return
    database.begin_writing()
    missing = _missing(database, steps)  # another process may have been first
    database.execute(
        "CREATE TABLE IF NOT EXISTS steps (number INTEGER PRIMARY KEY, digest TEXT NOT NULL)"
    )
    for number in missing:
        for statement in steps[number]:
            database.execute(statement)
        database.execute("INSERT INTO steps VALUES (?, ?)", [number + 1, digest_of(steps[number])])
    database.commit()


def digest_of(step: Sequence[str]) -> str:
    """Returns the digest of a step's statements, however they are indented."""
    words = " ".join(";".join(step).split())
    return hashlib.sha256(words.encode()).hexdigest()


def _missing(database: Connection, steps: Steps) -> range:
    made: list[tuple[object, ...]] = []
    tables = database.tables()
    if "steps" in tables:
        if not any(f"CREATE TABLE {name} " in steps[0][0] for name in tables):
            raise OtherDatabase
        # All columns, as tables that were never released have no digest.
        made = database.execute("SELECT * FROM steps ORDER BY number").fetchall()
    if len(made) > len(steps):
        raise Newer
    if made != [(n, digest_of(step)) for n, step in enumerate(steps[: len(made)], 1)]:
        raise Unreleased
    return range(len(made), len(steps))
