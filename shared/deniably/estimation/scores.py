"""Scores: what one report adds to an estimate. Variances and the effect of fake reports follow.

An estimate is the mean of scores, one for each report. The expectation of a score is the ``target``
of the true answer, such as 1 for people with a choice and 0 for all others. So everything about a
figure follows from a law and a target. Shares are on [0, 1]. So are means, as parts of their range.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import ceil, inf

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import Floats
from deniably.estimation import blank_laws
from deniably.estimation.channels import matrix, position_scores, sent, some_positions
from deniably.estimation.inversion import scores
from deniably.mechanisms.law import Finite, HasLaw, Law, Noise, Several, Supporting

_REACH = 12  # standard deviations of noise; less than 1e-6 lies beyond


@dataclass(frozen=True, eq=False)
class Score:
    """The score of a figure: what one report adds to its estimate.

    ``target`` and ``square`` (answers,) are the expected score and the expected square of the
    score, given each true answer. Every possible report has a score from ``low`` to ``high``; these
    are infinite where there is no end. ``sampled_fraction`` is the fraction of all reports that are
    about this figure. The score of a mixer's blank has the mean ``blank_mean`` and
    ``blank_variance``.
    """

    target: Floats
    square: Floats
    low: float
    high: float
    blank_mean: float
    blank_variance: float
    sampled_fraction: float = 1.0

    @property
    def noise(self) -> Floats:
        """The variance of the score, given each true answer; shape (answers,)."""
        variance: Floats = self.square - self.target**2
        return variance

    @property
    def farthest(self) -> float:
        """The largest distance that the score of a report can have from the expectation for an
        answer."""
        return max(self.high - float(self.target.min()), float(self.target.max()) - self.low)

    def at(self, share: float, blanks: float = 0.0) -> float:
        """Returns n times the variance of a share's estimate from n people, at a true ``share``.

        The target is 1 for the answers that the share counts, and 0 for all others. In each of
        these two groups, the answer whose scores vary most is taken. A mixer adds so many
        ``blanks`` for each person.
        """
        return self._with_blanks(self._curve(share), share - self.blank_mean, blanks)

    @property
    def peak(self) -> float:
        """The share, from 0 to 1, at which the variance is largest: the top of a parabola."""
        nobody, everybody = self._curve(0.0), self._curve(1.0)
        return min(max((everybody - nobody + 1) / 2, 0.0), 1.0)

    def worst(self, blanks: float = 0.0) -> float:
        """Returns n times the variance of the estimate for the worst distribution of answers;
        ``blanks`` are as above."""
        apart = float(np.abs(self.target - self.blank_mean).max())
        return self._with_blanks(self._worst_spread, apart, blanks)

    @cached_property
    def _worst_spread(self) -> float:
        return worst_spread(self.target, self.square)

    def _with_blanks(self, variance: float, apart: float, blanks: float) -> float:
        """``apart`` is what a mean is apart from that of blanks. If devices draw what they report,
        chance decides how many blanks count, too."""
        if not blanks:
            return variance / self.sampled_fraction
        drawn = 0.0 if self.sampled_fraction == 1 else blanks / (1 + blanks) * apart**2
        return (variance + blanks * self.blank_variance + drawn) / self.sampled_fraction

    def _curve(self, share: float) -> float:
        inside, outside = self._squares
        return share * inside + (1 - share) * outside - share**2

    @cached_property
    def _squares(self) -> tuple[float, float]:
        """The largest expected square of the score among the answers that the share counts, and
        among all others."""
        counted = self.target > 0
        return float(self.square[counted].max()), float(self.square[~counted].max())


def of_choice(mechanism: HasLaw[Supporting]) -> Score:
    """Returns the score of the share of a choice, which is the same for all choices.

    It has two answers: this choice, and any other.
    """
    return _of_choice(mechanism.law)


@lru_cache(maxsize=256)  # a check of a draft asks for it dozens of times
def _of_choice(law: Supporting) -> Score:
    p, q = float(law.p), float(law.q)
    low, high = -q / (p - q), (1 - q) / (p - q)
    square = [p * high**2 + (1 - p) * low**2, q * high**2 + (1 - q) * low**2]
    blank = float(blank_laws.support(law))
    return Score(
        np.array([1.0, 0.0]),
        np.array(square),
        low,
        high,
        float(blank_laws.has_choice(law.domain)),
        blank * (1 - blank) / (p - q) ** 2,
        float(law.sampled_fraction),
    )


def of_target(mechanism: HasLaw[Law], target: npt.ArrayLike | None = None) -> Score:
    """Returns the score of the mean of ``target``, shape (k,), by default of the position from 0 to
    1.

    Raises ValueError if reports do not determine that mean, or if an answer is several ticks or
    numbers.
    """
    law = mechanism.law
    if isinstance(law, Several) or (isinstance(law, Supporting) and not law.single):
        raise ValueError("a report of several things has no one score")
    if isinstance(law, Supporting):
        value = np.linspace(0, 1, law.k) if target is None else np.asarray(target, dtype=np.float64)
        return _of_named(law, value)
    if target is None:
        return _of_position(law)
    return _of_outputs(law, np.asarray(target, dtype=np.float64))


def of_number(mechanism: HasLaw[Law], part: int) -> Score:
    """Returns the score of the mean of one number from 0 to 1; ``part`` is its index in a
    vector."""
    law = mechanism.law
    if not isinstance(law, Several):
        return of_target(law)
    return replace(of_target(law.parts[part]), sampled_fraction=float(law.sampled_fraction))


def noise_of_sum(mechanism: HasLaw[Supporting], value: Floats) -> Floats:
    """Returns the variance of a report's sum of values, divided by p - q, given each true choice.

    ``value`` has a number for each choice, and the sum is over the choices that the report names.
    ``value`` and the result have the shape (k,). Raises ValueError if the law does not say how
    often two choices are named together.
    """
    law = mechanism.law
    if (pairs := law.joint.pairs) is None:
        raise ValueError("how often two choices are named together depends on which they are")
    p, q, own, others = (float(chance) for chance in (law.p, law.q, *pairs))
    scaled = value / (p - q)
    total, squares = scaled.sum(), (scaled**2).sum()
    mean = q * total + (p - q) * scaled
    rest, rest_squares = total - scaled, squares - scaled**2
    # The expected square of the sum: squares of the values, and the products of each pair, which is
    # named with probability ``own`` if the true choice is one of the two, else with ``others``.
    second = (
        p * scaled**2
        + q * rest_squares
        + 2 * own * scaled * rest
        + others * (rest**2 - rest_squares)
    )
    variance: Floats = np.maximum(second - mean**2, 0.0)
    return variance


def worst_spread(place: Floats, square: Floats) -> float:
    """Returns the largest variance of the score over all distributions of answers.

    ``place`` has the expected score of each answer, and ``square`` its expected square. At a mean
    mu the largest mean square lies on a line between two answers; mu^2 is subtracted from it.
    """
    # Two places are enough: the upper hull of the points (place, square) is made of such lines.
    run = place[:, None] - place
    slope = np.divide(square[:, None] - square, run, out=np.zeros_like(run), where=run != 0)
    low, high = np.minimum(place[:, None], place), np.maximum(place[:, None], place)
    mean = np.clip(slope / 2, low, high)
    return float((square + slope * (mean - place) - mean**2).max())


def _of_named(law: Supporting, value: Floats) -> Score:
    p, q = float(law.p), float(law.q)
    ordered, expected = np.sort(value), q * float(value.sum())
    if law.size is None:  # any choices can be named: none that draw the sum the other way
        # The reports with the smallest and the largest sum.
        low, high = float(np.minimum(value, 0).sum()), float(np.maximum(value, 0).sum())
    else:
        low, high = float(ordered[: law.size].sum()), float(ordered[-law.size :].sum())
    square = noise_of_sum(law, value) + value**2
    low, high = (low - expected) / (p - q), (high - expected) / (p - q)
    blank = float(value.mean())
    return Score(value, square, low, high, blank, float(square.mean()) - blank**2)


@lru_cache(maxsize=64)  # as of a choice
def _of_position(law: Finite | Noise) -> Score:
    last = law.k - 1
    if isinstance(law, Noise):  # the same for all: the two ends stand for them
        ends, noise = np.array([0.0, 1.0]), law.variance / last**2
        blank_variance = blank_laws.position(law)[1] / last**2
        beyond = law.reach / last
        return Score(ends, ends**2 + noise, -beyond, 1 + beyond, 0.5, blank_variance)
    positions, channel = some_positions(law)
    score = position_scores(law) / last
    low, high = float(score.min()), float(score.max())
    blank = _mean_and_variance(score, blank_laws.outputs(law))
    return Score(positions / last, channel @ score**2, low, high, *blank)


def _of_outputs(law: Finite | Noise, target: Floats) -> Score:
    if isinstance(law, Finite):
        channel = matrix(law)
        score = scores(channel, target)
        low, high = float(score.min()), float(score.max())
        blank = _mean_and_variance(score, channel.mean(axis=0))
        return Score(target, channel @ score**2, low, high, *blank)
    channel = _endless(law)
    score = scores(channel, target)
    blank = _mean_and_variance(score, channel.mean(axis=0))
    return Score(target, channel @ score**2, -inf, inf, *blank)


def _mean_and_variance(score: Floats, law: Floats) -> tuple[float, float]:
    mean = float(law @ score)
    return mean, float(law @ score**2) - mean**2


@lru_cache(maxsize=2)  # of a distribution, every bucket asks for it
def _endless(law: Noise) -> Floats:
    """The channel up to where less than 1e-6 of the noise lies."""
    reach = ceil(_REACH * float(law.variance**0.5))
    return sent(law, np.arange(-reach, law.k + reach))
