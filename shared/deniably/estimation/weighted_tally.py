"""Weighted tallies: what reports with weights say, and how much that may vary.

A kind of report is one class of equal reports, as far as a figure is concerned. A tally counts
reports by kind. A weighted tally sums their weights by kind, and the squares of their weights. That
is all that a weighted mean of scores needs, and its linearised variance, that of R's package survey
(Binder 1983, Int. Stat. Rev. 51:279).

Intervals and tests are those of unweighted reports from fewer people, the *effective people*:
``counts`` has the weighted shares of as many people as would give an estimate of the same variance
(Korn and Graubard 1998, Survey Methodology 24:193). So they take the variance from the channel, and
hold where all reports are alike, or one person has most of the weight. There a variance from the
spread of the reports would be next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import Floats
from deniably.core.errors import BadModel
from deniably.estimation.crosstab import pair_kinds

Ints = npt.NDArray[np.int64]
_BLOCK = 10_000  # reports in memory as numbers of eight bytes
_ROUNDING = 1e-24
"""A variance below this part of the largest square is that of reports that are all alike."""
_Summed = Callable[[Floats, Ints], Floats]
"""(weights of all reports, rows of some) -> their sums by kind."""


@dataclass(frozen=True, eq=False)
class WeightedTally:
    """The sums of weights and of squared weights of reports, by stratum (h) and kind (c).

    Each report is of one kind, a number below c; all reports of a kind have the same score.
    ``totals`` and ``squares`` have the shape (h, ..., c); h is 1 without strata. ``people`` (h,) is
    the number of reports in each stratum of the sample, whatever their weights. The axes between h
    and c are for several figures of the same reports, which every method computes at once. A score
    has one value for each kind, shape (c,) or (..., c). The number of "effective people" is how
    many people without weights would give the same variance. Without strata, and with equal
    weights, it is the number of reports.

    Raises BadModel where all weights are 0, where a stratum has only one report, or where there are
    fewer than two reports in all.
    """

    people: Ints
    totals: Floats
    squares: Floats

    def __post_init__(self) -> None:
        if self.n < 2:
            raise BadModel("an error needs at least 2 reports")
        if not self.totals.any():
            raise BadModel("all weights are 0")
        if (self.people == 1).any():
            raise BadModel("a stratum has only one row: merge it with another")

    @property
    def n(self) -> int:
        """The number of reports."""
        return int(self.people.sum())

    @cached_property
    def weight(self) -> float:
        """The sum of all weights: the same for every figure."""
        total: Floats = self.totals.sum(axis=(0, -1))
        return float(total.ravel()[0])

    @cached_property
    def kish(self) -> float:
        """Kish's effective sample size: (sum w)^2 / sum w^2 (Kish 1965, Survey Sampling)."""
        square: Floats = self.squares.sum(axis=(0, -1))
        # All figures have the same reports and weights, so the first stands for all.
        return max(self.weight**2 / float(square.ravel()[0]), 1.0)

    @cached_property
    def shares(self) -> Floats:
        """The weighted share of each kind of reports, for each figure; shape (..., c)."""
        shares: Floats = self.totals.sum(axis=0) / self.weight
        return shares

    @property
    def broadcast(self) -> WeightedTally:
        """The tally of one figure with an added axis, for computing with f scores (f, c) at
        once."""
        return WeightedTally(self.people, self.totals[:, None], self.squares[:, None])

    def mean(self, score: Floats) -> Floats:
        """Returns the weighted mean of a score, one number for each figure; shape (...)."""
        mean: Floats = (self.shares * score).sum(axis=-1)
        return mean

    def variance(self, score: Floats) -> Floats:
        """Returns the linearised variance of a score's weighted mean, for each figure; shape
        (...)."""
        return self.covariance(score, score)

    def covariance(self, score: Floats, other_score: Floats) -> Floats:
        """Returns the linearised covariance of two scores' weighted means, for each figure; shape
        (...)."""
        first, second = (each - self.mean(each)[..., None] for each in (score, other_score))
        together = (self.squares * first * second).sum(axis=-1)
        sums = (self.totals * first).sum(axis=-1) * (self.totals * second).sum(axis=-1)
        # With-replacement variance of strata: n_h / (n_h - 1) for each, as R's survey has it.
        stretch = self._many / (self._many - 1)
        covariance: Floats = (stretch * (together - sums / self._many)).sum(axis=0) / self.weight**2
        return covariance

    def effective(self, score: Floats) -> Floats:
        """Returns how many people without weights would give a mean score of the same variance.

        The shape is (...), a number for each figure. The number is never above Kish's effective
        sample size. Where a single report has most of the weight, the mean is near its score, and a
        variance from the reports would be too small.
        """
        apart = score - self.mean(score)[..., None]
        alone = (self.shares * apart**2).sum(axis=-1)
        # Both are over n, and without strata the same where weights are.
        spread = self.variance(score) * (self.n - 1) / self.n
        known = (spread > 1e-12 * alone / self.n) & (alone > _ROUNDING * (score**2).max())
        with np.errstate(divide="ignore", invalid="ignore"):
            people = np.where(known, alone / spread, self.kish)
        result: Floats = np.clip(people, 1.0, self.kish)
        return result

    def counts(self, score: Floats) -> Floats:
        """Returns how many effective people the reports of each kind stand for, in the mean of a
        score; shape (..., c).

        Without strata, and with equal weights, that is the number of reports of each kind.
        """
        counts: Floats = self.effective(score)[..., None] * self.shares
        return counts

    @cached_property
    def _many(self) -> Floats:
        """The people of each stratum, shape (h, 1, ...)."""
        shape = (-1, *(1,) * (self.totals.ndim - 2))
        return self.people.astype(np.float64).reshape(shape)


