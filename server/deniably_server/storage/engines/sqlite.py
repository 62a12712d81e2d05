"""SQLite as an engine: sets up every connection for durable commits and real deletion."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import chain, pairwise
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, cast

from deniably_server.errors import Conflict
from deniably_server.storage.engines.common_schema import MIXER_ORDERED, ORDERED
from deniably_server.storage.engines.engine import (
    MOVED,
    SERVED,
    DatabaseRow,
    Ordered,
    ReportRow,
)
from deniably_server.storage.engines.schema_migration import Steps, migrate
from deniably_server.storage.engines.sqlite_pages import KEY_BYTES, in_key_order, report_pages
from deniably_server.storage.engines.sqlite_schema import MIXER_STEPS, STEPS

if TYPE_CHECKING:
    from sqlite_utils import Database

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
"""The mask of an error code's kind; the other bits give details."""
_PRAGMAS = (
    "PRAGMA synchronous = FULL",  # a commit is on disk before it is acknowledged
    "PRAGMA secure_delete = ON",  # deleted rows are overwritten
    "PRAGMA temp_store = MEMORY",  # no files but the database and its log
    "PRAGMA foreign_keys = ON",
)
_INSERT_NEW = (
    "INSERT INTO reports (id, survey, report, stratum) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (id) DO NOTHING"
)


class Sqlite:
    """The SQLite database in the file at ``address``, which is created if missing."""

    errors = (sqlite3.Error,)
    one_writer = True
    steps: Steps = STEPS
    ordered: Ordered = ORDERED
    answered = (
        "SELECT stratum, question.key, count(*) FROM reports, json_each(report) AS question"
        " WHERE survey = ? AND question.type = 'array' GROUP BY 1, 2"
    )
    cells = (
        "SELECT stratum, question.key, cell.value, count(*) FROM reports,"
        " json_each(report) AS question, json_each(question.value) AS cell"
        " WHERE survey = ? AND question.type = 'array' GROUP BY 1, 2, 3"
    )

    def __init__(self, address: str) -> None:
        self.address = address

    def refuses(self, error: Exception, /) -> bool:
        """Returns whether the error is caused by the disk or a lock."""
        code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        return isinstance(error, OSError) or code & _PRIMARY in _REFUSALS

    def answers(self) -> bool:
        """Returns True: a file needs no server that may be down."""
        return True

    def connect(self) -> SqliteConnection:
        """Opens a connection that any thread may use, one thread at a time."""
        database = connect(self.address)
        database.steps, database.ordered = self.steps, self.ordered
        return database

    @contextmanager
    def serving(self) -> Generator[None]:
        """Marks the database as in use by a server: holds a shared lock on a file beside the
        database. The database file itself is not used, because SQLite has its own locks on it.

        The lock ends with the last process that holds it, even if that one is killed. Raises
        Conflict while the database is being moved.
        """
        with self._locked(shared=True, otherwise=MOVED):
            yield

    @contextmanager
    def alone(self) -> Generator[None]:
        """Keeps servers from starting: holds the lock of ``serving`` exclusively. Raises Conflict
        while a server runs."""
        with self._locked(shared=False, otherwise=SERVED):
            yield

    @contextmanager
    def _locked(self, *, shared: bool, otherwise: str) -> Generator[None]:
        mode = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        # Read-only: a file open for writing would block a read-only remount of the disk.
        path = f"{self.address}-serving"
        with open(os.open(path, os.O_RDONLY | os.O_CREAT, 0o600), "rb") as file:
            try:
                fcntl.flock(file, mode | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Conflict(otherwise) from None
            yield

    def migrate(self) -> None:
        """Brings the file's tables to the newest schema."""
        with closing(self.connect()) as database:
            migrate(database, self.steps)


class MixerSqlite(Sqlite):
    """The same for a mixer, whose tables are others."""

    steps: Steps = MIXER_STEPS
    ordered: Ordered = MIXER_ORDERED


class SqliteConnection(sqlite3.Connection):
    """A connection to an SQLite file on which transactions begin explicitly.

    So two processes find out at the beginning of a transaction, and not only at its commit, that
    both want to write.
    """

    shard = 0
    collisions: tuple[type[Exception], ...] = ()
    steps: Steps = STEPS
    """The statements that made the tables."""
    ordered: Ordered = ORDERED

    def fill(self, table: str, columns: Sequence[str], rows: Iterable[DatabaseRow], /) -> None:
        """Insert rows; ``rows`` may be a generator."""
        marks = ", ".join("?" * len(columns))
        self.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)  # noqa: S608

    def insert_new(self, rows: Sequence[ReportRow], /) -> list[int]:
        """Inserts the reports whose ids are not stored yet; returns the indices of the other
        rows."""
        before: list[int] = []

        def noting() -> Iterator[ReportRow]:
            for row in rows:
                before.append(self.total_changes)  # with the insert of the row before
                yield row

        # ``executemany`` tells only how many rows were inserted; the running number of changes,
        # read before each row, tells which.
        inserted = self.executemany(_INSERT_NEW, noting()).rowcount
        if inserted == len(rows):
            return []
        steps = pairwise([*before, self.total_changes])
        return [index for index, (old, new) in enumerate(steps) if old == new]

    def begin_rewriting(self) -> None:
        """Begins a transaction as any writer does; SQLite has one writer at a time."""
        self.begin_writing()

    def begin_taking(self) -> None:
        """Begins a transaction as any writer does; SQLite has one writer at a time."""
        self.begin_writing()

    def rewrite(self, survey: str, /) -> None:
        """Does nothing: SQLite's tables keep rows in the order of their keys."""

    def clean(self, surveys: Collection[str], /) -> None:
        """Rewrites the whole file and empties its log, as bytes within a page lie in the order in
        which they came, and the log holds old pages.

        Other writers wait about a second for each 60 MB. SQLite's temporary copy is an unnamed file
        in the database's folder, which vanishes with the process; in memory it would need as much
        room as the file. Raises TimeoutError where another connection still reads the old pages.
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
        """Empty the log; retry while SQLite is busy with another process's checkpoint."""
        until = monotonic() + _BUSY_SECONDS
        while self.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
            if monotonic() > until:
                raise TimeoutError(
                    "another connection still reads the rows from before the rewrite; end it"
                )
            sleep(_AGAIN_SECONDS)

    def _file(self) -> Path:
        (path,) = self.execute("SELECT file FROM pragma_database_list WHERE seq = 0").fetchone()
        return Path(path)

    def reveals_order(self, survey: str, /) -> bool:
        """Returns whether any page of the file holds what was sent to a survey in another order
        than that of its keys."""
        table, key = next(iter(self.ordered.items()))
        rows = self.execute(f"SELECT {key} FROM {table} WHERE survey = ?", [survey])  # noqa: S608
        known = {own[:KEY_BYTES] for (own,) in rows}
        return not all(map(in_key_order, report_pages(self._file(), known)))

    def tables(self) -> list[str]:
        """Returns the names of all tables. Every start needs them, so this avoids the slow import
        of sqlite-utils."""
        rows = self.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        return [str(name) for (name,) in rows]

    def columns(self) -> list[tuple[str, str, str]]:
        """Returns (table, column, type in capitals) for every column of every table."""
        return [
            (table.name, str(name), str(kind).upper())
            for table in _inspected(self).tables
            for _, name, kind, *_ in cast("list[DatabaseRow]", table.columns)
        ]

    def problems(self) -> list[str]:
        """Returns sentences about damaged pages and indices, about rows whose foreign key refers to
        no row, and about tables and triggers that are not as the schema makes them."""
        problems = [f"the file: {row[0]}" for row in self.execute("PRAGMA integrity_check")]
        problems += [
            f"a row of {row[0]} refers to nothing"
            for row in self.execute("PRAGMA foreign_key_check")
        ]
        with closing(sqlite3.connect(":memory:")) as fresh:
            for statement in chain.from_iterable(self.steps):
                fresh.execute(statement)
            made, here = _schema(fresh), _schema(self)
        problems += [f"{what} is gone" for what in made if what not in here]
        problems += [
            f"{what} is not as this version makes it"
            for what, sql in made.items()
            if here.get(what, sql) != sql
        ]
        return [problem for problem in problems if problem != "the file: ok"]

    def only_read(self) -> None:
        """Make the connection read-only."""
        self.execute("PRAGMA query_only = ON")

    def each(self, sql: str, parameters: Sequence[object] = (), /) -> Iterator[DatabaseRow]:
        """Yields the rows of a query."""
        return self.execute(sql, parameters)

    def begin_reading(self) -> None:
        """Begin a transaction whose statements all see one state of the file."""
        self.execute("BEGIN")

    def begin_writing(self) -> None:
        """Begins a transaction as the file's one writer; waits until no other one writes."""
        # Begun plainly, a transaction that has read cannot wait to write: SQLite answers BUSY.
        self.execute("BEGIN IMMEDIATE")

    def begin_adding(self) -> None:
        """Begins a transaction as any writer does; SQLite has one writer at a time."""
        self.begin_writing()

    def claim_shard(self) -> None:
        """Does nothing: there is one writer, so one shard is enough."""

    def takes_turn(self, name: str, /, *, wait: bool) -> bool:
        """Returns True: SQLite's one writer always has the turn."""
        return True


