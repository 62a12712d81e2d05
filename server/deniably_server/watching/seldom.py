"""What is looked at once in five minutes at most, by all processes of a server together: else two
looks, a moment apart, would tell what came between them."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock
from uuid import uuid4

EVERY = 300
"""Seconds between two looks, at least."""
STEP = 10
"""Of what people do, whole tens are told."""
_TURN = "turn"


def tens(count: int) -> int:
    """A count in whole tens, rounded down."""
    return count // STEP * STEP


class Seldom:
    """What was seen last, by name; for all processes where they have a ``folder``."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._lock = Lock()
        self._own: dict[str, tuple[float, bytes]] = {}

    def look(self, name: str, see: Callable[[], bytes], now: float | None = None) -> bytes:
        """What ``see`` gives, or gave less than five minutes ago. ``name`` is one of a file."""
        now = time.time() if now is None else now
        with self._lock:
            if self._folder is not None:
                with suppress(OSError):  # a full disk, or whoever tidies /tmp
                    return _shared(self._folder, name, see, now)
            if name not in self._own or not _is_fresh(self._own[name][0], now):
                self._own[name] = now, see()
            return self._own[name][1]


def put(path: Path, content: bytes) -> None:
    """Write a file whole, or not at all."""
    part = path.with_name(f"{uuid4().hex}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _shared(folder: Path, name: str, see: Callable[[], bytes], now: float) -> bytes:
    file = folder / f"{name}.seen"
    with (folder / _TURN).open("wb") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)  # until it is closed: nobody else looks meanwhile
        with suppress(FileNotFoundError):
            taken, _, seen = file.read_bytes().partition(b"\n")
            if _is_fresh(float(taken), now):
                return seen
        seen = see()
        put(file, f"{now}\n".encode() + seen)
        return seen


def _is_fresh(taken: float, now: float) -> bool:
    return 0 <= now - taken < EVERY  # a clock that was put back does not stop the looks
