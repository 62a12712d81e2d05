"""Finds designs of means for checks of drafts, in the queue, and keeps them in the database.

A design is the mechanism with the smallest worst variance for a question's mean. It may take
seconds, and a check never waits for one. Where one is missing, the queue computes it (lane
``designs``). The next check finds it in the table, whichever process makes it.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from deniably.design.mean_design import MeanMechanism, best_for_mean
from deniably.design.stand_ins import DesignKey
from deniably_server.errors import Unavailable
from deniably_server.storage.store import Store

MOST_AT_ONCE = 16
"""Designs that one job finds: some seconds. A draft that lacks more asks again."""
_MOST_KEPT = 4_000

_decode = msgspec.json.Decoder(MeanMechanism).decode


class StoredDesign(msgspec.Struct, frozen=True):
    """A design as the table has it: its ``key`` (positions, own weight, other weight), and its
    mechanism as JSON."""

    key: tuple[int, int, int]
    mechanism: str


class KnownDesigns:
    """A cache in memory of designs, for a process that opens no database and is told them."""

    def __init__(self) -> None:
        self._known: dict[DesignKey, MeanMechanism] = {}

    def add(self, designs: Iterable[StoredDesign]) -> None:
        """Adds designs to the cache; where it has more than 4,000, it forgets those first."""
        if len(self._known) > _MOST_KEPT:
            self._known.clear()
        for each in designs:
            self._known[DesignKey(*each.key)] = _decode(each.mechanism)

    def find(self, key: DesignKey) -> MeanMechanism | None:
        """Returns the mechanism of a design; None if it is not in the cache."""
        return self._known.get(key)


def stored_designs(store: Store, keys: Iterable[tuple[int, int, int]]) -> list[StoredDesign]:
    """Returns those designs that are stored; none at all where the database does not answer."""
    try:
        return [StoredDesign(key, text) for key in keys if (text := store.design(*key))]
    except Unavailable:
        return []


def find_designs(store: Store, keys: Iterable[tuple[int, int, int]]) -> None:
    """Computes the designs that are not stored yet, and stores each as soon as it is found. Raises
    Unavailable where the database does not answer."""
    for key in keys:
        if store.design(*key) is None:
            mechanism = best_for_mean(*key).mechanism
            store.add_design(*key, msgspec.json.encode(mechanism).decode())
