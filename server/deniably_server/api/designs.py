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
    """The best mechanism for a mean, as the database stores it. ``mechanism`` is JSON; ``key`` is
    (number of positions, own, other) for the odds own / other."""

    key: tuple[int, int, int]
    mechanism: str


class KnownDesigns:
    """A cache in memory of the best mechanisms for means, for a process that does not open the
    database. The caller adds what is in the database."""

    def __init__(self) -> None:
        self._known: dict[DesignKey, MeanMechanism] = {}

    def add(self, designs: Iterable[StoredDesign]) -> None:
        """Adds stored mechanisms to the cache. A cache with more than 4,000 is emptied before."""
        if len(self._known) > _MOST_KEPT:
            self._known.clear()
        for each in designs:
            self._known[DesignKey(*each.key)] = _decode(each.mechanism)

    def find(self, key: DesignKey) -> MeanMechanism | None:
        """Returns the best mechanism for a mean with this key; None if it is not in the cache."""
        return self._known.get(key)


def stored_designs(store: Store, keys: Iterable[tuple[int, int, int]]) -> list[StoredDesign]:
    """Returns the best mechanisms for a mean that the database has for ``keys``; an empty list
    where it does not answer. A key is (number of positions, own, other) for the odds own /
    other."""
    try:
        return [StoredDesign(key, text) for key in keys if (text := store.design(*key))]
    except Unavailable:
        return []


def find_designs(store: Store, keys: Iterable[tuple[int, int, int]]) -> None:
    """Computes the best mechanism for a mean for each of the ``keys`` that the database lacks, and
    stores each as soon as it is computed. A key is as in ``StoredDesign``. Raises Unavailable
    where the database does not answer."""
    for key in keys:
        if store.design(*key) is None:
            mechanism = best_for_mean(*key).mechanism
            store.add_design(*key, msgspec.json.encode(mechanism).decode())
