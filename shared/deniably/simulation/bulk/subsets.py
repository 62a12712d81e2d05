"""Draws random subsets for subset selection where there are too many for a table.

Once the answer is in the report or not, the number of other choices in it is known. This count is
split between two halves of the choices. Where many reports are drawn, ``matched`` finds a subset
for each half. Otherwise halves are split again, until each part is a word of 64 choices; the count
of a word is split between its four lanes of 16 choices; and each lane takes one of the subsets of
16 with that count, equally likely. All splits follow the hypergeometric law exactly, so every
subset of a size is equally likely (the identity of Vandermonde).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from itertools import accumulate, product
from math import comb, prod

import numpy as np

from deniably.simulation.bulk.blocks import BLOCK, in_blocks
from deniably.simulation.bulk.matched import FEWEST, WORD, Supply, Words, supplies
from deniably.simulation.bulk.uniform import (
    Booleans,
    Int64,
    Integers,
    UnsignedInts,
    coins,
    words,
)

LANE = 16  # choices whose 2**16 subsets fit one table
_FINE = 52  # bits of a second draw; a count below 2**12 fits above them in a word


def subset_words(k: int, omega: int, kept: Booleans, answers: Integers) -> Words:
    """Draws a subset of k choices for each answer, as little-endian bits, shape (n, ceil(k/64)).

    The subset contains the answer where ``kept``, shape (n,), is True, and not where it is False.
    It has ``omega`` choices, and all such subsets are equally likely. The subset is drawn as if
    the last choice were the answer; then the answer and the last choice are exchanged, which gives
    the distribution for the answer.
    """
    reports = np.zeros((len(answers), -(-k // WORD)), dtype="<u8")
    sizes = omega - kept.astype(np.int64)
    _draw(k - 1, omega, sizes, reports[:, : -(-(k - 1) // WORD)])
    _changed_places(reports, answers.astype(np.int64), kept, k - 1)
    return reports


def _draw(n: int, omega: int, sizes: Int64, drawn: Words) -> None:
    """Fills ``drawn`` with uniform subsets of n choices of the given sizes, omega or one less."""
    # Halves begin at whole words, so each side fills columns of its own.
    left = _left(n)
    sides = supplies(n, left, omega) if n > WORD else None
    if sides is None or len(sizes) < FEWEST:
        drawn[:] = _from_words(n, sizes)
        return
    first = halves(n, left).draw(sizes).astype(np.int64) - 1
    edge = left // WORD
    _match(sides[0], first, drawn[:, :edge])
    _match(sides[1], sizes - first, drawn[:, edge:])


def _match(supply: Supply, sizes: Int64, drawn: Words) -> None:
    """Fills one half; the sizes that no row matched are split further."""
    drawn[:], unmatched = supply.matched(sizes)
    drawn[unmatched] = _from_words(supply.n, sizes[unmatched])


def _from_words(n: int, counts: Int64) -> Words:
    """Uniform subsets of n choices with the given sizes, word by word."""
    sizes = np.stack(_sizes(n, counts), axis=1)
    full = n // WORD
    drawn = np.empty((len(counts), -(-n // WORD)), dtype="<u8")
    flat = in_blocks(partial(_word, WORD), sizes[:, :full].ravel(), BLOCK)
    drawn[:, :full] = flat.reshape(len(counts), full)
    if n % WORD:
        drawn[:, full] = _word(n % WORD, sizes[:, full])
    return drawn


def _changed_places(reports: Words, answers: Int64, kept: Booleans, last: int) -> None:
    """Gives each report its answer's bit, and the last choice the bit that stood there."""
    flat = reports.ravel()
    at: slice | Int64 = slice(None)
    if reports.shape[1] > 1:
        at = (answers >> 6) + np.arange(0, flat.size, reports.shape[1], dtype=np.int64)
    bits = (answers & 63).astype(np.uint64)
    words = flat[at]
    there = words >> bits & np.uint64(1)
    # Sets the answer's bit to ``kept``, whatever it was.
    flat[at] = words ^ (there ^ kept) << bits
    # Where the answer is the last choice, whose bit was not set yet, nothing is added.
    reports[:, -1] |= there << np.uint64(last % WORD)


