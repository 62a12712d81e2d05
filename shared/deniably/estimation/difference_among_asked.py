"""Tests shares among those who were asked a question: against a value, and between two groups.

A share among those who were asked is a ratio R of two estimates, and few may have been asked. So no
test divides by an estimate: each is of a sum whose expectation is 0 under its hypothesis, as in
``shares_among_asked.RatioTest`` (Fieller 1954).
"""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

import numpy as np

from deniably.core.binomial import Floats
from deniably.estimation.difference import Difference, tested
from deniably.estimation.shares_among_asked import ShareAmong

_GRID = np.linspace(0, 1, 65)  # shares at which deviates are computed; linear in between


def against_share(among: ShareAmong, share: float) -> Difference:
    """Tests whether the share among those who were asked is ``share``."""

    def interval(confidence: float) -> tuple[float, float]:
        low, high = among.interval(confidence)
        return low - share, high - share

    shown, error = _shown(among)
    return Difference(shown - share, _p_value(among.test.deviate(share)), error, interval)


def between_asked(first: ShareAmong, second: ShareAmong) -> Difference:
    """Tests whether a share among those who were asked is the same in two groups of people.

    The interval contains a difference d if some pair of shares R + d and R fits the reports: the
    sum of the squares of the two deviates is above its smallest value over all pairs by at most a
    chi-squared quantile with one degree of freedom. The test keeps its level however few people
    were asked (Guggenberger, Kleibergen, Mavroeidis and Chen 2012, Econometrica 80:2649). Coverage
    at a nominal 0.95: see ``tests/estimation/test_follow_up_difference.py``.
    """
    deviates, other = _deviates(first), _deviates(second)
    anywhere = _nearest(deviates) ** 2 + _nearest(other) ** 2

    def p_value_at(difference: float) -> float:
        # The corners of both piecewise linear functions, so that each piece between them is a
        # straight way.
        places = np.union1d(_GRID, _GRID - difference)
        places = places[(places >= max(0.0, -difference)) & (places <= min(1.0, 1 - difference))]
        here = np.interp(places + difference, _GRID, deviates)
        there = np.interp(places, _GRID, other)
        # Less the least sum of any two shares: what it exceeds is chi-squared with one degree of
        # freedom.
        return _p_value(sqrt(max(_least(here, there) - anywhere, 0.0)))

    (left, wide), (right, narrow) = _shown(first), _shown(second)
    return tested(left - right, sqrt(wide**2 + narrow**2), (-1.0, 1.0), p_value_at)


def _nearest(deviates: Floats) -> float:
    """The deviate of the share that the reports speak for most; 0 unless it would be no share."""
    inside = deviates.min() <= 0 <= deviates.max()
    return 0.0 if inside else float(np.abs(deviates).min())


def _least(first: Floats, second: Floats) -> float:
    """The least sum of squares on the way through these places, straight in between."""
    if len(first) == 1:
        return float(first[0] ** 2 + second[0] ** 2)
    start = np.stack([first[:-1], second[:-1]])
    way = np.stack([first[1:], second[1:]]) - start
    length = (way**2).sum(axis=0)
    along = np.divide(
        -(start * way).sum(axis=0), length, out=np.zeros(len(length)), where=length > 0
    )
    nearest = start + np.clip(along, 0, 1) * way
    return float((nearest**2).sum(axis=0).min())


def _deviates(among: ShareAmong) -> Floats:
    return np.array([among.test.deviate(share) for share in _GRID.tolist()])


def _shown(among: ShareAmong) -> tuple[float, float]:
    """The estimate and its error; where it cannot be told, those of the ratio."""
    test = among.test
    if among.estimate is not None and among.standard_error is not None:
        return among.estimate, among.standard_error
    return test.ratio, test.error(test.ratio)


def _p_value(deviate: float) -> float:
    return 2 * NormalDist().cdf(-abs(deviate))
