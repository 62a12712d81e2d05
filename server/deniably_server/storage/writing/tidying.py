"""What a closing leaves to be done: nothing may tell in which order the survey's reports came.

That writes much anew and takes a while, so it comes after the closing, which leaves a mark in the
same transaction. The mark is taken away when all is done; until then whoever finds it begins again
or goes on, be it the server, another one or the doctor, and whatever failed or was killed between.
"""

from __future__ import annotations

from deniably_server.storage.engines.engine import Connection

_MARK = "untidy "
"""Before the name of a survey: the key of its mark among the settings."""
_CLOSED, _WRITTEN = "closed", "written"
"""What was done last."""


def mark(database: Connection, survey: str) -> None:
    """Within the transaction that closes a survey."""
    row = [_MARK + survey, _CLOSED]
    database.execute("INSERT INTO settings VALUES (?, ?) ON CONFLICT (key) DO NOTHING", row)


def marked(database: Connection) -> list[str]:
    """The closed surveys of which something may tell the order still."""
    rows = database.execute("SELECT key FROM settings WHERE key LIKE ?", [f"{_MARK}%"])
    return sorted(str(key).removeprefix(_MARK) for (key,) in rows)


def tidy(database: Connection) -> None:
    """Do what is to be done. Raises what the database raises; the marks stay then."""
    surveys = marked(database)
    if not surveys:
        return
    for survey in surveys:
        _write_anew(database, survey)
    database.clean(surveys)
    database.executemany(
        "DELETE FROM settings WHERE key = ? AND value = ?",
        [(_MARK + survey, _WRITTEN) for survey in surveys],
    )


def forget_marks(database: Connection) -> None:
    """Of a copy, whose rows are written by their keys."""
    database.execute("DELETE FROM settings WHERE key LIKE ?", [f"{_MARK}%"])


def _write_anew(database: Connection, survey: str) -> None:
    """Once, whoever else does it at the same time."""
    database.begin_rewriting()
    key = _MARK + survey
    row = database.execute("SELECT value FROM settings WHERE key = ?", [key]).fetchone()
    if row == (_CLOSED,):
        database.write_anew(survey)
        database.execute("UPDATE settings SET value = ? WHERE key = ?", [_WRITTEN, key])
    database.commit()
