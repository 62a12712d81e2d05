"""Invitations: their table, and the keys that sign for them without seeing what (SPEC 11).

Of an invitation a keyed hash is kept, and what was signed for it only as a hash of a number that
says nothing of the report: no column is shared with the reports, and nothing here is ordered.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from deniably.trust.blind_rsa import PrivateKey, read_private_key
from deniably_server.errors import Uninvited, Used
from deniably_server.storage.engines.engine import Connection

_UNUSED = bytes(32)


@dataclass(frozen=True)
class InvitationCounts:
    """How many invitations of a survey there are, and how many of them were traded."""

    issued: int
    used: int


def enter_key(database: Connection, survey: str, key: PrivateKey) -> None:
    """Keep the key of a new survey."""
    database.execute("INSERT INTO keys VALUES (?, ?)", [survey, key.text])


def find_key(database: Connection, survey: str) -> PrivateKey | None:
    """The key that signs for a survey's invitations. Raises BadKey for what is none."""
    row = database.execute("SELECT secret FROM keys WHERE survey = ?", [survey]).fetchone()
    return None if row is None else read_private_key(row[0])


def enter_invitations(
    database: Connection, survey: str, secret: bytes, codes: Iterable[str]
) -> None:
    """Keep that these were issued."""
    hashes = sorted(_hash(secret, survey, code) for code in codes)  # nothing of their order
    rows = [(each, survey, _UNUSED) for each in hashes]
    database.fill("invitations", ("hash", "survey", "blinded"), rows)
    database.execute(
        "INSERT INTO issued (survey, invitations) VALUES (?, ?) ON CONFLICT (survey)"
        " DO UPDATE SET invitations = issued.invitations + excluded.invitations",
        [survey, len(rows)],
    )


def is_spent(database: Connection, survey: str, secret: bytes, code: str, blinded: bytes) -> bool:
    """Whether an invitation was used already, for this very message.

    Raises Uninvited where there is no such invitation, Used where it was for another message.
    """
    name, seen = _hash(secret, survey, code), hashlib.sha256(blinded).digest()
    row = database.execute("SELECT blinded FROM invitations WHERE hash = ?", [name]).fetchone()
    if row is None:
        raise Uninvited("this is no invitation to this survey")
    if bytes(row[0]) not in (_UNUSED, seen):
        raise Used("this invitation was used before; everybody needs one of their own")
    return bytes(row[0]) == seen


def spend(database: Connection, survey: str, secret: bytes, code: str, blinded: bytes) -> None:
    """Use an invitation for a blinded message. Raises what ``is_spent`` raises."""
    if not is_spent(database, survey, secret, code, blinded):
        name, seen = _hash(secret, survey, code), hashlib.sha256(blinded).digest()
        database.execute("UPDATE invitations SET blinded = ? WHERE hash = ?", [seen, name])


def revoke_invitations(
    database: Connection, survey: str, secret: bytes, codes: Sequence[str]
) -> int:
    """Take invitations back that are not used; how many there were."""
    sql = "DELETE FROM invitations WHERE hash = ? AND blinded = ?"
    hashes = [_hash(secret, survey, code) for code in codes]
    taken = sum(database.execute(sql, [each, _UNUSED]).rowcount for each in hashes)
    less = "UPDATE issued SET invitations = invitations - ? WHERE survey = ?"
    database.execute(less, [taken, survey])
    return taken


def issued(database: Connection, survey: str) -> int:
    """How many invitations stand, used or not. Costs the same however many there are."""
    sql = "SELECT invitations FROM issued WHERE survey = ?"
    row = database.execute(sql, [survey]).fetchone()
    return 0 if row is None else int(row[0])


def count_invitations(database: Connection, survey: str) -> InvitationCounts:
    """How many there are, and were traded; never when."""
    sql = "SELECT count(*), coalesce(sum(CASE WHEN blinded = ? THEN 0 ELSE 1 END), 0)"
    row = database.execute(f"{sql} FROM invitations WHERE survey = ?", [_UNUSED, survey]).fetchone()
    return InvitationCounts(int(row[0]), int(row[1]))


def _hash(secret: bytes, survey: str, code: str) -> bytes:
    return hmac.digest(secret, f"{survey}\n{code}".encode(), "sha256")
