"""The power of the tests of shares, from the laws of the counts that they read.

Needs scipy. A report supports a choice with probability q + (p - q) f at a true share f, so counts
are binomial. Which counts are significant follows from the tests themselves (``against`` and
``between_groups`` in ``estimation.difference``), and power is the probability of these counts. No
normal approximation is made: at a share near 0, or with few people, that would promise up to .4
more.

Power goes up and down as n grows, as counts are whole numbers (Chernick and Liu 2002, Am. Stat.
56:149). ``least_n`` looks for the n from which on it stays up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import NO_COINS, AddedCoins, Floats, tail_with

Ints = npt.NDArray[np.int64]
PowerAt = Callable[[int], float]
"""A function n -> the power of a test with n respondents."""

_REACH = 8.0
"""Standard deviations of a count; less than 1e-14 lies beyond."""
_MOST_COUNTS = 20_000  # likely counts of a group up to which the sum is taken
_MOST_EXACT = 10**7  # respondents up to which power against a value is exact
_ALL_PAIRS = 40_000  # pairs of counts up to which all are tried, without a search
_WINDOW, _LEAST_WINDOW = 0.03, 5  # further n's at which power has to hold: a part, the fewest
_LARGE, _OF_LARGE = 20_000, 30
"""An n beyond which power goes up and down by less than .003, and how many n's are tried then."""
MOST = 10**12
"""Respondents beyond whom nobody plans."""
BEYOND = "no number of respondents shows so small a difference"


@dataclass(frozen=True)
class ValueTest:
    """The test of whether a share is ``null``, in a population where it is ``true``.

    It is the exact test by binomial tails of ``difference.against``. A report supports the choice
    with probability p if it is the true answer, else with q. A mixer's ``coins`` are counted, too.
    """

    p: float
    q: float
    null: float
    true: float
    coins: AddedCoins = NO_COINS

    def power(self, n: int, level: float = 0.05) -> float:
        """Returns the probability that the test rejects with n respondents.

        It is exact up to n = 10^7, and computed from the normal distribution above.
        """
        if n > _MOST_EXACT:
            return self._normal(n, level)
        support = self.q + (self.p - self.q) * self.true
        if self.coins.number:
            low, high = self._kept_among_coins(n, level)
            sides = (self._tail(low - 1, n, support, upper=False),
                     self._tail(high + 1, n, support, upper=True))  # fmt: skip
            return min(sum(sides), 1.0)
        low, high = self._kept(n, level)
        below = float(_at_most(low - 1, n, support))
        return min(below + float(_at_most(n - high - 1, n, 1 - support)), 1.0)

    def _normal(self, n: int, level: float) -> float:
        z = NormalDist().inv_cdf(1 - level / 2)
        a, b = (self.q + (self.p - self.q) * share for share in (self.null, self.true))
        heads = self.coins.variance / n
        needed, apart = z * sqrt((a * (1 - a) + heads) / n), abs(a - b)
        if (error := sqrt((b * (1 - b) + heads) / n)) == 0:
            return float(apart > needed)
        # Two-sided: a significant difference in the wrong direction counts, too.
        return sum(NormalDist().cdf(side / error) for side in (apart - needed, -apart - needed))

    def _kept(self, n: int, level: float) -> tuple[int, int]:
        """The least and the largest count that are not significant."""
        support = self.q + (self.p - self.q) * self.null

        def least(support: float) -> int:
            """The least count c with P(X <= c) >= level / 2."""
            low, high = -1, n
            while high - low > 1:
                middle = (low + high) // 2
                rejected = 2 * float(_at_most(middle, n, support)) < level
                low, high = (middle, high) if rejected else (low, middle)
            return high

        return least(support), n - least(1 - support)

    def _kept_among_coins(self, n: int, level: float) -> tuple[int, int]:
        """The same among a mixer's coins."""
        support, most = self.q + (self.p - self.q) * self.null, n + self.coins.number

        def first_kept(*, upper: bool) -> int:
            """How far from an end of all counts the first is that is not significant."""
            low, high = -1, most
            while high - low > 1:
                middle = (low + high) // 2
                count = most - middle if upper else middle
                rejected = 2 * self._tail(count, n, support, upper=upper) < level
                low, high = (middle, high) if rejected else (low, middle)
            return high

        return first_kept(upper=False), most - first_kept(upper=True)

    def _tail(self, count: int, n: int, support: float, *, upper: bool) -> float:
        return float(tail_with(count, n, support, self.coins, upper=upper))


