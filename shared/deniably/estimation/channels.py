"""Finite mechanisms as matrices of probabilities, and the scores that make reports unbiased."""

from __future__ import annotations

from functools import lru_cache
from typing import cast

import numpy as np
import numpy.typing as npt

from deniably.estimation.inversion import scores
from deniably.mechanisms import (
    BoundedLaplace,
    Channel,
    Gaussian,
    Laplace,
    SubsetSelection,
    Window,
)
from deniably.mechanisms.noise import ratio

Floats = npt.NDArray[np.float64]
Ordered = Window | Channel | BoundedLaplace
"""Mechanisms from a position to one of finitely many outputs."""

_MOST_INPUTS = 513


def matrix(mechanism: Ordered | SubsetSelection) -> Floats:
    """Q[x, y] = P(report y | position x), shape (k, outputs); rows sum to 1.

    Of subset selection only k-ary response (omega 1) has single outputs; raises ValueError for
    others.
    """
    match mechanism:
        case SubsetSelection(omega=1, k=k):
            same = np.full((k, k), float(mechanism.q))
            np.fill_diagonal(same, float(mechanism.p))
            return same
        case SubsetSelection():
            raise ValueError("a report of several choices is not a single output")
        case BoundedLaplace():
            return _laplace(mechanism)
        case _:
            return rounding(mechanism.k, len(rows(mechanism))) @ rows(mechanism)


@lru_cache(maxsize=64)
def rows(mechanism: Window | Channel) -> Floats:
    """The rows between which positions are rounded: P(report y | row), shape (rows, outputs)."""
    if isinstance(mechanism, Channel):
        weights = np.array(mechanism.weights, dtype=np.float64)
        shares: Floats = weights / weights.sum(axis=1, keepdims=True)
        return shares
    m, w = mechanism.m, mechanism.w
    starts = np.arange(m - w + 1)[:, None]
    inside = (np.arange(m) >= starts) & (np.arange(m) < starts + w)
    return np.where(inside, mechanism.own, mechanism.other) / mechanism.total


def rounding(k: int, knots: int, positions: npt.ArrayLike | None = None) -> Floats:
    """P(knot | position) of rounding without bias, shape (positions, knots)."""
    at = np.arange(k) if positions is None else np.asarray(positions)
    place = at * (knots - 1) / (k - 1)
    return cast(Floats, np.maximum(1 - np.abs(place[:, None] - np.arange(knots)), 0.0))


@lru_cache(maxsize=64)
def position_scores(mechanism: Ordered) -> Floats:
    """For each output the unbiased estimate of the position (0 to k - 1), shape (outputs,).

    A window has one affine score (its mean is affine in the start); for others the scores with
    the least variance where answers are evenly spread.
    """
    last = mechanism.k - 1
    if isinstance(mechanism, BoundedLaplace):
        return scores(_laplace(mechanism), np.arange(mechanism.k))
    places = np.linspace(0, last, len(rows(mechanism)))
    if isinstance(mechanism, Channel):
        return scores(rows(mechanism), places)
    m, w = mechanism.m, mechanism.w
    slope = w * (mechanism.own - mechanism.other) / mechanism.total
    mean_at_0 = float(rows(mechanism)[0] @ np.arange(m))
    found: Floats = (np.arange(m) - mean_at_0) / slope * last / (m - w)
    return found


def some_positions(mechanism: Ordered) -> tuple[npt.NDArray[np.int64], Floats]:
    """Positions that stand for all (each one where there are few), and their rows of the matrix."""
    k = mechanism.k
    if k <= _MOST_INPUTS or isinstance(mechanism, BoundedLaplace):
        return np.arange(k), matrix(mechanism)
    found = rows(mechanism)
    knots = np.round(np.linspace(0, k - 1, len(found))).astype(np.int64)
    even = np.round(np.linspace(0, k - 1, _MOST_INPUTS)).astype(np.int64)
    positions = np.unique(np.concatenate([knots, even]))
    return positions, rounding(k, len(found), positions) @ found


def noise_variance(mechanism: Laplace | Gaussian) -> float:
    """The variance of the noise of one number, in steps squared."""
    if isinstance(mechanism, Gaussian):
        # Never above sigma^2 (Canonne, Kamath and Steinke 2020, corollary 9), and short of it by
        # less than 1e-7 of it from sigma = 1 on.
        return float(ratio(mechanism.sigma2, "sigma2"))
    decay = np.exp(-1 / float(ratio(mechanism.scale, "scale")))
    return float(2 * decay / (1 - decay) ** 2)


def noise_law(mechanism: Laplace | Gaussian, noise: npt.ArrayLike) -> Floats:
    """P(noise) of whole numbers."""
    y = np.abs(np.asarray(noise, dtype=np.float64))
    if isinstance(mechanism, Laplace):
        decay = np.exp(-1 / float(ratio(mechanism.scale, "scale")))
        return cast(Floats, (1 - decay) / (1 + decay) * decay**y)
    variance = float(ratio(mechanism.sigma2, "sigma2"))
    reach = np.arange(-int(40 * variance**0.5) - 40, int(40 * variance**0.5) + 41)
    total = np.exp(-(reach**2) / (2 * variance)).sum()
    return cast(Floats, np.exp(-(y**2) / (2 * variance)) / total)


@lru_cache(maxsize=16)
def _laplace(mechanism: BoundedLaplace) -> Floats:
    k = mechanism.k
    decay = np.exp(-1 / float(ratio(mechanism.scale, "scale")))
    steps = np.arange(k)
    weights = decay ** np.abs(steps[:, None] - steps)
    if mechanism.beyond == "clamp":
        # All of the tail beyond an end falls on it: 1 + decay + decay^2 + ... times its first.
        weights[:, [0, -1]] /= 1 - decay
    return cast(Floats, weights / weights.sum(axis=1, keepdims=True))
