"""Computes an upper bound of the delta of discrete Gaussian noise, in integers (SPEC 2.15)."""

from __future__ import annotations

import math
from fractions import Fraction

from deniably.reference.refusal import require

UNIT = 2**160
"""Probabilities are integers in units of 2^-160."""


def ceil(value: Fraction) -> int:
    """Returns the smallest integer that is not below ``value``."""
    return -math.floor(-value)


def series(x: Fraction) -> tuple[int, int]:
    """Returns integers (low, high) that enclose e^x, in units of 2^-160."""
    low = high = a = b = UNIT
    i = 0
    while b > 1 or i < 2 * x:
        i += 1
        # `a` is rounded down and `b` up, so that the true term always lies between them.
        a = a * x.numerator // (x.denominator * i)
        b = ceil(Fraction(b * x.numerator, x.denominator * i))
        low += a
        high += b
    return low, high + b


def expm(x: Fraction) -> tuple[int, int]:
    """Returns integers (low, high) that enclose e^(-x), in units of 2^-160."""
    # e^x of a large x has many more than 160 bits; halving keeps the numbers short.
    if x > 64:
        low, high = expm(x / 2)
        return low * low >> 160, (high * high >> 160) + 1
    low, high = series(x)
    return UNIT * UNIT // high, ceil(Fraction(UNIT * UNIT, low))


def one_bound(s: Fraction, shift: int, epsilon: Fraction) -> int:
    """Returns an upper bound of the delta that goes with ``epsilon`` for one number with noise of
    variance ``s`` and sensitivity ``shift``, in units of 2^-160.

    Source: Canonne, Kamath and Steinke 2020, theorem 7. Names are those of SPEC 2.15; ``step`` is
    L.
    """
    first = math.floor(epsilon * s / shift - Fraction(shift, 2)) + 1
    if first <= 0:
        return UNIT
    # Large variances are summed in steps. Beyond one sigma the density is convex: there the
    # trapezoidal rule bounds the sum from above (`above`), and the midpoint rule from below
    # (`below`).
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
    # By Poisson summation the steps change this sum by far less than the unit that is taken off.
    whole = step * (2 * tail(0, False) - UNIT) - 1
    g = expm(Fraction(first**2) / (2 * s))[1]
    return min(UNIT, ceil(Fraction((above - below) * g, whole)))


def delta_bound(s: Fraction, shift: int, d: int, epsilon: Fraction) -> int:
    """Returns an upper bound of delta for ``d`` numbers, in units of 2^-160; other names as in
    ``one_bound``. Raises Invalid if ``d`` is above 1 and ``s`` below 9."""
    if d == 1:
        return one_bound(s, shift, epsilon)
    require(s >= 9, "for several numbers sigma2 is at least 9")
    # The sum of d discrete Gaussians is close to one with d times the variance; the last term
    # covers the difference (Kairouz, Liu and Steinke 2021; SPEC 2.15).
    return min(UNIT, one_bound(d * s, d * shift, epsilon) + 40 * d * 2**32)
