"""Hypothesis tests for means, consistent with the reported intervals.

They work for every mechanism, because they need its ``Mean`` alone. If reports have scores,
``difference.between_means`` compares two groups with the variance at their common mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np

from deniably.estimation.difference import Difference, tested
from deniably.estimation.inversion import Mean
from deniably.estimation.question_means import Ratio

_SMALLEST = 1e-12
_HALVINGS = 20  # of the logarithm from there to 1: to a relative 3e-5


def against_value(mean: Mean, value: float) -> Difference:
    """Tests whether the mean of the population is ``value``.

    The p-value is the largest alpha at which the interval of confidence 1 - alpha still holds the
    value (Lehmann and Romano 2005, 3.5). So it is below 0.05 exactly if the 95 % interval leaves
    the value out, and the test keeps its level as well as the interval covers. P-values below 1e-12
    are returned as 1e-12.
    """

    def holds(alpha: float) -> bool:
        margin = mean.margin_at(1 - alpha)
        return not margin.missed and margin.low <= value <= margin.high

    def interval(confidence: float) -> tuple[float, float]:
        margin = mean.margin_at(confidence)
        return margin.low - value, margin.high - value

    error = mean.population_margin.standard_error
    p_value = _largest(holds) if holds(_SMALLEST) else _SMALLEST
    return Difference(mean.estimate - value, p_value, error, interval)


def _largest(holds: Callable[[float], bool]) -> float:
    """The largest alpha from ``_SMALLEST`` to 1 that holds, by bisection."""
    low, high = math.log(_SMALLEST), 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(math.exp(middle)) else (low, middle)
    return math.exp(high)


def ratio_and_value(ratio: Ratio, value: float) -> Difference:
    """Tests whether the mean score of the people who have one is ``value``.

    This is Fieller's test of a ratio; choices such as "don't know" have no score.
    """
    start, end = ratio.ends

    def p_value_at(difference: float) -> float:
        return two_sided(ratio.deviate(min(max(value + difference, start), end)))

    estimate = (ratio.estimate or 0.0) - value
    return tested(estimate, _error(ratio), (start - value, end - value), p_value_at)


def between_ratios(first: Ratio, second: Ratio) -> Difference:
    """Tests whether the mean score of the people who have one is the same in two independent
    samples.

    The statistic is the sum of the squares of the two samples' deviates, at the common mean that
    makes the sum smallest. It is about chi-squared with one degree of freedom. That holds even for
    a ratio that the reports hardly determine (Anderson and Rubin 1949, Ann. Math. Stat. 20:46): the
    smallest sum is at most the sum at the true mean, so false alarms are no more frequent. Deviates
    are computed at ``_MEANS`` means and interpolated linearly.
    """
    (low, high), (start, end) = first.ends, second.ends
    grids = np.linspace(low, high, _MEANS), np.linspace(start, end, _MEANS)
    left, right = (
        np.array([ratio.deviate(mu) for mu in grid.tolist()])
        for ratio, grid in zip((first, second), grids, strict=True)
    )

    def p_value_at(difference: float) -> float:
        # Between two points of either grid the sum of squares is a parabola: try them all closely.
        lowest, highest = max(low - difference, start), min(high - difference, end)
        mu = np.linspace(lowest, max(lowest, highest), _TRIED)
        square = (
            np.interp(mu + difference, grids[0], left) ** 2 + np.interp(mu, grids[1], right) ** 2
        )
        return two_sided(float(np.sqrt(square.min())))

    estimate = (first.estimate or 0.0) - (second.estimate or 0.0)
    error = math.hypot(_error(first), _error(second))
    return tested(estimate, error, (low - end, high - start), p_value_at)


_MEANS, _TRIED = 129, 1025  # means with computed deviates; those tried between them


def _error(ratio: Ratio) -> float:
    """The standard error of a ratio: that of its numerator at the mean, over the people who have a
    score."""
    at = min(max(ratio.estimate or 0.0, ratio.ends[0]), ratio.ends[1])
    # Linearised (delta method); the floor avoids a division by 0 where nobody seems to have a
    # score.
    return ratio.about(at)[0].error / max(ratio.having, 1e-9)


def two_sided(deviate: float) -> float:
    """Returns the two-sided p-value of a normal deviate."""
    return 2 * NormalDist().cdf(-abs(deviate))
