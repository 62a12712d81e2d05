"""Hypothesis tests for shares and means that keep their level through the randomisation.

They are score tests: each statistic uses the variance that holds under its hypothesis. The variance
at the estimate (Wald's) is too small where counts are near what pure noise would give. Every test
is made for any hypothetical difference, and the interval holds those that are not rejected. So it
leaves out 0 exactly if the p-value is below 1 - confidence. For shares it covers the true
difference at a nominal 0.95 with at least 0.952: enumerated for two groups of 10 to 40, and two
choices of 2 to 5 in 30 reports, epsilon 0.5 to 8, and shares from 0 to 1.

As in ``estimate``, p = P(support | own answer), q = P(support | other answer) and q < p.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from math import copysign, inf, sqrt
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import NO_COINS, AddedCoins, Floats, tail_with
from deniably.estimation.blanks import (
    NOTHING_SAVED,
    Blanks,
    Saved,
    blended_channel,
    blended_scores,
)
from deniably.estimation.estimate import standard_error
from deniably.estimation.inversion import allowed, least_step, tilted

IntervalAt = Callable[[float], tuple[float, float]]
"""(confidence) -> the lowest and the highest difference that a test does not reject."""


@dataclass(frozen=True, eq=False)
class Difference:
    """An unbiased ``estimate`` of a difference, with its standard error and its two-sided p-value.

    ``interval(confidence)`` inverts the same test: 0 is outside exactly if the p-value is below
    1 - confidence.
    """

    estimate: float
    p_value: float
    standard_error: float
    interval: IntervalAt


def tested(
    estimate: float,
    error: float,
    ends: tuple[float, float],
    p_value_at: Callable[[float], float],
) -> Difference:
    """Returns the ``Difference`` of a test whose p-values are given by a function.

    ``p_value_at(d)`` is the p-value of the hypothesis that the true difference is d. ``ends`` are
    the smallest and the largest possible difference, ``error`` is the standard error of
    ``estimate``.
    """
    return Difference(
        estimate, p_value_at(0.0), error, partial(_interval, estimate, ends, p_value_at)
    )


def _interval(
    estimate: float,
    ends: tuple[float, float],
    p_value_at: Callable[[float], float],
    confidence: float,
) -> tuple[float, float]:
    """The lowest and the highest difference whose p-value is at least 1 - confidence.

    0 is tried first, so that interval and p-value agree. Where every difference is rejected, odd
    reports make none certain: p-values are then counted from that of the nearest one, and the
    interval still leaves out 0, unless that is the nearest.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence:g}; use one between 0 and 1, such as 0.95")
    nearest = min(max(estimate, ends[0]), ends[1])
    best = p_value_at(nearest)
    rejected = best < 1 - confidence
    alpha = (1 - confidence) * (best if rejected else 1.0)

    def above(difference: float) -> float:
        """By how much its deviate is within that of alpha: nearly a line."""
        if rejected and difference * nearest <= 0 != nearest:
            return -inf
        p_value = p_value_at(difference)
        return 0.0 if p_value == alpha else _deviate(p_value) - _deviate(alpha)

    def last(end: float) -> float:
        inner, outer = (nearest, above(nearest)), (end, above(end))
        if outer[1] >= 0:
            return end
        if min(nearest, end) < 0 < max(nearest, end):
            none = 0.0, above(0.0)
            inner, outer = (none, outer) if none[1] >= 0 else (inner, none)
        return _last_kept(above, inner, outer)

    return last(ends[0]), last(ends[1])


def _deviate(p_value: float) -> float:
    """The normal deviate of a two-sided p-value, 0 for 1 and else below."""
    return NormalDist().inv_cdf(p_value / 2) if p_value > _LEAST else _FARTHEST


_LEAST, _FARTHEST = 1e-300, -40.0  # p-values below this are 0 in floats, with such a deviate


