"""The databases that a store can stand on: one small interface, SQLite and PostgreSQL behind it.

The SQL of the store is written once, in the words that both know, with ``?`` for parameters. What
they say differently (how a transaction begins, the tables, the recount) is in ``sqlite`` and
``postgres`` and nowhere else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

Row = tuple[Any, ...]

MOVED = "the database is just being moved elsewhere; start the server on the new one"
SERVED = "a server is running on the database, and what it takes meanwhile would be left behind"


class Result(Protocol):
    """What a statement gives: its rows, or how many rows it changed."""

    @property
    def rowcount(self) -> int:
        """How many rows were changed."""
        ...

    def fetchone(self) -> Any:
        """The next row, or None."""

    def fetchall(self) -> list[Any]:
        """The rows that are left."""
        ...

    def __iter__(self) -> Iterator[Any]:
        """The rows that are left, one by one."""
        ...


class Connection(Protocol):
    """One connection. Outside of a transaction every statement is one of its own."""

    def execute(self, sql: str, parameters: Sequence[object] = (), /) -> Result:
        """Run a statement; ``?`` stands for a parameter."""
        ...

    def executemany(self, sql: str, rows: Sequence[Sequence[object]], /) -> object:
        """Run a statement for every row."""

    def fill(self, table: str, columns: Sequence[str], rows: Iterable[Row], /) -> None:
        """Insert rows, as fast as the database takes them."""

    def begin_rewriting(self) -> None:
        """Until ``commit`` or ``rollback`` nobody else writes rows anew that do not change."""

    def rewrite(self, survey: str, /) -> None:
        """Within the transaction, write the rows of a closed survey by their keys, where the
        database keeps them as they came."""

    def clean(self, surveys: Collection[str], /) -> None:
        """After it, leave nothing of what was deleted or written anew: neither where it lay nor in
        a log. Fails where somebody still reads what was before."""

    def tells_order(self, survey: str, /) -> bool:
        """Whether what lies on the disk tells in which order a survey's reports came."""
        ...

    def tables(self) -> list[str]:
        """The names of all tables."""
        ...

    def columns(self) -> list[tuple[str, str, str]]:
        """Every column of every table: its table, its name, its type in capitals."""
        ...

    def problems(self) -> list[str]:
        """What the database finds wrong with itself, in sentences."""
        ...

    def only_read(self) -> None:
        """From now on, refuse to change anything."""

    def each(self, sql: str, /) -> Iterator[Row]:
        """Within a transaction, the rows one by one: however many, few are in memory."""
        ...

    def begin_reading(self) -> None:
        """All statements until ``rollback`` see one state, and change nothing."""

    def begin_writing(self) -> None:
        """Until ``commit`` or ``rollback`` nobody else writes: who comes second waits."""

    def commit(self) -> None:
        """On disk, once this returns."""

    def rollback(self) -> None:
        """As if nothing had been."""

    def close(self) -> None:
        """Rolls back what was not committed."""


class Engine(Protocol):
    """A database: where it is, and how it says what others say differently."""

    @property
    def address(self) -> str:
        """The path of the file, or the URI."""
        ...

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """What its driver raises."""
        ...

    @property
    def steps(self) -> Sequence[Sequence[str]]:
        """What makes its tables, see ``schema``."""
        ...

    def refuses(self, error: Exception, /) -> bool:
        """Whether the disk, a lock or the network refused, so that the same may work later."""
        ...

    @property
    def answered(self) -> str:
        """SQL: (index of a question, how many stored reports of survey ``?`` have it)."""
        ...

    @property
    def cells(self) -> str:
        """SQL: (index of a question, cell, how many stored reports of survey ``?`` name it)."""
        ...

    def answers(self) -> bool:
        """Whether somebody serves it, be it to refuse us; False where it is not up yet."""
        ...

    def connect(self) -> Connection:
        """A new connection, set up for safety."""
        ...

    def serving(self) -> AbstractContextManager[None]:
        """Say that a server stands on the database, until this is left; also across a fork.
        Raises Conflict while it is moved."""
        ...

    def alone(self) -> AbstractContextManager[None]:
        """Let no server begin until this is left. Raises Conflict where one stands on the database
        already: what it stores meanwhile would be left behind."""
        ...

    def migrate(self) -> None:
        """Bring the tables to the newest schema; safe where several processes start at once."""
