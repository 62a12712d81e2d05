"""Confidence intervals for shares.

Let p = P(support | own answer), q = P(support | other answer) and q < p. There are two kinds of
share. One is that of a population of which the respondents are a random sample. The other is that
of these respondents alone: there only the randomisation is uncertain, and the interval is narrower.

A mixer's blanks (see ``blanks``) may be among the reports. They are ``coins`` that are counted with
the supports: a count is the sum of two independent binomials.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import ceil, floor
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import (
    NO_COINS,
    AddedCoins,
    Floats,
    exact_ends,
    sum_at_most,
    sum_law,
    wilson,
)


@dataclass(frozen=True, eq=False)
class Interval:
    """Confidence intervals for shares, one for each count: arrays with ``low <= high`` within [0,
    1].

    ``missed`` marks counts that no share in [0, 1] is compatible with. By chance this has a
    probability of about alpha / 2 if the share is 0 or 1, else less. If it happens to many choices,
    that is a sign of a bug or of fake reports. The interval of such a count is that of the nearest
    count that is expected at a share of 0 or 1, so that an odd count does not look like certainty.
    """

    low: Floats
    high: Floats
    missed: npt.NDArray[np.bool_]

    @property
    def ends(self) -> IntervalEnds:
        """The arrays ``low`` and ``high``."""
        return self.low, self.high


IntervalEnds = tuple[Floats, Floats]
"""The low and the high ends of confidence intervals, each an array with an entry a figure."""


def within_each_other(intervals: Iterable[IntervalEnds]) -> list[IntervalEnds]:
    """Returns the intervals, given in falling order of confidence, each clipped to the one before
    it.

    Intervals of one method are nested anyway, except for reports that no share explains at the
    lower confidence (see ``Interval.missed``). Clipping loses no coverage there: a value outside
    the wider interval is not compatible with the reports.
    """
    nested: list[IntervalEnds] = []
    for low, high in intervals:
        if nested:
            low, high = np.clip(low, *nested[-1]), np.clip(high, *nested[-1])
        nested.append((low, high))
    return nested


def population_interval(
    count: npt.ArrayLike,
    n: float,
    p: float,
    q: float,
    alpha: float,
    *,
    exact: bool = False,
    coins: AddedCoins = NO_COINS,
) -> Interval:
    """Returns intervals for shares of the population, if ``count`` of n reports support a choice.

    A report supports the true choice with probability p, another with q. So the count is exactly
    Binomial(n, q + (p - q) f) for the share f, and any binomial interval maps to f. The interval is
    Wilson's, widened by ``_half_step``. At a nominal 0.95 it covers at least 0.927 for n >= 50,
    enumerated for epsilon 0.5 to 8 and k 2 to 20; without the half step 0.84, where a choice is
    rare and epsilon 6 or more. At a nominal 0.80 it covers at least 0.75, at 0.50 at least 0.40,
    because a count moves by whole reports. ``exact=True`` takes Clopper and Pearson's interval,
    whose coverage is never below 1 - alpha.
    Blanks raise the coverage: with 220 of them it is at least 0.942, however few people there are
    (enumerated for odds 1.5 to 20, k 2 to 20).
    Raises ValueError unless q < p, n >= 1 and 0 < alpha < 1.
    """
    _check(n, p, q, alpha)

    def ends(count: Floats) -> tuple[Floats, Floats]:
        if exact:
            low, high = exact_ends(count, n, alpha, coins)
        else:
            own = np.clip(count - coins.expected, 0, n)
            half = _half_step(own * (1 - own / n) + coins.variance)
            # A binomial interval of the chance of support, widened, and mapped to the share below.
            low, _ = wilson(np.maximum(count - half, 0), n, alpha, coins)
            _, high = wilson(np.minimum(count + half, n + coins.number), n, alpha, coins)
        return (low - q) / (p - q), (high - q) / (p - q)

    return _within(ends, count, n, p, q, coins.expected)


def respondents_interval(
    count: npt.ArrayLike,
    n: int,
    p: float,
    q: float,
    alpha: float,
    *,
    exact: bool = False,
    coins: AddedCoins = NO_COINS,
) -> Interval:
    """Returns intervals for shares of these n respondents, if ``count`` reports support a choice.

    p and q are as in ``population_interval``. The score interval contains all f with (|count/n - q
    - (p-q) f| - h/n)^2 <= z^2 (f p(1-p) + (1-f) q(1-q)) / n, two quadratics in f, where z is the
    normal quantile and h comes from ``_half_step``. At a nominal 0.95 it covers at least 0.928 for
    n >= 50, enumerated as for ``population_interval``; without h 0.79, where the noise moves a
    count by less than one. ``population_interval`` is up to 3.8 times as wide at epsilon 4.
    ``exact=True`` inverts both tails of the sum of all binomials instead; its coverage is never
    below 1 - alpha, and it takes O(n log^2 n) for each choice. The variance of blanks adds to the
    noise of either quadratic. Raises ValueError as ``population_interval`` does.
    """
    _check(n, p, q, alpha)
    scale = NormalDist().inv_cdf(1 - alpha / 2) ** 2 / n
    noise = q * (1 - q) / (p - q) ** 2
    tilt = p * (1 - p) / (p - q) ** 2 - noise
    noise += coins.variance / n / (p - q) ** 2

    def end(count: Floats, side: int) -> Floats:
        """A root of (f - centre)^2 = scale (noise + tilt f), which every count up to n has."""
        centre = ((np.clip(count, 0, n + coins.number) - coins.expected) / n - q) / (p - q)
        middle = centre + scale * tilt / 2
        root = np.sqrt(np.maximum(middle**2 - centre**2 + scale * noise, 0.0))
        root_of_side: Floats = middle + side * root
        return root_of_side

    def ends(count: Floats) -> tuple[Floats, Floats]:
        if exact:
            found = [_exact(int(c), n, p, q, alpha, coins) for c in np.ravel(count)]
            low, high = np.reshape(found, (*np.shape(count), 2)).T
            return low.T, high.T
        own = np.clip(((count - coins.expected) / n - q) / (p - q), 0, 1)
        half = _half_step(n * (own * p * (1 - p) + (1 - own) * q * (1 - q)) + coins.variance)
        return end(count - half, -1), end(count + half, 1)

    return _within(ends, count, n, p, q, coins.expected)


def group_interval(
    total: int,
    n: int,
    own: Floats,
    other: Floats,
    alpha: float,
    blanks: tuple[Floats, int] | None = None,
) -> Interval:
    """Returns the exact interval for the population's share of answers in a group of choices.

    ``total`` is the number of the group's choices that a report names, summed over ``n`` reports.
    ``own[j]`` is the probability that a report names j of them if the answer is in the group,
    ``other[j]`` if it is not; the mean of ``own`` must be the larger. ``blanks`` are the law of a
    blank and their number. Both tails of the exact distribution of the sum are inverted, as Clopper
    and Pearson do for a single choice, so coverage is never below 1 - alpha. Raises ValueError as
    ``population_interval`` does.
    """
    from scipy import optimize

    brentq: Any = optimize.brentq  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]
    names = np.arange(len(own))
    p, q = float(own @ names), float(other @ names)
    if n < 1 or not 0 < alpha < 1 or not q < p:
        raise ValueError(
            f"n is {n} and alpha {alpha:g}; a group needs reports, a risk between 0 and 1, and"
            f" own the larger law: they give {p:g} and {q:g}"
        )
    z = _NORMAL.inv_cdf(alpha / 2)

    def end(count: Floats, *, low: bool) -> float:
        def above(share: float) -> float:
            law = share * own + (1 - share) * other
            at_most = sum_at_most(law, n, int(count) - low, blanks)
            tail = 1 - at_most if low else at_most
            # As normal deviates tails are nearly straight in the share, which suits Brent's method.
            return _NORMAL.inv_cdf(min(max(tail, 1e-12), 1 - 1e-12)) - z

        nobody, everybody = above(0.0), above(1.0)
        if max(nobody, everybody) < 0:
            return 2.0 if low else -1.0  # no share makes the sum as likely as that
        if min(nobody, everybody) >= 0:
            return 0.0 if low else 1.0
        return float(brentq(above, 0.0, 1.0, xtol=1e-10))

    def ends(count: Floats) -> tuple[Floats, Floats]:
        return np.asarray(end(count, low=True)), np.asarray(end(count, low=False))

    made_up = 0.0 if blanks is None else blanks[1] * float(blanks[0] @ names)
    return _within(ends, total, n, p, q, made_up)


_NORMAL = NormalDist()


def scores_interval(
    mean: float,
    n: int,
    score: Floats,
    own: Floats,
    others: Floats,
    alpha: float,
    blanks: tuple[Floats, int] | None = None,
) -> Interval:
    """Returns an interval for a share of the population, with guaranteed coverage, from any scores.

    ``mean`` is the mean ``score`` (outputs,) of n reports. ``own`` (outputs,) has the probabilities
    of the outputs given the answer, ``others`` (k - 1, outputs) those given each other answer; the
    proportions of the other answers are unknown. ``blanks`` are the law of a blank and their
    number; ``mean`` is then what is left when these are taken out. The interval contains the shares
    for which Chernoff's bound (1952, Ann. Math. Stat. 23:493) on each tail is above alpha / 2, with
    the proportions that make the bound largest. Coverage is never below 1 - alpha; the interval is
    about a quarter wider than a normal one. If no share is compatible with the reports, it is 0 to
    1 and ``missed``. Raises ValueError as ``population_interval`` does.
    """
    if n < 1 or not 0 < alpha < 1:
        raise ValueError(
            f"n is {n} and alpha {alpha:g}; an interval needs reports, and a risk between 0 and 1"
        )
    seen = (own > 0) | (others > 0).any(axis=0)
    apart = score[seen] - mean
    # Any tilt gives a valid bound; a grid of them loses next to nothing.
    tilts = np.geomspace(1e-3, 1e2, 240) / np.ptp(apart)
    # Negative tilts bound the lower tail, positive ones the upper.
    tilts = np.concatenate([-tilts, tilts])
    size = np.exp(np.minimum(tilts[:, None] * apart, 700))  # e**710 is beyond floats
    mine, theirs = size @ own[seen], (size @ others[:, seen].T).max(axis=1)
    made_up = np.zeros(len(tilts))
    if blanks is not None:
        law, number = blanks
        off = float(law @ score) - mean  # so much more than others blanks are expected to add
        made_up = number * (np.log(size @ law[seen]) - tilts * off)

    def possible(shares: Floats) -> npt.NDArray[np.bool_]:
        log = n * np.log(shares[:, None] * mine + (1 - shares[:, None]) * theirs) + made_up
        kept: npt.NDArray[np.bool_] = log.min(axis=1) > log_risk
        return kept

    log_risk = float(np.log(alpha / 2))
    grid = np.linspace(0, 1, 257)
    kept = np.flatnonzero(possible(grid))
    if not len(kept):  # the reports are odd; nothing is known for certain
        return Interval(np.asarray(0.0), np.asarray(1.0), np.asarray(True))
    low, high = grid[max(kept[0] - 1, 0)], grid[min(kept[-1] + 1, 256)]
    first = np.linspace(low, grid[kept[0]], 65)
    last = np.linspace(grid[kept[-1]], high, 65)
    low = first[max(int(np.argmax(possible(first))) - 1, 0)]
    high = last[::-1][max(int(np.argmax(possible(last)[::-1])) - 1, 0)]
    return Interval(np.asarray(low), np.asarray(high), np.asarray(False))


def _half_step(variance: Floats) -> Floats:
    """By how many reports an interval is widened, given the variance of its count.

    Half a report (Yates 1934) if one report more or less decides, hardly any beyond. Without it the
    normal curve is too narrow for a count that moves by less than one.
    """
    half: Floats = 0.5 / np.maximum(1.0, variance)
    return half


def _within(
    ends: Callable[[Floats], tuple[Floats, Floats]],
    count: npt.ArrayLike,
    n: float,
    p: float,
    q: float,
    made_up: float,
) -> Interval:
    """The interval of the ends; so many of the count are expected to be ``made_up``."""
    counts = np.asarray(count, dtype=np.float64)
    low, high = ends(counts)
    missed = (high < 0) | (low > 1)
    if missed.any():  # take the nearest count that the law of some share expects
        least, most = ceil(n * q + made_up), floor(n * p + made_up)
        nearest = np.where(high < 0, float(least), float(most))
        low, high = ends(np.where(missed, nearest, counts))
    return Interval(np.clip(low, 0, 1), np.clip(high, 0, 1), missed)


def _exact(
    count: int, n: int, p: float, q: float, alpha: float, coins: AddedCoins
) -> tuple[float, float]:
    """The shares y / n for which neither tail of the count is less likely than alpha / 2."""

    def law(own: int) -> Floats:
        added = [(coins.number, coins.chance)] if coins.number else []
        return sum_law((own, p), (n - own, q), *added)

    # As q < p, the upper tail rises with y and the lower one falls.
    everyone = range(n + 1)
    low = bisect_left(everyone, alpha / 2, key=lambda own: law(own)[count:].sum())
    high = bisect_right(everyone, -alpha / 2, key=lambda own: -law(own)[: count + 1].sum()) - 1
    return low / n, high / n


def _check(n: float, p: float, q: float, alpha: float) -> None:
    if n < 1:
        raise ValueError("an interval needs at least one report")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is {alpha:g}; a risk of missing the truth is between 0 and 1")
    if not 0 <= q < p <= 1:
        raise ValueError(f"p is {p:g} and q {q:g}; they are probabilities, and p is the larger")
