"""The surveys' table: definitions, which never change, and whether each survey is open."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, cast

from deniably.survey.survey import Survey
from deniably_server.storage.engines.engine import Connection

State = Literal["open", "closed"]


def enter_survey(database: Connection, survey: Survey) -> None:
    """Store a new, open survey."""
    row = (survey.name, survey.digest, survey.canonical.decode())
    database.execute("INSERT INTO surveys VALUES (?, ?, ?, 'open')", row)


def find_digest(database: Connection, name: str) -> str | None:
    """Returns the digest of a survey's definition; None if there is no such survey."""
    row = database.execute("SELECT digest FROM surveys WHERE name = ?", [name]).fetchone()
    return None if row is None else str(row[0])


def find_definition(database: Connection, name: str) -> str | None:
    """Returns the canonical JSON of a definition; None if there is no such survey."""
    row = database.execute("SELECT definition FROM surveys WHERE name = ?", [name]).fetchone()
    return None if row is None else str(row[0])


def find_state(database: Connection, name: str) -> State | None:
    """Returns the state of a survey; None if there is no such survey."""
    row = database.execute("SELECT state FROM surveys WHERE name = ?", [name]).fetchone()
    return None if row is None else cast(State, row[0])


def states_of(database: Connection, names: Iterable[str]) -> dict[str, State]:
    """Returns the states of several surveys, by name; unknown names are left out."""
    states: list[tuple[str, State | None]] = [(name, find_state(database, name)) for name in names]
    return {name: state for name, state in states if state is not None}


def digests(database: Connection) -> dict[str, str]:
    """Returns the digest of every survey's definition, by name."""
    return dict(database.execute("SELECT name, digest FROM surveys"))


def survey_names(database: Connection, state: State | None = None) -> list[str]:
    """Returns the names of all surveys, or of those in one state, in alphabetical order."""
    rows = database.execute("SELECT name, state FROM surveys")
    return sorted(name for name, its_state in rows if state in (None, its_state))


def count_surveys(database: Connection) -> int:
    """Returns the number of surveys."""
    return int(database.execute("SELECT count(*) FROM surveys").fetchone()[0])


def mark_closed(database: Connection, name: str) -> None:
    """Marks a survey as closed, for good."""
    database.execute("UPDATE surveys SET state = 'closed' WHERE name = ?", [name])
