"""The tables of what mixers pass on: signed manifests, bytes that are not checked yet, and the list
of received envelopes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, cast

from deniably_server.storage.engines.engine import Connection

BatchState = Literal["open", "taken", "refused"]
"""Bytes are missing or not checked; all reports are stored; refused as a whole, for good."""

_BLOCK = 4_096
"""Hashes in a row."""


class StoredManifest(NamedTuple):
    """What is known of a survey's batch: the ``manifest`` as canonical JSON, the mixer's
    ``signature``, and the ``state``.

    ``refused`` is the number of envelopes that are no reports. ``why`` is the reason for refusing
    the whole batch, else empty.
    """

    manifest: str
    signature: str
    state: BatchState
    refused: int
    why: str


def enter_manifest(database: Connection, survey: str, manifest: str, signature: str) -> None:
    """Stores the manifest of a survey's batch, whose bytes will follow."""
    database.execute(
        "INSERT INTO mixed (survey, manifest, signature, state) VALUES (?, ?, ?, 'open')",
        [survey, manifest, signature],
    )


def find_manifest(database: Connection, survey: str) -> StoredManifest | None:
    """Returns what is known of a survey's batch; None before its mixer passed on a manifest."""
    sql = "SELECT manifest, signature, state, refused, why FROM mixed WHERE survey = ?"
    row = database.execute(sql, [survey]).fetchone()
    return None if row is None else StoredManifest(*row)


def batch_state(database: Connection, survey: str) -> BatchState | None:
    """Returns the state of a survey's batch; None before its mixer passed on a manifest."""
    row = database.execute("SELECT state FROM mixed WHERE survey = ?", [survey]).fetchone()
    return None if row is None else cast(BatchState, row[0])


def open_batches(database: Connection) -> list[str]:
    """Returns the names of the surveys whose batches are open, in alphabetical order."""
    rows = database.execute("SELECT survey FROM mixed WHERE state = 'open' ORDER BY survey")
    return [str(survey) for (survey,) in rows]


def settle(
    database: Connection, survey: str, state: BatchState, *, refused: int = 0, why: str = ""
) -> None:
    """Moves an open batch to its last state."""
    database.execute(
        "UPDATE mixed SET state = ?, refused = ?, why = ? WHERE survey = ?",
        [state, refused, why, survey],
    )


def held_bytes(database: Connection, survey: str) -> int:
    """Returns how many bytes of an open batch are stored."""
    row = database.execute(
        "SELECT start + length(bytes) FROM mixed_pieces WHERE survey = ?"
        " ORDER BY start DESC LIMIT 1",
        [survey],
    ).fetchone()
    return 0 if row is None else int(row[0])


def enter_piece(database: Connection, survey: str, start: int, data: bytes) -> None:
    """Stores the bytes of a batch that begin at ``start``."""
    sql = "INSERT INTO mixed_pieces (survey, start, bytes) VALUES (?, ?, ?)"
    database.execute(sql, [survey, start, data])


def piece_at(database: Connection, survey: str, start: int) -> bytes:
    """Returns the stored piece of a batch that begins at ``start``; empty where there is none."""
    sql = "SELECT bytes FROM mixed_pieces WHERE survey = ? AND start = ?"
    row = database.execute(sql, [survey, start]).fetchone()
    return b"" if row is None else bytes(row[0])


def remove_pieces(database: Connection, survey: str) -> None:
    """Deletes the stored bytes of a batch."""
    database.execute("DELETE FROM mixed_pieces WHERE survey = ?", [survey])


def enter_hashes(database: Connection, survey: str, hashes: Sequence[bytes]) -> None:
    """Stores the SHA-256 of every envelope of a batch, ascending."""
    rows = [
        (survey, start // _BLOCK, b"".join(hashes[start : start + _BLOCK]))
        for start in range(0, len(hashes), _BLOCK)
    ]
    database.fill("mixed_hashes", ("survey", "number", "hashes"), rows)


def hash_block(database: Connection, survey: str, number: int) -> bytes:
    """Returns a block of the list of received envelopes, counted from 0; empty behind its end."""
    sql = "SELECT hashes FROM mixed_hashes WHERE survey = ? AND number = ?"
    row = database.execute(sql, [survey, number]).fetchone()
    return b"" if row is None else bytes(row[0])
