"""A clock that stands still until a test moves it."""

from __future__ import annotations


class Clock:
    """Seconds that pass when a test says so; in place of ``time``, ``time.time`` or
    ``time.monotonic``."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def time(self) -> float:
        """What ``time.time`` would say."""
        return self.now
