"""The tables of invitations, and of the keys that sign blindly for them (SPEC 11).

A row has a keyed hash of the invitation's code and, once used, a hash of the blinded message. The
blinded message is independent of the report, so nothing links an invitation to a report. Rows are
stored in the order of their hashes.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from deniably.trust.blind_rsa import PrivateKey, read_private_key
from deniably_server.errors import Uninvited, Used
from deniably_server.storage.engines.engine import Connection

_UNUSED = bytes(32)


@dataclass(frozen=True)
class InvitationCounts:
    """The numbers of a survey's invitations: issued and not revoked, and used."""

    issued: int
    used: int


def enter_key(database: Connection, survey: str, key: PrivateKey) -> None:
    """Store the private key that signs for a survey's invitations."""
    database.execute("INSERT INTO keys VALUES (?, ?)", [survey, key.text])


def find_key(database: Connection, survey: str) -> PrivateKey | None:
    """Returns the private key that signs invitations to a survey. Raises BadKey if damaged."""
    row = database.execute("SELECT secret FROM keys WHERE survey = ?", [survey]).fetchone()
    return None if row is None else read_private_key(row[0])


def enter_invitations(
    database: Connection, survey: str, secret: bytes, codes: Iterable[str], stratum: int
) -> None:
    """Stores new invitations for a stratum; ``secret`` is the key with which their codes are
    hashed."""
    hashes = sorted(_hash(secret, survey, code) for code in codes)  # hides the codes' order
    rows = [(each, survey, _UNUSED, stratum) for each in hashes]
    database.fill("invitations", ("hash", "survey", "blinded", "stratum"), rows)
    database.execute(
        "INSERT INTO issued (survey, stratum, invitations) VALUES (?, ?, ?)"
        " ON CONFLICT (survey, stratum)"
        " DO UPDATE SET invitations = issued.invitations + excluded.invitations",
        [survey, stratum, len(rows)],
    )


def is_spent(database: Connection, survey: str, secret: bytes, code: str, blinded: bytes) -> bool:
    """Returns whether an invitation was used already for this very blinded message.

    Raises Uninvited for an unknown code, Used where the code was used for another message.
    """
    name, seen = _hash(secret, survey, code), hashlib.sha256(blinded).digest()
    row = database.execute("SELECT blinded FROM invitations WHERE hash = ?", [name]).fetchone()
    if row is None:
        raise Uninvited("this is no invitation to this survey")
    if bytes(row[0]) not in (_UNUSED, seen):
        raise Used("this invitation was used before; everybody needs one of their own")
    return bytes(row[0]) == seen


def spend(database: Connection, survey: str, secret: bytes, code: str, blinded: bytes) -> None:
    """Marks an invitation as used for a blinded message; does nothing if it was used for this
    message already.

    Raises Uninvited for an unknown code, Used where the code was used for another message.
    """
    name, seen = _hash(secret, survey, code), hashlib.sha256(blinded).digest()
    # One statement: of two servers that are asked at once, the database lets one of them pass.
    done = database.execute(
        "UPDATE invitations SET blinded = ? WHERE hash = ? AND blinded = ?", [seen, name, _UNUSED]
    )
    if done.rowcount == 0:
        is_spent(database, survey, secret, code, blinded)


def revoke_invitations(
    database: Connection, survey: str, secret: bytes, codes: Sequence[str]
) -> int:
    """Deletes those invitations among ``codes`` that are unused; returns how many."""
    sql = "DELETE FROM invitations WHERE hash = ? AND blinded = ? RETURNING stratum"
    hashes = [_hash(secret, survey, code) for code in codes]
    taken = Counter(
        stratum for each in hashes for (stratum,) in database.execute(sql, [each, _UNUSED])
    )
    less = "UPDATE issued SET invitations = invitations - ? WHERE survey = ? AND stratum = ?"
    database.executemany(less, [(count, survey, stratum) for stratum, count in taken.items()])
    return taken.total()


def remove_invitations(database: Connection, survey: str) -> None:
    """Deletes all invitations of a survey, used or not. Their number is kept."""
    database.execute("DELETE FROM invitations WHERE survey = ?", [survey])


def issued(database: Connection, survey: str) -> dict[int, int]:
    """Returns {number of a stratum: invitations issued and not revoked}, from a stored count,
    without counting the invitations."""
    sql = "SELECT stratum, invitations FROM issued WHERE survey = ?"
    return dict(database.execute(sql, [survey]).fetchall())


def count_invitations(database: Connection, survey: str) -> InvitationCounts:
    """Returns the numbers of a survey's invitations, by counting their rows."""
    sql = "SELECT count(*), coalesce(sum(CASE WHEN blinded = ? THEN 0 ELSE 1 END), 0)"
    row = database.execute(f"{sql} FROM invitations WHERE survey = ?", [_UNUSED, survey]).fetchone()
    return InvitationCounts(int(row[0]), int(row[1]))


def _hash(secret: bytes, survey: str, code: str) -> bytes:
    return hmac.digest(secret, f"{survey}\n{code}".encode(), "sha256")
