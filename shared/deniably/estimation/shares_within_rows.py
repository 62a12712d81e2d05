"""Estimates shares within a row of a cross-table: of those who gave answer a, how many gave b?

Both the cell f_ab and the row f_a are estimated, so the share f_ab / f_a is a ratio of two noisy
figures that go together. A small row may leave it wide open.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import Floats
from deniably.estimation.crosstab import SupportRates

WIDEST = 0.8
"""An interval that is wider leaves too little to say: the share has no estimate."""
_PLACES, _HALVINGS = 65, 30  # shares that are tested; then bisections between two of them


@dataclass(frozen=True, eq=False)
class ConditionalShares:
    """Estimated shares f_ab / f_a with their intervals, arrays of one shape.

    f_a is the share of people who gave answer a, and f_ab that of people who gave both a and b. The
    interval ``low .. high`` is within [0, 1] and holds with ``confidence``. ``raw`` and
    ``standard_error`` are nan where the interval is wider than 0.8 or the estimate of f_a is not
    above 0. ``covariance`` is that of the estimates of f_ab and f_a.
    """

    confidence: float
    raw: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    covariance: Floats


@dataclass(frozen=True, eq=False)
class Within:
    """Counts of ``n`` people's reports, to estimate the share of b among those who gave a.

    ``given`` counts the reports that support a, ``wanted`` those that support b, and ``both`` the
    people with reports that support a and b. Each may be an array over many pairs (a, b); the
    arrays and ``n`` broadcast to one shape. ``rates`` are (p, q) of the question of a, then of the
    question of b: a report supports the true answer with probability p, another answer with q.
    """

    n: npt.ArrayLike
    both: npt.ArrayLike
    given: npt.ArrayLike
    wanted: npt.ArrayLike
    rates: tuple[SupportRates, SupportRates]

    def estimate(self, confidence: float = 0.95) -> ConditionalShares:
        """Returns the shares with their intervals at ``confidence``.

        R = f_ab / f_a makes the mean of (score of a)(score of b - R) zero. The interval has all R
        that a test of this does not reject (Fieller 1954, J. R. Stat. Soc. B 16:175). The test uses
        the variance that the two channels give if R is true, at the estimated shares of a and b,
        moved to possible values; it is never 0. Half a report is subtracted as in
        ``inversion.margin``. If the R that are not rejected do not form an interval, its ends are
        the lowest and the highest of them. An estimate of f_ab below 0 or above that of f_a is
        replaced by the nearest possible value. That only makes intervals wider. Without it, the
        further noise moved an estimate out of the possible range, the shorter the interval was, and
        the more often wrong (Mandelkern 2002, Stat. Sci. 17:149).

        Coverage at a nominal 0.95, enumerated over all tables of four counts for n 20 to 70,
        epsilon 0.5 to 8 (equal or not), 2 to 20 choices, rows of 2 to 100 % and shares of 0 to 100
        %: at least 0.939. If hardly anybody gave a, the interval is nearly always too wide to show
        an estimate. Where by chance it is not, the interval is often wrong; 0.939 includes these
        cases.
        Raises ValueError without a report, or if confidence is not in (0, 1).
        """
        if not 0 < confidence < 1:
            raise ValueError(f"confidence is {confidence:g}; use one between 0 and 1, such as 0.95")
        if np.min(self.n) < 1:
            raise ValueError("an estimate needs at least one report")
        test = _Test(self)
        low, high = test.ends(NormalDist().inv_cdf((1 + confidence) / 2))
        known = (high - low <= WIDEST) & (test.row > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(known, test.cell / test.row, np.nan)
            error = np.sqrt(test.variance(np.clip(ratio, 0, 1))) / test.row
        return ConditionalShares(confidence, ratio, error, low, high, test.covariance())


class _Test:
    """The test of every hypothetical share R, for all pairs at once."""

    def __init__(self, reports: Within) -> None:
        (p1, q1), (p2, q2) = reports.rates
        n: Floats = np.asarray(reports.n, np.float64)
        both, given, wanted = np.broadcast_arrays(
            *(np.asarray(part, float) / n for part in (reports.both, reports.given, reports.wanted))
        )
        self.n: Floats = n
        self.row: Floats = (given - q1) / (p1 - q1)
        column = (wanted - q2) / (p2 - q2)
        scale = (p1 - q1) * (p2 - q2)
        self.cell: Floats = (both - q2 * given - q1 * wanted + q1 * q2) / scale
        # The nearest estimate of f_ab that is a share of f_a: beyond it, noise alone makes an
        # interval short, however little the reports say.
        self._possible: Floats = np.where(
            self.row > 0, np.clip(self.cell, 0, np.maximum(self.row, 0)), self.cell
        )
        self._row: Floats = np.clip(self.row, 0, 1)
        self._column: Floats = np.clip(column, 0, 1)
        # Mean squares of the score of a, for the answer a and for another; variances of that of b.
        self._own, self._other = (
            p1 * (1 - p1) / (p1 - q1) ** 2 + 1,
            q1 * (1 - q1) / (p1 - q1) ** 2,
        )
        self._with, self._without = p2 * (1 - p2) / (p2 - q2) ** 2, q2 * (1 - q2) / (p2 - q2) ** 2
        self._step: Floats = 1 / (n * scale)

    def variance(self, share: Floats) -> Floats:
        """Returns the variance of (f_ab - R f_a) where R = ``share`` is true.

        The estimated shares of a and b may not go with R: where everybody gave a and some gave b, R
        is not 0. Then either of the two is moved, whichever leaves more variance.
        """
        row, column = self._row, self._column
        with np.errstate(divide="ignore", invalid="ignore"):
            # fmin passes over the nan of 0 / 0: a share of 0 or 1 sets one of the two limits.
            maximum = np.fmin((1 - column) / (1 - share), column / share)
        moved: Floats = np.fmin(row, maximum)
        larger: Floats = np.maximum(self._variance(share, row), self._variance(share, moved))
        return larger

    def _variance(self, share: Floats, row: Floats) -> Floats:
        """The variance where ``row`` is the share of a."""
        rest = np.clip(self._column - share * row, 0, 1 - row)  # b without a
        has, lacks = self._with + (1 - share) ** 2, self._without + share**2
        inside = row * self._own * (share * has + (1 - share) * lacks)
        mean_square: Floats = inside + self._other * (rest * has + (1 - row - rest) * lacks)
        return mean_square / self.n

    def away(self, share: Floats) -> Floats:
        """Returns how many standard deviations the reports are from R = ``share``, less the half
        step."""
        variance = self.variance(share)
        beyond = np.maximum(abs(self._possible - share * self.row) - self._step / 2, 0)
        deviations: Floats = beyond / np.sqrt(variance)
        return deviations

    def ends(self, wanted: float) -> tuple[Floats, Floats]:
        """Returns the lowest and the highest share R that the reports are at most ``wanted``
        deviations from."""
        grid = np.linspace(0, 1, _PLACES)
        with np.errstate(divide="ignore", invalid="ignore"):
            # Without + 0.0 a cell of -0.0 would make infinities of the wrong sign.
            nearest = np.clip(np.nan_to_num(self.cell / self.row), 0, 1) + 0.0
        tried = np.stack([*(np.full_like(nearest, share) for share in grid), nearest])
        away = self.away(tried)
        # Where every share is rejected, odd reports make none certain.
        best = away.min(axis=0)
        limit = np.where(best > wanted, best + wanted, wanted)
        kept = np.where(away <= limit, tried, np.nan)
        low, high = np.nanmin(kept, axis=0), np.nanmax(kept, axis=0)
        step = 1 / (_PLACES - 1)
        below, above = (np.ceil(low / step) - 1) * step, (np.floor(high / step) + 1) * step
        outer = np.stack([np.maximum(below, 0.0), np.minimum(above, 1.0)])
        low, high = self._last(np.stack([low, high]), outer, limit)
        return low, high

    def _last(self, inner: Floats, outer: Floats, limit: Floats) -> Floats:
        """The share furthest from ``inner`` towards ``outer`` that is kept, of both ends."""
        outer = np.where(self.away(outer) <= limit, inner, outer)
        for _ in range(_HALVINGS):
            middle = (inner + outer) / 2
            kept = self.away(middle) <= limit
            inner, outer = np.where(kept, middle, inner), np.where(kept, outer, middle)
        return inner

    def covariance(self) -> Floats:
        """Returns the covariance of the estimates of f_ab and f_a: mean product of scores less
        product of means."""
        inside = np.clip(self.cell, 0, np.minimum(self._row, self._column))
        rest = self._column - inside
        # The mean of (score of b) is 1 for b and 0 without, whatever the report.
        mean_product = self._own * inside + self._other * rest
        covariance: Floats = (mean_product - inside * self._row) / self.n
        return covariance
