"""Rewrites closed surveys so that disk order no longer reveals in which order reports came.

A rewrite takes a while, so it follows the closing. The closing leaves a mark in its own
transaction, and the mark goes when the rewrite is done. Until then any process that finds the mark
begins or continues the rewrite: this server, another one or the doctor.
"""

from __future__ import annotations

from deniably_server.storage.engines.engine import REWRITE_MARK, Connection

_CLOSED, _WRITTEN = "closed", "written"
"""The value of a mark: the last step that was done."""


def mark(database: Connection, survey: str) -> None:
    """Marks a survey for a rewrite, within the transaction that closes it or deletes from it.

    A mark that is there begins again: a cleaning that is under way may have come too early.
    """
    row = [REWRITE_MARK + survey, _CLOSED]
    database.execute(
        "INSERT INTO settings VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        row,
    )


def marked(database: Connection) -> list[str]:
    """Returns the closed surveys that wait for a rewrite, in alphabetical order."""
    rows = database.execute("SELECT key FROM settings WHERE key LIKE ?", [f"{REWRITE_MARK}%"])
    return sorted(str(key).removeprefix(REWRITE_MARK) for (key,) in rows)


def erase_order(database: Connection) -> None:
    """Rewrite every marked survey. Raises what the database raises; then the marks stay."""
    surveys = marked(database)
    if not surveys:
        return
    for survey in surveys:
        _rewrite(database, survey)
    database.clean(surveys)
    # After the cleaning: a mark that is left makes the next process clean again.
    database.executemany(
        "DELETE FROM settings WHERE key = ? AND value = ?",
        [(REWRITE_MARK + survey, _WRITTEN) for survey in surveys],
    )


def forget_marks(database: Connection) -> None:
    """Removes the marks of all surveys that wait for a rewrite. It is for a copy of a database,
    whose rows were written in the order of their keys."""
    database.execute("DELETE FROM settings WHERE key LIKE ?", [f"{REWRITE_MARK}%"])


def _rewrite(database: Connection, survey: str) -> None:
    """Rewrite once, even if another process tries at the same time."""
    database.begin_rewriting()
    key = REWRITE_MARK + survey
    row = database.execute("SELECT value FROM settings WHERE key = ?", [key]).fetchone()
    if row == (_CLOSED,):
        database.rewrite(survey)
        database.execute("UPDATE settings SET value = ? WHERE key = ?", [_WRITTEN, key])
    database.commit()
