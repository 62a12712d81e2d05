"""The tables of the surveys that a mixer takes envelopes for: terms, states and private keys."""

from __future__ import annotations

from typing import Literal, NamedTuple, cast

from deniably_server.storage.engines.engine import Connection

MixState = Literal["open", "closed", "made", "passed", "too few", "told", "refused", "given up"]
"""Takes envelopes; takes none, and has no batch yet; has a batch; the batch was taken, and all is
deleted; all was deleted, because fewer people sent than the survey needs; the survey's server knows
that; it refused the batch instead; the mixer's owner deleted the batch, which was not taken."""


class Mix(NamedTuple):
    """A row of the table: a survey's ``terms`` as JSON, the last day on which the mixer takes
    envelopes, where the survey is published (``source``, JSON), and the state."""

    terms: str
    until: str
    source: str
    state: MixState


def enter_mix(database: Connection, survey: str, terms: str, until: str, source: str) -> None:
    """Stores a new survey, open, under the digest of its definition."""
    database.execute(
        "INSERT INTO mixes (survey, terms, until, source, state) VALUES (?, ?, ?, ?, 'open')",
        [survey, terms, until, source],
    )


def find_mix(database: Connection, survey: str) -> Mix | None:
    """Returns the row of a survey; None if the mixer does not know it."""
    sql = "SELECT terms, until, source, state FROM mixes WHERE survey = ?"
    row = database.execute(sql, [survey]).fetchone()
    return None if row is None else Mix(str(row[0]), str(row[1]), str(row[2]), row[3])


def all_mixes(database: Connection) -> list[str]:
    """Returns the digests of all surveys, in their order."""
    return [str(survey) for (survey,) in database.execute("SELECT survey FROM mixes ORDER BY 1")]


def mixes_in(database: Connection, state: MixState) -> list[str]:
    """Returns the digests of the surveys in a state, in their order."""
    rows = database.execute("SELECT survey FROM mixes WHERE state = ? ORDER BY survey", [state])
    return [str(survey) for (survey,) in rows]


def state_of(database: Connection, survey: str) -> MixState | None:
    """Returns the state of a survey; None if the mixer does not know it."""
    row = database.execute("SELECT state FROM mixes WHERE survey = ?", [survey]).fetchone()
    return None if row is None else cast(MixState, row[0])


def set_state(database: Connection, survey: str, state: MixState) -> None:
    """Moves a survey on. The database refuses any way but those that there are."""
    database.execute("UPDATE mixes SET state = ? WHERE survey = ?", [state, survey])


def enter_reason(database: Connection, survey: str, reason: str) -> None:
    """Stores why the survey's server refused the batch."""
    database.execute("UPDATE mixes SET reason = ? WHERE survey = ?", [reason, survey])


def find_reason(database: Connection, survey: str) -> str:
    """Returns why the survey's server refused the batch; empty where it did not."""
    row = database.execute("SELECT reason FROM mixes WHERE survey = ?", [survey]).fetchone()
    return "" if row is None else str(row[0])


def enter_manifest(database: Connection, survey: str, manifest: str, signature: str) -> None:
    """Stores the signed manifest of a survey's batch, for good."""
    sql = "UPDATE mixes SET manifest = ?, signature = ? WHERE survey = ?"
    database.execute(sql, [manifest, signature, survey])


def find_manifest(database: Connection, survey: str) -> tuple[str, str] | None:
    """Returns (manifest, signature) of a survey's batch; None before it is made."""
    sql = "SELECT manifest, signature FROM mixes WHERE survey = ? AND manifest <> ''"
    row = database.execute(sql, [survey]).fetchone()
    return None if row is None else (str(row[0]), str(row[1]))


def enter_mixer_keys(database: Connection, survey: str, opening: str, signing: str) -> None:
    """Stores the private keys of a survey, in PEM."""
    database.execute("INSERT INTO mixer_keys VALUES (?, ?, ?)", [survey, opening, signing])


def find_mixer_keys(database: Connection, survey: str) -> tuple[str, str] | None:
    """Returns (opening key, signing key) of a survey, in PEM; None once they are deleted."""
    sql = "SELECT opening, signing FROM mixer_keys WHERE survey = ?"
    row = database.execute(sql, [survey]).fetchone()
    return None if row is None else (str(row[0]), str(row[1]))


def remove_mixer_keys(database: Connection, survey: str) -> None:
    """Deletes the private keys of a survey."""
    database.execute("DELETE FROM mixer_keys WHERE survey = ?", [survey])
