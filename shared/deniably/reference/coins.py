"""Section 1, coins, and what sections 2.5 to 2.15 draw with them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

from deniably.reference.refusal import require


class Coins:
    """Section 1; where the bytes come from, `word` says."""

    def word(self) -> int:
        """The next 7 bytes, as one integer below 2^53."""
        raise NotImplementedError

    def below(self, n: int) -> int:
        require(1 <= n <= 2**53, "a bound is from 1 to 2^53")
        while True:
            u = self.word()
            if u >= 2**53 - (2**53 % n):
                continue
            return u % n

    def choose(self, weights: list[int]) -> int:
        require(all(weight >= 0 for weight in weights), "weights are not negative")
        require(1 <= sum(weights) <= 2**53, "the sum of the weights is from 1 to 2^53")
        u = self.below(sum(weights))
        return next(i for i, together in enumerate(accumulate(weights)) if u < together)


class Tape(Coins):
    """Coins that read given bytes. `consumed` counts them."""

    def __init__(self, data: bytes) -> None:
        self.data, self.consumed = data, 0

    def word(self) -> int:
        block = self.data[self.consumed : self.consumed + 7]
        assert len(block) == 7, "the tape is too short for this vector"
        self.consumed += 7
        return int.from_bytes(block, "big") % 2**53


class TooFewBytes(Exception):
    """The device took fewer bytes of the operating system than this needs."""


class Blocks(Coins):
    """Coins that read the blocks of bytes which the operating system gave to a device.

    Each object of coins in the device begins with a new block; what is left of one is never used.
    """

    def __init__(self, blocks: Sequence[bytes]) -> None:
        self.blocks, self.used = blocks, 0
        self._block, self._place = b"", 0

    def new_object(self) -> None:
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
    require(0 <= size <= n, "size is from 0 to n")
    items = list(range(n))
    for i in range(size):
        j = i + coins.below(n - i)
        items[i], items[j] = items[j], items[i]
    return items[:size]


def knot(coins: Coins, x: int, k: int, knots: int) -> int:
    low, rest = divmod(x * (knots - 1), k - 1)
    return low + 1 - coins.choose([rest, k - 1 - rest])


def chance(coins: Coins, n: int, d: int) -> bool:
    j = 1
    while True:
        first = coins.choose([n, d - n])
        second = coins.below(j)
        if first != 0 or second != 0:
            return j % 2 == 1
        j += 1


def fall(coins: Coins, n: int, d: int) -> bool:
    ratio = Fraction(n, d)
    n, d = ratio.numerator, ratio.denominator
    for _ in range(n // d):
        if not chance(coins, 1, 1):
            return False
    return chance(coins, n % d, d)


def laplace(coins: Coins, t: int, s: int) -> int:
    while True:
        u = coins.below(t)
        if not chance(coins, u, t):
            continue
        v = 0
        while chance(coins, 1, 1):
            v += 1
        y = (u + t * v) // s
        negative = coins.below(2)
        if y == 0 and negative == 1:
            continue
        return -y if negative == 1 else y


def gaussian(coins: Coins, p: int, q: int) -> int:
    t = math.isqrt(p // q) + 1
    while True:
        y = laplace(coins, t, 1)
        if fall(coins, (abs(y) * q * t - p) ** 2, 2 * p * q * t**2):
            return y
