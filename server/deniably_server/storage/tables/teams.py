"""Groups that write surveys together in the studio: the table of teams, and of their members.

A member is a token, and a team's surveys are those that its members' tokens published.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from deniably_server.storage.engines.engine import Connection

LONGEST_NAME, LONGEST_CONTACT = 100, 200


@dataclass(frozen=True)
class Team:
    """A group of authors. ``key`` is the public key of its signature, in hexadecimal, by which
    devices know who wrote a survey."""

    id: str
    name: str
    contact: str
    key: str


def new_team(name: str, contact: str, key: str) -> Team:
    """Returns a team with a new random id. Raises ValueError, with a sentence, unless the name and
    the contact are one line each, of at most 100 and 200 characters."""
    for what, text, longest in (
        ("name", name, LONGEST_NAME),
        ("contact", contact, LONGEST_CONTACT),
    ):
        if not 1 <= len(text) <= longest or not text.isprintable():
            raise ValueError(
                f"the {what} of the group has {len(text)} characters; write one line of 1 to"
                f" {longest} characters"
            )
    return Team(secrets.token_hex(8), name, contact, key)


def enter_team(database: Connection, team: Team) -> None:
    """Store a team."""
    row = (team.id, team.name, team.contact, team.key)
    database.execute("INSERT INTO teams (id, name, contact, key) VALUES (?, ?, ?, ?)", row)


def enter_member(database: Connection, token: str, team: str) -> None:
    """Make a token a member of a team."""
    database.execute("INSERT INTO members (token, team) VALUES (?, ?)", [token, team])


def team_of(database: Connection, token: str) -> Team | None:
    """Returns the team that a token is a member of; None if it is of none."""
    sql = (
        "SELECT teams.id, name, contact, key FROM teams JOIN members ON members.team = teams.id"
        " WHERE members.token = ?"
    )
    row = database.execute(sql, [token]).fetchone()
    return None if row is None else Team(*row)


def signers_of(database: Connection, key: str) -> list[tuple[str, str]]:
    """Returns (token, team) for the members of each team whose signature has this public key."""
    sql = (
        "SELECT members.token, teams.id FROM teams JOIN members ON members.team = teams.id"
        " WHERE teams.key = ? ORDER BY members.token"
    )
    return [(str(token), str(team)) for token, team in database.execute(sql, [key])]


def team_of_survey(database: Connection, survey: str) -> str | None:
    """Returns the id of the team whose member published a survey; None where it is of none."""
    sql = (
        "SELECT members.team FROM owners JOIN members ON members.token = owners.token"
        " WHERE survey = ?"
    )
    row = database.execute(sql, [survey]).fetchone()
    return None if row is None else str(row[0])


def surveys_of(database: Connection, team: str) -> list[str]:
    """Returns the names of the surveys that a team's members published, in alphabetical order."""
    sql = (
        "SELECT survey FROM owners JOIN members ON members.token = owners.token"
        " WHERE members.team = ? ORDER BY survey"
    )
    return [str(survey) for (survey,) in database.execute(sql, [team])]
