"""Windows that stand in for the best designs of means, which take long to find.

A linear programme finds the best channel for a mean in 50 to 300 ms. The best window takes 2 ms,
and its margin is within a tenth of the channel's. So a check that has to be quick takes a window
where the design is not known yet, and names what is missing. Nothing that is published is made
within ``standing_in``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from deniably.design.mean_design import MeanMechanism, best_for_mean, best_window


class DesignKey(NamedTuple):
    """What a design of a mean depends on: the number of positions, and the two weights."""

    positions: int
    own: int
    other: int


Known = Callable[[DesignKey], MeanMechanism | None]
"""Returns a design that was found before; None where there is none."""


class StandIns:
    """Known designs, and windows for others; ``missing`` has the keys of those, in order."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._missing: dict[DesignKey, MeanMechanism] = {}

    @property
    def missing(self) -> list[DesignKey]:
        """The designs for which a window stood in, each once."""
        return list(self._missing)

    def find(self, key: DesignKey) -> MeanMechanism:
        """Returns the known design, or else the best window."""
        if key in self._missing:  # one answer within one check
            return self._missing[key]
        if found := self._known(key):
            return found
        return self._missing.setdefault(key, best_window(*key).mechanism)


_stand_ins: ContextVar[StandIns | None] = ContextVar("stand_ins", default=None)


@contextmanager
def standing_in(known: Known) -> Generator[StandIns]:
    """Within the block, no design of a mean is computed: a window stands in where none is known."""
    stand_ins = StandIns(known)
    token = _stand_ins.set(stand_ins)
    try:
        yield stand_ins
    finally:
        _stand_ins.reset(token)


def design_for_mean(key: DesignKey) -> MeanMechanism:
    """Returns the best design, computed if need be; within ``standing_in`` what that finds."""
    stand_ins = _stand_ins.get()
    return best_for_mean(*key).mechanism if stand_ins is None else stand_ins.find(key)
