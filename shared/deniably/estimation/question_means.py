"""The mean of a number, a scale or one part of a vector, estimated from the question's tally.

The mechanism's law chooses the estimator; ``means`` has the tests of the estimates. Numbers are in
the question's own unit. A margin for the population holds if the respondents are a random sample of
it. A margin for the sample is about these respondents alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache, partial
from math import ceil
from statistics import NormalDist
from typing import TypeGuard, cast

import numpy as np

from deniably.core.binomial import Floats
from deniably.estimation import blank_laws
from deniably.estimation.blanks import Saved, blended_scores, saved_weight
from deniably.estimation.channels import matrix, position_scores, some_positions
from deniably.estimation.difference import Moments, ScoredTally, moments
from deniably.estimation.estimate import (
    project,
)
from deniably.estimation.inversion import (
    Margin,
    Mean,
    Uncertain,
    as_mean,
    least_step,
    linear,
    scores,
    tilted,
    uncertain,
)
from deniably.estimation.question_shares import (
    CONFIDENCE,
    UNSCORED,
    supported_shares,
    weighted_mean,
    weighted_sums,
    weighted_sums_of,
)
from deniably.estimation.scores import noise_of_sum
from deniably.estimation.tally import Tally, from_cells
from deniably.mechanisms.law import Noise, OfNumber, Several, Supporting
from deniably.survey.parts import Range
from deniably.survey.questions import (
    Number,
    Question,
    Scale,
    VectorOfNumbers,
)

_USELESS = 0.9  # of the range: an interval as wide as this says nothing
_MEANS_TRIED, _HALVINGS = 17, 11  # means that are tested; then bisections between two of them
_MOST_TILTED = 1000  # different numbers, of noise without an end


def mean(question: Number | Scale, tally: Tally, confidence: float = CONFIDENCE) -> Mean | None:
    """Estimates the mean of a number, or the mean score of a scale, in the unit of the question.

    If buckets are reported, each number counts as the middle of its bucket. If some choices have no
    score, the mean is among people with a score. Returns None where reports do not determine the
    mean: nobody seems to have a score, the interval covers nearly the whole scale, a channel has
    fewer outputs than buckets, or a single choice is reported by ticks. Raises ValueError as
    ``inversion.linear`` does.

    Coverage for Gaussian noise over buckets at a nominal 0.95, in 4,000 simulated surveys each,
    epsilon 1 to 8, n 20 to 2000, flat, humped and one-sided answers: at least 0.94. With half of
    the answers at either end, epsilon 8 and n = 20 it was 0.93.
    """
    law = single_law(question)
    if law is None:
        return None  # of a single choice by ticks; its shares are estimated one by one
    if isinstance(question, Scale):
        values = np.array(question.values, dtype=np.float64)
        if isinstance(law, Supporting) or question.aim == "distribution":
            return _mean_score(question, tally, confidence)
        position = _mean_position(law, tally, confidence)
        return _scaled(position, float(values[1] - values[0]), float(values[0]))
    if not isinstance(law, Supporting) and by_position(question):
        line = position_line(question)
        position = _mean_position(law, tally, confidence)
        return _widened(_scaled(position, line.step, line.start), line)
    middles = np.array([float(value) for value in bucket_middles(question)])
    if isinstance(law, Supporting):
        return weighted_mean(tally, law, middles, confidence)
    start, width, channel = float(middles[0]), float(np.ptp(middles)), matrix(law)
    try:
        v = scores(channel, (middles - start) / width)
    except ValueError:  # of a window with fewer outputs than buckets
        return None
    blanks = blank_laws.blanks_of(law, tally)
    return _scaled(linear(tally.counts, v, channel, confidence, blanks), width, start)


def mean_of_part(
    question: VectorOfNumbers, index: int, tally: Tally, confidence: float = CONFIDENCE
) -> Mean | None:
    """Estimates the mean of the number at ``index`` in a vector, from the reports that contain it.

    Returns None if no report contains it. If each device reports only a random sample of the
    numbers, the people who report this one are a random sample of the respondents. So both margins
    are then those for a population.
    """
    law, part = question.law, question.parts[index]
    part_tally = tally_of_part(question, index, tally)
    if not part_tally.n:
        return None
    fixed = law.sampled_fraction == 1
    position = _mean_position(law.parts[index], part_tally, confidence, fixed=fixed)
    mean = _in_unit(position, part.range)
    return replace(mean, sample_margin_at=mean.margin_at) if law.sampled_fraction < 1 else mean


def by_position(question: Number | Scale) -> bool:
    """Returns whether the mean is estimated from positions, which stand for numbers on a line.

    This is so for an even grid of numbers, and for buckets under Laplace or Gaussian noise, whose
    middles are on a line or near one (``position_line``). Scores that undo Gaussian noise exactly
    would grow without bound, and the few reports far out would decide the estimate.
    """
    law = question.mechanism.law
    if isinstance(law, Supporting):
        return False
    if isinstance(question, Scale):
        return question.aim == "mean"
    return isinstance(law, Noise) or law.domain.count == question.range.positions


def tally_of_part(question: VectorOfNumbers, index: int, tally: Tally) -> Tally:
    """Returns the tally of the number at ``index`` in a vector, from the reports that contain it.

    If devices draw which parts they report, so do blanks. Then n and the number of blanks are what
    is expected of the reports with this part, and need not be whole.
    """
    d, law = len(question.parts), question.law
    own = {cell // d: count for cell, count in tally.cells().items() if cell % d == index}
    part = from_cells(sum(own.values()), own, law.parts[index].cell_count)
    if not tally.blanks or law.sampled_fraction == 1:
        return part.with_blanks(tally.blanks)
    blanks = cast(int, part.n * tally.blanks / tally.reports)
    return replace(part, n=part.n - blanks, blanks=blanks)


def moments_of_mean(
    question: Number | Scale | VectorOfNumbers, tally: Tally, part: int = 0
) -> Moments | None:
    """Returns the moments of a mean for a test of two groups, in the unit of the question.

    ``part`` is the index of the number in a vector. Returns None where some choices have no score,
    so that the mean is a ratio, and where a single choice is reported by ticks. Raises ValueError
    where there is no report.
    """
    if isinstance(question, VectorOfNumbers):
        grid, single = question.parts[part].range, question.law.parts[part]
        own, fixed = tally_of_part(question, part, tally), question.law.sampled_fraction == 1
        return _of_positions(single, own, *_unit(grid), fixed=fixed)
    law = single_law(question)
    if law is None:
        return None
    if isinstance(question, Scale):
        if not all(has_score(question)):
            return None
        if question.aim == "mean" and not isinstance(law, Supporting):
            first, second = question.values[:2]
            return _of_positions(law, tally, float(first), float(second - first))
        values = np.array(question.values, dtype=np.float64)
    elif not isinstance(law, Supporting) and by_position(question):
        line = position_line(question)
        return replace(_of_positions(law, tally, line.start, line.step), off=line.off)
    else:
        values = np.array([float(middle) for middle in bucket_middles(question)])
    if isinstance(law, Supporting) and law.size != 1:
        return _of_subsets(law, tally, values)
    channel = matrix(law)
    blanks = blank_laws.blanks_of(law, tally)
    return moments(ScoredTally(tally.counts, scores(channel, values), channel, blanks))


def has_mean(question: Number | Scale) -> bool:
    """Returns whether the mean can be estimated.

    It cannot where a single choice is reported by ticks (unary encoding).
    """
    return single_law(question) is not None


def single_law(question: Number | Scale) -> Supporting | OfNumber | None:
    """Returns the law of the question's reports; None where a single choice is reported by ticks.

    With ticks (unary encoding), a report says for each choice separately whether it is supported.
    """
    law = question.mechanism.law
    assert not isinstance(law, Several)  # a question has one number
    return None if isinstance(law, Supporting) and not law.single else law


def _of_positions(
    law: OfNumber, tally: Tally, start: float, step: float, *, fixed: bool = True
) -> Moments:
    if isinstance(law, Noise):
        return _of_noisy(law, tally, start, step, fixed=fixed)
    _, channel = some_positions(law)
    score, blanks = position_scores(law), blank_laws.blanks_of(law, tally, fixed=fixed)
    return moments(ScoredTally(tally.counts, start + step * score, channel, blanks))


def _of_noisy(law: Noise, tally: Tally, start: float, step: float, *, fixed: bool) -> Moments:
    """A number plus noise is its own score. Its mean square is at least that of the noise."""
    tally.enough_for("a mean")
    n, first, last = tally.reports, start, start + step * (law.k - 1)
    filled = np.flatnonzero(tally.counts)
    counts, reported = tally.counts[filled], start + step * (filled + tally.start)
    noise, middle = law.variance * step**2, (first + last) / 2
    saved = Saved(0.0, np.array(middle))
    if tally.blanks:
        stretch = n / tally.n
        reported = middle + stretch * (reported - middle)
        made_up = blank_laws.position(law)[1] * step**2
        noise = stretch**2 * (tally.n * noise + tally.blanks * made_up) / n
        saved = replace(saved, weight=saved_weight(tally.n, tally.blanks) if fixed else 0.0)
    estimate = float(counts @ reported) / n
    # With very many numbers, neighbours are grouped and tilted as one.
    groups = np.arange(0, len(reported), ceil(len(reported) / _MOST_TILTED))
    weight = np.add.reduceat(counts, groups)
    place, square = (
        np.add.reduceat(counts * value, groups) / weight
        for value in (reported, (reported - estimate) ** 2)
    )
    ends = np.array([first, last])
    likeliest = tilted(
        np.append(weight, [0, 0]),
        np.append(place, ends),
        np.append(square, (ends - estimate) ** 2)[None],
    )

    def square_at(mu: float) -> float:
        # Not clipped to the most that answers allow: if all are at the two ends, that is the truth,
        # and the variance would never be above it.
        least = noise + n * float(saved.at(np.array(mu)))
        return max(float(likeliest(mu, 0)), least + (mu - estimate) ** 2)

    # The variance of an even spread over the range is its width squared over 12.
    precision = n / (noise + (last - first) ** 2 / 12)
    return Moments(
        n,
        estimate,
        (first, last),
        step / tally.n,
        precision,
        square_at,
        max(n - 1, 1),
        saved=saved,
    )


def _of_subsets(law: Supporting, tally: Tally, value: Floats) -> Moments:
    """From the sums of the reported choices' values; their variance is as in ``weighted_mean``."""
    tally.enough_for("a mean")
    law, n = blank_laws.blended(law, tally), tally.reports
    p, q = float(law.p), float(law.q)
    raw = supported_shares(law, tally.counts / n)
    estimate = float(raw @ value)
    apart = value - estimate
    square = noise_of_sum(law, apart) + apart**2
    likeliest = tilted(project(raw), value, square[None])
    return Moments(
        n,
        estimate,
        (float(value.min()), float(value.max())),
        least_step(value) / (p - q) / n,
        n / float(square.mean() - apart.mean() ** 2),
        lambda mu: float(likeliest(mu, 0)),
        saved=Saved(saved_weight(tally.n, tally.blanks), value.mean()),
    )


