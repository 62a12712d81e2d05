"""The table of batches, in pieces: what is passed on is read from here, and from nowhere else."""

from __future__ import annotations

from deniably_server.storage.engines.engine import Connection

PIECE = 1 << 18
"""The bytes of a piece."""


def enter_pieces(database: Connection, survey: str, body: bytes) -> None:
    """Stores the envelopes of a survey's batch, one after the other."""
    starts = range(0, len(body), PIECE)
    rows = [(survey, start // PIECE, body[start : start + PIECE]) for start in starts]
    database.fill("pieces", ("survey", "number", "bytes"), rows)


def piece_from(database: Connection, survey: str, start: int) -> bytes:
    """Returns bytes of a batch from ``start`` to the end of the piece that has it; empty behind the
    batch's end."""
    number, place = divmod(start, PIECE)
    sql = "SELECT bytes FROM pieces WHERE survey = ? AND number = ?"
    row = database.execute(sql, [survey, number]).fetchone()
    return b"" if row is None else bytes(row[0])[place:]


def remove_pieces(database: Connection, survey: str) -> None:
    """Deletes the batch of a survey."""
    database.execute("DELETE FROM pieces WHERE survey = ?", [survey])