@dataclass(frozen=True)
class GroupsTest:
    """A test of whether the shares ``first`` and ``second`` of two independent groups are equal.

    Half a step is subtracted from the difference, as in ``between_groups``. The first group has the
    fraction ``part`` of all respondents; None stands for two waves of n each. A report supports the
    choice with probability p if it is the true answer, else with q.
    """

    p: float
    q: float
    first: float
    second: float
    part: float | None = 0.5

    def power(self, n: int, level: float = 0.05) -> float:
        """Returns the probability that the test rejects with n respondents, summed over all counts.

        Where more than 20,000 counts are likely (n above some millions), it is computed from normal
        distributions of both counts, with the half step.
        """
        n1, n2 = self.sizes(n)
        z = NormalDist().inv_cdf(1 - level / 2)
        a, b = (self.q + (self.p - self.q) * share for share in (self.first, self.second))
        i = _likely(n1, a)
        if len(i) > _MOST_COUNTS:
            return self._normal(n1, n2, a, b, z)
        j = _likely(n2, b)
        if len(i) * len(j) <= _ALL_PAIRS:
            seen = self._significant(i[:, None], j, n1, n2, z)
            return min(float(_mass(i, n1, a) @ seen @ _mass(j, n2, b)), 1.0)
        low, high = self._kept(i, n1, n2, z)
        outside = _at_most(low - 1, n2, b) + _at_most(n2 - high - 1, n2, 1 - b)
        return min(float(_mass(i, n1, a) @ outside), 1.0)

    def sizes(self, n: int) -> tuple[int, int]:
        """Returns how many of n respondents are in the first group, and how many in the second."""
        if self.part is None:
            return n, n
        n1 = min(max(round(n * self.part), 1), n - 1)
        return n1, n - n1

    def _significant(self, i: Ints, j: Ints, n1: int, n2: int, z: float) -> npt.NDArray[np.bool_]:
        """Whether ``between_groups`` rejects counts i of n1 and j of n2."""
        # With the same p and q the likeliest common share is the pooled one.
        # The share under the null hypothesis is between 0 and 1, so supports are between q and p.
        pool = np.clip((i + j) / (n1 + n2), self.q, self.p)
        beyond = np.abs(i / n1 - j / n2) - 0.5 / min(n1, n2)
        error = np.sqrt(pool * (1 - pool) * (1 / n1 + 1 / n2))
        rejected: npt.NDArray[np.bool_] = (beyond > 0) & (beyond > z * error)
        return rejected

    def _kept(self, i: Ints, n1: int, n2: int, z: float) -> tuple[Ints, Ints]:
        """For each i the least and the largest j that are not significant, by bisection.

        Equal shares never are, and significance begins once on either side of them.
        """
        # A significant count is searched outwards from the count of an equal share.
        equal: Ints = np.rint(i * (n2 / n1)).astype(np.int64)

        def last(end: int) -> Ints:
            kept, lost = equal.copy(), np.full_like(equal, end)
            for _ in range(n2.bit_length() + 1):
                middle = (kept + lost) // 2
                seen = self._significant(i, middle, n1, n2, z)
                kept, lost = np.where(seen, kept, middle), np.where(seen, middle, lost)
            return kept

        return last(-1), last(n2 + 1)

    def _normal(self, n1: int, n2: int, a: float, b: float, z: float) -> float:
        pool = (n1 * a + n2 * b) / (n1 + n2)
        null = sqrt(pool * (1 - pool) * (1 / n1 + 1 / n2))
        error = sqrt(a * (1 - a) / n1 + b * (1 - b) / n2)
        needed, apart = z * null + 0.5 / min(n1, n2), abs(a - b)
        if error == 0:
            return float(apart > needed)
        sides = (apart - needed) / error, (-apart - needed) / error
        return sum(NormalDist().cdf(side) for side in sides)


def least_n(power_at: PowerAt, target: float, near: int, smallest: int = 2) -> int:
    """Returns the smallest n from which on the power is at least ``target``.

    Power goes up and down with n. So the power must also be enough at the next 3 % of numbers, at
    least 5, or at the next 30 above n = 20,000. The search starts at ``near``; no n is below
    ``smallest``. Raises ValueError where n would be beyond 10^12.
    """
    crossing = _crossing(power_at, target, max(near, smallest), smallest)
    n = run = max(smallest, floor_of(crossing) if crossing > smallest else smallest)
    while True:
        if power_at(n) < target:
            # Power falls where the critical count jumps, so one n that has it is not enough.
            run = n + 1
        elif n - run >= window(run):
            return run
        n += 1


def window(n: int) -> int:
    """Returns at how many numbers after ``n`` the power must be enough, too."""
    return _OF_LARGE if n > _LARGE else max(ceil(_WINDOW * n), _LEAST_WINDOW)


def floor_of(crossing: int) -> int:
    """Returns where to start the search for the smallest n: a little below ``crossing``.

    At ``crossing`` the power reaches the target. It goes up and down there, so a smaller n may have
    enough power, too.
    """
    return max(crossing - window(crossing) // 2 - _LEAST_WINDOW, 1)


def _crossing(power_at: PowerAt, target: float, near: int, smallest: int) -> int:
    """An n with the power, whose neighbour below has not: one of several, by bisection."""
    low, high = smallest - 1, near
    while power_at(high) < target:
        low, high = high, 2 * high
        if high > MOST:
            raise ValueError(BEYOND)
    low = max(low, high // 2 if power_at(max(high // 2, smallest)) < target else low)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power_at(middle) >= target else (middle, high)
    return high


def _likely(n: int, support: float) -> Ints:
    reach = _REACH * sqrt(n * support * (1 - support)) + 8
    lowest, highest = max(int(n * support - reach), 0), min(int(n * support + reach) + 1, n)
    return np.arange(lowest, highest + 1)


def _mass(counts: Ints, n: int, support: float) -> Floats:
    """P(X = count) of a binomial count."""
    from scipy import special

    if support in (0.0, 1.0):
        certain: Floats = (counts == n * support).astype(np.float64)
        return certain
    log: Any = special.gammaln
    ways = log(n + 1) - log(counts + 1) - log(n - counts + 1)
    mass: Floats = np.exp(ways + counts * np.log(support) + (n - counts) * np.log1p(-support))
    return mass


def _at_most(counts: npt.ArrayLike, n: int, support: float) -> Floats:
    """P(X <= count) of a binomial count; 0 for counts below 0."""
    from scipy import special

    at = np.asarray(counts, np.float64)
    within = np.clip(at, 0, n - 1)
    # P(X <= c) = I_(1-p)(n - c, c + 1), the regularised incomplete beta function.
    tail: Any = special.betainc
    inside: Floats = tail(n - within, within + 1, 1 - support)
    below: Floats = np.where(at < 0, 0.0, np.where(at >= n, 1.0, inside))
    return below
