"""Is a mean a certain value, or the same in two surveys? Tests that agree with the intervals.

For every mechanism, as they need of it no more than its ``Mean``. (Where a channel's own scores are
at hand, ``difference.between_means`` compares two groups with the variance at their common mean.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

from deniably.difference import Difference
from deniably.inversion import Mean

_SMALLEST = 1e-12
_HALVINGS = 20  # of the logarithm from there to 1: to a relative 3e-5


def against_value(found: Callable[[float], Mean], value: float) -> Difference:
    """Is the mean of the population ``value``? ``found(confidence)`` is the mean with its margins.

    The p-value is the largest alpha at which the interval of confidence 1 - alpha still holds the
    value: a test and the interval are two views of one thing (Lehmann and Romano 2005, 3.5). So it
    is below 0.05 exactly if the 95 % interval leaves the value out, and keeps its level as the
    interval covers. P-values below 1e-12 are given as that.
    """

    def holds(alpha: float) -> bool:
        margin = found(1 - alpha).population
        return not margin.missed and margin.low <= value <= margin.high

    difference = found(0.95).estimate - value
    if not holds(_SMALLEST):
        return Difference(difference, _SMALLEST)
    low, high = math.log(_SMALLEST), 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(math.exp(middle)) else (low, middle)
    return Difference(difference, math.exp(high))


def between_estimates(first: Mean, second: Mean) -> Difference:
    """Is the mean the same in two independent samples? From both standard errors (Wald's test).

    For estimates that are nearly normal, as sums of noise and of shares are from 100 reports on.
    Of subset selection, Laplace and Gaussian noise at epsilon 0.5 to 4, 5 to 21 positions and
    n = 100, level 0.05 was at most 0.056 in 1,500 simulations each, and less where all answers lie
    at one end.
    """
    difference = first.estimate - second.estimate
    error = math.hypot(first.population.standard_error, second.population.standard_error)
    if error == 0:
        return Difference(difference, 0.0 if difference else 1.0)
    return Difference(difference, 2 * NormalDist().cdf(-abs(difference) / error))
