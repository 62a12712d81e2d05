"""SQLite: every connection to the file is set up here, the same way."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import cast

from deniably_server.errors import Conflict
from deniably_server.storage.engines.engine import MOVED, SERVED, Row
from deniably_server.storage.engines.schema import Steps, migrate
from deniably_server.storage.engines.sqlite_pages import lies_by_keys, report_pages
from deniably_server.storage.engines.sqlite_schema import STEPS

_BUSY_SECONDS = 10
_AGAIN_SECONDS = 0.01
_REFUSALS = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_READONLY,
}
_PRIMARY = 0xFF
"""The bits of an error code that say what kind it is; the others say where it arose."""
_PRAGMAS = (
    "PRAGMA synchronous = FULL",  # a commit is on disk before anybody is told of it
    "PRAGMA secure_delete = ON",  # what is deleted is overwritten
    "PRAGMA temp_store = MEMORY",  # nothing is written beside the file and its log
    "PRAGMA foreign_keys = ON",
)


class Sqlite:
    """The database in the file at ``address``, which is made if it is not there."""

    errors = (sqlite3.Error,)
    steps: Steps = STEPS
    answered = (
        "SELECT question.key, count(*) FROM reports, json_each(report) AS question"
        " WHERE survey = ? AND question.type = 'array' GROUP BY 1"
    )
    cells = (
        "SELECT question.key, cell.value, count(*) FROM reports,"
        " json_each(report) AS question, json_each(question.value) AS cell"
        " WHERE survey = ? AND question.type = 'array' GROUP BY 1, 2"
    )

    def __init__(self, address: str) -> None:
        self.address = address

    def refuses(self, error: Exception, /) -> bool:
        """Whether the disk or a lock refused."""
        code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        return isinstance(error, OSError) or code & _PRIMARY in _REFUSALS

    def answers(self) -> bool:
        """A file needs nobody to serve it."""
        return True

    def connect(self) -> SqliteConnection:
        """A connection that any thread may use, one at a time."""
        return connect(self.address)

    @contextmanager
    def serving(self) -> Generator[None]:
        """A shared lock on a file beside the database: one on that itself would get among those
        of SQLite. It ends with the last process that has it, however that ends."""
        with self._locked(shared=True, otherwise=MOVED):
            yield

    @contextmanager
    def alone(self) -> Generator[None]:
        """The same lock, and nobody else's."""
        with self._locked(shared=False, otherwise=SERVED):
            yield

    @contextmanager
    def _locked(self, *, shared: bool, otherwise: str) -> Generator[None]:
        mode = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        # Not to be written to: it would keep the disk from being made read-only.
        path = f"{self.address}-serving"
        with open(os.open(path, os.O_RDONLY | os.O_CREAT, 0o600), "rb") as file:
            try:
                fcntl.flock(file, mode | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Conflict(otherwise) from None
            yield

    def migrate(self) -> None:
        """Bring the file to the newest schema."""
        with closing(self.connect()) as database:
            migrate(database, self.steps)


class SqliteConnection(sqlite3.Connection):
    """Transactions are begun by hand, so that two processes never find out at commit time that
    both were writing."""

    def fill(self, table: str, columns: Sequence[str], rows: Iterable[Row], /) -> None:
        """Insert rows, which may come one by one."""
        marks = ", ".join("?" * len(columns))
        self.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)  # noqa: S608

    def begin_rewriting(self) -> None:
        """As whoever writes."""
        self.begin_writing()

    def rewrite(self, survey: str, /) -> None:
        """Nothing to do: a table has its rows by their keys."""

    def clean(self, surveys: Collection[str], /) -> None:
        """Write the file anew, with an empty log: the bytes of each page lie in it as they came,
        and the log has pages as they were.

        Meanwhile nobody else writes, for about a second for each 60 MB. The copy that SQLite makes
        has the rows by their keys, too. It lies in the file's own folder without a name, so that it
        is gone with the process; in memory it would take as much as the file has.
        """
        folder = str(self._file().resolve().parent).replace("'", "''")
        self.execute(f"PRAGMA temp_store_directory = '{folder}'")
        self.execute("PRAGMA temp_store = FILE")
        try:
            self.execute("VACUUM")
        finally:
            self.execute("PRAGMA temp_store = MEMORY")
        self._empty_log()

    def _empty_log(self) -> None:
        """Of several that want to, SQLite lets one do it and tells the others at once that it is
        busy, such as a writer that has just committed."""
        until = monotonic() + _BUSY_SECONDS
        while self.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            if monotonic() > until:
                raise TimeoutError("somebody still reads what was there before")
            sleep(_AGAIN_SECONDS)

    def _file(self) -> Path:
        (path,) = self.execute("SELECT file FROM pragma_database_list WHERE seq = 0").fetchone()
        return Path(path)

    def tells_order(self, survey: str, /) -> bool:
        """Whether the bytes of a page lie otherwise than by the keys."""
        rows = self.execute("SELECT id FROM reports WHERE survey = ?", [survey])
        known = {key for (key,) in rows}
        return not all(map(lies_by_keys, report_pages(self._file(), known)))

    def tables(self) -> list[str]:
        """The names of all tables. A server asks at every start, and sqlite-utils would take ten
        times as long to import as the server takes to start."""
        rows = self.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        return [str(name) for (name,) in rows]

    def columns(self) -> list[tuple[str, str, str]]:
        """Every column of every table. Plug-ins of sqlite-utils are left out: nothing that happens
        to be installed may see reports."""
        from sqlite_utils import Database  # which takes longer to import than a server to start

        return [
            (table.name, str(name), str(kind).upper())
            for table in Database(self, execute_plugins=False).tables
            for _, name, kind, *_ in cast("list[Row]", table.columns)
        ]

    def problems(self) -> list[str]:
        """Of the file's pages and indices, and of rows that refer to nothing."""
        found = [f"the file: {row[0]}" for row in self.execute("PRAGMA integrity_check")]
        found += [
            f"a row of {row[0]} refers to nothing"
            for row in self.execute("PRAGMA foreign_key_check")
        ]
        return [problem for problem in found if problem != "the file: ok"]

    def only_read(self) -> None:
        """From now on, refuse to change anything."""
        self.execute("PRAGMA query_only = ON")

    def each(self, sql: str, /) -> Iterator[Row]:
        """The rows one by one."""
        return self.execute(sql)

    def begin_reading(self) -> None:
        """All statements see one state of the file."""
        self.execute("BEGIN")

    def begin_writing(self) -> None:
        """The one writer of the file, or a wait for it."""
        self.execute("BEGIN IMMEDIATE")


def connect(path: str) -> SqliteConnection:
    """A connection to the database at ``path``, which is made if it is not there."""
    _make_private(path)
    connection = sqlite3.connect(
        path,
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        factory=SqliteConnection,
    )
    try:
        _keep_a_log(connection)
        for pragma in _PRAGMAS:
            connection.execute(pragma)
    except BaseException:
        connection.close()
        raise
    return connection


def _keep_a_log(connection: sqlite3.Connection) -> None:
    """Who reads never waits for who writes. Of several that are first to open a new file, SQLite
    lets one change it and tells the others at once that it is locked, however patient they are."""
    until = monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or monotonic() > until:
                raise
            sleep(_AGAIN_SECONDS)


def _make_private(path: str) -> None:
    """A new file is readable by its owner alone; SQLite's log and index copy its mode.

    A file that is there must not be opened: closing it again would drop every lock that SQLite
    holds on it in this process (a rule of POSIX), and reports would be lost.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
