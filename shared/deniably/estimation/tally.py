"""Tallies: how many reports there are, and how many of them count in each cell.

A tally is a sufficient statistic. Estimates need nothing else of the reports.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class Tally:
    """The tally of ``n`` reports to a question; ``counts[v]`` of them count in cell ``start + v``.

    Which cells a report counts in depends on the mechanism: the choices that it supports, its
    output, or its number. ``counts`` has all cells from 0 on. If any number can be reported
    (noise), the cells have no end: ``endless`` is true, and ``counts`` reaches from the first to
    the last cell that is not empty. ``tally + tally`` is the tally of both sets of reports; the
    order of the reports never matters.

    A mixer adds ``blanks`` to the reports of n people (see ``estimation.blanks``). These are in the
    counts and not in n.

    >>> one, other = tally([[0], [1]], cell_count=2), tally([[1]], cell_count=2)
    >>> (one + other).counts
    array([1, 2])
    """

    n: int
    counts: npt.NDArray[np.int64]
    start: int = 0
    endless: bool = False
    blanks: int = 0

    @property
    def reports(self) -> int:
        """The number of all reports that are counted: of people, and blanks."""
        return self.n + self.blanks

    def with_blanks(self, blanks: int) -> Tally:
        """Returns this tally of a whole batch, ``blanks`` of which are no person's.

        Raises ValueError where the batch has fewer reports.
        """
        if not 0 <= blanks <= self.reports:
            raise ValueError(f"{blanks:,} blanks among {self.reports:,} reports")
        return replace(self, n=self.reports - blanks, blanks=blanks)

    def __add__(self, other: Tally) -> Tally:
        blanks = self.blanks + other.blanks
        if self.endless and other.endless:
            merged = from_cells(self.n + other.n, _merged(self.cells(), other.cells()), None)
            return replace(merged, blanks=blanks)
        if self.endless or other.endless or self.counts.shape != other.counts.shape:
            raise ValueError(
                "tallies of different questions cannot be merged:"
                f" they have {len(self.counts)} and {len(other.counts)} cells"
            )
        return Tally(self.n + other.n, self.counts + other.counts, blanks=blanks)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        same = (self.n, self.blanks, self.start) == (other.n, other.blanks, other.start)
        return same and np.array_equal(self.counts, other.counts)

    # Equal by its arrays, which may change; so it is no key of a cache.
    __hash__ = None  # type: ignore[assignment]

    def enough_for(self, what: str) -> None:
        """Raises ValueError if there is no report; ``what`` names the thing that needs one."""
        if self.n < 1:
            raise ValueError(f"{what} needs at least one report")

    def without_blanks(self, what: str) -> None:
        """Raises ValueError if blanks are counted; ``what`` names the thing that cannot take them
        out."""
        if self.blanks:
            raise ValueError(f"{what} cannot be estimated where a mixer added blanks")

    def cells(self) -> dict[int, int]:
        """Returns {cell: count} of the cells that are not empty."""
        filled = np.flatnonzero(self.counts)
        return {self.start + int(v): self.counts[v].item() for v in filled}


def from_cells(n: int, cells: Mapping[int, int], cell_count: int | None) -> Tally:
    """Returns the tally of n reports from {cell: count}.

    ``cell_count`` is the number of cells of the mechanism's law, None where the cells have no end.
    """
    start = min(cells, default=0) if cell_count is None else 0
    size = max(cells, default=-1) + 1 - start if cell_count is None else cell_count
    dtype = np.array([0, *cells.values()]).dtype  # not whole for reports with weights
    counts: Any = np.zeros(size, dtype)
    for cell, count in cells.items():
        counts[cell - start] = count
    return Tally(n, counts, start, endless=cell_count is None)


def tally(reports: Iterable[Sequence[int]], cell_count: int | None) -> Tally:
    """Returns the tally of reports, each given as the list of cells that it counts in.

    ``cell_count`` is the number of cells of the mechanism's law (k for subset selection), or None
    if the cells have no end.
    """
    rows = list(reports)
    flat = np.fromiter((cell for row in rows for cell in row), dtype=np.int64)
    if cell_count is None:
        start = int(flat.min()) if flat.size else 0
        return Tally(len(rows), np.bincount(flat - start).astype(np.int64), start, endless=True)
    return Tally(len(rows), np.bincount(flat, minlength=cell_count).astype(np.int64))


def tally_packed(packed: npt.NDArray[np.uint8], k: int) -> Tally:
    """Returns the tally of reports that are packed as bits, shape (n, ceil(k/8)).

    Choice v is bit v % 8 of byte v // 8.
    """
    # One count a byte value and column, then 256 x 8 sums: far quicker than unpacking every report.
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    counts = [
        np.bincount(packed[:, column], minlength=256) @ bits for column in range(packed.shape[1])
    ]
    return Tally(len(packed), np.concatenate(counts)[:k].astype(np.int64))


Values = Sequence[Sequence[list[int] | None]]
"""Values of some questions in some reports, a row a report; None where a question was not asked."""


class Repeated(NamedTuple):
    """The distinct values of some reports, and how many reports have each of them."""

    values: Values
    counts: Sequence[int]


def support_rows(reports: Sequence[Sequence[int]], cell_count: int) -> npt.NDArray[np.bool_]:
    """Returns a matrix that says which cells each report counts in, shape (n, cell_count)."""
    named = np.zeros((len(reports), cell_count), dtype=np.bool_)
    rows = np.repeat(np.arange(len(reports)), [len(report) for report in reports])
    named[rows, np.fromiter(chain.from_iterable(reports), dtype=np.intp)] = True
    return named


def _merged(first: Mapping[int, int], second: Mapping[int, int]) -> dict[int, int]:
    return {cell: first.get(cell, 0) + second.get(cell, 0) for cell in {*first, *second}}
