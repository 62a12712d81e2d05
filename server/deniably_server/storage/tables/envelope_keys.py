"""The table of the server's keys of envelopes: what opens the reports that mixers pass on.

An author asks for a key, and publishes a survey with its public half. The key is that survey's
alone. It is deleted when the survey's batch was taken, so nobody can open an envelope afterwards.
"""

from __future__ import annotations

from deniably.core.errors import BadSurvey, Problem
from deniably_server.errors import Quota
from deniably_server.storage.engines.engine import Connection
from deniably_server.storage.tables.tokens import day_in

MOST_UNUSED = 100
"""Keys of one token that no published survey has."""
UNUSED_DAYS = 30
"""Days after which such a key is deleted."""


def enter_envelope_key(database: Connection, open_: str, secret: str, token: str) -> None:
    """Stores a new key, with its public half ``open_``, for the token with this id. Deletes all
    keys that were not used for 30 days.

    Raises Quota where the token has too many unused keys.
    """
    database.execute(
        "DELETE FROM envelope_keys WHERE survey IS NULL AND day < ?", [day_in(-UNUSED_DAYS)]
    )
    sql = "SELECT count(*) FROM envelope_keys WHERE survey IS NULL AND token = ?"
    (unused,) = database.execute(sql, [token]).fetchone()
    if unused >= MOST_UNUSED:
        raise Quota(
            f"this token has {MOST_UNUSED} keys of envelopes that no survey uses; publish a survey"
            f" with one of them, or wait: they are deleted after {UNUSED_DAYS} days"
        )
    database.execute(
        "INSERT INTO envelope_keys (open, secret, token, day) VALUES (?, ?, ?, ?)",
        [open_, secret, token, day_in(0)],
    )


def is_unused_key(database: Connection, open_: str, token: str) -> bool:
    """Returns whether the token with this id has this key, and no survey uses it."""
    sql = "SELECT count(*) FROM envelope_keys WHERE open = ? AND survey IS NULL AND token = ?"
    (found,) = database.execute(sql, [open_, token]).fetchone()
    return bool(found)


def use_envelope_key(database: Connection, open_: str, survey: str, token: str) -> None:
    """Gives an unused key to the survey that was published with it.

    Raises BadSurvey unless the key was issued to the token with this id, and is unused.
    """
    used = database.execute(
        "UPDATE envelope_keys SET survey = ? WHERE open = ? AND survey IS NULL AND token = ?",
        [survey, open_, token],
    )
    if used.rowcount != 1:
        raise BadSurvey(
            [
                Problem(
                    "$.mixer.open",
                    "this is no unused key of envelopes that this server gave you, so nobody could"
                    " read the answers; leave out open, and deniably publish asks the server for a"
                    " new key",
                )
            ]
        )


def find_envelope_key(database: Connection, survey: str) -> str | None:
    """Returns the private key of a survey, in PEM; None where there is none, or it was deleted."""
    sql = "SELECT secret FROM envelope_keys WHERE survey = ?"
    row = database.execute(sql, [survey]).fetchone()
    return None if row is None else str(row[0])


def remove_envelope_key(database: Connection, survey: str) -> None:
    """Deletes the key of a survey."""
    database.execute("DELETE FROM envelope_keys WHERE survey = ?", [survey])
