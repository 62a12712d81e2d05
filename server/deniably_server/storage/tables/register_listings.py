"""Keeps the hash trees over the register in memory, so that a listing costs no more for a longer
register."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

from deniably.core.errors import BadRegister
from deniably.trust.heads import Head, SignedHead, head_of_trees, sign_head
from deniably.trust.listing import VOLUME, Listing, make_listing
from deniably.trust.signing import Key
from deniably.trust.trees import Trees
from deniably_server.errors import Unavailable
from deniably_server.storage.engines.engine import Connection
from deniably_server.storage.tables.register import day_of, hashes_after, publication


class RegisterTrees:
    """The hash trees over the register of one database. Each process has its own trees, and adds
    the entries that other processes have made.

    At the first use all hashes are read: some 20 microseconds an entry. Threads may share an
    instance. ``key`` returns the server's key, which signs each head of the register once.
    """

    def __init__(self, key: Callable[[], Key]) -> None:
        self._key = key
        self._lock = Lock()
        self._trees = Trees()
        self._head = head_of_trees(self._trees, None)
        self._signed: SignedHead | None = None

    def listing(self, database: Connection, name: str) -> Listing | None:
        """Returns a survey's listing: its register entry with proofs that it is in the register;
        None where no survey of this name is published."""
        entry = publication(database, name)
        if entry is None:
            return None
        with self._lock:
            head = self._current(database)
            if self._signed is None or self._signed.head != head:
                self._signed = sign_head(head, self._key())
            return make_listing(self._trees, self._signed, entry)

    def head(self, database: Connection) -> Head:
        """Returns the head of the register as it is now."""
        with self._lock:
            return self._current(database)

    def volume(self, database: Connection, number: int) -> list[str]:
        """Returns the hashes of the register's entries from number ``1024 * number + 1`` on, at
        most 1,024."""
        with self._lock:
            self._current(database)
            return self._trees.hashes[VOLUME * number : VOLUME * (number + 1)]

    def _current(self, database: Connection) -> Head:
        """Add what was entered since; returns the head. Raises Unavailable where the database is
        damaged."""
        try:
            new = hashes_after(database, len(self._trees.hashes))
            for hash_, published in new:
                self._trees.add(hash_, published)
        except BadRegister as error:
            raise Unavailable(f"the register is damaged: {error}; see deniably doctor") from None
        if new:
            self._head = head_of_trees(self._trees, day_of(database, len(self._trees.hashes)))
        return self._head
