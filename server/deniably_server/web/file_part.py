"""Serves a part of a file on disk as the body of an answer, which the server sends without a
thread."""

from __future__ import annotations

import os
from collections.abc import Iterator

PIECE = 1 << 16
"""Bytes that are read at once."""


class FilePart:
    """A body of ``length`` bytes of the open file ``file`` (a descriptor), from ``start`` on.

    ``close`` closes the file.
    """

    def __init__(self, file: int, start: int, length: int) -> None:
        self._file: int | None = file
        self._at, self._end = start, start + length

    def __iter__(self) -> Iterator[bytes]:
        """Yields the pieces in order, for a server that iterates over bodies as WSGI demands."""
        while piece := self.read():
            yield piece

    def read(self) -> bytes:
        """Returns the next piece, of at most 64 KiB; empty at the end and after ``close``."""
        if self._file is None:
            return b""
        # pread needs no seek, so the position is this object's own.
        piece = os.pread(self._file, min(PIECE, self._end - self._at), self._at)
        self._at += len(piece)
        return piece

    def close(self) -> None:
        """Closes the file. A second call does nothing."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)
