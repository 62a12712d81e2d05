"""The smallest number that satisfies a condition, never a smaller one."""

from __future__ import annotations

from collections.abc import Callable


def smallest(accepts: Callable[[float], bool], high: float, precision: float = 1e-12) -> float:
    """A number that ``accepts`` takes, while one smaller by the relative ``precision`` is refused.

    ``accepts`` is false below some positive number and true from there on; ``high > 0`` is a
    first guess of any size. What is returned was accepted itself, so an error of the search is
    on the safe side. Numbers below the first guess by a factor of 1e15 are not tried.

    Raises ValueError where nothing up to 1e300 is accepted.
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