def _last_kept(
    above: Callable[[float], float], inner: tuple[float, float], outer: tuple[float, float]
) -> float:
    """The last place on the way from ``inner``, where ``above`` is not below 0, to ``outer``.

    Both are given with their values. By false position, so near the middle that it takes at most
    one step more than bisection (Oliveira and Takahashi 2021, ACM Trans. Math. Softw. 47:5).
    """
    (start, near), (end, far) = inner, outer
    kept, lost, room = 0.0, 1.0, 1.0  # parts of the way
    while lost - kept > _CLOSE:
        width, middle = lost - kept, (kept + lost) / 2
        far = max(far, _FARTHEST)
        crossing = kept + width * near / (near - far)
        # A little towards the middle, so that both ends move.
        aside = min(max(_ASIDE * width**2, _CLOSE / 2), abs(middle - crossing))
        # The projection of ITP: so near the middle that bisection would need at most one step less.
        farthest = room - width / 2
        off = crossing + copysign(aside, middle - crossing) - middle
        place = middle + min(max(off, -farthest), farthest)
        value = above(start + place * (end - start))
        if value >= 0:
            kept, near = place, value
        else:
            lost, far = place, value
        room /= 2
    return start + kept * (end - start)


_CLOSE = 2.0**-43  # the part of the way at which a search ends
_ASIDE = 0.2


@dataclass(frozen=True)
class SupportCount:
    """The reports of one group that support a choice: ``count`` of ``n``.

    A report supports the choice with probability p if it is the true answer, else with q. With
    weights, ``count`` and ``n`` are effective numbers of people and need not be whole. Blanks
    are ``coins`` that are in the count, and not in n. Raises ValueError unless 0 <= count <= n +
    coins, n >= 1 and 0 <= q < p <= 1.
    """

    count: float
    n: float
    p: float
    q: float
    coins: AddedCoins = NO_COINS

    def __post_init__(self) -> None:
        if not (0 <= self.count <= self.n + self.coins.number and self.n >= 1):
            raise ValueError(
                f"{self.count} of {self.n} reports: a count is at most the number of reports,"
                " and there is at least one"
            )
        if not 0 <= self.q < self.p <= 1:
            raise ValueError(f"p is {self.p:g} and q {self.q:g}; use probabilities, p the larger")

    @property
    def share(self) -> float:
        """The unbiased estimate of the share, which may lie beyond 0 and 1 (Warner 1965)."""
        return ((self.count - self.coins.expected) / self.n - self.q) / (self.p - self.q)

    @property
    def error(self) -> float:
        """The standard error of the estimated share."""
        return float(standard_error(self.count, self.n, self.p, self.q, self.coins))

    @property
    def blended(self) -> SupportCount:
        """The count as that of reports drawn from people's and blanks, which are likelihoods'."""
        if not self.coins.number:
            return self
        n = self.n + self.coins.number
        p, q = ((self.n * rate + self.coins.expected) / n for rate in (self.p, self.q))
        return SupportCount(self.count, n, p, q)

    def support(self, share: float) -> float:
        """Returns the probability that a report supports the choice, where the true share is
        ``share``."""
        return self.q + (self.p - self.q) * share

    def variance(self, share: float) -> float:
        """Returns the variance of the estimated share, where the true share is ``share``."""
        support = self.support(share)
        blanks = self.coins.variance / self.n
        return (support * (1 - support) + blanks) / (self.n * (self.p - self.q) ** 2)


@dataclass(frozen=True, eq=False)
class ScoredTally:
    """The reports of one group, for a test of its mean.

    ``counts`` (outputs,) says how often each output was reported, and ``v`` (outputs,) has the
    score of each output. ``channel`` (inputs, outputs) has the probability of each output given
    each answer. ``blanks`` are those that are in the counts.
    """

    counts: npt.ArrayLike
    v: npt.ArrayLike
    channel: npt.ArrayLike
    blanks: Blanks | None = None


@dataclass(frozen=True, eq=False)
class Moments:
    """The mean of one group's scores, estimated from ``n`` reports, with what gives its variance.

    ``precision`` is the inverse of the mean's variance if answers are evenly spread. ``step`` is
    the smallest amount by which the estimate can move, ``ends`` the range of true means.
    ``square_at(mu)`` is the mean square of (score - estimate) under the likeliest distribution of
    reports with mean mu. ``freedom`` is the number of degrees of freedom for Student's t; infinite
    stands for the normal distribution. The expectation of the estimate is at most ``off`` from the
    true mean. With blanks, n are all reports, and ``saved`` is subtracted from the variance.
    """

    n: float
    mean: float
    ends: tuple[float, float]
    step: float
    precision: float
    square_at: Callable[[float], float]
    freedom: float = inf
    off: float = 0.0
    saved: Saved = NOTHING_SAVED

    def variance(self, mu: float) -> float:
        """Returns the variance of the estimate where the true mean is ``mu``."""
        # The square is about the estimate; the variance is about mu.
        drawn = (self.square_at(mu) - (mu - self.mean) ** 2) / max(self.n - 1, 1)
        return drawn - float(self.saved.at(np.array(mu)))