@dataclass(frozen=True)
class PositionLine:
    """A line from positions to numbers: position x stands for about ``start + step * x``.

    The exact numbers that positions stand for are within ``ends`` and at most ``off`` from the
    line.
    """

    start: float
    step: float
    ends: tuple[float, float]
    off: float = 0.0


def position_line(question: Number) -> PositionLine:
    """Returns the line from a question's positions to the numbers that they stand for.

    These are the numbers of an even grid, or the middles of buckets. The widths of buckets differ
    by at most one number, so their middles are less than one step of the grid from a line.
    """
    grid = question.range
    if question.mechanism.law.domain.count == grid.positions:
        return PositionLine(*_unit(grid), (float(grid.minimum), float(grid.maximum)))
    return _middle_line(grid, question.mechanism.k)


@lru_cache(maxsize=16)  # asked for with every tally
def _middle_line(grid: Range, buckets: int) -> PositionLine:
    middles = [(low + high) / 2 for low, high in _bucket_ends(grid, buckets)]
    first, last = middles[0], middles[-1]
    step = (last - first) / (len(middles) - 1)
    apart = [middle - first - step * x for x, middle in enumerate(middles)]
    # Halfway between the middles that are farthest below and above: the smallest ``off``.
    start = first + (min(apart) + max(apart)) / 2
    off = (max(apart) - min(apart)) / 2
    return PositionLine(float(start), float(step), (float(first), float(last)), float(off))


