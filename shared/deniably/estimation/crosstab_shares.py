"""All shares of a cross-table: of pairs of answers, of the margins, and within rows and columns.

They are estimated from counts of reports, or from reports with weights. With weights, each is
estimated as that of its effective people (see ``weighted_tally``), and has the standard error of a
weighted mean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np

from deniably.core.binomial import Floats
from deniably.estimation.crosstab import Crosstab, PairTally, SupportRates, crosstab, joint_score
from deniably.estimation.estimate import standard_error
from deniably.estimation.intervals import population_interval
from deniably.estimation.shares_within_rows import ConditionalShares, Within
from deniably.estimation.weighted_tally import WeightedTally

Axis = Literal[0, 1]
"""Rows (the first question) or columns."""

_ALIKE = 1e-12
"""A standard error below this is that of reports that are all alike."""
_SWAPPED = [0, 2, 1, 3]
"""A pair's four kinds (both, first alone, second alone, none) when its questions are swapped."""


@dataclass(frozen=True, eq=False)
class MarginShares:
    """Estimated shares of the answers to one question with their intervals, arrays of shape
    (k,)."""

    raw: Floats
    standard_error: Floats
    low: Floats
    high: Floats


class Crossing(Protocol):
    """The interface of a cross-table: estimates from ``n`` people's reports to two questions."""

    @property
    def n(self) -> int:
        """The number of people who were asked both questions."""
        ...

    @property
    def kinds(self) -> Floats:
        """How many people's reports support both choices of a pair, one of them, or neither.

        The shape is (rows, columns, 4): both, the first alone, the second alone, neither. With
        weights, the numbers of each cell add up to the effective sample size.
        """
        ...

    def cells(self, confidence: float) -> Crosstab:
        """Estimates the joint shares of all pairs of answers, shape (rows, columns)."""
        ...

    def within(self, axis: Axis, confidence: float) -> ConditionalShares:
        """Estimates each cell as a share of its row (axis 0) or its column (axis 1).

        The arrays have the shape (rows, columns).
        """
        ...

    def margin(self, axis: Axis, confidence: float) -> MarginShares:
        """Estimates the shares of the answers to the question in rows (axis 0) or in columns."""
        ...


@dataclass(frozen=True, eq=False)
class CountedPairs:
    """The cross-table of two questions from counts of reports, without weights.

    ``rates`` are (p, q) of the question in rows, then (p, q) of the question in columns.
    """

    tally: PairTally
    rates: tuple[SupportRates, SupportRates]

    @property
    def n(self) -> int:
        """The number of people who were asked both questions."""
        return self.tally.n

    @property
    def kinds(self) -> Floats:
        """How many people's reports support both choices of a pair, the first alone, the second
        alone, and neither; shape (rows, columns, 4)."""
        return self.tally.kinds

    def cells(self, confidence: float) -> Crosstab:
        """Estimates the joint shares of all pairs of answers, shape (rows, columns)."""
        return crosstab(self.tally.kinds, *self.rates, confidence)

    def within(self, axis: Axis, confidence: float) -> ConditionalShares:
        """Estimates each cell as a share of its row (axis 0) or its column (axis 1).

        The arrays have the shape (rows, columns).
        """
        first, second = self.tally.first[:, None], self.tally.second
        # Within columns the second question is what is given.
        given, wanted = (second, first) if axis else (first, second)
        rates = self.rates[axis], self.rates[1 - axis]
        return Within(self.n, self.tally.both, given, wanted, rates).estimate(confidence)

    def margin(self, axis: Axis, confidence: float) -> MarginShares:
        """Estimates the shares of the answers to the question in rows (axis 0) or in columns.

        The results of the question by itself show the same shares.
        """
        counts, (p, q) = (self.tally.first, self.tally.second)[axis], self.rates[axis]
        interval = population_interval(counts, self.n, p, q, 1 - confidence)
        raw: Floats = (counts / self.n - q) / (p - q)
        return MarginShares(raw, standard_error(counts, self.n, p, q), interval.low, interval.high)


