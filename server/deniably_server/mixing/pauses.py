"""Pauses between attempts that grow while the attempts fail."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

FIRST_SECONDS = 60.0
LONGEST_SECONDS = 3600.0


class Pauses:
    """When each of several things is tried again: after a minute, then after twice as long each
    time, up to an hour."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._pauses: dict[str, tuple[float, float]] = {}

    def is_over(self, name: str) -> bool:
        """Returns whether something may be tried now."""
        until, _ = self._pauses.get(name, (0.0, 0.0))
        return self._clock() >= until

    def grow(self, name: str) -> float:
        """Begins the next pause, after an attempt that failed; returns its seconds."""
        _, before = self._pauses.get(name, (0.0, 0.0))
        pause = min(LONGEST_SECONDS, 2 * before) or FIRST_SECONDS
        self._pauses[name] = self._clock() + pause, pause
        return pause

    def end(self, name: str) -> None:
        """Forgets the pause, after an attempt that worked."""
        self._pauses.pop(name, None)