@dataclass(frozen=True, eq=False)
class Weighing:
    """The ``weights`` (n,) of reports, at least 0, with the ``strata`` (n,) of the sample.

    Strata are numbered from 0, and standard errors are computed within them; None for a sample
    without strata.
    """

    weights: Floats
    strata: Ints | None = None

    @property
    def kish(self) -> float:
        """Kish's effective sample size, (sum w)^2 / sum w^2. Raises BadModel where all weights are
        0."""
        return float(self.people.sum())

    @property
    def people(self) -> Floats:
        """How many effective people each report stands for, shape (n,); 1 each if weights are
        equal.

        The sum is Kish's effective sample size. Raises BadModel where all weights are 0.
        """
        if not self.weights.any():
            raise BadModel("all weights are 0")
        w: Floats = self.weights / self.weights.max()
        people: Floats = w * (w.sum() / (w @ w))
        return people

    def among(self, some: npt.NDArray[np.bool_]) -> Weighing:
        """Returns the weights and strata of the reports that the mask ``some`` (n,) marks."""
        strata = None if self.strata is None else self.strata[some]
        return Weighing(self.weights[some], strata)

    def tally(self, kinds: npt.ArrayLike, count: int) -> WeightedTally:
        """Returns the weighted tally of reports whose ``kinds`` (n,) are numbers below
        ``count``."""
        where = np.asarray(kinds, dtype=np.int64)

        def summed(weights: Floats, some: Ints) -> Floats:
            return np.bincount(where[some], weights[some], count).astype(np.float64)

        return self._strata(summed)

    def scored(self, scores: Floats) -> tuple[WeightedTally, Floats]:
        """Returns the weighted tally of reports by score, and the score of each kind.

        Reports with equal ``scores`` (n,) are of one kind.
        """
        values, kinds = np.unique(scores, return_inverse=True)
        return self.tally(kinds, len(values)), values

    def tally_of_pairs(self, first: npt.ArrayLike, second: npt.ArrayLike) -> WeightedTally:
        """Returns the weighted tally of pairs of reports for each pair of choices, shape (h, k1,
        k2, 4).

        ``first`` (n, k1) and ``second`` (n, k2) are 1 where a person's report supports a choice,
        else 0. The last axis is for pairs of reports that support both choices, the first alone,
        the second alone, and neither.
        """
        bits, others = np.asarray(first), np.asarray(second)

        def summed(weights: Floats, some: Ints) -> Floats:
            both = np.zeros((bits.shape[1], others.shape[1]))
            a, b, total = np.zeros(bits.shape[1]), np.zeros(others.shape[1]), 0.0
            for start in range(0, len(some), _BLOCK):
                block = some[start : start + _BLOCK]
                w = weights[block]
                left, right = bits[block].astype(np.float64), others[block].astype(np.float64)
                both += (left * w[:, None]).T @ right
                a, b, total = a + w @ left, b + w @ right, total + float(w.sum())
            return pair_kinds(total, a, b, both)

        return self._strata(summed)

    def _strata(self, summed: _Summed) -> WeightedTally:
        codes = np.zeros(len(self.weights), np.int64)
        if self.strata is not None:
            # Numbers without gaps: a subgroup may lack some strata.
            codes = np.unique(self.strata, return_inverse=True)[1].astype(np.int64)
        largest = float(self.weights.max(initial=0.0))  # so that no square is beyond floats
        weights = self.weights / largest if largest else self.weights
        people = np.bincount(codes)
        parts = [np.flatnonzero(codes == stratum) for stratum in range(len(people))]
        if not parts:
            raise BadModel("an error needs at least 2 reports")
        return WeightedTally(
            people.astype(np.int64),
            np.stack([summed(weights, some) for some in parts]),
            np.stack([summed(weights**2, some) for some in parts]),
        )
