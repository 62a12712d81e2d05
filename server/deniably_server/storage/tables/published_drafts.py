"""The drafts that became surveys, as their authors wrote them, so that they can be asked again."""

from __future__ import annotations

from deniably_server.storage.engines.engine import Connection


def enter_published_draft(
    database: Connection, survey: str, draft: str, team: str, document: str
) -> None:
    """Store the draft that was published as a survey; ``document`` is its JSON."""
    database.execute(
        "INSERT INTO published_drafts (survey, draft, team, document) VALUES (?, ?, ?, ?)",
        [survey, draft, team, document],
    )


def survey_of_draft(database: Connection, team: str, draft: str) -> str | None:
    """Returns the name of the survey that a group's draft became; None if it became none."""
    sql = "SELECT survey FROM published_drafts WHERE team = ? AND draft = ?"
    row = database.execute(sql, [team, draft]).fetchone()
    return None if row is None else str(row[0])


def find_published_draft(database: Connection, team: str, survey: str) -> str | None:
    """Returns the document of the draft that became a group's survey; None if the survey came from
    no draft."""
    sql = "SELECT document FROM published_drafts WHERE team = ? AND survey = ?"
    row = database.execute(sql, [team, survey]).fetchone()
    return None if row is None else str(row[0])