def against(count: SupportCount, share: float) -> Difference:
    """Tests whether the share of the population is ``share``.

    The p-value is twice the smaller binomial tail. The test is exact: its level is never exceeded.
    Raises ValueError unless ``share`` is within [0, 1].
    """
    if not 0 <= share <= 1:
        raise ValueError(f"the share is {share:g}; it is between 0 and 1")

    def p_value_at(difference: float) -> float:
        support = count.support(min(max(share + difference, 0.0), 1.0))
        above = float(tail_with(count.count, count.n, support, count.coins))
        below = float(tail_with(count.count, count.n, support, count.coins, upper=False))
        return min(1.0, 2 * min(above, below))

    return tested(count.share - share, count.error, (-share, 1 - share), p_value_at)


def between_choices(
    first: float,
    second: float,
    n: float,
    p: float,
    q: float,
    *,
    pair_own: float,
    pair_other: float,
    blanks: tuple[AddedCoins, float] = (NO_COINS, 0.0),
) -> Difference:
    """Tests whether two choices of one question have the same share.

    ``first`` and ``second`` count the reports, out of the same n, that support each of the two
    choices. ``pair_own`` is P(a report supports both | the answer is one of them), and
    ``pair_other`` is P(a report supports both | any other answer), as in ``law.joint.pairs``. If
    the shares differ by d, first - second has mean n (p - q) d and variance n (P(exactly one is
    supported) - (p - q)^2 d^2). The probability in it follows from the sum of the two shares, which
    is estimated from first + second and is at least d. ``blanks`` are those in either count, with
    P(a blank supports both): their supports cancel, and add to the variance alone. Half a report is
    subtracted from first - second (Yates). A test at level 0.05 then rejects a true hypothesis with
    probability at most 0.05, by enumeration for n = 50, k 3 to 5 and epsilon 0.5 to 4.
    """

    coins, pair_blank = blanks
    made_up = 2 * coins.number * (coins.chance - pair_blank)

    def variance(together: float, difference: float) -> float:
        both = min(max((together / n - 2 * q) / (p - q), abs(difference)), 1.0)
        pair = pair_other + (pair_own - pair_other) * both
        single = 2 * q + (p - q) * both - 2 * pair
        return n * (single - ((p - q) * difference) ** 2) + made_up

    both_counts = first + second - 2 * coins.expected

    def p_value_at(difference: float) -> float:
        apart = first - second - n * (p - q) * difference
        return _two_sided(apart, variance(both_counts, difference), 0.5)

    estimate = (first - second) / (n * (p - q))
    inner = min(max(estimate, -1.0), 1.0)
    error = sqrt(max(variance(both_counts, inner), 0.0)) / (n * (p - q))
    return tested(estimate, error, (-1.0, 1.0), p_value_at)


def between_groups(first: SupportCount, second: SupportCount) -> Difference:
    """Tests whether a share is the same in two independent groups, such as two waves.

    The variance is taken at the likeliest shares in [0, 1] that differ as the hypothesis says (Mee
    1984). Half a report of the group in which a report weighs most is subtracted from the
    difference (Yates).
    The true level is then at most 0.047 for a nominal 0.05, and at most 0.01 for 0.01. That was
    enumerated for groups of 5 to 300 reports, of equal size and with up to 15 times as many in one
    as in the other, and for epsilon 0.5 to 8, equal and unequal.
    """
    estimate, half = first.share - second.share, _half_step((first, second), (1.0, -1.0))

    def p_value_at(difference: float) -> float:
        there = _likeliest_share((first, second), (difference, 0.0))
        variance = first.variance(there + difference) + second.variance(there)
        return _two_sided(estimate - difference, variance, half)

    error = sqrt(first.error**2 + second.error**2)
    return tested(estimate, error, (-1.0, 1.0), p_value_at)


