"""Randomises many single choices by subset selection: from a table of all subsets where they are
few, otherwise by splitting counts as ``subsets`` does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import combinations

import numpy as np
import numpy.typing as npt

from deniably.mechanisms import SubsetSelection
from deniably.simulation.bulk.blocks import BLOCK, Samplers, in_blocks
from deniably.simulation.bulk.subsets import subset_words
from deniably.simulation.bulk.uniform import WORD, Integers, UnsignedInts, below, heads, words

Packed = npt.NDArray[np.uint8]

_MOST_IN_TABLE = 1 << 14  # subsets: each has four of the 2**16 words, so few draws are repeated


def subset_selection(mechanism: SubsetSelection, answers: Integers) -> Packed:
    """Returns reports as bits, shape (n, ceil(k/8)), for valid answers (indices of choices), shape
    (n,)."""
    k, law = mechanism.k, masks(mechanism)
    if law is None:
        return in_blocks(partial(where_many, mechanism), answers, BLOCK)
    return in_blocks(lambda part: rotated(law.draw(len(part)), part, k), answers, BLOCK)


def where_many(mechanism: SubsetSelection, answers: Integers) -> Packed:
    """Returns reports as ``subset_selection`` does, for a mechanism that has too many subsets for a
    table."""
    k, omega = mechanism.k, mechanism.omega
    kept = heads(omega * mechanism.own, mechanism.total, len(answers))
    return subset_words(k, omega, kept, answers).view(np.uint8)[:, : -(-k // 8)]


class CondensedTable:
    """A table that draws ``values[i]`` with probability exactly ``weights[i] / total`` from two
    random bytes, or a few more.

    Source: the condensed table of Marsaglia, Tsang and Wang 2004 (J. Stat. Software 11:3), here
    without its rounding. Of the W = 2**16 words of two bytes, floor(W * weight / total) are
    assigned to a value. For each of the R words left over, a second draw chooses the value, in
    proportion to the remainders (W * weight) % total, whose sum is R * total. This is exact: value
    i has the probability

        floor(W weight / total) / W  +  R / W * (W weight % total) / (R total)  =  weight / total.

    No value may be 0, and ``R * total < 2**63``.
    """

    def __init__(self, values: UnsignedInts, weights: Sequence[int]) -> None:
        total = sum(weights)
        at_once, remainders = zip(*(divmod(w << WORD, total) for w in weights), strict=True)
        self.values = values
        self.table = np.zeros(1 << WORD, dtype=values.dtype)  # 0 stands for "draw again"
        self.table[: sum(at_once)] = np.repeat(values, at_once)
        self.ends = np.cumsum(np.array(remainders, dtype=np.uint64))

    def draw(self, size: int) -> UnsignedInts:
        """Returns ``size`` independent values."""
        drawn = self.table.take(words(size, np.uint16), mode="clip")  # no word is out of range
        again = np.flatnonzero(drawn == 0)
        if again.size:
            drawn[again] = self.second(below(int(self.ends[-1]), again.size))
        return drawn

    def second(self, u: UnsignedInts) -> UnsignedInts:
        """Returns the values of second draws. ``u`` are uniform integers below the sum of the
        remainders; each value has as many of these integers as its remainder."""
        return self.values[np.searchsorted(self.ends, u, side="right")]


@lru_cache(maxsize=8)
def masks(mechanism: SubsetSelection) -> CondensedTable | None:
    """Returns a table that draws reports to answer 0, or None if there are too many subsets for a
    table. A report is k bits, and its integer has these k bits twice, one copy after the other."""
    k, omega = mechanism.k, mechanism.omega
    outcomes = math.comb(k, omega)
    if k > 32 or outcomes > _MOST_IN_TABLE:
        return None
    subsets = [sum(1 << choice for choice in subset) for subset in combinations(range(k), omega)]
    weights = [mechanism.own if mask & 1 else mechanism.other for mask in subsets]
    # R < outcomes, so this keeps R * total, the bound of the second draw, below 2**63.
    if outcomes * sum(weights) >= 1 << 63:
        return None
    twice = [mask | mask << k for mask in subsets]
    return CondensedTable(np.array(twice, dtype=np.uint32 if k <= 16 else np.uint64), weights)


def rotated(masks: UnsignedInts, answers: Integers, k: int) -> Packed:
    """Returns the reports to ``answers``, shape (n, ceil(k/8)). ``masks`` are reports to answer 0,
    as the table of the function ``masks`` draws them.

    Adding x to every choice, modulo k, maps the subsets that contain 0 one to one to the subsets
    that contain x. So a report to answer 0 becomes one to answer x, with the right distribution.
    On k bits the addition is a rotation.
    """
    # A shift of k bits written twice is a rotation of k bits; no branch is needed.
    turned = masks >> (k - answers).astype(masks.dtype) & ((1 << k) - 1)
    width = -(-k // 8)
    # numpy has integers of 1, 2, 4 and 8 bytes only; the unused last bytes are cut off.
    size = 1 << (width - 1).bit_length()
    return turned.astype(f"<u{size}").view(np.uint8).reshape(len(turned), size)[:, :width]


SAMPLERS: Samplers = {SubsetSelection: subset_selection}
