"""Designs of means for checks of drafts: found by the queue, kept in the database.

A check never waits for a design. Where one is missing, the queue computes it (lane ``designs``).
The next check finds it in the table, whichever process makes it.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import msgspec

from deniably.design.mean_design import MeanMechanism, best_for_mean
from deniably.design.stand_ins import DesignKey
from deniably_server.errors import Unavailable
from deniably_server.storage.store import Store

MOST_AT_ONCE = 16
"""Designs that one job finds: some seconds. A draft that lacks more asks again."""
_MOST_KEPT = 4_000

_decode = msgspec.json.Decoder(MeanMechanism).decode


class KnownDesigns:
    """The designs in a database, of which those that were read stay in memory."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read: dict[DesignKey, MeanMechanism] = {}

    def find(self, key: DesignKey) -> MeanMechanism | None:
        """Returns a design; None where it is not known, or the database does not answer."""
        if found := self._read.get(key):
            return found
        with suppress(Unavailable):
            if text := self._store.design(*key):
                if len(self._read) >= _MOST_KEPT:
                    self._read.clear()
                return self._read.setdefault(key, _decode(text))
        return None


def find_designs(store: Store, keys: Iterable[tuple[int, int, int]]) -> None:
    """Compute designs, and store each as soon as it is found. Raises Unavailable."""
    for key in keys:
        if store.design(*key) is None:
            mechanism = best_for_mean(*key).mechanism
            store.add_design(*key, msgspec.json.encode(mechanism).decode())
