"""Subset selection in bulk where subsets are many: counts are split, then bits come from tables.

How many of the other choices a report has is known once the answer is kept or not. This count is
split between halves, and again, until each part is a word of 64 choices; it is split between the
four lanes of 16 choices of each word; and each lane is one of its subsets, equally likely. All
splits follow the hypergeometric law exactly, so every subset of a size is equally likely (the
identity of Vandermonde).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from itertools import accumulate, combinations, product
from math import comb, prod

import numpy as np
import numpy.typing as npt

from deniably.simulation.bulk.blocks import BLOCK, in_blocks
from deniably.simulation.bulk.uniform import (
    Booleans,
    Int64,
    Integers,
    UnsignedInts,
    coins,
    words,
)

Words = npt.NDArray[np.uint64]

WORD = 64
LANE = 16
_FINE = 52


def subset_words(k: int, omega: int, kept: Booleans, answers: Integers) -> Words:
    """Omega of k choices as little-endian bits, shape (n, ceil(k/64)).

    With the answer where it is ``kept``, shape (n,), and without it elsewhere; the others are any
    of the others, equally likely.

    At first the last choice stands for the answer; then it changes places with it, which takes
    the law of one answer to the law of another.
    """
    reports = np.zeros((len(answers), -(-k // WORD)), dtype="<u8")
    sizes = np.stack(_sizes(k - 1, omega - kept.astype(np.int64)), axis=1)
    full = (k - 1) // WORD
    flat = in_blocks(partial(_word, WORD), sizes[:, :full].ravel(), BLOCK)
    reports[:, :full] = flat.reshape(len(answers), full)
    if (k - 1) % WORD:
        reports[:, full] = _word((k - 1) % WORD, sizes[:, full])
    _changed_places(reports, answers.astype(np.int64), kept, k - 1)
    return reports


def _changed_places(reports: Words, answers: Int64, kept: Booleans, last: int) -> None:
    """Gives each report its answer's bit, and the last choice the bit that stood there."""
    flat = reports.ravel()
    at = (answers >> 6) + np.arange(0, flat.size, reports.shape[1], dtype=np.int64)
    bits = (answers & 63).astype(np.uint64)
    words = flat.take(at)
    there = words >> bits & np.uint64(1)
    flat[at] = words ^ (there ^ kept) << bits
    # Where the answer is the last choice, whose bit was not set yet, nothing is added.
    reports[:, -1] |= there << np.uint64(last % WORD)


