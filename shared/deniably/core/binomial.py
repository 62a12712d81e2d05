"""Binomial counts: exact tails, the laws of sums, and Wilson and Clopper-Pearson intervals."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any, cast

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
_Complexes = npt.NDArray[np.complex128]


def upper_tail(count: npt.ArrayLike, n: float, share: npt.ArrayLike) -> Floats:
    """Returns P(X >= count) for X ~ Binomial(n, share), with the broadcast shape of ``count`` and
    ``share``.

    Sums the tail on the side of ``count`` that is away from the mean. Its terms are positive and
    falling, so nothing cancels. The relative error is that of the first term, about 1e-15 n.
    """
    at, share = np.broadcast_arrays(
        np.asarray(count, dtype=np.float64), np.asarray(share, dtype=np.float64)
    )
    # P(X >= count) = 1 - P(n - X >= n - count + 1), and n - X ~ Binomial(n, 1 - share).
    above = at > n * share
    side = _falling_tail(np.where(above, at, n - at + 1), n, np.where(above, share, 1 - share))
    result: Floats = np.clip(np.where(above, side, 1 - side), 0.0, 1.0)
    return result


def wilson(successes: npt.ArrayLike, n: float, alpha: float) -> tuple[Floats, Floats]:
    """Returns (low, high) of Wilson's score interval for binomial shares, of level 1 - alpha.

    Both are from 0 to 1 and have the shape of ``successes``. Source: Wilson 1927 (JASA 22:209), eq.
    5.

    >>> low, high = wilson(30, 100, alpha=0.05)
    >>> f"{low:.3f} {high:.3f}"
    '0.219 0.396'
    """
    z = NormalDist().inv_cdf(1 - alpha / 2)
    share = np.asarray(successes, dtype=np.float64) / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # At the ends the interval reaches exactly 0 and 1, where the formula would be off by rounding.
    low = np.where(share == 0, 0.0, centre - half)
    high = np.where(share == 1, 1.0, centre + half)
    return low, high


def clopper_pearson(
    successes: npt.ArrayLike, n: npt.ArrayLike, alpha: float
) -> tuple[Floats, Floats]:
    """Returns (low, high) of Clopper and Pearson's exact interval for binomial shares, of level
    ``1 - alpha``, both in the broadcast shape of ``successes`` and ``n``.

    The ends are quantiles of beta distributions: the shares at which the tail beyond the number of
    successes has the probability alpha / 2. Source: Clopper and Pearson 1934 (Biometrika 26:404).
    """
    from scipy import special

    count, n = np.asarray(successes, dtype=np.float64), np.asarray(n, dtype=np.float64)
    quantile: Any = special.betaincinv  # pyright: ignore[reportUnknownMemberType]
    none_of_n, all_of_n = count == 0, count == n  # where a beta distribution does not exist
    low = np.where(none_of_n, 0.0, quantile(count + none_of_n, n - count + 1, alpha / 2))
    high = np.where(all_of_n, 1.0, quantile(count + 1, n - count + all_of_n, 1 - alpha / 2))
    return low, high


def sum_law(first: tuple[int, float], second: tuple[int, float]) -> Floats:
    """Returns the probabilities of the values 0, 1, ..., n1 + n2 of X + Y, shape (n1 + n2 + 1,).
    ``first`` is (n1, p1) of the binomial X, ``second`` (n2, p2) of the binomial Y.

    Inverts the characteristic function (Hong 2013, Comput. Stat. Data Anal. 59:41, eq. 7);
    absolute error about 1e-15.
    """
    (n1, p1), (n2, p2) = first, second
    size = n1 + n2 + 1
    # The characteristic function of a binomial is (1 - p + p e^(it))^n; that of a sum is the
    # product.
    turn = np.exp(-2j * np.pi * np.arange(size) / size)
    law = np.fft.ifft((1 - p1 + p1 * turn) ** n1 * (1 - p2 + p2 * turn) ** n2).real
    result: Floats = np.maximum(law, 0.0)  # rounding leaves some probabilities below 0
    return result


def sum_at_most(law: Floats, n: int, total: int) -> float:
    """Returns P(X_1 + ... + X_n <= total) for independent counts X_i with P(X_i = j) = ``law[j]``.

    Inverts the characteristic function as ``sum_law`` does, on 40 standard deviations around the
    mean. For large n only the frequencies that matter are used, so the cost does not grow with n.
    The absolute error is about 1e-16 n.
    """
    values, largest = np.arange(len(law)), n * (len(law) - 1)
    mean = float(law @ values)
    spread = (n * float(law @ (values - mean) ** 2)) ** 0.5
    # The sum is taken modulo ``size``: what wraps around is more than 20 standard deviations away.
    size = min(math.ceil(40 * spread) + 2 * len(law), largest + 1)
    first = min(max(round(n * mean) - size // 2, 0), largest + 1 - size)
    terms = min(max(total - first + 1, 0), size)
    # In a normal law, frequency j weighs exp(-(2 pi j / 40)^2 / 2): 0 in floats beyond 128.
    half = size // 2 if size < _LONG else 128
    frequency = np.arange(1, half + 1)
    turn = np.exp(-2j * np.pi * frequency / size)
    alone = cast(_Complexes, np.polyval(law[::-1], turn))
    transformed = alone**n * _power(turn, -first, size)
    # The geometric sum over the values first .. total, which gives P(<= total) rather than one P.
    waves = transformed * (_power(turn, -terms, size) - 1) / (1 / turn - 1)
    twice = np.where(2 * frequency == size, 1.0, 2.0)  # of a frequency and its mirror image
    return float(min(max((terms + (twice * waves.real).sum()) / size, 0.0), 1.0))


_LONG = 4096  # for a shorter transform all frequencies are taken


def _power(turn: _Complexes, exponent: int, size: int) -> _Complexes:
    """turn ** exponent for the first roots of unity of order ``size``, without rounding errors."""
    # The exponent is reduced in whole numbers: a large power of a float would turn its rounding
    # error, too.
    steps = np.arange(1, len(turn) + 1) * (exponent % size) % size
    power: _Complexes = np.exp(-2j * np.pi * steps / size)
    return power


def _falling_tail(count: Floats, n: float, share: Floats) -> Floats:
    """P(X >= count) for counts above the mean: the first term times a sum of falling ratios."""
    some = (count >= 0) & (count <= n) & (share > 0) & (share < 1)
    at, share = np.where(some, count, 0.0), np.where(some, share, 0.5)
    first = np.exp(_log_choose(n, at) + at * np.log(share) + (n - at) * np.log1p(-share))
    term = np.where(some, 1.0, 0.0)
    total = term
    odds = share / (1 - share)
    while term.max(initial=0.0) > 1e-17:  # the sum is at least 1: less does not change it
        for _ in range(8):  # to look for the largest takes as long as a step
            term = term * odds * (n - at) / (at + 1)
            total, at = total + term, at + 1
    result: Floats = np.where(some, first * total, np.where(count <= 0, 1.0, 0.0))
    return result


def _log_choose(n: float, count: Floats) -> Floats:
    logs = [math.lgamma(c + 1) + math.lgamma(n - c + 1) for c in count.ravel().tolist()]
    return math.lgamma(n + 1) - np.reshape(logs, count.shape)
