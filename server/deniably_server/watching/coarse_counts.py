"""Caches values that are renewed at most once in five minutes, for all processes of a server
together.

Without it, two looks a moment apart would show what one person did in between.
"""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock
from uuid import uuid4

EVERY = 300
"""Seconds for which a value is shown unchanged."""
STEP = 10
"""Counts of people's activity are shown as multiples of this."""
_TURN = "turn"


def tens(count: int) -> int:
    """Round a count down to whole tens.

    >>> tens(19)
    10
    """
    return count // STEP * STEP


class Seldom:
    """A cache that computes the value of each name at most once in five minutes. With a
    ``folder``, all processes that use this folder share the cache."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._lock = Lock()
        self._own: dict[str, tuple[float, bytes]] = {}

    def look(self, name: str, see: Callable[[], bytes], now: float | None = None) -> bytes:
        """Returns the cached value of ``name`` if it is less than five minutes old, else
        ``see()``, which is cached.

        ``name`` is used as a file name. ``now`` is in seconds, the current time by default.
        """
        now = time.time() if now is None else now
        with self._lock:
            if self._folder is not None:
                with suppress(OSError):  # a full disk, or a cleaner of /tmp
                    return _shared(self._folder, name, see, now)
            if name not in self._own or not _is_fresh(self._own[name][0], now):
                self._own[name] = now, see()
            return self._own[name][1]


def replace_file(path: Path, content: bytes) -> None:
    """Write a file atomically: readers see the old content or the new."""
    part = path.with_name(f"{uuid4().hex}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _shared(folder: Path, name: str, see: Callable[[], bytes], now: float) -> bytes:
    file = folder / f"{name}.seen"
    with (folder / _TURN).open("wb") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)  # held until ``turn`` closes: one look at a time
        with suppress(FileNotFoundError):
            taken, _, seen = file.read_bytes().partition(b"\n")
            if _is_fresh(float(taken), now):
                return seen
        seen = see()
        replace_file(file, f"{now}\n".encode() + seen)
        return seen


def _is_fresh(taken: float, now: float) -> bool:
    return 0 <= now - taken < EVERY  # negative after the clock was set back: then look again
