"""Section 2.15: the smallest delta of a Gaussian, bounded from above in integers."""

from __future__ import annotations

import math
from fractions import Fraction

from deniably.reference.refusal import require

UNIT = 2**160


def ceil(value: Fraction) -> int:
    return -math.floor(-value)


def series(x: Fraction) -> tuple[int, int]:
    low = high = a = b = UNIT
    i = 0
    while b > 1 or i < 2 * x:
        i += 1
        a = a * x.numerator // (x.denominator * i)
        b = ceil(Fraction(b * x.numerator, x.denominator * i))
        low += a
        high += b
    return low, high + b


def expm(x: Fraction) -> tuple[int, int]:
    if x > 64:
        low, high = expm(x / 2)
        return low * low >> 160, (high * high >> 160) + 1
    low, high = series(x)
    return UNIT * UNIT // high, ceil(Fraction(UNIT * UNIT, low))


def one_bound(s: Fraction, shift: int, epsilon: Fraction) -> int:
    first = math.floor(epsilon * s / shift - Fraction(shift, 2)) + 1
    if first <= 0:
        return UNIT
    step = (math.isqrt(math.floor(s)) >> 11) | 1 if first**2 >= s else 1

    def tail(y: int, up: bool) -> int:
        side = 1 if up else 0
        fraction = expm((2 * y * step + step**2) / (2 * s))[side]
        change = expm(step**2 / s)[side]
        total, term = 0, UNIT
        while term >= 2**64:
            total += term
            term = (term * fraction >> 160) + side
            fraction = (fraction * change >> 160) + side
        if up:
            total += term * UNIT // (UNIT - fraction) + 1
        return total

    above = step * tail(first, True) - (step - 1) // 2 * UNIT
    mid = first + shift + (step - 1) // 2
    w = expm(Fraction(mid**2 - first**2) / (2 * s) - epsilon)[0]
    below = step * (w * tail(mid, False) >> 160)
    whole = step * (2 * tail(0, False) - UNIT) - 1
    g = expm(Fraction(first**2) / (2 * s))[1]
    return min(UNIT, ceil(Fraction((above - below) * g, whole)))


def delta_bound(s: Fraction, shift: int, d: int, epsilon: Fraction) -> int:
    """Returns the bound of delta, in units of 2^-160."""
    if d == 1:
        return one_bound(s, shift, epsilon)
    require(s >= 9, "for several numbers sigma2 is at least 9")
    return min(UNIT, one_bound(d * s, d * shift, epsilon) + 40 * d * 2**32)
