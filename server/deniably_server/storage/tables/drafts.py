"""The tables of drafts of surveys and of their newest revisions. An edit names the revision that it
was made from."""

from __future__ import annotations

from dataclasses import dataclass

from deniably_server.storage.engines.engine import Connection
from deniably_server.storage.tables.tokens import day_in

MOST_DRAFTS = 200
"""Drafts of a team that are not deleted."""
MOST_VERSIONS, _BYTES = 50, 4 << 20
"""Revisions of a draft that are kept, and what they take together at most."""
KEPT_DAYS = 30
"""Days for which a deleted draft can be brought back."""


@dataclass(frozen=True)
class StoredDraft:
    """The newest revision of a draft: its ``document`` is JSON, ``day`` that of the last edit, and
    ``gone`` the day on which it was deleted, else empty."""

    id: str
    team: str
    revision: int
    day: str
    gone: str
    document: str


_NEWEST = (
    "SELECT drafts.id, team, drafts.revision, day, gone, document FROM drafts"
    " JOIN draft_versions ON draft = drafts.id AND draft_versions.revision = drafts.revision"
)


def enter_draft(database: Connection, draft: str, team: str, edit: str, document: str) -> None:
    """Stores a new draft of a team, as revision 1; ``edit`` is the random id of the edit that makes
    it."""
    database.execute(
        "INSERT INTO drafts (id, team, revision, day, gone) VALUES (?, ?, 1, ?, '')",
        [draft, team, day_in(0)],
    )
    _enter_version(database, draft, 1, edit, document)


def find_draft(database: Connection, draft: str) -> StoredDraft | None:
    """Returns the newest revision of a draft; None if there is none."""
    row = database.execute(f"{_NEWEST} WHERE drafts.id = ?", [draft]).fetchone()
    return None if row is None else StoredDraft(*row)


def drafts_of(database: Connection, team: str) -> list[StoredDraft]:
    """Returns a team's drafts, those that were edited last first; deleted ones, too."""
    rows = database.execute(f"{_NEWEST} WHERE team = ? ORDER BY day DESC, drafts.id", [team])
    return [StoredDraft(*row) for row in rows]


def count_drafts(database: Connection, team: str) -> int:
    """Returns the number of a team's drafts that are not deleted."""
    sql = "SELECT count(*) FROM drafts WHERE team = ? AND gone = ''"
    return int(database.execute(sql, [team]).fetchone()[0])


def find_version(database: Connection, draft: str, revision: int) -> str | None:
    """Returns the document of a revision; None if it is no longer kept."""
    sql = "SELECT document FROM draft_versions WHERE draft = ? AND revision = ?"
    row = database.execute(sql, [draft, revision]).fetchone()
    return None if row is None else str(row[0])


def revision_of_edit(database: Connection, draft: str, edit: str) -> int | None:
    """Returns the revision that the edit with this id made; None if it made none, or its revision
    is no longer kept."""
    sql = "SELECT revision FROM draft_versions WHERE draft = ? AND edit = ?"
    row = database.execute(sql, [draft, edit]).fetchone()
    return None if row is None else int(row[0])


def add_version(database: Connection, draft: StoredDraft, edit: str, document: str) -> StoredDraft:
    """Stores ``document`` as the next revision of a draft, made by ``edit``, and deletes the
    oldest revisions; returns the draft in the new revision."""
    revision = draft.revision + 1
    _enter_version(database, draft.id, revision, edit, document)
    # At least two, so that a page that is one edit behind can be merged.
    kept = max(2, min(MOST_VERSIONS, _BYTES // max(len(document.encode()), 1)))
    database.execute(
        "DELETE FROM draft_versions WHERE draft = ? AND revision <= ?", [draft.id, revision - kept]
    )
    day = day_in(0)
    database.execute(
        "UPDATE drafts SET revision = ?, day = ? WHERE id = ?", [revision, day, draft.id]
    )
    return StoredDraft(draft.id, draft.team, revision, day, draft.gone, document)


def mark_gone(database: Connection, draft: str, *, gone: bool) -> None:
    """Marks a draft as deleted today, or brings it back if not ``gone``."""
    database.execute("UPDATE drafts SET gone = ? WHERE id = ?", [day_in(0) if gone else "", draft])


def take_draft(database: Connection, draft: str) -> None:
    """Delete a draft with all its revisions and the link to its trial, for good."""
    database.execute("DELETE FROM trials WHERE draft = ?", [draft])
    database.execute("DELETE FROM draft_versions WHERE draft = ?", [draft])
    database.execute("DELETE FROM drafts WHERE id = ?", [draft])


def purge_drafts(database: Connection) -> None:
    """Delete the drafts for good that were deleted more than ``KEPT_DAYS`` days ago."""
    old = "gone <> '' AND gone < ?"
    for sql in (
        # The drafts themselves come last, as the other statements look them up.
        f"DELETE FROM trials WHERE draft IN (SELECT id FROM drafts WHERE {old})",  # noqa: S608
        f"DELETE FROM draft_versions WHERE draft IN (SELECT id FROM drafts WHERE {old})",  # noqa: S608
        f"DELETE FROM drafts WHERE {old}",  # noqa: S608
    ):
        database.execute(sql, [day_in(-KEPT_DAYS)])


def _enter_version(
    database: Connection, draft: str, revision: int, edit: str, document: str
) -> None:
    database.execute(
        "INSERT INTO draft_versions (draft, revision, edit, document) VALUES (?, ?, ?, ?)",
        [draft, revision, edit, document],
    )
