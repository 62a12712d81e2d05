"""Draws uniform subsets of given sizes, by matching them with random subsets whose sizes vary.

Drawing each choice by an independent coin takes a few operations on 64-bit words, but the number of
choices drawn is random. So more rows (subsets as bits) are drawn than are wanted, and each wanted
size takes a row of that size that no other took. The bits of a row are independent and equally
likely to be set: given its size, every subset is equally likely. Only sizes decide which row goes
where, so this stays true.
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
"""The smallest number of wanted sizes that are matched; fewer seldom find a row each."""


@dataclass(frozen=True, slots=True)
class Supply:
    """A source of random rows. A row is a subset of ``n`` choices as bits; each bit is set
    independently, with probability ``odd / 2**depth``.

    To find rows of 100 wanted sizes, ``percent`` rows are drawn.
    """

    n: int
    odd: int
    depth: int
    percent: int

    def rows(self, size: int) -> Words:
        """Returns ``size`` random rows as 64-bit words, shape (size, ceil(n/64)); bits beyond the
        n-th are 0."""
        width = -(-self.n // WORD)
        bits = np.empty(size * width, dtype="<u8")
        for start in range(0, bits.size, _CHUNK):
            self.set_bits(bits[start : start + _CHUNK])
        rows = bits.reshape(size, width)
        if self.n % WORD:
            # The last word has bits for choices that do not exist.
            rows[:, -1] &= np.uint64((1 << self.n % WORD) - 1)
        return rows

    def set_bits(self, bits: Words) -> None:
        """Fills ``bits`` with random words whose bits are set with probability ``odd / 2**depth``.

        The words are built from one uniform word for each binary digit of the probability, from
        the last digit to the first. If bits are set with probability p so far, a bitwise "and"
        with the next uniform word makes that p/2; where the digit is 1, a bitwise "or" makes it (1
        + p)/2.
        """
        drawn = words(self.depth * bits.size, np.uint64).reshape(self.depth, bits.size)
        # ``odd`` is odd, so its last digit is 1: a uniform word alone gives 1/2.
        bits[:] = drawn[0]
        for digit in range(1, self.depth):
            step = np.bitwise_or if self.odd >> digit & 1 else np.bitwise_and
            step(bits, drawn[digit], out=bits)

    def matched(self, sizes: Integers) -> tuple[Words, Int64]:
        """Returns a random subset of n choices for each of ``sizes``, as rows of words, and the
        indices of the sizes for which no row was found. At these indices the row has another
        size."""
        rows = self.rows(len(sizes) * self.percent // 100)
        place, left = pairs(sizes.astype(np.uint16), sizes_of(rows), self.n)
        return rows.take(place, axis=0), left


def sizes_of(rows: Words) -> npt.NDArray[np.uint16]:
    """Returns the number of bits that are set in each row, shape (number of rows,)."""
    counts = np.bitwise_count(rows)
    sizes = counts[:, 0].astype(np.uint16)
    for column in range(1, counts.shape[1]):
        sizes += counts[:, column]
    return sizes


def pairs(
    wanted: npt.NDArray[np.uint16], there: npt.NDArray[np.uint16], maximum: int
) -> tuple[Int64, Int64]:
    """Matches each wanted size with an equal available size, and uses no available one twice.

    Returns two arrays. The first has for each of ``wanted`` the index in ``there`` of its match, 0
    if it has none. The second has the indices in ``wanted`` of the sizes without a match. No size
    is above ``maximum``.
    """
    each_wanted = np.bincount(wanted, minlength=maximum + 1)
    each_there = np.bincount(there, minlength=maximum + 1)
    by_size, source = wanted.argsort(kind="stable"), there.argsort(kind="stable")
    # In order of size, the wanted of one size are neighbours, and so are those there.
    first_wanted, first_there = (each.cumsum() - each for each in (each_wanted, each_there))
    rank = np.arange(len(wanted)) - first_wanted.repeat(each_wanted)
    has_one = rank < each_there.repeat(each_wanted)
    rank += first_there.repeat(each_wanted)
    # The r-th wanted one of a size takes the r-th one there, if there are so many.
    place = np.zeros(len(wanted), dtype=np.int64)
    place[by_size[has_one]] = source[rank[has_one]]
    return place, by_size[~has_one]


@lru_cache(maxsize=64)
def supplies(n: int, left: int, omega: int) -> tuple[Supply, Supply] | None:
    """Returns two sources of rows, for drawing subsets of n choices with ``omega`` or ``omega -
    1`` elements: one for the first ``left`` choices, and one for the rest.

    Returns None where one of the two sides has less than a quarter of the choices, or where no
    probability ``odd / 2**depth`` with depth up to 8 is so close to omega/n that most rows can be
    used.
    """
    right = n - left
    if 4 * min(left, right) < n:
        return None
    for depth in range(1, 9):
        # The numerator nearest to 2**depth * omega / n.
        odd = (2 * (omega << depth) + n) // (2 * n)
        p = Fraction(odd, 1 << depth)
        # Sizes are omega or omega - 1 of n, so the middle of both is what p should be.
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