@dataclass(frozen=True, eq=False)
class WeightedPairs:
    """The cross-table of two questions from reports with weights.

    ``tally`` is what ``Weighing.tally_of_pairs`` returns. ``rates`` are (p, q) of the question in
    rows, then (p, q) of the question in columns.
    """

    tally: WeightedTally
    rates: tuple[SupportRates, SupportRates]

    @property
    def n(self) -> int:
        """The number of people who were asked both questions."""
        return self.tally.n

    @property
    def kinds(self) -> Floats:
        """How many people's reports support both choices of a pair, one of them, or neither.

        The shape is (rows, columns, 4), as in ``Crossing``. The numbers of each cell add up to
        Kish's effective sample size.
        """
        kinds: Floats = self.tally.kish * self.tally.shares
        return kinds

    def cells(self, confidence: float) -> Crosstab:
        """Estimates the joint shares of all pairs of answers, as weighted means of the joint
        score."""
        score = joint_score(*self.rates)
        table = crosstab(self.tally.counts(score), *self.rates, confidence)
        return replace(table, standard_error=self._error(score, table.standard_error))

    def within(self, axis: Axis, confidence: float) -> ConditionalShares:
        """Estimates each cell as a share of its row (axis 0) or its column, by ratios of weighted
        means.

        The effective sample size is that for the mean of (score of a)(score of b - R), which is 0
        at the true share R.
        """
        given, wanted = (self._score(question) for question in (axis, 1 - axis))
        both, row = self.tally.mean(given * wanted), self.tally.mean(given)
        with np.errstate(divide="ignore", invalid="ignore"):
            # An empty row has no share; any R serves to find its effective people.
            share = np.nan_to_num(np.clip(both / row, 0, 1), nan=0.5)
        apart = given * (wanted - share[..., None])
        kinds = self.tally.counts(apart)[..., _SWAPPED if axis else slice(None)]
        together, alone, other = kinds[..., 0], kinds[..., 1], kinds[..., 2]
        people = self.tally.effective(apart)
        rates = self.rates[axis], self.rates[1 - axis]
        reports = Within(people, together, together + alone, together + other, rates)
        estimated = reports.estimate(confidence)
        with np.errstate(divide="ignore", invalid="ignore"):
            error = self._error(apart, estimated.standard_error * row) / row
        return replace(
            estimated,
            standard_error=np.where(np.isnan(estimated.raw), np.nan, error),
            covariance=self.tally.covariance(given * wanted, given),
        )

    def margin(self, axis: Axis, confidence: float) -> MarginShares:
        """Estimates the shares of the question in rows (axis 0) or in columns, as weighted means of
        scores."""
        score, (p, q) = self._score(axis), self.rates[axis]
        # The score is about one question, so any choice of the other has the same mean.
        some = (slice(None), 0) if axis == 0 else (0, slice(None))
        kinds = self.tally.counts(score)[some]
        counts = kinds[..., 0] + kinds[..., 2 if axis else 1]
        people = self.tally.effective(score)[some]
        intervals = [
            population_interval(count, n, p, q, 1 - confidence)
            for count, n in zip(counts.tolist(), people.tolist(), strict=True)
        ]
        return MarginShares(
            self.tally.mean(score)[some],
            self._error(score, standard_error(counts, people, p, q), some),
            np.array([interval.low for interval in intervals]),
            np.array([interval.high for interval in intervals]),
        )

    def _score(self, question: int) -> Floats:
        """What a pair adds to the share of an answer to one question, by the four kinds."""
        p, q = self.rates[question]
        supported = np.array([1, 0, 1, 0] if question else [1, 1, 0, 0])
        score: Floats = (supported - q) / (p - q)
        return score

    def _error(
        self, score: Floats, alike: Floats, some: tuple[int | slice, ...] = (slice(None),)
    ) -> Floats:
        """The linearised standard error; where all reports are alike, that of the channel."""
        error = np.sqrt(np.maximum(self.tally.variance(score)[some], 0.0))
        result: Floats = np.where(error < _ALIKE, alike, error)
        return result
