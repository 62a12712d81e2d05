"""Estimates the distribution of a number from its tally."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import Floats
from deniably.estimation import distribution
from deniably.estimation.blanks import Blanks, blended_channel
from deniably.estimation.channels import matrix, sent
from deniably.estimation.distribution import QuantileEstimate
from deniably.estimation.estimate import (
    estimate,
)
from deniably.estimation.inversion import (
    Mean,
    scores,
)
from deniably.estimation.likelihood import Fit
from deniably.estimation.profile_likelihood import quantile_intervals
from deniably.estimation.question_means import single_law
from deniably.estimation.question_shares import CONFIDENCE, weighted_mean
from deniably.estimation.tally import Tally
from deniably.mechanisms.law import Finite, HasLaw, Law, OfNumber, Several, Supporting
from deniably.survey.questions import (
    Number,
)

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
_MEASURED_ODDS = exp(2) * (1 + 1e-9)  # the largest for which coverage was measured (``roots``)
_MOST_PROFILED = 1 << 17  # buckets times outputs; a second or two


@dataclass(frozen=True, eq=False)
class Distribution:
    """The estimated distribution of a number over d buckets.

    ``shares`` (shape (d,)) are a fit for display, not negative and with the sum 1. ``at_most`` has,
    for every bucket but the last, the unbiased share of numbers up to the end of the bucket, with
    margins. ``rising`` (shape (d - 1,)) has these shares for display, adjusted so that they never
    fall. ``quantiles`` are the buckets in which given cumulative shares are reached. ``at_most``,
    ``rising`` and ``quantiles`` are empty where the reports do not determine them.
    """

    n: int
    shares: Floats
    at_most: list[Mean]
    rising: Floats
    quantiles: list[QuantileEstimate]


def number_distribution(
    question: Number,
    tally: Tally,
    confidence: float = CONFIDENCE,
    levels: Sequence[float] = QUANTILES,
) -> Distribution:
    """Estimates the distribution of a number over its buckets, with quantiles at ``levels``.

    Raises ValueError where there is no report.
    """
    law = single_law(question)
    assert law is not None  # no ticks for a number
    tally.enough_for("an estimate")
    if isinstance(law, Supporting):
        found = estimate(tally, law, confidence)
        at_most = [
            weighted_mean(tally, law, np.arange(law.k) <= t, confidence) for t in range(law.k - 1)
        ]
        rising = distribution.rising(found.consistent, at_most, isotonic=True)
        quantiles = _quantiles(found.consistent, at_most, levels)
        return Distribution(tally.n, found.consistent, at_most, rising, quantiles)
    counts, channel = _whole(law, tally)
    blanks = Blanks(tally.blanks, channel.mean(axis=0)) if tally.blanks else None
    blended = blended_channel(channel, tally.n, blanks)
    shares = _fit(counts, blended).shares
    try:
        at_most = distribution.cumulative(counts, channel, confidence, blanks)
    except ValueError:  # fewer places than buckets: a shape, but no unbiased shares
        return Distribution(tally.n, shares, [], np.empty(0), [])
    rising = distribution.rising(shares, at_most, isotonic=_names_single_buckets(law))
    times = roots(law)
    if times is None:
        return Distribution(tally.n, shares, at_most, rising, _quantiles(shares, at_most, levels))
    cutoff = times * NormalDist().inv_cdf((1 + confidence) / 2)
    within = quantile_intervals(counts, blended, levels, cutoff)
    return Distribution(
        tally.n, shares, at_most, rising, distribution.placed(shares, levels, within)
    )


def _names_single_buckets(law: Law) -> bool:
    """Whether a report names one bucket: through a window of one bucket, k-ary response."""
    return isinstance(law, Finite) and law.evenly and law.outputs == law.rows


def at_most_scores(law: Law, tally: Tally) -> tuple[Floats, int]:
    """Returns scores whose mean over reports is the share of numbers up to the end of each bucket.

    The result is (scores, first): the scores have the shape (d - 1, cells) for d buckets, and
    column j is the score of a report in cell first + j. The cells are those of the tally, or those
    of all answers where the tally has fewer. Where a report names several buckets, its score is the
    sum over its cells, up to a constant that is the same for all reports. Raises ValueError where
    the reports do not determine these shares.
    """
    assert not isinstance(law, Several)  # a question has one number
    if isinstance(law, Supporting):
        named: Floats = np.tri(law.k)[:-1] / float(law.p - law.q)
        return np.pad(named, ((0, 0), (0, law.cell_count - law.k))), 0
    counts, channel = _whole(law, tally)
    at_most = np.tri(len(channel))[:-1]
    start = min(tally.start, 0) if tally.endless else 0
    return scores(channel, at_most)[:, : len(counts)], start


def roots(mechanism: HasLaw[Law]) -> float | None:
    """Returns the factor that makes a normal quantile the cutoff of ``quantile_intervals``.

    None where profile likelihood is unreliable or slow, and for mechanisms other than windows. A
    narrow window gives distributions with many empty buckets, and then the deviance is not
    chi-squared. The coverage at a nominal 95 % was simulated for 32 buckets, one of which ends just
    at the quantile. It was 0.95 for windows of 8 buckets or more (epsilon 1.25 and below). For
    windows of 4 to 7 buckets (epsilon up to 2) it was 0.93, or 0.95 with this factor; below 4
    buckets it was 0.81. Above epsilon 2, where windows are wider for their odds, it was not
    measured.
    """
    law = mechanism.law
    if not isinstance(law, Finite) or not law.evenly:
        return None
    width = law.outputs - law.rows + 1
    wide = width / law.rows * min(law.k, 32)
    if wide < 4 or law.k * law.outputs > _MOST_PROFILED:
        return None
    column = matrix(law)[:, 0]
    if column.max() > _MEASURED_ODDS * column.min():
        return None
    # The measured factor: a nominal 0.975 instead of 0.95.
    return 1.0 if wide >= 8 else 2.24 / 1.96


def _whole(law: OfNumber, tally: Tally) -> tuple[npt.NDArray[np.int64], Floats]:
    """The counts, and the channel onto their cells.

    Noise without an end gets cells over every answer, and from the first to the last cell with a
    report. Fewer cells might not tell all answers apart. One more cell stands for everything
    beyond, because the probabilities of an answer must sum to 1.
    """
    if not tally.endless:
        return tally.counts, matrix(law)
    before = max(tally.start, 0)
    behind = max(law.k - tally.start - len(tally.counts), 0)
    counts = np.pad(tally.counts, (before, behind))
    channel = sent(law, np.arange(len(counts)) + tally.start - before)
    beyond = np.maximum(1 - channel.sum(axis=1, keepdims=True), 0)
    return np.append(counts, 0), np.hstack([channel, beyond])


def _fit(counts: npt.NDArray[np.int64], channel: Floats) -> Fit:
    return distribution.density(counts, np.maximum(channel, 1e-300))


def _quantiles(
    shares: Floats, at_most: list[Mean], levels: Sequence[float]
) -> list[QuantileEstimate]:
    return distribution.quantiles_from(shares, at_most, levels)
