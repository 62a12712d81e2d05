"""Bisection for the smallest number that satisfies a condition, rounded to the safe side."""

from __future__ import annotations

from collections.abc import Callable


def smallest(accepts: Callable[[float], bool], high: float, precision: float = 1e-12) -> float:
    """The smallest number that ``accepts`` returns true for, up to the relative ``precision``.

    ``accepts`` must be false below some positive number and true from there on. ``high > 0`` is a
    first guess of any size. The returned number was itself accepted, so a rounding error is on
    the safe side. Numbers below 1e-15 times the first guess are not tried.

    Raises ValueError where nothing up to 1e300 is accepted.

    >>> round(smallest(lambda x: x * x >= 2, high=1.0), 6)
    1.414214
    """
    while not accepts(high):
        high *= 2
        if high > 1e300:
            raise ValueError("no number satisfies the condition")
    least, low = high * 1e-15, high / 2
    while accepts(low):
        high, low = low, low / 2
        if low < least:
            return high
    while high - low > precision * high:
        middle = (low + high) / 2
        low, high = (low, middle) if accepts(middle) else (middle, high)
    return high
