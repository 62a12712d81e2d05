"""Where a device keeps its memory."""

from __future__ import annotations

from collections.abc import Callable

from deniably.memory import Memory

Change = Callable[[Memory], Memory]


class Transient:
    """A memory that ends with the object; nothing is written anywhere."""

    def __init__(self) -> None:
        self._memory = Memory()

    def read(self) -> Memory:
        """The memory as it is."""
        return self._memory

    def update(self, change: Change) -> Memory:
        """Change the memory, and give it back. What ``change`` raises leaves it as it was."""
        self._memory = change(self._memory)
        return self._memory
