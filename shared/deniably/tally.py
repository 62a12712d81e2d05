"""Sufficient statistics of many reports: how many there are and how many support each choice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Tally:
    """``n`` reports to one question; ``counts[v]`` of them (shape (k,)) support choice v.

    ``tally + tally`` merges; the order of the reports never matters.
    """

    n: int
    counts: Counts

    def __add__(self, other: Tally) -> Tally:
        if self.counts.shape != other.counts.shape:
            raise ValueError("tallies of different questions cannot be merged")
        return Tally(self.n + other.n, self.counts + other.counts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        return self.n == other.n and np.array_equal(self.counts, other.counts)

    __hash__ = None  # type: ignore[assignment]


def tally(reports: Iterable[Sequence[int]], k: int) -> Tally:
    """The tally of reports (lists of supported choices, each below k)."""
    rows = list(reports)
    flat = np.fromiter((choice for row in rows for choice in row), dtype=np.int64)
    return Tally(len(rows), np.bincount(flat, minlength=k).astype(np.int64))


def tally_packed(packed: npt.NDArray[np.uint8], k: int) -> Tally:
    """The tally of reports as bits: shape (n, ceil(k/8)), bit v % 8 of byte v // 8 for choice v."""
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    counts = [
        np.bincount(packed[:, column], minlength=256) @ bits for column in range(packed.shape[1])
    ]
    return Tally(len(packed), np.concatenate(counts)[:k].astype(np.int64))
