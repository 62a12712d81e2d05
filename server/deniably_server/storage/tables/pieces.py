"""The table of batches, in pieces: what is passed on is read from here, and from nowhere else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from deniably_server.storage.engines.engine import Connection

PIECE = 1 << 18
"""The bytes of a piece."""


def enter_pieces(database: Connection, survey: str, envelopes: Iterable[bytes]) -> None:
    """Stores the envelopes of a survey's batch, one after the other."""
    rows = ((survey, number, piece) for number, piece in enumerate(_pieces(envelopes)))
    database.fill("pieces", ("survey", "number", "bytes"), rows)


def piece_from(database: Connection, survey: str, start: int) -> bytes:
    """Returns bytes of a batch from ``start`` to the end of the piece that has it; empty behind the
    batch's end."""
    number, place = divmod(start, PIECE)
    sql = "SELECT bytes FROM pieces WHERE survey = ? AND number = ?"
    row = database.execute(sql, [survey, number]).fetchone()
    return b"" if row is None else bytes(row[0])[place:]


def _pieces(envelopes: Iterable[bytes]) -> Iterator[bytes]:
    """All bytes in pieces of equal size but the last."""
    rest = bytearray()
    for each in envelopes:
        rest += each
        while len(rest) >= PIECE:
            yield bytes(rest[:PIECE])
            del rest[:PIECE]
    if rest:
        yield bytes(rest)


def remove_pieces(database: Connection, survey: str) -> None:
    """Deletes the batch of a survey."""
    database.execute("DELETE FROM pieces WHERE survey = ?", [survey])
