"""Many answers randomised at once, for simulations: the channel of `mechanisms`, in numpy.

Whole numbers and the operating system's generator only, and exactly the law of
``SubsetSelection``; but the random bytes are spent in another way than SPEC section 1 says. A
device, which has one answer, uses ``SubsetSelection.randomise``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from os import urandom
from typing import Any

import numpy as np
import numpy.typing as npt

from deniably.errors import BadAnswer
from deniably.mechanisms.subset_selection import SubsetSelection

Integers = npt.NDArray[np.integer[Any]]
Unsigned = npt.NDArray[np.unsignedinteger[Any]]
Packed = npt.NDArray[np.uint8]

_WORD = 16
_MOST_IN_TABLE = 1 << 14
_PART = 1 << 15  # reports at a time, so that the buffers stay in the cache
_PART_OF_ROWS = 1 << 12  # the same, where a report is a row with one byte a choice


def randomise_many(mechanism: SubsetSelection, answers: Integers) -> Packed:
    """One report for each of ``answers`` (shape (n,), whole numbers below k), packed.

    Returns shape (n, ceil(k/8)): bit ``v % 8`` of byte ``v // 8`` is set where choice v is
    reported, as ``tally_packed`` reads it. Raises BadAnswer, before any draw.
    """
    k = mechanism.k
    if answers.ndim != 1 or answers.dtype.kind not in "iu":
        raise BadAnswer("many answers are one row of whole numbers")
    if answers.size and not 0 <= answers.min() <= answers.max() < k:
        raise BadAnswer(f"an answer is the index of a choice, from 0 to {k - 1}")
    answers = answers.astype(np.intp, copy=False)
    reports = np.empty((answers.size, -(-k // 8)), dtype=np.uint8)
    law = _masks(mechanism)
    size = _PART_OF_ROWS if law is None else _PART
    for start in range(0, answers.size, size):
        part = slice(start, start + size)
        if law is None:
            reports[part] = _by_floyd(mechanism, answers[part])
        else:
            reports[part] = _rotated(law.draw(len(answers[part])), answers[part], k)
    return reports


def _below(n: int, size: int) -> Unsigned:
    """``size`` integers below n, each value with probability exactly 1/n; n is below 2**63."""
    word = np.uint16 if n <= 1 << 10 else np.uint64
    most = int(np.iinfo(word).max)
    last = most - (most + 1) % n
    words = _words(size, word)
    # Up to `last` every residue modulo n occurs equally often; words above are drawn again.
    while (late := np.flatnonzero(words > last)).size:
        words[late] = _words(late.size, word)
    return words - words // n * n  # numpy divides faster than it takes remainders


def _words(size: int, word: type[np.unsignedinteger[Any]]) -> Unsigned:
    return np.frombuffer(bytearray(urandom(size * np.dtype(word).itemsize)), dtype=word)


# Where there are few subsets: a table of all of them ------------------------------------------


class _Law:
    """Draws ``values[i]`` with probability exactly ``weights[i] / total``, two bytes at a time.

    Source: the condensed table of Marsaglia, Tsang and Wang 2004 (J. Stat. Software 11:3), here
    without its rounding. Of the W = 2**16 words, floor(W * weight / total) stand for a value;
    the R words left over stand for "draw again", by the remainders (W * weight) % total, whose
    sum is R * total. This is exact: value i has the probability

        floor(W weight / total) / W  +  R / W * (W weight % total) / (R total)  =  weight / total.

    No value is 0, and ``R * total < 2**63``.
    """

    def __init__(self, values: Unsigned, weights: Sequence[int]) -> None:
        total = sum(weights)
        at_once, remainders = zip(*(divmod(w << _WORD, total) for w in weights), strict=True)
        self.values = values
        self.table = np.zeros(1 << _WORD, dtype=values.dtype)  # 0 stands for "draw again"
        self.table[: sum(at_once)] = np.repeat(values, at_once)
        self.ends = np.cumsum(np.array(remainders, dtype=np.uint64))

    def draw(self, size: int) -> Unsigned:
        drawn = self.table.take(_words(size, np.uint16), mode="clip")  # no word is out of range
        again = np.flatnonzero(drawn == 0)
        if again.size:
            drawn[again] = self.second(_below(int(self.ends[-1]), again.size))
        return drawn

    def second(self, u: Unsigned) -> Unsigned:
        """The value to which u, below the sum of the remainders, belongs."""
        return self.values[np.searchsorted(self.ends, u, side="right")]


@lru_cache(maxsize=8)
def _masks(mechanism: SubsetSelection) -> _Law | None:
    """The law of the report to answer 0, as k bits written twice; None where it is too long."""
    k, omega = mechanism.k, mechanism.omega
    outcomes = math.comb(k, omega)
    if k > 32 or outcomes > _MOST_IN_TABLE:
        return None
    subsets = [sum(1 << choice for choice in subset) for subset in combinations(range(k), omega)]
    weights = [mechanism.own if mask & 1 else mechanism.other for mask in subsets]
    if outcomes * sum(weights) >= 1 << 63:
        return None
    twice = [mask | mask << k for mask in subsets]
    return _Law(np.array(twice, dtype=np.uint32 if k <= 16 else np.uint64), weights)


def _rotated(masks: Unsigned, answers: Integers, k: int) -> Packed:
    """The reports to ``answers`` from reports to answer 0 (k bits written twice).

    Adding x to every choice, modulo k, takes the subsets with 0 to the subsets with x, one to
    one; so it takes the law of answer 0 to the law of answer x. On k bits it is a rotation.
    """
    turned = masks >> (k - answers).astype(masks.dtype) & ((1 << k) - 1)
    width = -(-k // 8)
    word = f"<u{1 << (width - 1).bit_length()}"
    return turned.astype(word).view(np.uint8).reshape(len(turned), -1)[:, :width]


# Where there are many: Floyd's algorithm, one step at a time for all reports --------------------


def _by_floyd(mechanism: SubsetSelection, answers: Integers) -> Packed:
    k, omega, n = mechanism.k, mechanism.omega, len(answers)
    kept = _below(mechanism.total, n) < omega * mechanism.own
    draws = ((j, _below(j, n)) for j in range(k - omega, k))
    return _subsets(k, answers, kept, draws)


def _subsets(
    k: int, answers: Integers, kept: npt.NDArray[np.bool_], draws: Iterator[tuple[int, Integers]]
) -> Packed:
    """The reports that ``SubsetSelection.randomise`` makes of the same draws (j, below(j)).

    It leaves out the first draw where the answer is kept, and adds the answer at the end. Here
    the answer takes the place of that draw, which is the same set: no other draw can meet it.
    """
    width = 8 * -(-k // 8)
    row = np.arange(len(answers)) * width
    own = row + answers
    reported = np.zeros(len(answers) * width, dtype=np.bool_)

    def others(i: int | Integers) -> Integers:
        """Where choice i of those other than the answer is kept."""
        cell = row + i
        return cell + (cell >= own)

    _, t = next(draws)
    reported[np.where(kept, own, others(t))] = True
    for j, t in draws:
        cell = others(t)
        reported[np.where(reported[cell], others(j - 1), cell)] = True
    return np.packbits(reported, bitorder="little").reshape(len(answers), -1)
