"""PostgreSQL, for servers on several machines that share their surveys.

All writers hold one advisory lock for a transaction: those that add reports share it, so they do
not wait for each other; all others (publishing, closing, repairs, moving the database) hold it
alone. PostgreSQL releases it after the commit can be seen, and grants it in the order of arrival.
So, as with SQLite, what a transaction reads of a survey stays true until it commits. A closing
waits for the reports that are being added, and no report follows it.

Transactions that add reports meet only where both bring the same report. Then a unique index lets
one of them pass, and the other waits for its end. They cannot deadlock: all take row locks in one
order, those of reports by id, then of totals, tallies and answered by key, and wait for nothing
after that. If PostgreSQL ends one as a deadlock nevertheless, it begins again.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import lru_cache
from time import monotonic, sleep
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.pq import PGconn, Ping

from deniably_server.errors import Conflict
from deniably_server.storage.engines.common_schema import MIXER_ORDERED, ORDERED
from deniably_server.storage.engines.engine import (
    MOVED,
    REWRITE_MARK,
    SERVED,
    DatabaseRow,
    Ordered,
    ReportRow,
    Result,
)
from deniably_server.storage.engines.postgres_schema import MIXER_STEPS, STEPS
from deniably_server.storage.engines.schema_migration import Steps, migrate

_AT_ONCE = 2_000
"""Rows that ``each`` fetches at a time."""
_CONNECT_SECONDS = 10
_BUSY_SECONDS = 10
_LEAVING_SECONDS = 5
"""How long PostgreSQL may still list a connection, and hold its locks, after its client went."""
_AGAIN_SECONDS = 0.1
_WRITERS = 0x64656E69
"""The number of the advisory lock of writers: "deni" in ASCII, which no other program uses by
chance."""
_REWRITERS = _WRITERS + 1
"""The number of the advisory lock for rewriting closed surveys."""
_SERVERS = _WRITERS + 2
"""The number of the advisory lock that servers share."""
_CLAIMED = _WRITERS + 3
"""The first number of the advisory locks of shards; the second is the shard's."""
_TURNS = _WRITERS + 4
"""The first number of the advisory locks of turns; the second is the hash of the name of the survey
or draft."""
SHARDS = 32
"""How many writers have rows of tallies of their own; further ones share rows."""
_NAME = "deniably"
_REPORT = ("id", "survey", "report", "stratum")
_INSERT_NEW = (
    f"INSERT INTO reports ({', '.join(_REPORT)})"  # noqa: S608  # constants
    " SELECT * FROM unnest(?::bytea[], ?::text[], ?::text[], ?::int[])"
    " ON CONFLICT (id) DO NOTHING RETURNING id"
)