def trend_of_shares(groups: Sequence[SupportCount], places: Sequence[float]) -> float:
    """Returns the p-value of the hypothesis that the share has no linear trend over ``groups``.

    ``places`` says where each group lies, such as the times of waves. The statistic is the sum over
    groups of the share times (place - mean place), less half a report, over its standard deviation
    at the likeliest common share (Cochran 1954 and Armitage 1955 without noise). For two groups
    this is ``between_groups``. The groups may be the same people, whose answers change bit by bit.
    So the standard deviation is the largest one that any correlation r**d between groups d apart
    gives, 0 <= r <= 1. The test then holds its level for every mixture of such correlations, too.
    For four or more independent groups it is cautious: level 0.05 is 0.042 over four groups, 0.031
    over five, 0.009 over eight and 0.002 over twelve. Raises ValueError for fewer than two groups.
    """
    weights = _from_their_mean(places)
    common = _likeliest_share(groups, [0.0] * len(groups))
    slope = sum(w * group.share for w, group in zip(weights, groups, strict=True))
    variances = [w * w * g.variance(common) for w, g in zip(weights, groups, strict=True)]
    return _two_sided(slope, _worst_together(variances, weights), _half_step(groups, weights))


def trend_of_means(groups: Sequence[Moments], places: Sequence[float]) -> float:
    """Returns the p-value of the hypothesis that the mean has no linear trend over ``groups``.

    ``places`` and the statistic are as in ``trend_of_shares``, with the variances at the common
    mean. Raises ValueError for fewer than two groups, or if no mean is within the ranges of all
    groups.
    """
    weights = _from_their_mean(places)
    common = _common_mean(groups, [0.0] * len(groups))
    if common is None:
        raise ValueError(_APART)
    variances = [w * w * g.variance(common) for w, g in zip(weights, groups, strict=True)]
    slope = sum(w * group.mean for w, group in zip(weights, groups, strict=True))
    step = max(abs(w) * group.step for w, group in zip(weights, groups, strict=True))
    off = sum(abs(w) * group.off for w, group in zip(weights, groups, strict=True))
    freedom = _freedom(variances, groups)
    return _two_sided(slope, _worst_together(variances, weights), step / 2 + off, freedom)


_APART = "the ranges of the two means do not meet"


def _from_their_mean(places: Sequence[float]) -> list[float]:
    if len(places) < 2:
        raise ValueError("a trend needs two groups or more")
    middle = sum(places) / len(places)
    return [place - middle for place in places]


def _worst_together(variances: Sequence[float], weights: Sequence[float]) -> float:
    """The largest variance of a sum of terms with these variances and the signs of their weights,
    if terms have a correlation r**d where their weights are d apart."""
    terms = np.sqrt(variances) * np.sign(weights)
    # Terms of opposite sign gain from a low correlation, terms of one sign from a high one: every r
    # is tried.
    return float(np.einsum("i,rij,j->r", terms, _correlations(tuple(weights)), terms).max())


@lru_cache(maxsize=4)  # every figure of the same groups asks for them
def _correlations(places: tuple[float, ...]) -> Floats:
    apart = abs(np.subtract.outer(places, places))
    correlations: Floats = np.linspace(0, 1, _CORRELATIONS)[:, None, None] ** apart
    return correlations


_CORRELATIONS = 201  # correlations from 0 to 1 that are tried


def _half_step(groups: Sequence[SupportCount], weights: Sequence[float]) -> float:
    """Half of what one report moves a weighted sum of shares, in the group where it moves most."""
    steps = [abs(w) / (g.n * (g.p - g.q)) for w, g in zip(weights, groups, strict=True)]
    return max(steps) / 2


def moments(group: ScoredTally) -> Moments:
    """Returns the moments of a group's mean that a test needs. Raises ValueError without a
    report."""
    channel = np.asarray(group.channel, np.float64)
    tallied, score = np.asarray(group.counts, np.float64), np.asarray(group.v, np.float64)
    people = float(tallied.sum()) - (group.blanks.number if group.blanks else 0.0)
    if people < 1:
        raise ValueError("a mean needs at least one report")
    score, saved = blended_scores(score, people, group.blanks)
    channel = blended_channel(channel, people, group.blanks)
    seen = (tallied > 0) | (channel > 0).any(axis=0)
    counts, v, channel = tallied[seen], score[seen], channel[:, seen]
    n = float(counts.sum())
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
        saved=saved,
    )


