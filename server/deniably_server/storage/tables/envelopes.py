"""The table of the envelopes that people sent to a mixer, each under the SHA-256 of its bytes.

The hash is as good as random, and rows are stored in its order.
"""

from __future__ import annotations

from collections.abc import Sequence

from deniably_server.storage.engines.engine import Connection

EnvelopeRow = tuple[bytes, str, bytes]
"""The SHA-256 of an envelope, the digest of its survey, and the envelope."""


def insert_envelopes(database: Connection, rows: Sequence[EnvelopeRow]) -> set[bytes]:
    """Stores the envelopes that are new, in the order of the rows; returns their hashes."""
    if not rows:
        return set()
    marks = ", ".join(["(?, ?, ?)"] * len(rows))
    found = database.execute(
        f"INSERT INTO envelopes VALUES {marks} ON CONFLICT (hash) DO NOTHING RETURNING hash",  # noqa: S608  # marks only
        [each for row in rows for each in row],
    ).fetchall()
    return {bytes(key) for (key,) in found}


def holds(database: Connection, survey: str, key: bytes) -> bool:
    """Returns whether the envelope with this hash is stored, of this survey."""
    sql = "SELECT 1 FROM envelopes WHERE hash = ? AND survey = ?"
    return database.execute(sql, [key, survey]).fetchone() is not None


def count_envelopes(database: Connection, survey: str) -> int:
    """Returns the number of envelopes of a survey."""
    sql = "SELECT count(*) FROM envelopes WHERE survey = ?"
    return int(database.execute(sql, [survey]).fetchone()[0])


def sealed_after(
    database: Connection, survey: str, key: bytes, count: int
) -> list[tuple[bytes, bytes]]:
    """Returns the next ``count`` envelopes of a survey behind the hash ``key``, in the order of the
    hashes, each with its own."""
    rows = database.execute(
        "SELECT hash, sealed FROM envelopes WHERE survey = ? AND hash > ? ORDER BY hash LIMIT ?",
        [survey, key, count],
    )
    return [(bytes(found), bytes(sealed)) for found, sealed in rows]


def remove_envelopes(database: Connection, survey: str) -> None:
    """Deletes the envelopes of a survey."""
    database.execute("DELETE FROM envelopes WHERE survey = ?", [survey])
