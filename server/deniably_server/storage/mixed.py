"""Stores what the server has of surveys with a mixer: its keys of envelopes, and the batches."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from deniably.trust.envelope import OpeningKey, new_opening_key
from deniably_server.storage.engines.engine import Connection
from deniably_server.storage.tables.envelope_keys import enter_envelope_key

Opened = Callable[[], AbstractContextManager[Connection]]


class MixedStore:
    """The tables of surveys with a mixer in the store's database.

    ``reading`` opens a connection to read; ``writing`` opens one in a transaction beside which no
    other transaction writes. Every method raises Unavailable where the database does not answer.
    """

    def __init__(self, reading: Opened, writing: Opened) -> None:
        self._reading, self._writing = reading, writing

    # --- keys of envelopes ------------------------------------------------------------------

    def issue_key(self, token: str) -> str:
        """Makes a key of envelopes for a survey that the token with this id will publish; returns
        its public half.

        Raises Quota where the token has too many keys that no survey uses.
        """
        key = new_opening_key()
        self.add_key(key, token)
        return key.public

    def add_key(self, key: OpeningKey, token: str) -> None:
        """Stores a key of envelopes. Raises as ``issue_key`` does."""
        with self._writing() as database:
            enter_envelope_key(database, key.public, key.text.decode(), token)