def between_means(first: ScoredTally | Moments, second: ScoredTally | Moments) -> Difference:
    """Tests whether a mean is the same in two independent groups; both are in the same unit.

    The variance of each group is that of its likeliest distribution of reports with the common
    mean, clipped to what its channel makes possible there, as in ``inversion.linear``. So the test
    does not depend on where the scale starts. Half a step is subtracted from the difference, as in
    ``between_groups``. A test at level 0.05 then rejects a true hypothesis with probability at most
    0.04, by enumeration of all tallies with three outputs in two groups, for n 5 to 20 and epsilon
    0.5 to 8. For added noise, Student's t is used (Welch 1947, Biometrika 34:28). With 20 people in
    each group its level is 0.05, where the normal distribution's is 0.07.
    Raises ValueError where a group has no report, or no mean is within the ranges of both.
    """
    groups = [group if isinstance(group, Moments) else moments(group) for group in (first, second)]
    left, right = groups
    if _common_mean(groups, (0.0, 0.0)) is None:
        raise ValueError(_APART)
    estimate, half = left.mean - right.mean, max(left.step, right.step) / 2 + left.off + right.off

    def p_value_at(difference: float) -> float:
        there = _common_mean(groups, (difference, 0.0))
        if there is None:
            return 0.0
        variances = [left.variance(there + difference), right.variance(there)]
        freedom = _freedom(variances, groups)
        return _two_sided(estimate - difference, sum(variances), half, freedom)

    ends = left.ends[0] - right.ends[1], left.ends[1] - right.ends[0]
    error = sqrt(sum(g.variance(min(max(g.mean, g.ends[0]), g.ends[1])) for g in groups))
    return tested(estimate, error, ends, p_value_at)


def _common_mean(groups: Sequence[Moments], shifts: Sequence[float]) -> float | None:
    """The likeliest mu of groups whose means are mu + shift; None if none is within all ranges."""
    low = max(g.ends[0] - shift for g, shift in zip(groups, shifts, strict=True))
    high = min(g.ends[1] - shift for g, shift in zip(groups, shifts, strict=True))
    if low > high:
        # Equal but for rounding, at an end of the possible differences, is equal.
        return low if low - high <= 1e-9 * (1 + abs(low)) else None
    precise = sum(g.precision for g in groups)
    common = sum(g.precision * (g.mean - shift) for g, shift in zip(groups, shifts, strict=True))
    return min(max(common / precise, low), high)


def _freedom(variances: Sequence[float], groups: Sequence[Moments]) -> float:
    """The degrees of freedom of a sum of variances (Satterthwaite 1946)."""
    doubt = sum(v**2 / g.freedom for v, g in zip(variances, groups, strict=True))
    return sum(variances) ** 2 / doubt if doubt > 0 else inf


def holm(p_values: Sequence[float]) -> list[float]:
    """Returns Holm's adjusted p-values of many tests, in the order of the tests.

    If you reject the hypotheses whose adjusted p-value is below alpha, the chance of any false
    alarm is at most alpha, however the tests depend on each other. Source: Holm 1979 (Scand. J.
    Stat. 6:65).
    """
    order = np.argsort(p_values)
    # The smallest p-value times the number of tests, the next times one less ...; none below the
    # one before.
    steps = np.arange(len(order), 0, -1) * np.asarray(p_values, dtype=np.float64)[order]
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted.tolist()


def _likeliest_share(groups: Sequence[SupportCount], shifts: Sequence[float]) -> float:
    """The likeliest f of groups whose shares are f + shift: where the falling score is 0.

    By Newton's steps, kept within the ends that are still possible.
    """
    low, high = max(0.0, *(-shift for shift in shifts)), min(1.0, *(1 - shift for shift in shifts))
    terms = [
        (g.count, g.n, g.p - g.q, g.support(shift))
        for g, shift in zip((group.blended for group in groups), shifts, strict=True)
    ]
    middle = (low + high) / 2
    for _ in range(_STEPS):
        score = falling = 0.0
        for count, n, slope, start in terms:
            support = start + slope * middle
            other = 1 - support
            # Without noise a support of 0 or 1 is possible, where the score is infinite.
            spread = max(support * other, 1e-150)
            score += slope * (count - n * support) / spread
            falling += slope**2 * (count * other**2 + (n - count) * support**2) / spread**2
        low, high = (middle, high) if score > 0 else (low, middle)
        step = score / falling if falling > 0 else inf
        if abs(step) <= _NEGLIGIBLE * middle or high - low <= _NEGLIGIBLE * high:
            break
        # A step beyond an end says that it is there, or nearly.
        part = min(max((middle + step - low) / (high - low), _NEARLY), 1 - _NEARLY)
        middle = low + part * (high - low)
    return middle


_STEPS = 60  # more than halving to the last digit of a float takes
_NEGLIGIBLE = 4e-15
_NEARLY = 2.0**-9  # how near to an end of the bracket a step may come, as a part of it


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
