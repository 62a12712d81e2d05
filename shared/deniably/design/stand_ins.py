"""Windows that stand in for the best designs of means, which take long to find.

A linear programme finds the best channel for a mean in 50 to 300 ms. The best window takes 2 ms,
and its margin is within a tenth of the channel's. So a check that has to be quick takes a window
where the best design is not known yet, and lists what is missing. Nothing is published from within
a ``standing_in`` block.
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
    """Designs that are known, and windows that stand in for others."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._missing: dict[DesignKey, MeanMechanism] = {}

    @property
    def missing(self) -> list[DesignKey]:
        """The keys for which a window stood in, each once, in the order in which they were asked
        for."""
        return list(self._missing)

    def find(self, key: DesignKey) -> MeanMechanism:
        """Returns the known design of a key, or else the best window."""
        # Within one check a key has one answer, even if its design becomes known meanwhile.
        if key in self._missing:
            return self._missing[key]
        if found := self._known(key):
            return found
        return self._missing.setdefault(key, best_window(*key).mechanism)


_stand_ins: ContextVar[StandIns | None] = ContextVar("stand_ins", default=None)


@contextmanager
def standing_in(known: Known) -> Generator[StandIns]:
    """Lets windows stand in for designs of means within the block, where none is ``known``.

    No such design is computed there. Gives the ``StandIns``, which lists those that were missing.
    """
    stand_ins = StandIns(known)
    token = _stand_ins.set(stand_ins)
    try:
        yield stand_ins
    finally:
        _stand_ins.reset(token)


def design_for_mean(key: DesignKey) -> MeanMechanism:
    """Returns the best design of a key, which is computed if need be.

    Within ``standing_in`` it returns a known design or a window instead.
    """
    stand_ins = _stand_ins.get()
    return best_for_mean(*key).mechanism if stand_ins is None else stand_ins.find(key)