def _sizes(n: int, counts: Int64) -> list[Int64]:
    """How many of ``counts`` of n choices lie in each word of 64."""
    if n <= WORD:
        return [counts]
    left = _left(n)
    first = halves(n, left).draw(counts).astype(np.int64) - 1
    return _sizes(left, first) + _sizes(n - left, counts - first)


def _left(n: int) -> int:
    """Half of n > 64 choices, in whole words."""
    return WORD * (-(-n // WORD) // 2)


def _word(n: int, counts: Integers) -> Words:
    """Uniform subsets of n <= 64 choices with the given sizes."""
    lanes, ranges = four_lanes(n)
    way = lanes.split(counts)
    return uniform_subsets(*(column.take(way, axis=0).ravel() for column in ranges)).view("<u8")


def uniform_subsets(
    starts: UnsignedInts, lengths: UnsignedInts, refused: UnsignedInts
) -> UnsignedInts:
    """Draws subsets of 16 choices from the table ``subsets_by_size``: for each item of the three
    arrays one subset, equally likely among some neighbouring rows.

    The rows are the first ``lengths`` from ``starts`` on, where a start is in the upper 16 bits of
    its integer. A random 16-bit word times the length gives the offset of a row in the upper 16
    bits of the product. Where the lower 16 bits are below ``refused`` (2**16 modulo the length),
    the draw is repeated, so that all rows are equally likely. Source: Lemire 2019 (ACM Trans.
    Model. Comput. Simul. 29:1).
    """
    table = subsets_by_size()
    # The upper half of a product instead of a remainder: no division (Lemire 2019).
    at = lengths * words(lengths.size, np.uint16)
    at += starts
    parts = at.astype("<u4", copy=False).view("<u2").reshape(-1, 2)
    drawn = table.take(parts[:, 1], mode="clip")  # no 16 bits are out of range
    again = np.flatnonzero(parts[:, 0] < refused)
    if again.size:
        drawn[again] = uniform_subsets(starts[again], lengths[again], refused[again])
    return drawn


# Splits of a count ---------------------------------------------------------------------------


class Split:
    """A sampler of several integer distributions, one for each ``count``. ``weights(count)`` maps
    the values, from 1 to 2**16 - 1, to integers of any length; a value is drawn with a probability
    exactly proportional to its weight.

    Source: the condensed table of Marsaglia, Tsang and Wang 2004 (J. Stat. Software 11:3), one
    table for each count, without its rounding. The first draw is one of W = 2**bits equally likely
    words. Of these, floor(W * weight / total) are assigned to each value. If the word is one of
    those left over, a second draw chooses the value, in proportion to the remainders
    (W * weight) % total. The second draw uses 52 bits, and more where these do not decide between
    two values. The table of a count is made when the count first occurs.
    """

    def __init__(self, maximum: int, bits: int) -> None:
        self.bits = bits
        self.table = np.zeros((maximum + 1) << bits, dtype=np.uint16)  # 0 stands for "draw again"
        self.remainders: dict[int, Mapping[int, int]] = {}
        # An entry below all counts: a search never falls before the first end.
        self._parts = {-1: (np.zeros(1, np.uint64), np.zeros(1, np.uint16))}
        self._ends = self._parts[-1]

    def weights(self, count: int) -> Mapping[int, int]:
        """Returns the weight of each value for a count. Subclasses define it."""
        raise NotImplementedError

    def draw(self, counts: Integers) -> UnsignedInts:
        """Returns a random value for each of ``counts``, shape (n,), all independent."""
        # The tables of all counts stand in one array, so that one look-up serves all.
        at = (counts << self.bits) + (words(len(counts), np.uint16) >> (16 - self.bits))
        drawn = self.table.take(at)
        again = np.flatnonzero(drawn == 0)
        if again.size:
            for count in set(counts[again].tolist()) - self.remainders.keys():
                self._make(count)
            drawn[again] = self.table.take(at[again])
            again = again[drawn[again] == 0]
        if again.size:  # not for none: whether tables were new must not move a given source
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
        # Ends of the remainders as 52-bit fractions, rounded down; the count above makes them
        # ascend through all counts, so that one search finds the part of each.
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
        # The true end lies somewhere within this 52-bit step: only more bits can decide.
        for unsure in np.flatnonzero(ends[at - 1] == keys):
            drawn[unsure] = self.resolved(int(counts[unsure]), int(fine[unsure]), _FINE)
        return drawn

    def resolved(self, count: int, fine: int, bits: int) -> int:
        """Returns a value for ``count`` where the first draw, a look-up in the table, gave none.

        The second draw is a random number u in [0, 1), which chooses a value in proportion to the
        remainders. Its first bits are drawn already: ``fine`` is floor(u * 2**bits). Further bits
        are drawn until only one value is possible.
        """
        rest = self.remainders[count]
        ends = list(accumulate(rest.values()))
        while True:
            # The scaled bounds of all numbers that begin with these bits.
            low, high = fine * ends[-1], (fine + 1) * ends[-1] - 1
            first, last = (bisect_right(ends, edge >> bits) for edge in (low, high))
            if first == last:
                return list(rest)[first]
            fine, bits = fine << 32 | coins().below(1 << 32), bits + 32


class Halves(Split):
    """A sampler of hypergeometric splits: if ``count`` of n choices are chosen at random, how many
    of them are among the first ``left`` choices? Values are that number plus 1, since a value
    cannot be 0."""

    def __init__(self, n: int, left: int) -> None:
        super().__init__(n, 12)
        self.n, self.left = n, left

    def weights(self, count: int) -> Mapping[int, int]:
        """Returns the hypergeometric weights if ``count`` choices are chosen: {number among the
        first ``left``, plus 1: number of such subsets}."""
        right = self.n - self.left
        return {
            h + 1: comb(self.left, h) * comb(right, count - h)
            for h in range(max(0, count - right), min(count, self.left) + 1)
        }


class Lanes(Split):
    """A sampler of splits: if ``count`` choices are chosen at random, how many of them are in each
    lane? Lanes have the given ``sizes``. A value is the index of a split among all splits of that
    count, plus 1."""

    def __init__(self, sizes: Sequence[int]) -> None:
        super().__init__(sum(sizes), 14)
        self.sizes = sizes
        ways = sorted(product(*(range(size + 1) for size in sizes)), key=sum)
        self.ways = np.array(ways, dtype=np.int64)
        self.first = np.searchsorted(self.ways.sum(axis=1), np.arange(sum(sizes) + 2))

    def weights(self, count: int) -> Mapping[int, int]:
        """Returns the multivariate hypergeometric weights if ``count`` choices are chosen: {index
        of the split, plus 1: number of such subsets}."""
        ways = self.ways[self.first[count] : self.first[count + 1]].tolist()
        return {
            number: prod(map(comb, self.sizes, way)) for number, way in enumerate(ways, start=1)
        }

    def split(self, counts: Integers) -> Int64:
        """Draws a random split for each of ``counts``, and returns its index in ``ways``, the
        array of all splits."""
        way = (self.first - 1).take(counts)
        way += self.draw(counts)
        return way


@lru_cache(maxsize=64)
def halves(n: int, left: int) -> Halves:
    """Returns the sampler that splits n choices into the first ``left`` and the rest. All callers
    share one object, so that each table is made only once."""
    return Halves(n, left)


@lru_cache(maxsize=16)
def four_lanes(n: int) -> tuple[Lanes, tuple[UnsignedInts, UnsignedInts, UnsignedInts]]:
    """Returns the sampler that splits a word of n <= 64 choices into lanes of 16, and the three
    arrays ``starts``, ``lengths`` and ``refused`` that ``uniform_subsets`` takes. They have a row
    for each split and a column for each lane."""
    sizes = [min(LANE, max(0, n - start)) for start in range(0, WORD, LANE)]
    lanes = Lanes(sizes)
    first = [0, *accumulate(comb(LANE, count) for count in range(LANE))]
    starts = np.array(first, dtype=np.uint32)[lanes.ways] << np.uint32(LANE)
    lengths = np.empty_like(starts)
    for lane, size in enumerate(sizes):
        of_count = np.array([comb(size, count) for count in range(size + 1)], dtype=np.uint32)
        lengths[:, lane] = of_count[lanes.ways[:, lane]]
    return lanes, (starts, lengths, ((1 << LANE) % lengths).astype(np.uint16))


@lru_cache(maxsize=1)
def subsets_by_size() -> UnsignedInts:
    """Returns all subsets of 16 choices as 16-bit integers, ordered by size, and within a size by
    the integer."""
    subsets = np.arange(1 << LANE, dtype="<u2")
    return subsets[np.bitwise_count(subsets).argsort(kind="stable")]
