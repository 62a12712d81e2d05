"""The register's table: entries are appended in the transaction of what they tell, and stay."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from deniably.canonical import canonical, digest
from deniably.register import Seen, closed_entry, published_entry
from deniably.signing import Signature
from deniably.survey import Survey
from deniably_server.errors import Conflict
from deniably_server.storage.engine import Connection


def enter_published(
    database: Connection, survey: Survey, signature: Signature, key: str | None = None
) -> bool:
    """Append that the survey was published. False where the register has it already. ``key`` is
    the public one of its invitations, where it has such.

    Raises Conflict where another author signed it then.
    """
    found = database.execute(
        "SELECT entry FROM register WHERE survey = ? AND event = 'published'", [survey.name]
    ).fetchone()
    if found is None:
        at = last(database)
        _append(database, published_entry(survey, signature, today(), at.count + 1, at.head, key))
    elif json.loads(found[0])["author"] != signature.author:
        raise Conflict("this survey was published under another author's key")
    return found is None


def enter_closed(database: Connection, name: str) -> None:
    """Append that a survey was closed, once, if the register has it."""
    events = database.execute(
        "SELECT event, entry FROM register WHERE survey = ?", [name]
    ).fetchall()
    if [event for event, _ in events] == ["published"]:
        version, at = json.loads(events[0][1])["digest"], last(database)
        _append(database, closed_entry(name, version, today(), at.count + 1, at.head))


def entries(database: Connection, after: int) -> list[str]:
    """The canonical JSON of the entries from number ``after + 1`` on."""
    rows = database.execute("SELECT entry FROM register WHERE number > ? ORDER BY number", [after])
    return [text for (text,) in rows]


def last(database: Connection) -> Seen:
    """How many entries there are, and the hash of the last of them."""
    row = database.execute(
        "SELECT number, hash FROM register ORDER BY number DESC LIMIT 1"
    ).fetchone()
    return Seen(row[0], row[1]) if row else Seen()


def today() -> str:
    """The date in UTC. Of an author's act, and never of a respondent's."""
    return datetime.now(UTC).date().isoformat()


def _append(database: Connection, entry: dict[str, Any]) -> None:
    database.execute(
        "INSERT INTO register VALUES (?, ?, ?, ?, ?)",
        (
            entry["number"],
            entry["event"],
            entry["survey"],
            canonical(entry).decode(),
            digest(entry),
        ),
    )
