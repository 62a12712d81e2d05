"""Records the random bytes that the operating system gives to the code of this process.

``secrets`` and ``random.SystemRandom`` read ``random._urandom``, a detail of CPython, and other
code ``os.urandom``; both are watched. The bytes are the system's own, or those of a witness that is
run again. Code can notice that it is watched: this finds mistakes, and no malice.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

_PLACES: Sequence[tuple[Any, str]] = (
    (import_module("random"), "_urandom"),  # watched, and never drawn from
    (os, "urandom"),
    (os, "getrandom"),
)


class Tap:
    """A record of the random bytes that code was given.

    ``blocks`` has one entry for each request for random bytes since ``begin``.
    """

    def __init__(self) -> None:
        self.blocks: list[bytes] = []
        self.fed: list[bytes] = []

    def begin(self, fed: Sequence[bytes] = ()) -> None:
        """Deletes the recorded blocks. The next requests get the blocks in ``fed``, if there are
        any."""
        self.blocks, self.fed = [], list(fed)

    def give(self, real: Callable[..., bytes], size: int, *more: int) -> bytes:
        """Returns the next block of ``size`` random bytes, fed or real, and records it."""
        block = real(size, *more)
        # Code that was changed since the witness was made may ask for other sizes; it then gets
        # real bytes.
        if self.fed and len(self.fed[0]) == size:
            block = self.fed.pop(0)
        self.blocks.append(block)
        return block


@contextmanager
def tapped() -> Generator[Tap]:
    """Records the random bytes that this thread gets within the block; yields the ``Tap``.

    Other threads are not recorded.
    """
    tap, thread = Tap(), threading.get_ident()
    before = [(module, name, getattr(module, name)) for module, name in _PLACES]

    def watch(real: Callable[..., bytes]) -> Callable[..., bytes]:
        def give(size: int, *more: int) -> bytes:
            # Other threads, such as those of a server, draw bytes as well.
            mine = threading.get_ident() == thread
            return tap.give(real, size, *more) if mine else real(size, *more)

        return give

    try:
        for module, name, real in before:
            setattr(module, name, watch(real))
        yield tap
    finally:
        for module, name, real in before:
            setattr(module, name, real)
