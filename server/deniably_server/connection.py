"""Opening the database file: every connection is set up here, the same way."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress

_BUSY_SECONDS = 10
_PRAGMAS = (
    "PRAGMA journal_mode = WAL",  # who reads never waits for who writes
    "PRAGMA synchronous = FULL",  # a commit is on disk before anybody is told of it
    "PRAGMA secure_delete = ON",  # what is deleted is overwritten
    "PRAGMA temp_store = MEMORY",  # nothing is written beside the file and its log
    "PRAGMA foreign_keys = ON",
)


def connect(path: str) -> sqlite3.Connection:
    """A connection to the database at ``path``, which is made if it is not there.

    Transactions are begun by hand (``BEGIN IMMEDIATE``), so that two processes never find out
    at commit time that both were writing.
    """
    _make_private(path)
    connection = sqlite3.connect(
        path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        for pragma in _PRAGMAS:
            connection.execute(pragma)
    except BaseException:
        connection.close()
        raise
    return connection


def _make_private(path: str) -> None:
    """A new file is readable by its owner alone; SQLite's log and index copy its mode.

    A file that is there must not be opened: closing it again would drop every lock that SQLite
    holds on it in this process (a rule of POSIX), and reports would be lost.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
