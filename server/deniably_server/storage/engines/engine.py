"""The interface that the store needs of a database; SQLite and PostgreSQL implement it.

The store's SQL is written once, in the dialect that both share, with ``?`` for parameters. Their
differences are in ``sqlite`` and ``postgres`` alone: transactions, tables and the recount.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

DatabaseRow = tuple[Any, ...]
ReportRow = tuple[bytes, str, str, int]
"""A report's id, its survey's name, its text and the number of its stratum."""

Ordered = Mapping[str, str]
"""The tables in which the places of rows reveal what came first or last, and the columns to sort
by. The first table has a row for everybody who sent something; its key is one column."""

REWRITE_MARK = "untidy "
"""The key in ``settings`` of the mark of a rewrite is this and the survey's name. The transaction
that rewrites the survey changes the mark, too."""

MOVED = "the database is just being moved elsewhere; start the server on the new one"
SERVED = "a server is running on the database, and what it takes meanwhile would be left behind"


class Result(Protocol):
    """The result of a statement: its rows, or how many rows it changed."""

    @property
    def rowcount(self) -> int:
        """How many rows were changed."""
        ...

    def fetchone(self) -> Any:
        """Returns the next row, or None."""

    def fetchall(self) -> list[Any]:
        """Returns the rows that are left."""
        ...

    def __iter__(self) -> Iterator[Any]:
        """Yields the rows that are left."""
        ...


class Connection(Protocol):
    """A connection to the database. Outside a transaction every statement commits by itself."""

    @property
    def shard(self) -> int:
        """The number of the shard of the tallies that this connection adds to; ``claim_shard``
        chose it. Each shard has a row of its own for every count, and a tally is their sum."""
        ...

    @property
    def collisions(self) -> tuple[type[Exception], ...]:
        """The exceptions by which a transaction fails that collided with another transaction. The
        failed transaction may be tried again."""
        ...

    def execute(self, sql: str, parameters: Sequence[object] = (), /) -> Result:
        """Run a statement; ``?`` stands for a parameter."""
        ...

    def executemany(self, sql: str, rows: Sequence[Sequence[object]], /) -> object:
        """Run a statement for every row."""

    def fill(self, table: str, columns: Sequence[str], rows: Iterable[DatabaseRow], /) -> None:
        """Insert rows by the database's fastest way."""

    def insert_new(self, rows: Sequence[ReportRow], /) -> list[int]:
        """Inserts the reports whose ids are not stored yet; returns the indices of the other rows.

        Of rows with equal ids the first counts. The rows are written in their order.
        """
        ...

    def begin_rewriting(self) -> None:
        """Begin a transaction that rewrites closed surveys; only one runs at a time."""

    def begin_taking(self) -> None:
        """Begins a transaction that adds reports to a closed survey, as its mixer's batch does. It
        excludes the transactions of ``begin_rewriting`` and ``begin_writing``."""

    def rewrite(self, survey: str, /) -> None:
        """Stores a closed survey's rows again, in the order of their keys. Call it in a transaction
        of ``begin_rewriting``."""

    def clean(self, surveys: Collection[str], /) -> None:
        """Overwrites what ``rewrite`` and deletions left of old rows, in the tables and in the log.

        Raises TimeoutError where another transaction still reads the old rows.
        """

    def reveals_order(self, survey: str, /) -> bool:
        """Returns whether the disk reveals in which order a survey's reports came."""
        ...

    def tables(self) -> list[str]:
        """Returns the names of all tables."""
        ...

    def columns(self) -> list[tuple[str, str, str]]:
        """Returns (table, column, type in capitals) for every column of every table."""
        ...

    def problems(self) -> list[str]:
        """Returns what the database's own checks find wrong, in sentences; empty if all is well."""
        ...

    def only_read(self) -> None:
        """Make the connection read-only."""

    def each(self, sql: str, parameters: Sequence[object] = (), /) -> Iterator[DatabaseRow]:
        """Yields the rows of a query, with few in memory at a time. Call it within a
        transaction."""
        ...

    def begin_reading(self) -> None:
        """Begin a read-only transaction, whose statements all see one state."""

    def begin_writing(self) -> None:
        """Begins a transaction beside which no other transaction writes. Waits until those of
        ``begin_writing`` and ``begin_adding`` have ended."""

    def begin_adding(self) -> None:
        """Begin a transaction that adds reports or uses invitations.

        Several such transactions may run at once, where the database can, but none while a
        transaction of ``begin_writing`` runs. So if the transaction reads that a survey is open,
        the survey stays open until it commits.
        """

    def claim_shard(self) -> None:
        """Chooses a shard of the tallies that no other connection adds to until this connection
        closes.

        This only makes writing faster: connections that share a shard wait for each other, but no
        count is lost.
        """

    def takes_turn(self, name: str, /, *, wait: bool) -> bool:
        """Locks ``name``, a survey whose results are to be renewed or a draft that is to be
        edited, for this transaction. Returns whether this transaction has the lock.

        The lock is released when the transaction ends, after its commit can be seen. If another
        transaction has the lock, this returns False, or waits for it if ``wait`` is true.
        """
        ...

    def commit(self) -> None:
        """Commit; once this returns, the changes are on disk."""

    def rollback(self) -> None:
        """Undo the transaction."""

    def close(self) -> None:
        """Close the connection, which rolls back uncommitted changes."""


class Engine(Protocol):
    """A database: its address, how to connect, and the SQL that differs between databases."""

    @property
    def address(self) -> str:
        """The path of the file, or the URI."""
        ...

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """The exceptions of the database's driver."""
        ...

    @property
    def one_writer(self) -> bool:
        """Whether transactions run one at a time even if they only add reports."""
        ...

    @property
    def steps(self) -> Sequence[Sequence[str]]:
        """The SQL statements of each schema version, in order; together they create the tables."""
        ...

    def refuses(self, error: Exception, /) -> bool:
        """Returns whether the error is caused by the disk, a lock or the network: a retry may
        succeed."""
        ...

    @property
    def ordered(self) -> Ordered:
        """The tables that ``rewrite`` rewrites."""
        ...

    @property
    def answered(self) -> str:
        """SQL that returns (stratum, index of a question, number of reports that have this
        question), counted from the stored reports of a survey. Its parameter is the survey's
        name."""
        ...

    @property
    def cells(self) -> str:
        """SQL that returns (stratum, index of a question, cell, number of reports that name this
        cell), counted from the stored reports of a survey. Its parameter is the survey's name."""
        ...

    def answers(self) -> bool:
        """Returns whether the database responds, even with a refusal; False if it is not up yet."""
        ...

    def connect(self) -> Connection:
        """Open a connection whose commits are durable."""
        ...

    def serving(self) -> AbstractContextManager[None]:
        """Returns a context that marks the database as in use by a server. The mark survives a
        fork.

        Raises Conflict while a migration copies the database.
        """
        ...

    def alone(self) -> AbstractContextManager[None]:
        """Returns a context in which no server can start on the database.

        Raises Conflict while a server uses the database, as a copy would miss its new reports.
        """
        ...

    def migrate(self) -> None:
        """Brings the tables to the newest schema; safe when several processes start at once."""