def _schema(connection: sqlite3.Connection) -> dict[str, str]:
    """The statements that made the tables and triggers, by kind and name."""
    database = _inspected(connection)
    tables = {f"the table {table.name}": str(table.schema) for table in database.tables}
    triggers = cast("list[tuple[str, str, str]]", database.triggers)
    return tables | {f"the trigger {name}": sql for name, _, sql in triggers}


def _inspected(connection: sqlite3.Connection) -> Database:
    """A database for looking into it. No plug-in of sqlite-utils runs: it could see reports."""
    from sqlite_utils import Database  # its import takes longer than a server's start

    return Database(connection, execute_plugins=False)


def connect(path: str) -> SqliteConnection:
    """Connect to the database at ``path``, which is created if missing."""
    _make_private(path)
    connection = sqlite3.connect(
        path,
        timeout=_BUSY_SECONDS,
        isolation_level=None,  # transactions are begun by statements
        check_same_thread=False,  # a pool of readers hands connections from thread to thread
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
    """Switch to a write-ahead log, so that readers never wait for writers.

    When several processes open a new file, SQLite ignores its timeout here and reports BUSY to all
    but one; so this retries.
    """
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
    """Create a missing file, readable by its owner alone; SQLite's log and index copy its mode.

    Never opens an existing file: by POSIX, closing it would drop all of SQLite's locks on it in
    this process, and reports could be lost.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
