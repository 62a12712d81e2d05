"""Draws random integers from bytes (SPEC 1), and the distributions of SPEC 2.5 and 2.10 from
these."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

from deniably.reference.refusal import require


class Coins:
    """A source of uniform random integers (SPEC 1). A subclass says where the bytes come from."""

    def word(self) -> int:
        """Returns an integer below 2^53, read from the next 7 bytes."""
        raise NotImplementedError

    def below(self, n: int) -> int:
        """Returns an integer from 0 to n-1, each with probability 1/n, by rejection sampling.
        Raises Invalid unless 1 <= n <= 2^53."""
        require(1 <= n <= 2**53, "a bound is from 1 to 2^53")
        while True:
            u = self.word()
            # Beyond the largest multiple of n, the low residues would come once more than the
            # others.
            if u >= 2**53 - (2**53 % n):
                continue
            return u % n

    def choose(self, weights: list[int]) -> int:
        """Returns an index ``i`` with probability ``weights[i] / sum(weights)``. Raises Invalid for
        a negative weight, and unless the sum is from 1 to 2^53."""
        require(all(weight >= 0 for weight in weights), "weights are not negative")
        require(1 <= sum(weights) <= 2**53, "the sum of the weights is from 1 to 2^53")
        u = self.below(sum(weights))
        return next(i for i, together in enumerate(accumulate(weights)) if u < together)


class Tape(Coins):
    """Coins that read the bytes given as ``data``; ``consumed`` counts how many were read."""

    def __init__(self, data: bytes) -> None:
        self.data, self.consumed = data, 0

    def word(self) -> int:
        block = self.data[self.consumed : self.consumed + 7]
        assert len(block) == 7, "the tape is too short for this vector"
        self.consumed += 7
        return int.from_bytes(block, "big") % 2**53


class TooFewBytes(Exception):
    """Raised where a device took fewer bytes from the operating system than the reference needs."""


class Blocks(Coins):
    """Coins that read the blocks of bytes that the operating system gave to a device.

    Every coins object of the device begins with a new block (``new_object``), and never uses the
    rest of an earlier block. ``used`` counts the blocks that were read.
    """

    def __init__(self, blocks: Sequence[bytes]) -> None:
        self.blocks, self.used = blocks, 0
        self._block, self._place = b"", 0

    def new_object(self) -> None:
        """Drops what is left of the current block, as a new coins object of the device does."""
        self._block, self._place = b"", 0

    def word(self) -> int:
        if self._place + 7 > len(self._block):
            if self.used == len(self.blocks) or len(self.blocks[self.used]) < 7:
                raise TooFewBytes
            self._block, self._place = self.blocks[self.used], 0
            self.used += 1
        self._place += 7
        return int.from_bytes(self._block[self._place - 7 : self._place], "big") % 2**53


def pick(coins: Coins, n: int, size: int) -> list[int]:
    """Returns ``size`` different integers below ``n`` in random order: a Fisher-Yates shuffle that
    stops after ``size`` steps (SPEC 1). Raises Invalid unless 0 <= size <= n."""
    require(0 <= size <= n, "size is from 0 to n")
    items = list(range(n))
    for i in range(size):
        j = i + coins.below(n - i)
        items[i], items[j] = items[j], items[i]
    return items[:size]


def knot(coins: Coins, x: int, k: int, knots: int) -> int:
    """Rounds position ``x`` of ``k`` to one of ``knots`` evenly spaced points, up or down at
    random, so that the expectation is exact (SPEC 2.5)."""
    low, rest = divmod(x * (knots - 1), k - 1)
    return low + 1 - coins.choose([rest, k - 1 - rest])


def chance(coins: Coins, n: int, d: int) -> bool:
    """Returns true with probability e^(-n/d), for 0 <= n <= d (SPEC 2.10).

    Source: Canonne, Kamath and Steinke 2020, algorithm 1. The loop goes beyond ``j`` with
    probability (n/d)^j / j!. So the probability that it stops at an odd ``j`` is the alternating
    series of e^(-n/d).
    """
    j = 1
    while True:
        first = coins.choose([n, d - n])
        second = coins.below(j)
        if first != 0 or second != 0:
            return j % 2 == 1
        j += 1


def fall(coins: Coins, n: int, d: int) -> bool:
    """Returns true with probability e^(-n/d), for any n >= 0 (SPEC 2.10).

    The probability is a product of factors that ``chance`` can draw.
    """
    ratio = Fraction(n, d)
    n, d = ratio.numerator, ratio.denominator
    for _ in range(n // d):
        if not chance(coins, 1, 1):
            return False
    return chance(coins, n % d, d)


def laplace(coins: Coins, t: int, s: int) -> int:
    """Returns integer noise with probability proportional to e^(-|y| s/t) (SPEC 2.10).

    Source: Canonne, Kamath and Steinke 2020, algorithm 2.
    """
    while True:
        u = coins.below(t)
        if not chance(coins, u, t):
            continue
        v = 0
        while chance(coins, 1, 1):
            v += 1
        y = (u + t * v) // s
        negative = coins.below(2)
        # Zero has no sign: without this it would come twice as often.
        if y == 0 and negative == 1:
            continue
        return -y if negative == 1 else y


def gaussian(coins: Coins, p: int, q: int) -> int:
    """Returns integer noise with probability proportional to e^(-y^2 q / (2p)) (SPEC 2.10).

    Source: Canonne, Kamath and Steinke 2020, algorithm 3, by rejection from Laplace noise.
    """
    t = math.isqrt(p // q) + 1
    while True:
        y = laplace(coins, t, 1)
        if fall(coins, (abs(y) * q * t - p) ** 2, 2 * p * q * t**2):
            return y
