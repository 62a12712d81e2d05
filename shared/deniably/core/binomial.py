"""Binomial counts: exact tails, the laws of sums, and Wilson and Clopper-Pearson intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from math import prod
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


@dataclass(frozen=True)
class AddedCoins:
    """Coins that are counted with a binomial count: ``number`` of them, heads with ``chance``."""

    number: int = 0
    chance: float = 0.5

    @property
    def expected(self) -> float:
        """The expected number of heads."""
        return self.number * self.chance

    @property
    def variance(self) -> float:
        """The variance of the number of heads."""
        return self.number * self.chance * (1 - self.chance)


NO_COINS = AddedCoins()


def tail_with(
    count: npt.ArrayLike, n: float, share: npt.ArrayLike, coins: AddedCoins, *, upper: bool = True
) -> Floats:
    """Returns P(X + Y >= count), or P(X + Y <= count) if not ``upper``, where X ~ Binomial(n,
    share) and Y are the heads of the ``coins``; for arrays that broadcast.

    Sums over the likely numbers of heads. What these leave out, less than 1e-15, counts as in the
    tail: a tail is never too small by more than rounding.
    """
    if not coins.number:
        if upper:
            return upper_tail(count, n, share)
        return upper_tail(n - np.asarray(count), n, 1 - np.asarray(share))
    from scipy import special

    betainc: Any = special.betainc  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]
    at, share = np.broadcast_arrays(
        np.asarray(count, dtype=np.float64)[..., None],
        np.asarray(share, dtype=np.float64)[..., None],
    )
    heads, likely = _likely_heads(coins)
    least = at - heads if upper else n - (at - heads)  # of X, or of n - X
    chance = share if upper else 1 - share
    inside = (least > 0) & (least <= n)
    first = np.where(inside, least, 1.0)
    tail = np.where(inside, betainc(first, n - first + 1, chance), np.where(least <= 0, 1.0, 0.0))
    result: Floats = np.minimum(tail @ likely + max(0.0, 1 - float(likely.sum())), 1.0)
    return result


@lru_cache(maxsize=32)  # a search for the end of an interval asks for the same one
def _likely_heads(coins: AddedCoins) -> tuple[Floats, Floats]:
    """The numbers of heads more likely than 1e-18, and their probabilities."""
    from scipy import special

    betaln: Any = special.betaln  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]
    reach = 50 + 10 * coins.variance**0.5
    first, last = max(coins.expected - reach, 0), min(coins.expected + reach, coins.number)
    heads = np.arange(math.floor(first), math.ceil(last) + 1, dtype=np.float64)
    rest = coins.number - heads
    ways = -betaln(heads + 1, rest + 1) - math.log(coins.number + 1)
    law = np.exp(ways + heads * math.log(coins.chance) + rest * math.log1p(-coins.chance))
    likely = law > 1e-18
    return heads[likely], law[likely]


def exact_ends(
    successes: npt.ArrayLike, n: float, alpha: float, coins: AddedCoins
) -> tuple[Floats, Floats]:
    """Returns Clopper and Pearson's ends for a share of n, where ``coins`` are counted with it.

    Both tails of the sum of the two binomials are inverted, so coverage is never below 1 - alpha.
    An end is -1 or 2 where no share makes the count as likely as that.
    """
    if not coins.number:
        return clopper_pearson(successes, n, alpha)
    count = np.asarray(successes, dtype=np.float64)

    def end(*, upper: bool) -> Floats:
        """The last share at which the tail is within alpha / 2: from below, or from above."""
        none, everybody = (
            tail_with(count, n, np.full(count.shape, share), coins, upper=upper)
            for share in ((0.0, 1.0) if upper else (1.0, 0.0))
        )
        start, stop = (0.0, 1.0) if upper else (1.0, 0.0)
        within, beyond = np.full(count.shape, start), np.full(count.shape, stop)
        for _ in range(_HALVINGS):
            middle = (within + beyond) / 2
            small = tail_with(count, n, middle, coins, upper=upper) <= alpha / 2
            within, beyond = np.where(small, middle, within), np.where(small, beyond, middle)
        found = np.where(none > alpha / 2, start, within)
        return np.where(everybody <= alpha / 2, 2.0 if upper else -1.0, found)

    return end(upper=True), end(upper=False)


_HALVINGS = 34


def wilson(
    successes: npt.ArrayLike, n: float, alpha: float, coins: AddedCoins = NO_COINS
) -> tuple[Floats, Floats]:
    """Returns (low, high) of Wilson's score interval for binomial shares, of level 1 - alpha.

    Both are from 0 to 1 and have the shape of ``successes``. Where ``coins`` are counted with the
    successes, they may lie beyond, and are -1 or 2 where no share explains the count. Source:
    Wilson 1927 (JASA 22:209), eq. 5.

    >>> low, high = wilson(30, 100, alpha=0.05)
    >>> f"{low:.3f} {high:.3f}"
    '0.219 0.396'
    """
    z = NormalDist().inv_cdf(1 - alpha / 2)
    share = (np.asarray(successes, dtype=np.float64) - coins.expected) / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    if coins.number:
        square = share * (1 - share) / n + z * z / (4 * n * n)
        square += coins.variance / n**2 * (1 + z * z / n)
        beyond = np.where(share < 0.5, -1.0, 2.0)
        half = z / (1 + z * z / n) * np.sqrt(np.maximum(square, 0.0))
        low, high = (np.where(square < 0, beyond, end) for end in (centre - half, centre + half))
        return low, high
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


def sum_law(*binomials: tuple[int, float]) -> Floats:
    """Returns the probabilities of the values 0, 1, ... of a sum of binomials, shape (n1 + n2 + ...
    + 1,). Each is given as (n, p).

    Inverts the characteristic function (Hong 2013, Comput. Stat. Data Anal. 59:41, eq. 7);
    absolute error about 1e-15.
    """
    size = sum(n for n, _ in binomials) + 1
    # The characteristic function of a binomial is (1 - p + p e^(it))^n; that of a sum is the
    # product.
    turn = np.exp(-2j * np.pi * np.arange(size) / size)
    law = np.fft.ifft(prod([(1 - p + p * turn) ** n for n, p in binomials])).real
    result: Floats = np.maximum(law, 0.0)  # rounding leaves some probabilities below 0
    return result


def sum_at_most(law: Floats, n: int, total: int, others: tuple[Floats, int] | None = None) -> float:
    """Returns P(X_1 + ... + X_n <= total) for independent counts X_i with P(X_i = j) = ``law[j]``.

    ``others`` are the law of further counts, of the same shape, and their number.

    Inverts the characteristic function as ``sum_law`` does, on 40 standard deviations around the
    mean. For large n only the frequencies that matter are used, so the cost does not grow with n.
    The absolute error is about 1e-16 n.
    """
    values = np.arange(len(law))
    parts = [(law, n)] if others is None else [(law, n), others]
    largest = sum(count for _, count in parts) * (len(law) - 1)
    means = [float(part @ values) for part, _ in parts]
    variances = [
        count * float(part @ (values - mean) ** 2)
        for (part, count), mean in zip(parts, means, strict=True)
    ]
    # The sum is taken modulo ``size``: what wraps around is more than 20 standard deviations away.
    size = min(math.ceil(40 * sum(variances) ** 0.5) + 2 * len(law), largest + 1)
    expected = sum(count * mean for (_, count), mean in zip(parts, means, strict=True))
    first = min(max(round(expected) - size // 2, 0), largest + 1 - size)
    terms = min(max(total - first + 1, 0), size)
    # In a normal law, frequency j weighs exp(-(2 pi j / 40)^2 / 2): 0 in floats beyond 128.
    half = size // 2 if size < _LONG else 128
    frequency = np.arange(1, half + 1)
    turn = np.exp(-2j * np.pi * frequency / size)
    together = prod([cast(_Complexes, np.polyval(part[::-1], turn)) ** m for part, m in parts])
    transformed = together * _power(turn, -first, size)
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
