"""Decides whose turn it is where many ask for something scarce: the account that used least of it
lately.

A request that is refused is told when to come again, and has precedence then. That is a queue
without threads and connections. Such a promise is kept under a hash of the account's name, and for
minutes at most.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from time import monotonic, time

from deniably_server.guard.asker import Asker
from deniably_server.guard.rate_limits import Buckets, RecentUse

_LONGEST_WAIT = 3600
"""Seconds; nobody is told to wait longer."""
_GRACE = 60.0
"""Seconds for which a promise is kept once it is due."""


class Turns:
    """A record of how much computation each account used lately, and when it may come again. It is
    kept in memory only."""

    def __init__(
        self, clock: Callable[[], float] = monotonic, wall: Callable[[], float] = time
    ) -> None:
        self._use, self._promises = RecentUse(clock, wall), _Promises(clock, wall)

    def used(self, asker: Asker) -> float:
        """Returns the seconds until all recent use by the account is forgotten; 0 without any."""
        return self._use.of(_name(asker))

    def add(self, asker: Asker, seconds: float) -> None:
        """Records that the account used so many seconds of computation."""
        self._use.add(_name(asker), seconds)

    def is_promised(self, asker: Asker) -> bool:
        """Returns whether the account was refused before, and now comes back at the time that it
        was given."""
        return bool(asker.name) and self._promises.is_due(_name(asker))

    def keep(self, asker: Asker) -> None:
        """Records that a request of the account was let in, and forgets the time at which it was
        to come back."""
        if asker.name:
            self._promises.keep(_name(asker))

    def wait(self, asker: Asker, ahead: int, each: float) -> int:
        """Returns the seconds after which a refused account should ask again, and promises it
        precedence then.

        The wait covers ``ahead`` waiting computations, and those promised to other accounts, at
        ``each`` seconds. An account that has a promise already keeps its time.
        """
        if not asker.name:
            return _seconds(each * (ahead + 1))
        return self._promises.make(_name(asker), ahead, each)


class _Promises(Buckets):
    """When whoever was refused may come again, by the hash of a name."""

    def _forget(self) -> None:
        super()._forget()
        self._due: dict[int, float] = {}
        self._pruned = self._clock()

    def make(self, name: str, ahead: int, each: float) -> int:
        """Seconds to wait: those of a promise that is not due yet, or of a new one."""
        place, now = self._place(name), self._clock()
        with self._lock:
            if self._due.get(place, now) <= now:
                self._prune(now)
                others = len(self._due.keys() - {place})
                self._due[place] = now + _seconds(each * (ahead + others + 1))
            return _seconds(self._due[place] - now)

    def is_due(self, name: str) -> bool:
        """Whether a promise is to be kept now."""
        place, now = self._place(name), self._clock()
        with self._lock:
            return now - _GRACE <= self._due.get(place, float("inf")) <= now

    def keep(self, name: str) -> None:
        """A promise is kept."""
        place = self._place(name)
        with self._lock:
            self._due.pop(place, None)

    def _prune(self, now: float) -> None:
        if now - self._pruned >= 1:
            self._pruned = now
            self._due = {place: due for place, due in self._due.items() if due >= now - _GRACE}


def _seconds(wait: float) -> int:
    # A whole number of seconds must not become one more by rounding.
    return min(_LONGEST_WAIT, max(1, ceil(wait - 1e-6)))


def _name(asker: Asker) -> str:
    """A token and an address have different accounts even where their names are equal."""
    return f"{'token' if asker.has_token else 'network'} {asker.name}"
