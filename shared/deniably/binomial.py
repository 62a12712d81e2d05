"""Exact probabilities of counts: tails, sums of two binomials and the interval they imply."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_ROUNDS = 14  # each to a sixteenth: from a width of 1 to the spacing of floats
_PLACES = np.arange(17)


def upper_tail(count: npt.ArrayLike, n: int, share: npt.ArrayLike) -> Floats:
    """P(X >= count) of X ~ Binomial(n, share), for arrays that broadcast.

    Sums the side away from the mean, where the terms are positive and fall, so nothing cancels;
    the relative error is that of the first term, about 1e-15 n.
    """
    at, share = np.broadcast_arrays(
        np.asarray(count, dtype=np.float64), np.asarray(share, dtype=np.float64)
    )
    above = at > n * share
    side = _falling_tail(np.where(above, at, n - at + 1), n, np.where(above, share, 1 - share))
    result: Floats = np.clip(np.where(above, side, 1 - side), 0.0, 1.0)
    return result


def wilson(successes: npt.ArrayLike, n: int, alpha: float) -> tuple[Floats, Floats]:
    """Wilson's 1927 score interval (JASA 22:209, eq. 5) for binomial shares; level 1 - alpha."""
    z = NormalDist().inv_cdf(1 - alpha / 2)
    share = np.asarray(successes, dtype=np.float64) / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # At the ends the interval reaches 0 and 1; only rounding keeps the formula from it.
    low = np.where(share == 0, 0.0, centre - half)
    high = np.where(share == 1, 1.0, centre + half)
    return low, high


def clopper_pearson(successes: npt.ArrayLike, n: int, alpha: float) -> tuple[Floats, Floats]:
    """The exact interval of Clopper and Pearson 1934 (Biometrika 26:404), never below 1 - alpha.

    Its ends are the shares at which the tail beyond the count has probability alpha / 2, found by
    narrowing a bracket and rounded outwards to the last bracket.
    """
    count = np.asarray(successes, dtype=np.float64)
    return _lower_end(count, n, alpha / 2), 1 - _lower_end(n - count, n, alpha / 2)


def sum_law(first: tuple[int, float], second: tuple[int, float]) -> Floats:
    """P(X + Y = 0, 1, ...), shape (n1 + n2 + 1,), of independent binomials (n1, p1) and (n2, p2).

    Inverts the characteristic function (Hong 2013, Comput. Stat. Data Anal. 59:41, eq. 7);
    absolute error about 1e-15.
    """
    (n1, p1), (n2, p2) = first, second
    size = n1 + n2 + 1
    turn = np.exp(-2j * np.pi * np.arange(size) / size)
    law = np.fft.ifft((1 - p1 + p1 * turn) ** n1 * (1 - p2 + p2 * turn) ** n2).real
    result: Floats = np.maximum(law, 0.0)
    return result


def _falling_tail(count: Floats, n: int, share: Floats) -> Floats:
    """P(X >= count) for counts above the mean, as first term times a sum of falling ratios."""
    some = (count >= 0) & (count <= n) & (share > 0) & (share < 1)
    at, share = np.where(some, count, 0.0), np.where(some, share, 0.5)
    first = np.exp(_log_choose(n, at) + at * np.log(share) + (n - at) * np.log1p(-share))
    term = np.where(some, 1.0, 0.0)
    total = term
    while term.max(initial=0.0) > 1e-17:
        term = term * share / (1 - share) * (n - at) / (at + 1)
        total, at = total + term, at + 1
    result: Floats = np.where(some, first * total, np.where(count <= 0, 1.0, 0.0))
    return result


def _lower_end(count: Floats, n: int, tail: float) -> Floats:
    low, high = np.zeros_like(count), count / n
    for _ in range(_ROUNDS):
        points = low[..., None] + (high - low)[..., None] * (_PLACES / 16)
        below = upper_tail(count[..., None], n, points) < tail
        last = (below * _PLACES).max(axis=-1, keepdims=True)
        low = np.take_along_axis(points, last, axis=-1)[..., 0]
        high = np.take_along_axis(points, np.minimum(last + 1, 16), axis=-1)[..., 0]
    return np.where(count == 0, 0.0, low)


def _log_choose(n: int, count: Floats) -> Floats:
    logs = [math.lgamma(c + 1) + math.lgamma(n - c + 1) for c in count.ravel().tolist()]
    return math.lgamma(n + 1) - np.reshape(logs, count.shape)
