"""Many answers randomised at once, for simulations: the channel of `mechanism`, in numpy.

Whole numbers and the operating system's generator only, and exactly the law of
``SubsetSelection``; but the random bytes are spent in another way than SPEC section 1 says. A
device, which has one answer, uses ``SubsetSelection.randomise``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from os import urandom
from typing import Any

import numpy as np
import numpy.typing as npt

from deniably.errors import BadAnswer
from deniably.mechanism import SubsetSelection

Integers = npt.NDArray[np.integer[Any]]
Unsigned = npt.NDArray[np.unsignedinteger[Any]]
Packed = npt.NDArray[np.uint8]

_WORD = 16
_MOST_IN_TABLE = 1 << 14
_CHUNK = 1 << 15  # reports at a time: their buffers stay in the cache
_CELLS = 1 << 19  # the same, for rows with one byte a choice


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
    reports = np.empty((answers.size, -(-k // 8)), dtype=np.uint8)
    law = _masks(mechanism)
    for part in _parts(answers.size, _CHUNK if law else _CELLS // k):
        some = answers[part]
        if law:
            reports[part] = _rotated(law.draw(some.size), some, k)
        else:
            kept = _below(mechanism.total, some.size) < mechanism.omega * mechanism.own
            draws = ((j, _below(j, some.size)) for j in range(k - mechanism.omega, k))
            reports[part] = _subsets(k, some, kept, draws)
    return reports


def _parts(n: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def _below(n: int, size: int) -> Unsigned:
    """``size`` integers below n, each value with probability exactly 1/n; n is below 2**63."""
    word = np.dtype(np.uint16 if n <= 1 << 10 else np.uint64)
    every = 1 << 8 * word.itemsize
    last = every - every % n - 1
    words = _words(size, word)
    # Up to `last` every residue modulo n occurs equally often; words above are drawn again.
    while (late := np.flatnonzero(words > last)).size:
        words[late] = _words(late.size, word)
    return words - words // n * n  # numpy divides faster than it takes remainders


def _words(size: int, word: np.dtype[np.unsignedinteger[Any]]) -> Unsigned:
    return np.frombuffer(bytearray(urandom(size * word.itemsize)), dtype=word)


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
        drawn = self.table.take(_words(size, np.dtype(np.uint16)), mode="clip")
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


# Where there are many: Floyd's algorithm, a step at a time for all reports -----------------------


def _subsets(
    k: int, answers: Integers, kept: npt.NDArray[np.bool_], draws: Iterable[tuple[int, Integers]]
) -> Packed:
    """The reports that ``SubsetSelection.randomise`` makes of the same draws.

    It leaves out the first draw where the answer is kept, and adds the answer at the end; here
    the answer takes the place of the first draw. The other draws never meet it.
    """
    width = -(-k // 8) * 8
    answers = answers.astype(np.intp)
    row = np.arange(len(answers)) * width
    reported = np.zeros(len(answers) * width, dtype=np.bool_)
    for j, t in draws:
        cell = row + (t + (t >= answers))
        last = j - 1 + (j - 1 >= answers)
        cell = np.where(reported[cell], row + last, cell)
        if kept is not None:
            cell = np.where(kept, row+answers, cell)
            kept = None
        reported[cell] = True
    return np.packbits(reported, bitorder="little").reshape(len(answers), -1)
