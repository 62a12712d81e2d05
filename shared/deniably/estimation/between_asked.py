"""Tests shares among those who were asked: against a value, and between two groups of people.

A share among those who were asked is a ratio R of two estimates, and few may have been asked. So no
test divides by an estimate: each is of a sum whose expectation is 0 under its hypothesis, as in
``follow_up.RatioTest`` (Fieller 1954).
"""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

import numpy as np

from deniably.core.binomial import Floats
from deniably.estimation.difference import Difference, tested
from deniably.estimation.follow_up import ShareAmong

_GRID = np.linspace(0, 1, 65)


def against_share(found: ShareAmong, share: float) -> Difference:
    """Tests whether the share among those who were asked is ``share``."""

    def interval(confidence: float) -> tuple[float, float]:
        low, high = found.interval(confidence)
        return low - share, high - share

    shown, error = _shown(found)
    return Difference(shown - share, _p_value(found.test.deviate(share)), error, interval)


def between_asked(first: ShareAmong, second: ShareAmong) -> Difference:
    """Tests whether a share among those who were asked is the same in two groups of people.

    A difference d is kept where some R and R + d are: the least sum of the squares of the two
    deviates, above that of any two shares, is at most a chi-squared quantile with one degree of
    freedom. That keeps its level however few were asked (Guggenberger, Kleibergen, Mavroeidis and
    Chen 2012, Econometrica 80:2649). Coverage at a nominal 0.95: see
    ``tests/estimation/test_between_asked.py``.
    """
    one, other = _deviates(first), _deviates(second)
    anywhere = _nearest(one) ** 2 + _nearest(other) ** 2

    def p_value_at(difference: float) -> float:
        places = np.union1d(_GRID, _GRID - difference)
        places = places[(places >= max(0.0, -difference)) & (places <= min(1.0, 1 - difference))]
        here = np.interp(places + difference, _GRID, one)
        there = np.interp(places, _GRID, other)
        return _p_value(sqrt(max(_least(here, there) - anywhere, 0.0)))

    (left, wide), (right, narrow) = _shown(first), _shown(second)
    return tested(left - right, sqrt(wide**2 + narrow**2), (-1.0, 1.0), p_value_at)


def _nearest(deviates: Floats) -> float:
    """The deviate of the share that the reports speak for most; 0 unless it would be no share."""
    inside = deviates.min() <= 0 <= deviates.max()
    return 0.0 if inside else float(np.abs(deviates).min())


def _least(one: Floats, other: Floats) -> float:
    """The least sum of squares on the way through these places, straight in between."""
    if len(one) == 1:
        return float(one[0] ** 2 + other[0] ** 2)
    start = np.stack([one[:-1], other[:-1]])
    way = np.stack([one[1:], other[1:]]) - start
    length = (way**2).sum(axis=0)
    along = np.divide(
        -(start * way).sum(axis=0), length, out=np.zeros(len(length)), where=length > 0
    )
    nearest = start + np.clip(along, 0, 1) * way
    return float((nearest**2).sum(axis=0).min())


def _deviates(found: ShareAmong) -> Floats:
    return np.array([found.test.deviate(share) for share in _GRID.tolist()])


def _shown(found: ShareAmong) -> tuple[float, float]:
    """The estimate and its error; where it cannot be told, those of the ratio."""
    test = found.test
    if found.estimate is not None and found.standard_error is not None:
        return found.estimate, found.standard_error
    return test.ratio, test.error(test.ratio)


def _p_value(deviate: float) -> float:
    return 2 * NormalDist().cdf(-abs(deviate))
