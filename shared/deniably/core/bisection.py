"""Bisection for the smallest number that satisfies a condition, rounded to the safe side."""

from __future__ import annotations

import math
from collections.abc import Callable


def smallest(accepts: Callable[[float], bool], high: float, precision: float = 1e-12) -> float:
    """Returns the smallest number for which ``accepts`` returns True, up to the relative
    ``precision``.

    ``accepts`` must return False below some positive number and True from there on. ``high > 0``
    is a first guess of any size. ``accepts`` has returned True for the result, so a rounding error
    is on the safe side. Numbers below 1e-15 times the first accepted one are not tried.

    Raises ValueError where nothing up to 1e300 is accepted.

    >>> round(smallest(lambda x: x * x >= 2, high=1.0), 6)
    1.414214
    """
    while not accepts(high):
        high *= 2
        if high > 1e300:
            raise ValueError("no number satisfies the condition")
    # From here on ``high`` is always a number that was accepted.
    least, low = high * 1e-15, high / 2
    while accepts(low):
        high, low = low, low / 2
        if low < least:
            return high
    while high - low > precision * high:
        middle = (low + high) / 2
        low, high = (low, middle) if accepts(middle) else (middle, high)
    return high


def smallest_within(
    falling: Callable[[float], float], most: float, high: float, precision: float = 1e-12
) -> float:
    """Returns the smallest x with ``falling(x) <= most``, as ``smallest`` does but with fewer
    evaluations of ``falling``.

    ``falling`` must never rise, and ``most`` must be above 0. Points are chosen by linear
    interpolation of log ``falling`` first, and by halving later. A point is not evaluated if other
    points already decide its result. Where the logarithm is smooth this takes half the evaluations
    or less. Raises ValueError where no x up to 1e300 is accepted.

    >>> round(smallest_within(lambda x: 1 / x**2, most=0.5, high=1.0), 6)
    1.414214
    """
    refused, accepted = (0.0, math.inf), (math.inf, 0.0)  # the nearest places, with their values
    left = _LOOKS

    def looked(place: float) -> None:
        nonlocal refused, accepted
        value = falling(place)
        if value > most:
            refused = max(refused, (place, value))
        else:
            accepted = min(accepted, (place, value))

    def nearer() -> None:
        nonlocal left
        while left:
            left -= 1
            (low, above), (high, below) = refused, accepted
            # Interpolates log falling(x) between the two nearest places, for where it is log
            # ``most`` (regula falsi).
            width = high - low
            if width <= 8 * precision * high:
                return
            rise = math.log(above / most)
            part = rise / (rise - math.log(max(below / most, _TINY)))
            # A little towards the middle, so that both ends move.
            aside = min(0.2 * width / high + precision * high / width, abs(part - 0.5))
            looked(low + width * (part + math.copysign(aside, 0.5 - part)))

    def accepts(place: float) -> bool:
        # ``falling`` never rises, so only a place between the nearest refused and the nearest
        # accepted one is open.
        if 0 < refused[0] < place < accepted[0] < math.inf:
            nearer()
        if refused[0] < place < accepted[0]:
            looked(place)
        return place >= accepted[0]

    return smallest(accepts, high, precision)


_LOOKS = 8  # along lines; where a value leaps they tell little, and halves do the rest
# Stands in for a value of 0, which has no logarithm.
_TINY = 1e-30
