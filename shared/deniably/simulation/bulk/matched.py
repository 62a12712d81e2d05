"""Uniform subsets of wanted sizes, matched with subsets whose sizes came by chance.

Independent bits cost a few operations on whole words, but how many of them are set is chance. So
more rows are drawn than are wanted, and each wanted size takes a row of that size that no other
took. The bits of a row are alike and independent: given its size, every subset is equally likely.
Only sizes say which row goes where, so this stays true.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt

import numpy as np
import numpy.typing as npt

from deniably.simulation.bulk.uniform import Int64, Integers, words

Words = npt.NDArray[np.uint64]

WORD = 64
_CHUNK = 1 << 13  # words at once, which stay in the cache
FEWEST = 1 << 9
"""Sizes that are worth a match; fewer seldom find their rows."""


@dataclass(frozen=True, slots=True)
class Supply:
    """Rows of ``n`` independent bits, each set with probability ``odd / 2**depth``.

    ``percent`` rows are drawn for a hundred sizes.
    """

    n: int
    odd: int
    depth: int
    percent: int

    def rows(self, size: int) -> Words:
        """Returns so many rows, shape (size, ceil(n/64))."""
        width = -(-self.n // WORD)
        bits = np.empty(size * width, dtype="<u8")
        for start in range(0, bits.size, _CHUNK):
            self.set_bits(bits[start : start + _CHUNK])
        rows = bits.reshape(size, width)
        if self.n % WORD:
            rows[:, -1] &= np.uint64((1 << self.n % WORD) - 1)
        return rows

    def set_bits(self, bits: Words) -> None:
        """Draws all words of ``bits``. By each random word, from the last digit of the probability
        to its first, the probability p becomes p/2 or, where the digit is 1, (1 + p)/2."""
        drawn = words(self.depth * bits.size, np.uint64).reshape(self.depth, bits.size)
        bits[:] = drawn[0]
        for digit in range(1, self.depth):
            step = np.bitwise_or if self.odd >> digit & 1 else np.bitwise_and
            step(bits, drawn[digit], out=bits)

    def matched(self, sizes: Integers) -> tuple[Words, Int64]:
        """Returns subsets of n choices of the given sizes, and where no row was left for a size."""
        rows = self.rows(len(sizes) * self.percent // 100)
        place, left = pairs(sizes.astype(np.uint16), sizes_of(rows), self.n)
        return rows.take(place, axis=0), left


def sizes_of(rows: Words) -> npt.NDArray[np.uint16]:
    """Returns how many bits of each row are set."""
    counts = np.bitwise_count(rows)
    sizes = counts[:, 0].astype(np.uint16)
    for column in range(1, counts.shape[1]):
        sizes += counts[:, column]
    return sizes


def pairs(
    wanted: npt.NDArray[np.uint16], there: npt.NDArray[np.uint16], maximum: int
) -> tuple[Int64, Int64]:
    """Returns for each wanted size the place of one among those that are there, no place twice; and
    which sizes have none (their place is 0)."""
    each_wanted = np.bincount(wanted, minlength=maximum + 1)
    each_there = np.bincount(there, minlength=maximum + 1)
    by_size, source = wanted.argsort(kind="stable"), there.argsort(kind="stable")
    # In order of size, the wanted of one size are neighbours, and so are those there.
    first_wanted, first_there = (each.cumsum() - each for each in (each_wanted, each_there))
    rank = np.arange(len(wanted)) - first_wanted.repeat(each_wanted)
    has_one = rank < each_there.repeat(each_wanted)
    rank += first_there.repeat(each_wanted)
    place = np.zeros(len(wanted), dtype=np.int64)
    place[by_size[has_one]] = source[rank[has_one]]
    return place, by_size[~has_one]


@lru_cache(maxsize=64)
def supplies(n: int, left: int, omega: int) -> tuple[Supply, Supply] | None:
    """Returns rows for both halves of n choices, of which omega or one less are chosen; None where
    the halves are too unlike, or the share chosen too near 0 or 1, for most rows to be of use."""
    right = n - left
    if 4 * min(left, right) < n:
        return None
    for depth in range(1, 9):
        odd = (2 * (omega << depth) + n) // (2 * n)
        p = Fraction(odd, 1 << depth)
        away = abs(Fraction(2 * omega - 1, 2 * n) - p)
        # Of use are rows where the wrong share moves sizes by less than half a deviation.
        if 0 < p < 1 and 4 * max(left, right) * away**2 <= p * (1 - p):
            sides = ((left, right), (right, left))
            first, second = (
                Supply(size, odd, depth, _percent(n, other, size * away**2 / (p * (1 - p))))
                for size, other in sides
            )
            return first, second
    return None


def _percent(n: int, other: int, moved: Fraction) -> int:
    """Sizes of a half are less spread than those of rows, by the root of other / n."""
    return 2 + isqrt(10_000 * n // other) + int(100 * moved)
