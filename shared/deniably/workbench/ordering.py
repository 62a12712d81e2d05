"""Sorts packed reports by content in bounded memory, by merging sorted runs on disk if there are
many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from tempfile import TemporaryFile
from typing import IO

import numpy as np

from deniably.workbench.packing import Rows

_ROOM = 1 << 24
"""Bytes of reports that are sorted at once."""


def in_order(rows: Rows) -> Rows:
    """Returns the rows, shape (n, width), sorted as byte strings."""
    width = rows.shape[1]
    # One byte string a row, so that numpy sorts whole rows. It ignores zero bytes at the end of
    # such strings, which changes no order among rows of one width.
    texts = np.ascontiguousarray(rows).view(f"S{width}").ravel()
    return np.sort(texts).view(np.uint8).reshape(-1, width)


def sorted_blocks(blocks: Iterable[Rows], width: int, room: int = _ROOM) -> Iterator[Rows]:
    """Yields all rows of ``blocks``, sorted as byte strings, in new blocks of about ``room`` bytes
    at most.

    Rows that do not fit into memory are kept in unnamed temporary files, which vanish with the
    process.
    """
    files, held, size = list[IO[bytes]](), list[Rows](), 0
    try:
        for block in blocks:
            held.append(block)
            size += block.nbytes
            if size >= room:
                files.append(_written(in_order(np.vstack(held))))
                held, size = [], 0
        last = in_order(np.vstack(held)) if held else np.zeros((0, width), np.uint8)
        if files:
            # Every run has an equal share of the room for the rows of it that are in memory.
            share = max(room // (len(files) + 1) // width, 1)
            runs = [_Run(_from_file(file, share, width)) for file in files]
            yield from _merged([*runs, _Run(_slices(last, share))])
        else:
            yield from _slices(last, max(room // width, 1))
    finally:
        for file in files:
            file.close()


class _Run:
    """A sorted run of rows; its first rows, the ``head``, are in memory. None after the last."""

    def __init__(self, rest: Iterator[Rows]) -> None:
        self._rest = rest
        self.head = next(rest, None)

    def take(self, bound: bytes) -> Rows:
        """Removes and returns the rows of the head up to ``bound``; reads on where none is left."""
        assert self.head is not None
        cut = _up_to(self.head, bound)
        taken, self.head = self.head[:cut], self.head[cut:]
        if not len(self.head):
            self.head = next(self._rest, None)
        return taken


def _merged(runs: list[_Run]) -> Iterator[Rows]:
    while runs := [run for run in runs if run.head is not None]:
        # Up to the smallest last row in memory, no run can have an unread row that comes before.
        bound = min(run.head[-1].tobytes() for run in runs if run.head is not None)
        yield in_order(np.vstack([run.take(bound) for run in runs]))


def _up_to(rows: Rows, bound: bytes) -> int:
    """Returns how many of the sorted rows are at most ``bound``, by bisection."""
    low, high = 0, len(rows)
    while low < high:
        middle = (low + high) // 2
        if rows[middle].tobytes() <= bound:
            low = middle + 1
        else:
            high = middle
    return low


def _slices(rows: Rows, share: int) -> Iterator[Rows]:
    for at in range(0, len(rows), share):
        yield rows[at : at + share]


def _written(rows: Rows) -> IO[bytes]:
    file = TemporaryFile()  # noqa: SIM115  # closed when the sort ends
    file.write(rows.tobytes())
    file.seek(0)
    return file


def _from_file(file: IO[bytes], share: int, width: int) -> Iterator[Rows]:
    while text := file.read(share * width):
        yield np.frombuffer(text, np.uint8).reshape(-1, width)