def _unit(grid: Range) -> tuple[float, float]:
    """The first number of a grid, and the step to the next."""
    first, second = (float(grid.value(position)) for position in (0, 1))
    return first, second - first


def has_score(question: Scale) -> list[bool]:
    """Returns for each choice whether it has a score on the scale; "don't know", for example, has
    none."""
    return [name not in UNSCORED for name in question.names]


@lru_cache(maxsize=16)  # asked for with every tally
def _bucket_ends(grid: Range, buckets: int) -> tuple[tuple[Fraction, Fraction], ...]:
    # Position i is in bucket floor(i * buckets / positions) (SPEC 4.1), which begins at the
    # ceiling.
    first = [-(-bucket * grid.positions // buckets) for bucket in range(buckets + 1)]
    return tuple(
        (grid.value(first[bucket]), grid.value(first[bucket + 1] - 1)) for bucket in range(buckets)
    )


def _mean_score(question: Scale, tally: Tally, confidence: float) -> Mean | None:
    """The mean score of people who have one; None if the reports do not determine it."""
    if all(has_score(question)):
        values = np.array(question.values, dtype=np.float64)
        return as_mean(tally.n, _total(question, tally, values), confidence)
    ratio = mean_of_scored(question, tally)
    interval = cache(ratio.interval)
    population, respondents = (interval(whose, confidence) for whose in (0, 1))
    if ratio.estimate is None or population is None or respondents is None:
        return None
    low, high, missed = population
    if high - low >= _USELESS * (ratio.ends[1] - ratio.ends[0]):
        return None
    shown = min(max(ratio.estimate, low), high)
    errors = [score.error / ratio.having for score in ratio.about(shown)]
    whole = Margin(errors[0], low, high, missed)

    def margin_at(confidence: float) -> Margin:
        ends = interval(0, confidence)
        return whole if ends is None else Margin(errors[0], *ends)

    def sample_margin_at(confidence: float) -> Margin:
        low, high, missed = interval(1, confidence) or respondents
        return Margin(errors[1], min(low, shown), max(high, shown), missed)

    return Mean(tally.n, confidence, shown, margin_at, sample_margin_at)


@dataclass(frozen=True, eq=False)
class Ratio:
    """The mean score of the people who have one, given by a test of each possible mean mu.

    If mu is the true mean, then (having a score) times (score - mu) has mean 0. ``about(mu)``
    returns the estimate of that, as uncertain means for the population and for these respondents.
    The set of all mu that no test rejects covers the true mean as often as margins cover a mean
    (Fieller 1954, J. R. Stat. Soc. B 16:175). ``estimate`` comes from the projected shares, which
    are nearer to the truth than the unbiased ones; it is None if nobody seems to have a score.
    ``having`` is the share of people with a score.
    """

    estimate: float | None
    having: float
    ends: tuple[float, float]
    about: Callable[[float], tuple[Uncertain, Uncertain]]

    def deviate(self, mu: float, whose: int = 0) -> float:
        """Returns how many standard deviations the mean lies above ``mu``.

        ``whose`` is 0 for the mean of the population, 1 for that of these respondents.
        """
        return self.about(mu)[whose].deviate(0.0)

    def interval(self, whose: int, confidence: float) -> tuple[float, float, bool] | None:
        """Returns (lowest, highest, missed): the range of the means that are not rejected at
        ``confidence``.

        ``whose`` is 0 for the population, 1 for these respondents. If all means are rejected,
        ``missed`` is True and the least rejected mean counts as the estimate. Returns None if the
        means that are not rejected do not form an interval.
        """
        wanted = NormalDist().inv_cdf((1 + confidence) / 2)
        start, end = self.ends
        grid = np.linspace(start, end, _MEANS_TRIED)
        if self.estimate is not None:
            grid = np.sort(np.append(grid, min(max(self.estimate, start), end)))
        away = np.array([abs(self.deviate(mu, whose)) for mu in grid.tolist()])
        missed = bool(away.min() > wanted)
        wanted += float(away.min()) if missed else 0.0
        kept = np.flatnonzero(away <= wanted)
        if len(kept) < kept[-1] - kept[0] + 1:
            return None

        def last(inner: float, outer: float) -> float:
            for _ in range(_HALVINGS):
                middle = (inner + outer) / 2
                inside = abs(self.deviate(middle, whose)) <= wanted
                inner, outer = (middle, outer) if inside else (inner, middle)
            return inner

        below, above = max(kept[0] - 1, 0), min(kept[-1] + 1, len(grid) - 1)
        return (
            last(float(grid[kept[0]]), float(grid[below])),
            last(float(grid[kept[-1]]), float(grid[above])),
            missed,
        )


def is_ratio(question: Question) -> TypeGuard[Scale]:
    """Returns whether the question has a mean score to which not all choices contribute.

    Choices such as "don't know" have no score, so the mean is among the people with a score: a
    ratio.
    """
    return (
        isinstance(question, Scale)
        and single_law(question) is not None
        and not all(has_score(question))
    )


def scored_range(question: Scale) -> tuple[float, float]:
    """Returns the smallest and the largest score of the choices that have one."""
    on_scale = [
        value for value, scored in zip(question.values, has_score(question), strict=True) if scored
    ]
    return float(min(on_scale)), float(max(on_scale))


def mean_of_scored(question: Scale, tally: Tally) -> Ratio:
    """Estimates the mean score of the people who have a score. Raises ValueError without a
    report."""
    values = np.array(question.values, dtype=np.float64)
    scored = np.array(has_score(question), dtype=np.float64)
    raw = _each_share(question, tally)
    shares = project(raw)
    having = float(shares @ scored)
    law = question.mechanism.law
    # One step for all mu: between a score and having none it would jump at every score.
    step = 0.0
    if isinstance(law, Supporting):
        law = blank_laws.blended(law, tally)
        step = least_step(values[scored > 0]) / float(law.p - law.q) / tally.reports

    def about(mu: float) -> tuple[Uncertain, Uncertain]:
        apart = scored * (values - mu)
        if isinstance(law, Supporting):
            return weighted_sums_of(law, tally, raw, shares, apart, step)
        population, respondents = _total(question, tally, apart)
        return replace(population, step=step), replace(respondents, step=step)

    return Ratio(
        float(shares @ (scored * values)) / having if having > 1e-9 else None,
        having,
        scored_range(question),
        cache(about),
    )


def _each_share(question: Scale, tally: Tally) -> Floats:
    """The unbiased share of every choice, without margins, which take most of the time.

    Raises ValueError without a report.
    """
    tally.enough_for("an estimate")
    law, seen = question.mechanism.law, tally.counts / tally.reports
    if isinstance(law, Supporting):
        return supported_shares(blank_laws.blended(law, tally), seen)
    channel = matrix(law)
    of_each = scores(channel, np.eye(len(question.names)))
    blended, _ = blended_scores(of_each, tally.n, blank_laws.blanks_of(law, tally))
    shares: Floats = blended @ seen
    return shares


def _total(question: Scale, tally: Tally, weights: Floats) -> tuple[Uncertain, Uncertain]:
    """The mean of ``weights``, one for each choice."""
    law = question.mechanism.law
    if isinstance(law, Supporting):
        return weighted_sums(tally, law, weights)
    channel = matrix(law)
    blanks = blank_laws.blanks_of(law, tally)
    return uncertain(tally.counts, scores(channel, weights), channel, blanks)


def _mean_position(law: OfNumber, tally: Tally, confidence: float, *, fixed: bool = True) -> Mean:
    """The mean position on the grid, 0 to k - 1. ``fixed`` is as in ``Blanks``."""
    if isinstance(law, Noise):
        tally.enough_for("an estimate")
        numbers = np.arange(len(tally.counts), dtype=np.float64) + tally.start
        middle, made_up = blank_laws.position(law)
        blanks, noise = tally.blanks, law.variance
        estimate = (float(tally.counts @ numbers) - blanks * middle) / tally.n
        square = float(tally.counts @ (numbers - estimate) ** 2)
        spread = (square - blanks * (made_up + (middle - estimate) ** 2)) / tally.n
        if not fixed:  # chance decides how many blanks have this part
            made_up += (middle - estimate) ** 2

        def normal(variance: float, confidence: float) -> Margin:
            of_mean = variance / tally.n + blanks * made_up / tally.n**2
            return _normal(estimate, of_mean, confidence, (0.0, float(law.k - 1)))

        return Mean(
            n=round(tally.n),
            confidence=confidence,
            estimate=estimate,
            # A sample variance below that of the noise alone is chance.
            margin_at=partial(normal, max(spread, noise)),
            sample_margin_at=partial(normal, noise),
        )
    _, channel = some_positions(law)
    blanks_of_all = blank_laws.blanks_of(law, tally, fixed=fixed)
    return linear(tally.counts, position_scores(law), channel, confidence, blanks_of_all)


def _normal(
    estimate: float, variance: float, confidence: float, ends: tuple[float, float]
) -> Margin:
    error = variance**0.5
    half = NormalDist().inv_cdf((1 + confidence) / 2) * error
    low, high = estimate - half, estimate + half
    missed = high < ends[0] or low > ends[1]
    if missed:
        nearest = min(max(estimate, ends[0]), ends[1])
        low, high = nearest - half, nearest + half
    low, high = (min(max(end, ends[0]), ends[1]) for end in (low, high))
    return Margin(error, low, high, missed)


def _scaled(mean: Mean, factor: float, start: float) -> Mean:
    def margin(scaled: Margin) -> Margin:
        low, high = start + factor * scaled.low, start + factor * scaled.high
        return Margin(factor * scaled.standard_error, low, high, scaled.missed)

    return Mean(
        mean.n,
        mean.confidence,
        start + factor * mean.estimate,
        lambda confidence: margin(mean.margin_at(confidence)),
        lambda confidence: margin(mean.sample_margin_at(confidence)),
    )


def _widened(mean: Mean, line: PositionLine) -> Mean:
    """With margins that hold wherever what positions stand for lies beside the line."""
    if not line.off:
        return mean

    def margin(widened: Margin) -> Margin:
        low, high = (
            min(max(end, line.ends[0]), line.ends[1])
            for end in (widened.low - line.off, widened.high + line.off)
        )
        return replace(widened, low=low, high=high)

    def margin_at(confidence: float) -> Margin:
        return margin(mean.margin_at(confidence))

    def sample_margin_at(confidence: float) -> Margin:
        return margin(mean.sample_margin_at(confidence))

    return replace(mean, margin_at=margin_at, sample_margin_at=sample_margin_at)


def _in_unit(mean: Mean, grid: Range) -> Mean:
    start, step = _unit(grid)
    return _scaled(mean, step, start)


def bucket_ends(question: Number) -> list[tuple[Fraction, Fraction]]:
    """Returns the first and the last number of every bucket, in the unit of the question."""
    return list(_bucket_ends(question.range, question.mechanism.k))


def bucket_middles(question: Number) -> list[Fraction]:
    """Returns the middle of every bucket, in the unit of the question."""
    return [(low + high) / 2 for low, high in bucket_ends(question)]
