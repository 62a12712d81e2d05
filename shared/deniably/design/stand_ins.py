"""Windows that stand in for the best designs of means, which take long to find.

The best design is a ``Channel`` or a ``Window``, two classes of mechanisms. A linear programme
finds the best channel for a mean in 50 to 300 ms. The best window takes 2 ms, and its margin is
within a tenth of the channel's. So a check that has to be quick takes a window where the best
design is not known yet, and lists what is missing. Nothing is published from within a
``standing_in`` block.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from deniably.design.mean_design import MeanMechanism, best_for_mean, best_window


class DesignKey(NamedTuple):
    """The key of a design for a mean: the number of positions, and the two weights of the odds."""

    positions: int
    own: int
    other: int


Known = Callable[[DesignKey], MeanMechanism | None]
"""A function that returns the design for a key if it was found before, else None."""


class StandIns:
    """Looks up the best designs for means. Where a design was not computed yet, ``find`` returns
    the most accurate ``Window`` mechanism instead, and ``missing`` lists the key of the design."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._missing: dict[DesignKey, MeanMechanism] = {}

    @property
    def missing(self) -> list[DesignKey]:
        """The keys of the designs that were asked for and were not known, each once, in the order
        of the requests."""
        return list(self._missing)

    def find(self, key: DesignKey) -> MeanMechanism:
        """Returns the best design for a key if it is known, otherwise the most accurate ``Window``
        mechanism."""
        # Within one check a key has one answer, even if its design becomes known meanwhile.
        if key in self._missing:
            return self._missing[key]
        if found := self._known(key):
            return found
        return self._missing.setdefault(key, best_window(*key).mechanism)


_stand_ins: ContextVar[StandIns | None] = ContextVar("stand_ins", default=None)


@contextmanager
def standing_in(known: Known) -> Generator[StandIns]:
    """Makes ``design_for_mean`` return the most accurate ``Window`` mechanism, within the block,
    for each design that the function ``known`` does not return.

    No best design is computed within the block. Yields the ``StandIns``, which lists the missing
    designs.
    """
    stand_ins = StandIns(known)
    token = _stand_ins.set(stand_ins)
    try:
        yield stand_ins
    finally:
        _stand_ins.reset(token)


def design_for_mean(key: DesignKey) -> MeanMechanism:
    """Returns the best design for a key, and computes it if need be.

    Within ``standing_in`` no best design is computed: the result is a known design, or the most
    accurate ``Window`` mechanism.
    """
    stand_ins = _stand_ins.get()
    return best_for_mean(*key).mechanism if stand_ins is None else stand_ins.find(key)
