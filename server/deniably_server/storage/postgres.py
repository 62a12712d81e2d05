"""PostgreSQL: for several server processes, on several machines, that share their surveys.

Writers take turns by one advisory lock for each transaction, so that they keep to the same rules
as on SQLite: what a transaction read is true until it commits. Group commit makes that cheap: while
one process waits for the disk, the reports of the others gather.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import psycopg

from deniably_server.storage.engine import Result, Row
from deniably_server.storage.postgres_schema import migrate

_CONNECT_SECONDS = 10
_WRITERS = 0x64656E69
"""The number of the lock that writers take."""


class Postgres:
    """The database at ``address``, a URI such as postgresql://user@host/name."""

    errors = (psycopg.Error,)
    answered = (
        "SELECT question.key - 1, count(*) FROM reports,"
        " jsonb_array_elements(report::jsonb) WITH ORDINALITY AS question(value, key)"
        " WHERE survey = ? AND jsonb_typeof(question.value) = 'array' GROUP BY 1"
    )
    cells = (
        "SELECT question.key - 1, cell::bigint, count(*) FROM reports,"
        " jsonb_array_elements(report::jsonb) WITH ORDINALITY AS question(value, key),"
        " jsonb_array_elements(CASE jsonb_typeof(question.value) WHEN 'array'"
        " THEN question.value ELSE '[]' END) AS cell WHERE survey = ? GROUP BY 1, 2"
    )

    def __init__(self, address: str) -> None:
        self.address = address

    def refuses(self, error: Exception, /) -> bool:
        """Whether the database, its disk, a lock or the way there refused."""
        return isinstance(error, psycopg.OperationalError | psycopg.errors.ReadOnlySqlTransaction)

    def connect(self) -> PostgresConnection:
        """A connection whose commits are on disk when they return, whatever the default is."""
        return PostgresConnection(
            psycopg.connect(
                self.address,
                autocommit=True,
                application_name="deniably",
                connect_timeout=_CONNECT_SECONDS,
                options="-c synchronous_commit=on -c lock_timeout=10s",
            )
        )

    def migrate(self) -> None:
        """Bring the tables to the newest schema."""
        database = self.connect()
        try:
            database.begin_writing()
            migrate(database)
            database.commit()
        finally:
            database.close()


class PostgresConnection:
    """One connection, in the words of ``engine.Connection``."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def execute(self, sql: str, parameters: Sequence[object] = (), /) -> Result:
        """Run a statement; ``?`` stands for a parameter."""
        return self._connection.execute(_own(sql), parameters or None)

    def executemany(self, sql: str, rows: Sequence[Sequence[object]], /) -> None:
        """Run a statement for every row."""
        with self._connection.cursor() as cursor:
            cursor.executemany(_own(sql), rows)

    def fill(self, table: str, columns: Sequence[str], rows: Iterable[Row], /) -> None:
        """Insert rows by COPY."""
        command = f"COPY {table} ({', '.join(columns)}) FROM STDIN".encode()
        with self._connection.cursor() as cursor, cursor.copy(command) as copy:
            for row in rows:
                copy.write_row(row)

    def forget_order(self, survey: str, /) -> None:
        """Write the survey's rows anew, in the order of their random ids: a table keeps them as
        they came, each with the number of the transaction that brought it. Invitations, as they
        were used."""
        self._write_anew("reports", "id", survey)
        self._write_anew("invitations", "hash", survey)

    def _write_anew(self, table: str, key: str, survey: str) -> None:
        kept = f"kept_{table}"
        self.execute(f"CREATE TEMPORARY TABLE {kept} (LIKE {table}) ON COMMIT DROP")
        self.execute(f"INSERT INTO {kept} SELECT * FROM {table} WHERE survey = ?", [survey])  # noqa: S608
        self.execute(f"DELETE FROM {table} WHERE survey = ?", [survey])  # noqa: S608
        self.execute(f"INSERT INTO {table} SELECT * FROM {kept} ORDER BY {key}")  # noqa: S608

    def tidy(self) -> None:
        """Free the places of rows that were deleted."""
        self.execute("VACUUM reports, invitations")

    def tells_order(self, survey: str, /) -> bool:
        """Whether rows lie otherwise than by their keys, or tell which transaction brought them."""
        rows = self.execute(
            "SELECT id, xmin::text FROM reports WHERE survey = ? ORDER BY ctid", [survey]
        ).fetchall()
        keys = [key for key, _ in rows]
        return keys != sorted(keys) or len({brought for _, brought in rows}) > 1

    def columns(self) -> list[tuple[str, str, str]]:
        """Every column of every table."""
        return self.execute(
            "SELECT table_name, column_name, upper(data_type) FROM information_schema.columns"
            " WHERE table_schema = current_schema()"
        ).fetchall()

    def problems(self) -> list[str]:
        """Of the constraints that are not enforced. (Its files are the business of PostgreSQL.)"""
        rows = self.execute("SELECT conname FROM pg_constraint WHERE NOT convalidated")
        return [f"the constraint {name} is not enforced" for (name,) in rows]

    def only_read(self) -> None:
        """From now on, refuse to change anything."""
        self.execute("SET default_transaction_read_only = on")

    def each(self, sql: str, /) -> Iterator[Row]:
        """The rows one by one, from a cursor on the server."""
        with self._connection.cursor("each") as rows:
            yield from rows.execute(_own(sql))

    def begin_reading(self) -> None:
        """All statements see one state of the database."""
        self.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def begin_writing(self) -> None:
        """The one writer of the database, or a wait for it; what it reads is what was committed
        by then."""
        self.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
        self.execute(f"SELECT pg_advisory_xact_lock({_WRITERS})")

    def commit(self) -> None:
        """On disk, once this returns."""
        self.execute("COMMIT")

    def rollback(self) -> None:
        """As if nothing had been."""
        self.execute("ROLLBACK")

    def close(self) -> None:
        """Rolls back what was not committed."""
        self._connection.close()


@lru_cache(maxsize=256)
def _own(sql: str) -> bytes:
    """With psycopg's mark for parameters. (No statement of ours has one of the two in a text.)"""
    return (sql.replace("%", "%%").replace("?", "%s") if "?" in sql else sql).encode()
