"""Hypothesis tests for means, consistent with the reported intervals.

They work for every mechanism, because they need its ``Mean`` alone. If a channel has scores,
``difference.between_means`` compares two groups with the variance at their common mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

from deniably.estimation.difference import Difference
from deniably.estimation.inversion import Mean

_SMALLEST = 1e-12
_PLACES, _ZOOMS = 32, 3
_HALVINGS = 20  # of the logarithm from there to 1: to a relative 3e-5


def against_value(found: Callable[[float], Mean], value: float) -> Difference:
    """Tests whether the mean of the population is ``value``.

    ``found(confidence)`` is the mean with its margins. The p-value is the largest alpha at which
    the interval of confidence 1 - alpha still holds the value (Lehmann and Romano 2005, 3.5). So it
    is below 0.05 exactly if the 95 % interval leaves the value out, and the test keeps its level as
    well as the interval covers. P-values below 1e-12 are returned as 1e-12.
    """

    def holds(alpha: float) -> bool:
        margin = found(1 - alpha).population_margin
        return not margin.missed and margin.low <= value <= margin.high

    difference = found(0.95).estimate - value
    if not holds(_SMALLEST):
        return Difference(difference, _SMALLEST)
    low, high = math.log(_SMALLEST), 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(math.exp(middle)) else (low, middle)
    return Difference(difference, math.exp(high))


def between_ratios(
    first: Callable[[float], float],
    second: Callable[[float], float],
    ends: tuple[float, float],
    difference: float,
) -> Difference:
    """Tests whether a mean between ``ends`` is the same in two independent samples.

    ``first`` and ``second`` give the deviate of each sample from any mean mu. The smallest sum of
    both squares over mu is about chi-squared with one degree of freedom. That holds even for a
    ratio that the reports hardly determine (Anderson and Rubin 1949, Ann. Math. Stat. 20:46): the
    smallest sum is at most the sum at the true mean, so false alarms are no more frequent.
    """

    def apart(mu: float) -> float:
        return math.hypot(first(mu), second(mu))

    (low, high), best = ends, ends[0]
    for _ in range(_ZOOMS):
        step = (high - low) / _PLACES
        tried = [low + step * place for place in range(_PLACES + 1)]
        best = min(tried, key=apart)
        low, high = max(best - step, ends[0]), min(best + step, ends[1])
    return Difference(difference, two_sided(apart(best)))


def two_sided(deviate: float) -> float:
    """The two-sided p-value of a normal deviate."""
    return 2 * NormalDist().cdf(-abs(deviate))
