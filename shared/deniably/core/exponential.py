"""Certified bounds of e^x for rational x, in whole numbers.

Authors state privacy as epsilon; mechanisms use integer odds. The conversion must never round
towards less privacy, so it encloses e^x between integers and does not use ``math.exp``.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache


@lru_cache(maxsize=1024)  # a budget has few limits, and each report needs them
def exp_bounds(x: Fraction, bits: int) -> tuple[int, int]:
    """Returns integers (low, high) with ``low <= 2**bits * e**x <= high``, for ``0 <= x <= 64``.

    Sums the Taylor series in fixed point, each term rounded down for ``low`` and up for ``high``.
    Once the index has passed ``2x`` the terms at least halve, so the rest of the series is at most
    the last term. Raises ValueError where x is outside the range.

    >>> exp_bounds(Fraction(1), bits=20)  # 2**20 * e is about 2850325.0
    (2850322, 2850331)
    """
    if not 0 <= x <= 64:
        raise ValueError(f"exp_bounds takes 0 <= x <= 64, not {x}")
    low = high = low_term = high_term = 1 << bits
    index, n, d = 0, x.numerator, x.denominator
    while high_term > 1 or index * d < 2 * n:
        index += 1
        # Next term of the series is the last one times x / index. -(-a // b) rounds up.
        low_term = low_term * n // (d * index)
        high_term = -(-high_term * n // (d * index))
        low += low_term
        high += high_term
    # The rest of the series is at most the last term; it counts in the upper bound alone.
    return low, high + high_term


def floor_exp(x: Fraction, bits: int) -> int:
    """Returns the exact floor of ``2**bits * e**x``.

    The loop ends for every rational x: e**x is irrational unless x = 0 (Lindemann 1882), so some
    precision separates it from every integer.
    """
    if x == 0:
        return 1 << bits
    # More bits than asked for: once both bounds agree on the bits before them, so does the true
    # value. Seldom they straddle an integer, and twice as many are taken.
    guard = 32
    while True:
        low, high = exp_bounds(x, bits + guard)
        if low >> guard == high >> guard:
            return low >> guard
        guard *= 2


def at_most_exp(ratio: Fraction, x: Fraction) -> bool:
    """Returns whether ``ratio <= e**x``, decided exactly, for 0 <= x <= 64."""
    if x == 0:
        return ratio <= 1
    bits = 64
    while True:
        # Between the bounds nothing is known: look closer. For rational x > 0 no ratio is equal to
        # e**x, so the loop ends.
        low, high = exp_bounds(x, bits)
        if ratio * (1 << bits) <= low:
            return True
        if ratio * (1 << bits) >= high:
            return False
        bits *= 2
