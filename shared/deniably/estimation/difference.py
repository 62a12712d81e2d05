"""Hypothesis tests for shares and means that keep their level through the randomisation.

They are score tests: each statistic uses the variance that holds if there is no difference. The
variance at the estimate (Wald's) is too small where counts are near what pure noise would give. As
in ``estimate``, p = P(support | own answer), q = P(support | other answer) and q < p.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import upper_tail
from deniably.estimation.inversion import allowed, least_step, tilted


@dataclass(frozen=True)
class Difference:
    """An unbiased ``estimate`` of a difference and its two-sided ``p_value``."""

    estimate: float
    p_value: float


@dataclass(frozen=True)
class SupportCount:
    """The support of one choice in one group: ``count`` of ``n`` reports, under p and q.

    Raises ValueError unless 0 <= count <= n, n >= 1 and 0 <= q < p <= 1.
    """

    count: int
    n: int
    p: float
    q: float

    def __post_init__(self) -> None:
        if not (0 <= self.count <= self.n and self.n >= 1):
            raise ValueError(
                f"{self.count} of {self.n} reports: a count is at most the number of reports,"
                " and there is at least one"
            )
        if not 0 <= self.q < self.p <= 1:
            raise ValueError("p and q are probabilities, and p is the larger")

    @property
    def share(self) -> float:
        """The unbiased estimate."""
        return (self.count / self.n - self.q) / (self.p - self.q)

    def support(self, share: float) -> float:
        """P(support) where the true share is ``share``."""
        return self.q + (self.p - self.q) * share


@dataclass(frozen=True, eq=False)
class Scores:
    """One group's tally for a mean: ``counts`` (outputs,), scores ``v`` (outputs,) and the
    ``channel`` (inputs, outputs)."""

    counts: npt.ArrayLike
    v: npt.ArrayLike
    channel: npt.ArrayLike


@dataclass(frozen=True, eq=False)
class Moments:
    """One group's mean of scores: its estimate from ``n`` reports and how it varies.

    ``precision`` is the inverse of its variance if answers are evenly spread. ``step`` is the least
    amount by which it can move, ``ends`` the range of true means. ``square_at(mu)`` is the mean
    square of (score - estimate) under the likeliest law of reports with mean mu. ``freedom`` are
    its degrees of freedom, infinite where the variance at the common mean keeps the level.
    """

    n: float
    mean: float
    ends: tuple[float, float]
    step: float
    precision: float
    square_at: Callable[[float], float]
    freedom: float = inf

    def variance(self, mu: float) -> float:
        """The variance of the estimate where the true mean is ``mu``."""
        return (self.square_at(mu) - (mu - self.mean) ** 2) / max(self.n - 1, 1)


def against(found: SupportCount, share: float) -> Difference:
    """Tests whether the share of the population is ``share``: twice the smaller binomial tail.

    The test is exact, never above its level. Raises ValueError unless ``share`` is within [0, 1].
    """
    if not 0 <= share <= 1:
        raise ValueError(f"the share is {share:g}; it is between 0 and 1")
    support = found.support(share)
    above = float(upper_tail(found.count, found.n, support))
    below = float(upper_tail(found.n - found.count, found.n, 1 - support))
    return Difference(found.share - share, min(1.0, 2 * min(above, below)))


def between_choices(
    first: int, second: int, n: int, p: float, q: float, *, pair_own: float, pair_other: float
) -> Difference:
    """Tests whether two choices of one question have the same share.

    ``first`` and ``second`` are their counts in the same n reports. ``pair_own`` is P(a report
    supports both | the answer is one of them), ``pair_other`` that given any other answer
    (``law.joint.pairs``). If the shares are equal, first - second has mean 0 and variance n
    P(exactly one is supported). That follows from the sum of the shares, estimated from first +
    second. Half a report is taken off the difference (Yates). Level 0.05 is then at most 0.05, by
    enumeration for n = 50, k 3 to 5 and epsilon 0.5 to 4.
    """
    both = min(max(((first + second) / n - 2 * q) / (p - q), 0.0), 1.0)
    pair = pair_other + (pair_own - pair_other) * both
    single = 2 * q + (p - q) * both - 2 * pair
    difference = (first - second) / (n * (p - q))
    return Difference(difference, _two_sided(first - second, n * single, 0.5))


def between_groups(first: SupportCount, second: SupportCount) -> Difference:
    """Tests whether a share is the same in two independent groups, such as two waves.

    The variance is taken at the likeliest common share in [0, 1] (Mee 1984). Half a report is taken
    off the difference (Yates), in the group where a report weighs most. Level 0.05 is then at most
    0.047 and level 0.01 at most 0.01. That was enumerated for both counts with n 5 to 300, equal
    and up to 15 times as many, and epsilon 0.5 to 8, equal and not.
    """
    common = _common_share(first, second)
    variance = 0.0
    for group in (first, second):
        support = group.support(common)
        variance += support * (1 - support) / (group.n * (group.p - group.q) ** 2)
    difference = first.share - second.share
    step = max(1 / (group.n * (group.p - group.q)) for group in (first, second))
    return Difference(difference, _two_sided(difference, variance, step / 2))


def moments(group: Scores) -> Moments:
    """The moments of a mean that a test needs. Raises ValueError where there is no report."""
    channel = np.asarray(group.channel, np.float64)
    tallied, score = np.asarray(group.counts, np.float64), np.asarray(group.v, np.float64)
    seen = (tallied > 0) | (channel > 0).any(axis=0)
    counts, v, channel = tallied[seen], score[seen], channel[:, seen]
    n = float(counts.sum())
    if n < 1:
        raise ValueError("a mean needs at least one report")
    mean, target = float(counts @ v / n), channel @ v
    apart, uniform = v - mean, channel.mean(axis=0)
    likeliest = tilted(counts, v, apart[None] ** 2)
    square_at = allowed(target, channel @ apart**2)
    return Moments(
        n,
        mean,
        (float(target.min()), float(target.max())),
        least_step(v) / n,
        n / float(uniform @ apart**2 - (uniform @ apart) ** 2),
        lambda mu: float(square_at(mu, likeliest(mu, 0))),
    )


def between_means(first: Scores | Moments, second: Scores | Moments) -> Difference:
    """Tests whether a mean is the same in two independent groups; both are in the same unit.

    The variance of each group is that of its likeliest law of reports with the common mean, clipped
    to what its channel allows there, as in ``inversion.linear``. So the test does not depend on
    where the scale starts. Half a step is taken off as in ``between_groups``. Level 0.05 is then at
    most 0.04, by enumeration of both tallies of three outputs for n 5 to 20 and epsilon 0.5 to 8.
    Added noise needs Student's t (Welch 1947, Biometrika 34:28). It keeps 0.05 with 20 people in
    each group, where the normal law has 0.07.
    Raises ValueError where a group has no report, or no mean is possible in both.
    """
    groups = [one if isinstance(one, Moments) else moments(one) for one in (first, second)]
    low, high = max(g.ends[0] for g in groups), min(g.ends[1] for g in groups)
    if low > high:
        raise ValueError("the ranges of the two means do not meet")
    common = sum(g.precision * g.mean for g in groups) / sum(g.precision for g in groups)
    common = min(max(common, low), high)
    difference = groups[0].mean - groups[1].mean
    variances = [g.variance(common) for g in groups]
    doubt = sum(v**2 / g.freedom for v, g in zip(variances, groups, strict=True))
    freedom = sum(variances) ** 2 / doubt if doubt > 0 else inf
    step = max(g.step for g in groups)
    return Difference(difference, _two_sided(difference, sum(variances), step / 2, freedom))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values of many tests, in their order: reject those below alpha.

    The chance of any false alarm is then at most alpha, however the tests depend on each other.
    Source: Holm 1979 (Scand. J. Stat. 6:65).
    """
    order = np.argsort(p_values)
    steps = np.arange(len(order), 0, -1) * np.asarray(p_values, dtype=np.float64)[order]
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted.tolist()


def _common_share(first: SupportCount, second: SupportCount) -> float:
    """The likeliest share that both groups have, by bisection of the falling score."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        score = 0.0
        for group in (first, second):
            support = group.support(middle)
            pull = group.count - group.n * support
            score += (group.p - group.q) * pull / max(support * (1 - support), 1e-300)
        low, high = (middle, high) if score > 0 else (low, middle)
    return (low + high) / 2


def _two_sided(
    difference: float, variance: float, correction: float = 0.0, freedom: float = inf
) -> float:
    beyond = abs(difference) - correction
    if beyond <= 0:
        return 1.0
    if variance <= 0:
        return 0.0
    deviate = beyond / variance**0.5
    if freedom == inf:
        return 2 * NormalDist().cdf(-deviate)
    from scipy import special

    return 2 * float(special.stdtr(freedom, -deviate))
