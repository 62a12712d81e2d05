"""Connections, transactions and settings: what the stores of servers and of mixers share."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, contextmanager
from threading import Event, Lock

from deniably_server.errors import Unavailable
from deniably_server.storage.engines.engine import Connection, Engine
from deniably_server.storage.engines.readers import Readers
from deniably_server.storage.tables.stored_settings import (
    enter_setting,
    find_setting,
    remove_setting,
)
from deniably_server.storage.writing.order_erasure import erase_order, mark
from deniably_server.storage.writing.writer import Observer, Writer


class BaseStore:
    """A database, with its tables made. ``observer`` counts commits.

    Threads may share a store. Each process needs its own; several may share the database. Every
    method raises Unavailable where the disk, a lock or the network refuses.

    Connections and the writer's thread start when first needed. So you may create a store before a
    fork and use it after, but not use it on both sides.
    """

    def __init__(self, engine: Engine, observer: Observer | None = None) -> None:
        self.engine = engine
        self._observer = observer
        self._lock = Lock()
        self._readers = Readers(self.engine)
        self._writer: Writer | None = None
        self.engine.migrate()
        self.needs_rewrite = Event()
        """Set after a closing and at the start, when ``erase_order`` may have work."""
        self.needs_rewrite.set()

    def erase_order(self, *names: str) -> None:
        """Rewrites closed surveys so that their places on the disk no longer reveal in which order
        things came.

        Rewrites the surveys in ``names``, and all others whose rewrite is pending. Other writers
        go on, or wait a moment: SQLite rewrites its whole file.
        """
        if names:
            with self._transaction() as database:
                for name in names:
                    mark(database, name)
        with self._connection() as database:
            erase_order(database)

    def problems(self) -> list[str]:
        """Returns what the database's own checks find wrong, in sentences."""
        with self._connection() as database:
            return database.problems()

    def check(self) -> None:
        """Raises Unavailable where the database cannot be read or written at present."""
        self.setting("")
        self._get_writer().check()

    # --- settings ---------------------------------------------------------------------------

    def setting(self, key: str) -> str | None:
        """Returns the value of a setting; None if it is not set."""
        with self._reading() as database:
            return find_setting(database, key)

    def set_setting(self, key: str, value: str, *, replace: bool) -> bool:
        """Stores a setting; returns False and changes nothing where it has a value and ``replace``
        is false."""
        with self._transaction() as database:
            if replace:
                remove_setting(database, key)
            return enter_setting(database, key, value)

    # --- connections ------------------------------------------------------------------------

    def close(self) -> None:
        """Store what is queued, then close all connections."""
        with self._lock:
            writer, self._writer = self._writer, None
        if writer:
            writer.close()
        self._readers.close()

    def _new_writer(self) -> Writer:
        return Writer(self.engine, self._observer)

    def _get_writer(self) -> Writer:
        if self._writer is None:  # looked at twice, as every report comes here and needs no lock
            with self._lock:
                if self._writer is None:
                    self._writer = self._new_writer()
                return self._writer
        return self._writer

    @contextmanager
    def _reading(self) -> Generator[Connection]:
        with self._answering(), self._readers.reading() as database:
            yield database

    @contextmanager
    def _transaction(self, *, alone: bool = True) -> Generator[Connection]:
        """A transaction outside the writer's thread. Other servers wait for one that is ``alone``,
        which is for rare changes by authors and operators."""
        with self._connection() as database:
            (database.begin_writing if alone else database.begin_adding)()
            yield database
            database.commit()

    @contextmanager
    def _connection(self) -> Generator[Connection]:
        """A new connection; leaving the block closes it and rolls back uncommitted changes."""
        with self._answering(), closing(self.engine.connect()) as database:
            yield database

    @contextmanager
    def _answering(self) -> Generator[None]:
        """Raise Unavailable for refusals of the disk, a lock or the network."""
        try:
            yield
        except Exception as error:
            if not self.engine.refuses(error):
                raise
            raise Unavailable(f"the database refuses: {str(error).strip()}") from error


@contextmanager
def one_state(database: Connection) -> Generator[None]:
    """All statements in the block see one state of the database."""
    database.begin_reading()
    try:
        yield
    finally:
        database.rollback()