def _sizes(n: int, counts: Int64) -> list[Int64]:
    """How many of ``counts`` of n choices lie in each word of 64."""
    if n <= WORD:
        return [counts]
    left = WORD * (-(-n // WORD) // 2)
    first = halves(n, left).draw(counts).astype(np.int64) - 1
    return _sizes(left, first) + _sizes(n - left, counts - first)


def _word(n: int, counts: Integers) -> Words:
    """Uniform subsets of n <= 64 choices with the given sizes."""
    lanes, starts, table = four_lanes(n)
    return uniform_subsets(starts.take(lanes.split(counts), axis=0).ravel(), table).view("<u8")


def uniform_subsets(starts: Int64, table: UnsignedInts) -> UnsignedInts:
    """One of the 2**16 entries of ``table`` from each start on; a 0 is drawn again.

    Start 0 is the count 0, whose only subset is 0.
    """
    drawn = table.take(starts + words(starts.size, np.uint16))
    again = np.flatnonzero(drawn == 0)
    again = again[starts[again] > 0]
    while again.size:
        drawn[again] = table.take(starts[again] + words(again.size, np.uint16))
        again = again[drawn[again] == 0]
    return drawn


# Splits of a count ---------------------------------------------------------------------------


class Split:
    """Draws a value for each count: ``weights(count)`` maps values, from 1 to 2**16 - 1, to whole
    numbers of any length, in whose proportion they come, exactly.

    Source: the condensed table of Marsaglia, Tsang and Wang 2004 (J. Stat. Software 11:3), one a
    count, without its rounding. Of the W = 2**bits words, floor(W * weight / total) stand for a
    value; those left over stand for "draw again", by the remainders (W * weight) % total. That
    second draw looks at 52 bits and, where an end lies within the last one, at as many more as it
    takes. Tables are made when a count first comes.
    """

    def __init__(self, most: int, bits: int) -> None:
        self.bits = bits
        self.table = np.zeros((most + 1) << bits, dtype=np.uint16)  # 0 stands for "draw again"
        self.remainders: dict[int, Mapping[int, int]] = {}
        self._parts = {-1: (np.zeros(1, np.uint64), np.zeros(1, np.uint16))}
        self._ends = self._parts[-1]

    def weights(self, count: int) -> Mapping[int, int]:
        """The law of a count."""
        raise NotImplementedError

    def draw(self, counts: Integers) -> UnsignedInts:
        """An independent value for each count."""
        at = (counts << self.bits) + (words(len(counts), np.uint16) >> (16 - self.bits))
        drawn = self.table.take(at)
        again = np.flatnonzero(drawn == 0)
        if again.size:
            for count in set(counts[again].tolist()) - self.remainders.keys():
                self._make(count)
            drawn[again] = self.table.take(at[again])
            again = again[drawn[again] == 0]
            drawn[again] = self._second(counts[again])
        return drawn

    def _make(self, count: int) -> None:
        weights = self.weights(count)
        total = sum(weights.values())
        shares = {value: divmod(w << self.bits, total) for value, w in weights.items()}
        at_once = [words for words, _ in shares.values()]
        start = count << self.bits
        self.table[start : start + sum(at_once)] = np.repeat(list(shares), at_once)
        rest = {value: remainder for value, (_, remainder) in shares.items() if remainder}
        whole = sum(rest.values())
        ends = [(count << _FINE) + (end << _FINE) // whole for end in accumulate(rest.values())]
        self.remainders[count] = rest
        self._parts[count] = np.array(ends, np.uint64), np.array(list(rest), np.uint16)
        ordered = [self._parts[key] for key in sorted(self._parts)]
        ends_of_all, values = (np.concatenate(column) for column in zip(*ordered, strict=True))
        self._ends = ends_of_all, np.append(values, values[-1:])

    def _second(self, counts: Integers) -> UnsignedInts:
        ends, values = self._ends
        fine = words(len(counts), np.uint64) >> np.uint64(64 - _FINE)
        keys = (counts.astype(np.uint64) << np.uint64(_FINE)) + fine
        at = np.searchsorted(ends, keys, side="right")
        drawn = values[at]
        for unsure in np.flatnonzero(ends[at - 1] == keys):
            drawn[unsure] = self.resolved(int(counts[unsure]), int(fine[unsure]), _FINE)
        return drawn

    def resolved(self, count: int, fine: int, bits: int) -> int:
        """The value at a number of [0, 1) of which the first ``bits`` bits are ``fine``."""
        rest = self.remainders[count]
        ends = list(accumulate(rest.values()))
        while True:
            low, high = fine * ends[-1], (fine + 1) * ends[-1] - 1
            first, last = (bisect_right(ends, edge >> bits) for edge in (low, high))
            if first == last:
                return list(rest)[first]
            fine, bits = fine << 32 | coins().below(1 << 32), bits + 32


class Halves(Split):
    """One more than how many of a count of n choices lie among the first ``left``."""

    def __init__(self, n: int, left: int) -> None:
        super().__init__(n, 12)
        self.n, self.left = n, left

    def weights(self, count: int) -> Mapping[int, int]:
        """The hypergeometric law."""
        right = self.n - self.left
        return {
            h + 1: comb(self.left, h) * comb(right, count - h)
            for h in range(max(0, count - right), min(count, self.left) + 1)
        }


class Lanes(Split):
    """A way to split a count between lanes of the given sizes: its number among all such ways."""

    def __init__(self, sizes: Sequence[int]) -> None:
        super().__init__(sum(sizes), 14)
        self.sizes = sizes
        ways = sorted(product(*(range(size + 1) for size in sizes)), key=sum)
        self.ways = np.array(ways, dtype=np.int64)
        self.first = np.searchsorted(self.ways.sum(axis=1), np.arange(sum(sizes) + 2))

    def weights(self, count: int) -> Mapping[int, int]:
        """The multivariate hypergeometric law."""
        ways = self.ways[self.first[count] : self.first[count + 1]].tolist()
        return {
            number: prod(map(comb, self.sizes, way)) for number, way in enumerate(ways, start=1)
        }

    def split(self, counts: Integers) -> Int64:
        """The number of the way that each count is split, a row of ``ways``."""
        way = (self.first - 1).take(counts)
        way += self.draw(counts)
        return way


@lru_cache(maxsize=64)
def halves(n: int, left: int) -> Halves:
    """Tables grow as counts come, so that all reports share them."""
    return Halves(n, left)


@lru_cache(maxsize=16)
def four_lanes(n: int) -> tuple[Lanes, Int64, UnsignedInts]:
    """How a word of n choices is split, where the subsets of each lane start, and the subsets."""
    sizes = [min(LANE, max(0, n - start)) for start in range(0, WORD, LANE)]
    lanes = Lanes(sizes)
    tables = {size: _subsets_by_size(size) for size in sorted(set(sizes), reverse=True)}
    offsets = dict(zip(tables, accumulate([0, *map(len, tables.values())]), strict=False))
    starts = (lanes.ways << LANE) + np.array([offsets[size] for size in sizes])
    starts[lanes.ways == 0] = 0
    return lanes, starts, np.concatenate(list(tables.values()))


def _subsets_by_size(n: int) -> UnsignedInts:
    """For each count from 0 to n <= 16 a table of 2**16 words: the subsets, each equally often.

    The words that are left over are 0, and so are all of count 0, whose subset is 0.
    """
    table = np.zeros((n + 1, 1 << LANE), dtype="<u2")
    for count in range(1, n + 1):
        subsets = [sum(1 << v for v in subset) for subset in combinations(range(n), count)]
        each = (1 << LANE) // len(subsets)
        table[count, : each * len(subsets)] = np.repeat(np.array(subsets, dtype="<u2"), each)
    return table.ravel()