class Postgres:
    """The PostgreSQL database at ``address``, a URI such as postgresql://user@host/name."""

    errors = (psycopg.Error,)
    one_writer = False
    steps: Steps = STEPS
    ordered: Ordered = ORDERED
    # In full where keys and envelopes are deleted: a plain VACUUM leaves their bytes in the pages.
    cleaning: tuple[str, ...] = (
        f"VACUUM {', '.join(ORDERED)}",
        "VACUUM (FULL) envelope_keys, mixed_pieces",
    )
    """SQL that removes what rewrites and deletions left."""
    answered = (
        "SELECT stratum, question.key - 1, count(*) FROM reports,"
        " jsonb_array_elements(report::jsonb) WITH ORDINALITY AS question(value, key)"
        " WHERE survey = ? AND jsonb_typeof(question.value) = 'array' GROUP BY 1, 2"
    )
    cells = (
        "SELECT stratum, question.key - 1, cell::bigint, count(*) FROM reports,"
        " jsonb_array_elements(report::jsonb) WITH ORDINALITY AS question(value, key),"
        " jsonb_array_elements(CASE jsonb_typeof(question.value) WHEN 'array'"
        " THEN question.value ELSE '[]' END) AS cell WHERE survey = ? GROUP BY 1, 2, 3"
    )

    def __init__(self, address: str) -> None:
        self.address = address

    def refuses(self, error: Exception, /) -> bool:
        """Returns whether the error is caused by the database's disk, a lock or the network."""
        kinds = psycopg.OperationalError, psycopg.errors.ReadOnlySqlTransaction, TimeoutError
        return isinstance(error, kinds)

    def answers(self) -> bool:
        """Returns whether the database server responds, and is not just starting, recovering or
        stopping.

        Needs no password.
        """
        try:
            where = make_conninfo(self.address, connect_timeout=_CONNECT_SECONDS)
        except psycopg.ProgrammingError:  # a malformed address; ``connect`` reports it
            return True
        return PGconn.ping(where.encode()) not in (Ping.REJECT, Ping.NO_RESPONSE)

    def connect(self) -> PostgresConnection:
        """Opens a connection whose commits are on disk when they return, whatever the server's
        default."""
        return PostgresConnection(
            psycopg.connect(
                self.address,
                autocommit=True,  # transactions are begun by statements, as with SQLite
                application_name=_NAME,
                client_encoding="utf8",
                connect_timeout=_CONNECT_SECONDS,
                # A commit is on disk before it is acknowledged; locks are waited for as in SQLite.
                options="-c synchronous_commit=on -c lock_timeout=10s",
            ),
            self.ordered,
            self.cleaning,
        )

    @contextmanager
    def serving(self) -> Generator[None]:
        """Marks the database as in use by a server: holds a shared lock, on a connection that does
        nothing else.

        Raises Conflict while the database is being moved.
        """
        with closing(self.connect()) as database:
            if not database.has(f"pg_try_advisory_lock_shared({_SERVERS})"):
                raise Conflict(MOVED)
            yield

    @contextmanager
    def alone(self) -> Generator[None]:
        """Keeps servers from starting: holds the lock of ``serving`` exclusively.

        Raises Conflict while a server runs. A restart of PostgreSQL drops a server's lock, so the
        server's other connections count, too; those of one that has just stopped are waited for.
        """
        with closing(self.connect()) as database:
            until = monotonic() + _LEAVING_SECONDS
            while not _is_alone(database):
                if monotonic() > until:
                    raise Conflict(SERVED)
                sleep(_AGAIN_SECONDS)
            yield

    def migrate(self) -> None:
        """Brings the tables to the newest schema.

        Raises NotSupportedError where the database's encoding is not UTF-8.
        """
        with closing(self.connect()) as database:
            (encoding,) = database.execute("SHOW server_encoding").fetchone()
            if encoding != "UTF8":
                raise psycopg.NotSupportedError(
                    f"its encoding is {encoding}, and surveys are in every script; make another:"
                    " CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0"
                )
            migrate(database, self.steps)


class MixerPostgres(Postgres):
    """The same for a mixer, whose tables are others."""

    steps: Steps = MIXER_STEPS
    ordered: Ordered = MIXER_ORDERED
    cleaning = ("VACUUM (FULL) envelopes, invitations, issued, mixer_keys, pieces",)


def _is_alone(database: PostgresConnection) -> bool:
    # The lock comes first: a server that starts after it cannot take its shared one.
    return database.has(f"pg_try_advisory_lock({_SERVERS})") and not database.has(
        "EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database()"
        " AND application_name = ? AND pid <> pg_backend_pid())",
        [_NAME],
    )


