"""The tail of the chi-squared distribution, without scipy."""

from __future__ import annotations

import math


def chi_squared_tail(x: float, degrees: int) -> float:
    """Returns P(X > x) for X with the chi-squared distribution and this many degrees of freedom.
    The result is a finite sum, which begins with erfc for odd degrees and with exp for even ones.

    Source: Abramowitz and Stegun 1964, 26.4.4 and 26.4.5.

    >>> round(chi_squared_tail(3.841459, 1), 6)
    0.05
    """
    if x <= 0 or degrees == 0:
        return 1.0
    odd = degrees % 2
    tail = math.erfc(math.sqrt(x / 2)) if odd else 0.0
    # The terms (x/2)^(j/2) e^(-x/2) / Gamma(j/2 + 1), by logarithms: the factors alone can
    # overflow.
    for j in range(odd, degrees, 2):
        half = j / 2
        tail += math.exp(half * math.log(x / 2) - x / 2 - math.lgamma(half + 1))
    return min(tail, 1.0)
