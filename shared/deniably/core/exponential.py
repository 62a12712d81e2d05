"""Certified bounds of e^x for rational x, in whole numbers.

Privacy is stated as epsilon and carried out as integer odds. The step from one to the other
must never round in the survey's favour, so it is done with an enclosure, not with ``math.exp``.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache


@lru_cache(maxsize=1024)  # a budget has few limits, and each report asks for them again
def exp_bounds(x: Fraction, bits: int) -> tuple[int, int]:
    """Integers ``low <= 2**bits * e**x <= high`` for ``0 <= x <= 64``.

    The Taylor series in fixed point: every term is rounded down for ``low`` and up for
    ``high``. Once the index has passed ``2x`` the terms at least halve, so the rest of the
    series is at most the last term.

    Raises ValueError where x is outside the range.
    """
    if not 0 <= x <= 64:
        raise ValueError("exp_bounds takes 0 <= x <= 64")
    low = high = low_term = high_term = 1 << bits
    index, n, d = 0, x.numerator, x.denominator
    while high_term > 1 or index * d < 2 * n:
        index += 1
        low_term = low_term * n // (d * index)
        high_term = -(-high_term * n // (d * index))
        low += low_term
        high += high_term
    return low, high + high_term


def floor_exp(x: Fraction, bits: int) -> int:
    """The exact floor of ``2**bits * e**x``.

    Ends for every rational x: e**x is irrational unless x = 0 (Lindemann 1882), so some
    precision separates it from every integer.
    """
    if x == 0:
        return 1 << bits
    guard = 32
    while True:
        low, high = exp_bounds(x, bits + guard)
        if low >> guard == high >> guard:
            return low >> guard
        guard *= 2


def at_most_exp(ratio: Fraction, x: Fraction) -> bool:
    """Whether ``ratio <= e**x``, exactly."""
    if x == 0:
        return ratio <= 1
    bits = 64
    while True:
        low, high = exp_bounds(x, bits)
        if ratio * (1 << bits) <= low:
            return True
        if ratio * (1 << bits) >= high:
            return False
        bits *= 2