class PostgresConnection:
    """A psycopg connection with the interface of ``engine.Connection``."""

    collisions: tuple[type[Exception], ...] = (
        psycopg.errors.DeadlockDetected,
        psycopg.errors.SerializationFailure,
    )

    def __init__(
        self, connection: psycopg.Connection[Any], ordered: Ordered, cleaning: Sequence[str]
    ) -> None:
        self._connection, self._ordered, self._cleaning = connection, ordered, cleaning
        self.shard = 0

    def has(self, condition: str, parameters: Sequence[object] = ()) -> bool:
        """Returns whether an SQL condition is true."""
        return bool(self.execute(f"SELECT {condition}", parameters).fetchone()[0])

    def execute(self, sql: str, parameters: Sequence[object] = (), /) -> Result:
        """Run a statement; ``?`` stands for a parameter."""
        return self._connection.execute(_own(sql), parameters or None)

    def executemany(self, sql: str, rows: Sequence[Sequence[object]], /) -> None:
        """Run a statement for every row."""
        with self._connection.cursor() as cursor:
            cursor.executemany(_own(sql), rows)

    def fill(self, table: str, columns: Sequence[str], rows: Iterable[DatabaseRow], /) -> None:
        """Inserts rows by COPY, PostgreSQL's fastest way."""
        command = f"COPY {table} ({', '.join(columns)}) FROM STDIN".encode()
        with self._connection.cursor() as cursor, cursor.copy(command) as copy:
            for row in rows:
                copy.write_row(row)

    def insert_new(self, rows: Sequence[ReportRow], /) -> list[int]:
        """Inserts the reports whose ids are not stored yet; returns the indices of the other
        rows."""
        try:
            with self._connection.transaction():  # a savepoint, so that COPY alone is undone
                self.fill("reports", _REPORT, rows)
        except psycopg.errors.UniqueViolation:
            return self._insert_some(rows)
        return []

    def _insert_some(self, rows: Sequence[ReportRow]) -> list[int]:
        """As ``insert_new``, at half the speed of COPY, which takes all rows or none."""
        columns = [list(column) for column in zip(*rows, strict=True)]
        new = {key for (key,) in self.execute(_INSERT_NEW, columns)}
        others: list[int] = []
        for index, (key, *_) in enumerate(rows):
            if key in new:
                new.remove(key)
            else:
                others.append(index)
        return others

    def begin_rewriting(self) -> None:
        """Begins a transaction that rewrites closed surveys; waits until no other such transaction
        runs. Transactions of other writers do not wait, as they never touch a closed survey's rows;
        whoever deletes these begins as a rewrite does."""
        self.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
        self.execute(f"SELECT pg_advisory_xact_lock({_REWRITERS})")

    def begin_taking(self) -> None:
        """Begins a transaction that adds reports to a closed survey; waits until no transaction of
        ``begin_rewriting`` or ``begin_writing`` runs."""
        # A rewrite would not see rows that are added beside it, and delete them.
        self.begin_rewriting()
        self.execute(f"SELECT pg_advisory_xact_lock_shared({_WRITERS})")

    def rewrite(self, survey: str, /) -> None:
        """Deletes a closed survey's rows and inserts them in the order of their keys.

        PostgreSQL stores rows in the order of arrival or of their last change, each with the
        number of its transaction. That would reveal the order in which reports came.
        """
        # Through a temporary table: an UPDATE would leave each row in the order of the last change.
        for table, key in self._ordered.items():  # constants, so safe to put into SQL
            kept = f"kept_{table}"
            self.execute(f"CREATE TEMPORARY TABLE {kept} (LIKE {table}) ON COMMIT DROP")
            self.execute(f"INSERT INTO {kept} SELECT * FROM {table} WHERE survey = ?", [survey])  # noqa: S608
            self.execute(f"DELETE FROM {table} WHERE survey = ?", [survey])  # noqa: S608
            self.execute(f"INSERT INTO {table} SELECT * FROM {kept} ORDER BY {key}")  # noqa: S608
            self.execute(f"DROP TABLE {kept}")

    def clean(self, surveys: Collection[str], /) -> None:
        """Vacuums the tables, and repeats this while another transaction still sees the rows from
        before a rewrite, which VACUUM cannot remove. Raises TimeoutError after ten seconds."""
        until = monotonic() + _BUSY_SECONDS
        self._vacuum()
        while any(map(self._shown_before, surveys)):
            if monotonic() > until:
                raise TimeoutError(
                    "another connection still reads the rows from before the rewrite; end it"
                )
            sleep(_AGAIN_SECONDS)
            self._vacuum()

    def _vacuum(self) -> None:
        for statement in self._cleaning:
            self.execute(statement)

    def _shown_before(self, survey: str) -> bool:
        """Whether a transaction still sees the rows from before the rewrite; VACUUM keeps those."""
        row = self.execute(
            "SELECT 1 FROM pg_stat_activity WHERE backend_type <> 'autovacuum worker'"
            " AND pid <> pg_backend_pid() AND age(backend_xmin) >="
            " (SELECT age(xmin) FROM settings WHERE key = ?)",
            [REWRITE_MARK + survey],
        )
        return row.fetchone() is not None

    def reveals_order(self, survey: str, /) -> bool:
        """Returns whether a survey's reports come from several transactions.

        Each transaction inserts its rows in the order of their keys, so a single one reveals no
        order.
        """
        table = next(iter(self._ordered))
        sql = f"SELECT count(DISTINCT xmin::text) FROM {table} WHERE survey = ?"  # noqa: S608
        return int(self.execute(sql, [survey]).fetchone()[0]) > 1

    def tables(self) -> list[str]:
        """Returns the names of all tables."""
        rows = self.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
        )
        return [str(name) for (name,) in rows]

    def columns(self) -> list[tuple[str, str, str]]:
        """Returns (table, column, type in capitals) for every column of every table."""
        return self.execute(
            "SELECT table_name, column_name, upper(data_type) FROM information_schema.columns"
            " WHERE table_schema = current_schema()"
        ).fetchall()

    def problems(self) -> list[str]:
        """Returns a sentence for each constraint that is not enforced. PostgreSQL checks its files
        itself."""
        rows = self.execute("SELECT conname FROM pg_constraint WHERE NOT convalidated")
        return [f"the constraint {name} is not enforced" for (name,) in rows]

    def only_read(self) -> None:
        """Make the connection read-only."""
        self.execute("SET default_transaction_read_only = on")

    def each(self, sql: str, parameters: Sequence[object] = (), /) -> Iterator[DatabaseRow]:
        """Yields the rows of a query, few at a time, from a cursor on the server."""
        with self._connection.cursor("each") as rows:
            rows.itersize = _AT_ONCE
            yield from rows.execute(_own(sql), parameters or None)

    def begin_reading(self) -> None:
        """Begins a read-only transaction, whose statements all see one state of the database."""
        self.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def begin_writing(self) -> None:
        """Begins a transaction as the database's one writer; waits until no other one writes."""
        # READ COMMITTED: the snapshot of REPEATABLE READ would be from before the wait.
        self.execute(
            f"BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock({_WRITERS})"
        )

    def begin_adding(self) -> None:
        """Begins a transaction that adds reports. Several such transactions may run at once; each
        waits until no transaction of ``begin_writing`` runs."""
        self.execute(
            f"BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock_shared({_WRITERS})"
        )

    def claim_shard(self) -> None:
        """Locks the first shard of the tallies that no other connection has locked, until this
        connection closes. Shares a shard where all are locked."""
        for number in range(SHARDS):
            if self.has(f"pg_try_advisory_lock({_CLAIMED}, ?)", [number]):
                self.shard = number
                return
        # Sharing costs waits for row locks, and no count: a shard is added to, never overwritten.
        self.shard = self._connection.info.backend_pid % SHARDS

    def takes_turn(self, name: str, /, *, wait: bool) -> bool:
        """Locks ``name`` until this transaction ends, and returns True. If another transaction has
        the lock, returns False, or waits for it if ``wait`` is true."""
        lock = "pg_advisory_xact_lock" if wait else "pg_try_advisory_xact_lock"
        sql = f"SELECT {lock}({_TURNS}, hashtext(?))"  # constants
        # The waiting lock returns void, not true.
        return bool(self.execute(sql, [name]).fetchone() != (False,))

    def commit(self) -> None:
        """Commit; once this returns, the changes are on disk."""
        self.execute("COMMIT")

    def rollback(self) -> None:
        """Undo the transaction."""
        self.execute("ROLLBACK")

    def close(self) -> None:
        """Close the connection, which rolls back uncommitted changes."""
        self._connection.close()


@lru_cache(maxsize=256)
def _own(sql: str) -> bytes:
    """Translate ``?`` to psycopg's ``%s``. No statement has either in a string literal."""
    return (sql.replace("%", "%%").replace("?", "%s") if "?" in sql else sql).encode()
