"""The register's table: entries are appended in the transaction they record, and never change."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from deniably.core.canonical import canonical, digest
from deniably.survey.survey import Survey
from deniably.trust.register import ChainHead, RegisterEntry, closed_entry, published_entry
from deniably.trust.signing import Signature
from deniably_server.storage.engines.engine import Connection


class ListedSurvey(NamedTuple):
    """The facts about a survey that lists show. ``questions`` is the number of its questions, and
    ``epsilon`` the privacy loss of all answers of one person, as decimal text."""

    name: str
    state: str
    title: str
    questions: int
    epsilon: str


class RegisterPage(NamedTuple):
    """A page of the register. ``published`` has the entries of some publications, and ``closed``
    the dates on which these surveys were closed, by name; open surveys are left out. ``surveys``
    is the number of surveys in the whole register."""

    published: list[RegisterEntry]
    closed: dict[str, str]
    surveys: int


class _Titled(msgspec.Struct):
    """The title in a definition."""

    title: str


class _Listed(msgspec.Struct):
    """The part of a register entry that lists show."""

    epsilon: str
    questions: list[msgspec.Raw]


_titled = msgspec.json.Decoder(_Titled).decode
_listed = msgspec.json.Decoder(_Listed).decode


def enter_published(
    database: Connection, survey: Survey, signature: Signature, key: str | None
) -> None:
    """Appends the entry of a publication. ``key`` is the public key of the survey's invitations;
    None if it needs none."""
    at = last(database)
    _append(database, published_entry(survey, signature, today(), at.count + 1, at.head, key))


def author_of(database: Connection, name: str) -> str:
    """Returns the public key of the author who published a survey."""
    sql = "SELECT entry FROM register WHERE survey = ? AND event = 'published'"
    (entry,) = database.execute(sql, [name]).fetchone()
    return str(json.loads(entry)["author"])


def published_by(database: Connection, author: str) -> list[RegisterEntry]:
    """Returns the register's entries of what an author published, in the order of publication."""
    rows = database.execute(
        "SELECT entry FROM register WHERE event = 'published' AND entry LIKE ? ORDER BY number",
        [f'%"author":"{author}"%'],
    )
    # LIKE may find too many, because a text of the entry could contain the same characters.
    entries = [json.loads(entry) for (entry,) in rows]
    return [entry for entry in entries if entry["author"] == author]


def possible_waves(database: Connection, author: str, panel: str) -> list[str]:
    """Returns an author's surveys whose definitions contain the name of a panel, in order of
    publication. Some of them may not be waves of this panel: the caller must check."""
    rows = database.execute(
        "SELECT register.survey FROM register JOIN surveys ON surveys.name = register.survey"
        " WHERE event = 'published' AND entry LIKE ? AND definition LIKE ? ORDER BY number",
        [f'%"author":"{author}"%', f'%"panel":"{panel}"%'],
    )
    return [name for (name,) in rows]


def entry_size(database: Connection, name: str) -> int:
    """Returns the approximate size of a publication's entry in the register, in bytes."""
    sql = "SELECT length(entry) + 1 FROM register WHERE survey = ? AND event = 'published'"
    return int(database.execute(sql, [name]).fetchone()[0])


def enter_closed(database: Connection, name: str) -> None:
    """Append the entry of a closing, unless it is there."""
    events = dict(
        database.execute("SELECT event, entry FROM register WHERE survey = ?", [name]).fetchall()
    )
    if "closed" not in events:
        version, at = json.loads(events["published"])["digest"], last(database)
        _append(database, closed_entry(name, version, today(), at.count + 1, at.head))


def entries(database: Connection, after: int) -> list[str]:
    """Returns the canonical JSON of the register's entries from number ``after + 1`` on."""
    rows = database.execute("SELECT entry FROM register WHERE number > ? ORDER BY number", [after])
    return [text for (text,) in rows]


def last(database: Connection) -> ChainHead:
    """Returns the number of entries in the register, and the hash of the last one."""
    row = database.execute(
        "SELECT number, hash FROM register ORDER BY number DESC LIMIT 1"
    ).fetchone()
    return ChainHead(row[0], row[1]) if row else ChainHead()


def hashes_after(database: Connection, number: int) -> list[tuple[str, str | None]]:
    """Returns (hash, survey) for each entry after this number: the name of the survey that the
    entry publishes, or None if it publishes none."""
    rows = database.execute(
        "SELECT hash, event, survey FROM register WHERE number > ? ORDER BY number", [number]
    )
    return [(hash_, name if event == "published" else None) for hash_, event, name in rows]


def day_of(database: Connection, number: int) -> str | None:
    """Returns the date of an entry, such as 2026-11-21; None where there is no such entry."""
    row = database.execute("SELECT entry FROM register WHERE number = ?", [number]).fetchone()
    return str(json.loads(row[0])["day"]) if row else None


def publication(database: Connection, name: str) -> RegisterEntry | None:
    """Returns the register's entry of a survey's publication; None where there is no such
    survey."""
    sql = "SELECT entry FROM register WHERE survey = ? AND event = 'published'"
    row = database.execute(sql, [name]).fetchone()
    return json.loads(row[0]) if row else None


_LISTED_SURVEYS = (
    "SELECT surveys.name, state, definition, entry FROM surveys JOIN register"
    " ON register.survey = surveys.name AND event = 'published'"
)


def listed_surveys(database: Connection, start: int, count: int) -> list[ListedSurvey]:
    """Returns ``count`` surveys in alphabetical order, from number ``start`` on."""
    order = " ORDER BY surveys.name LIMIT ? OFFSET ?"
    return [_card(*row) for row in database.execute(_LISTED_SURVEYS + order, [count, start])]


def newest_surveys(database: Connection, count: int) -> list[ListedSurvey]:
    """Returns the ``count`` surveys that were published last, the newest first."""
    order = " ORDER BY register.number DESC LIMIT ?"
    return [_card(*row) for row in database.execute(_LISTED_SURVEYS + order, [count])]


def _card(name: str, state: str, definition: str, entry: str) -> ListedSurvey:
    facts = _listed(entry)
    return ListedSurvey(name, state, _titled(definition).title, len(facts.questions), facts.epsilon)


def register_page(database: Connection, start: int, count: int) -> RegisterPage:
    """Returns ``count`` surveys of the register from number ``start`` on, the newest first."""
    published = database.execute(
        "SELECT survey, entry FROM register WHERE event = 'published'"
        " ORDER BY number DESC LIMIT ? OFFSET ?",
        [count, start],
    ).fetchall()
    days = {survey: day for survey, _ in published if (day := closing_day(database, survey))}
    sql = "SELECT count(*) FROM register WHERE event = 'published'"
    (surveys,) = database.execute(sql).fetchone()
    entries = [json.loads(entry) for _, entry in published]
    return RegisterPage(entries, days, surveys)


def publication_day(database: Connection, name: str) -> str:
    """Returns the date on which a survey was published, such as 2026-11-21."""
    sql = "SELECT entry FROM register WHERE survey = ? AND event = 'published'"
    (entry,) = database.execute(sql, [name]).fetchone()
    return str(json.loads(entry)["day"])


def closing_day(database: Connection, name: str) -> str:
    """Returns the date on which a survey was closed, such as 2026-11-21; empty while it is open."""
    sql = "SELECT entry FROM register WHERE survey = ? AND event = 'closed'"
    row = database.execute(sql, [name]).fetchone()
    return str(json.loads(row[0])["day"]) if row else ""


def today() -> str:
    """Returns the date in UTC, as YYYY-MM-DD. For acts of authors, never of respondents."""
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
