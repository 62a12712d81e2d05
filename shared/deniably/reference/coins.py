"""Section 1, coins, and what sections 2.5 to 2.15 draw with them."""

from __future__ import annotations

import math
from fractions import Fraction

from deniably.reference.refusal import require


class Tape:
    """Coins that read given bytes. `consumed` counts them."""

    def __init__(self, data: bytes) -> None:
        self.data, self.consumed = data, 0

    def below(self, n: int) -> int:
        require(1 <= n <= 2**53, "a bound is from 1 to 2^53")
        while True:
            block = self.data[self.consumed : self.consumed + 7]
            assert len(block) == 7, "the tape is too short for this vector"
            self.consumed += 7
            u = int.from_bytes(block, "big") % 2**53
            if u >= 2**53 - (2**53 % n):
                continue
            return u % n

    def choose(self, weights: list[int]) -> int:
        require(all(weight >= 0 for weight in weights), "weights are not negative")
        require(1 <= sum(weights) <= 2**53, "the sum of the weights is from 1 to 2^53")
        u = self.below(sum(weights))
        return next(i for i in range(len(weights)) if u < sum(weights[: i + 1]))


def pick(coins: Tape, n: int, size: int) -> list[int]:
    require(0 <= size <= n, "size is from 0 to n")
    items = list(range(n))
    for i in range(size):
        j = i + coins.below(n - i)
        items[i], items[j] = items[j], items[i]
    return items[:size]


def knot(coins: Tape, x: int, k: int, knots: int) -> int:
    low, rest = divmod(x * (knots - 1), k - 1)
    return low + 1 - coins.choose([rest, k - 1 - rest])


def chance(coins: Tape, n: int, d: int) -> bool:
    j = 1
    while True:
        first = coins.choose([n, d - n])
        second = coins.below(j)
        if first != 0 or second != 0:
            return j % 2 == 1
        j += 1


def fall(coins: Tape, n: int, d: int) -> bool:
    ratio = Fraction(n, d)
    n, d = ratio.numerator, ratio.denominator
    for _ in range(n // d):
        if not chance(coins, 1, 1):
            return False
    return chance(coins, n % d, d)


def laplace(coins: Tape, t: int, s: int) -> int:
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


def gaussian(coins: Tape, p: int, q: int) -> int:
    t = math.isqrt(p // q) + 1
    while True:
        y = laplace(coins, t, 1)
        if fall(coins, (abs(y) * q * t - p) ** 2, 2 * p * q * t**2):
            return y
