"""Bearer tokens, which give roles, and their table.

A token is ``deniably_<id>_<secret>``. The id is public and finds the row. The secret is 256 random
bits. The table has only the SHA-256 of the whole token, so a copy of the database gives nobody
access.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Literal, get_args

from deniably.survey.parts import SURVEY_NAME
from deniably_server.storage.engines.engine import Connection, DatabaseRow

Role = Literal["author", "analyst", "monitor", "operator"]

ROLES: tuple[Role, ...] = get_args(Role)
WIDE: tuple[Role, ...] = ("monitor", "operator")
"""Roles for the whole server; their tokens cannot be limited to one survey."""
A = {
    "author": "an author's",
    "analyst": "an analyst's",
    "monitor": "a monitor's",
    "operator": "an operator's",
}
"""The role in a sentence, before the word "token"."""
DAYS, MOST_DAYS = 365, 3660
LONGEST_NOTE = 200

_SHAPE = re.compile(r"deniably_([0-9a-f]{12})_[\w-]{43}", re.ASCII)
_COLUMNS = "id, hash, role, survey, until, note, revoked"


@dataclass(frozen=True)
class Token:
    """The stored form of a bearer token.

    ``survey`` is the only survey that the token gives access to, or None for all. ``until`` is its
    last valid day, in UTC.
    """

    id: str
    hash: str = field(repr=False)
    role: Role
    survey: str | None
    until: str
    note: str
    revoked: bool = False

    def is_of(self, text: str) -> bool:
        """Returns whether ``text`` is the text of this token; compares in constant time."""
        return hmac.compare_digest(hash_of(text), self.hash)

    @property
    def expired(self) -> bool:
        """Whether the last valid day is over."""
        return self.until < day_in(0)

    @property
    def document(self) -> dict[str, object]:
        """The token as operators see it, without its hash."""
        state = "revoked" if self.revoked else "expired" if self.expired else "valid"
        return {
            "id": self.id,
            "role": self.role,
            "survey": self.survey,
            "until": self.until,
            "note": self.note,
            "state": state,
        }


def make(
    role: Role, survey: str | None = None, days: int = DAYS, note: str = ""
) -> tuple[Token, str]:
    """Makes a token; returns it, in its stored form, and its text, which is stored nowhere.

    Raises ValueError, with a sentence, where ``survey`` is no name of a survey, or is given for a
    role of the whole server, and where ``days`` or ``note`` is too long.
    """
    if role in WIDE and survey is not None:
        raise ValueError(f"{A[role]} token is for the whole server; leave the survey out")
    if survey is not None and not re.match(SURVEY_NAME, survey):
        raise ValueError(
            f"the survey's name is {survey[:64]!r}; use only lower-case letters, digits and hyphens"
        )
    if not 1 <= days <= MOST_DAYS:
        raise ValueError(f"a token is valid for 1 to {MOST_DAYS} days, not for {days}")
    if len(note) > LONGEST_NOTE or not note.isprintable():
        raise ValueError(
            f"the note has {len(note)} characters; use one line of at most"
            f" {LONGEST_NOTE} characters"
        )
    name = secrets.token_hex(6)
    text = f"deniably_{name}_{secrets.token_urlsafe(32)}"
    return Token(name, hash_of(text), role, survey, day_in(days), note), text


def id_in(text: str) -> str | None:
    """Returns the id in a token's text; None if the text has not the form of a token."""
    match = _SHAPE.fullmatch(text)
    return match[1] if match else None


def hash_of(secret: str) -> str:
    """Returns the SHA-256 of a secret, in hexadecimal."""
    # The secret has 256 random bits, so a slow password hash would add nothing.
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def day_in(days: int) -> str:
    """Returns the UTC date ``days`` days from now, such as "2026-11-21"."""
    try:
        return (datetime.now(UTC).date() + timedelta(days)).isoformat()
    except OverflowError:  # the clock is at the end of time
        return date.max.isoformat()


def enter_token(database: Connection, token: Token) -> None:
    """Store a token."""
    database.execute(
        f"INSERT INTO tokens ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
        (
            token.id,
            token.hash,
            token.role,
            token.survey,
            token.until,
            token.note,
            int(token.revoked),
        ),
    )


def find_token(database: Connection, name: str) -> Token | None:
    """Returns the token with this id; None if there is none."""
    sql = f"SELECT {_COLUMNS} FROM tokens WHERE id = ?"  # noqa: S608
    row = database.execute(sql, [name]).fetchone()
    return None if row is None else _token(row)


def every_token(database: Connection) -> list[Token]:
    """Returns all tokens, sorted by role and last day."""
    sql = f"SELECT {_COLUMNS} FROM tokens ORDER BY role, until, id"  # noqa: S608
    return [_token(row) for row in database.execute(sql)]


def revoke_token(database: Connection, name: str) -> bool:
    """Revoke a token, for good. Returns False where no token has this id."""
    done = database.execute("UPDATE tokens SET revoked = 1 WHERE id = ?", [name])
    return done.rowcount == 1


def renew_token(database: Connection, name: str) -> None:
    """Makes a token valid for ``DAYS`` days from today, unless it is valid for longer or is
    revoked."""
    until = day_in(DAYS)
    sql = "UPDATE tokens SET until = ? WHERE id = ? AND until < ? AND revoked = 0"
    database.execute(sql, [until, name, until])


def _token(row: DatabaseRow) -> Token:
    name, hash_, role, survey, until, note, revoked = row
    return Token(name, hash_, role, survey, until, note, bool(revoked))
