"""Intervals for quantiles by profile likelihood.

The likelihood is that of whole reports, so an interval is as short as the reports permit. Intervals
from margins of unbiased shares are several times wider if the noise is large.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import Floats
from deniably.estimation.likelihood import maximum_likelihood

Ints = npt.NDArray[np.int64]

_NEAR = 0.01  # units of log-likelihood that the free fit may be short of its maximum
_MOST_STEPS = 100  # squared steps, each of three of EM; 20 are too few
_AT_ONCE = 3  # places between the two ends of a search that are tried together
_NOBODY = 1e-300


def quantile_intervals(
    counts: npt.ArrayLike, channel: npt.ArrayLike, shares: npt.ArrayLike, cutoff: float
) -> list[tuple[int, int]]:
    """Returns for each share the interval of its quantile: the first and the last bucket.

    Bucket t is the quantile at q if F(t-1) < q <= F(t). The interval leaves bucket t out if F(t) is
    certainly below q, or F(t-1) certainly above q. "Certainly" means: the likeliest distribution
    whose F equals q at that bucket has a log-likelihood that is smaller than the largest by more
    than ``cutoff`` ** 2 / 2 (Wilks 1938; constrained EM as in Thomas and Grunkemeier 1975 and Owen
    2001). A fit that stops short of its maximum makes an interval longer, never shorter, because
    the bound of Lindsay (1983) is added.

    ``counts`` has shape (outputs,), ``channel`` (buckets, outputs). Raises ValueError if there is
    no report, and unless shares are strictly between 0 and 1.
    """
    wanted = np.ravel(np.asarray(shares, dtype=np.float64))
    if not ((wanted > 0) & (wanted < 1)).all():
        raise ValueError(
            f"a quantile belongs to a share between 0 and 1, such as 0.5, not to {wanted.tolist()}"
        )
    profile = _Profile(counts, channel)
    last = profile.buckets - 1

    def below(t: Ints, q: Floats) -> npt.NDArray[np.bool_]:
        """Whether F(t) is below q for certain."""
        return (profile.at_most[t] < q) & profile.rules_out(t, q, cutoff)

    def above(t: Ints, q: Floats) -> npt.NDArray[np.bool_]:
        return (profile.at_most[t] > q) & profile.rules_out(t, q, cutoff)

    # F(t) < q is less certain from bucket to bucket, F(t) > q more: so both ends are searched for.
    first = _first(lambda t, q: ~below(t, q), wanted, last)
    beyond = _first(above, wanted, last)  # F(t) > q for certain: t + 1 is left out
    return list(zip(first.tolist(), beyond.tolist(), strict=True))


def _first(
    holds: Callable[[Ints, Floats], npt.NDArray[np.bool_]], shares: Floats, last: int
) -> Ints:
    """For each share the first of 0 .. last - 1 from which on ``holds`` is true, else last."""
    low = np.full(len(shares), -1)  # where it does not hold
    high = np.full(len(shares), last)
    while (high - low > 1).any():
        # A search in four parts instead of two: the places are tried in one batch of EM.
        steps = np.arange(1, _AT_ONCE + 1)
        tried = low[:, None] + np.maximum((high - low)[:, None] * steps // (_AT_ONCE + 1), 1)
        tried = np.minimum(tried, np.maximum(high - 1, low)[:, None])
        inside = tried > low[:, None]
        places = np.where(inside, tried, 0)
        held = holds(places.ravel(), np.repeat(shares, _AT_ONCE)).reshape(tried.shape)
        high = np.where(inside & held, tried, high[:, None]).min(axis=1)
        low = np.where(inside & ~held, tried, low[:, None]).max(axis=1)
    return high


class _Profile:
    """The likelihood of the reports, without constraint and for a given F(t)."""

    def __init__(self, counts: npt.ArrayLike, channel: npt.ArrayLike) -> None:
        tallied, matrix = np.asarray(counts, np.float64), np.asarray(channel, np.float64)
        free = maximum_likelihood(tallied, matrix, shortfall=_NEAR, most_steps=5_000)
        self.counts, self.columns = tallied[tallied > 0], matrix[:, tallied > 0]
        self.n, self.buckets = float(tallied.sum()), len(matrix)
        self.best, self.at_most = free.log_likelihood, np.cumsum(free.shares)
        # EM never leaves a share of 0, and with F(t) fixed it may have to.
        self._start = np.maximum(free.shares, 1e-6)

    def rules_out(self, t: Ints, q: Floats, cutoff: float) -> npt.NDArray[np.bool_]:
        """Returns whether F(t) = q lowers the log-likelihood by more than ``cutoff`` ** 2 / 2.

        ``t`` and ``q`` are arrays of one shape.
        """
        # Neighbouring shares try the same buckets, and each costs an EM of its own.
        pairs, again = np.unique(np.stack([t, q]), axis=1, return_inverse=True)
        low = np.arange(self.buckets) <= pairs[0][:, None]
        result = self._below(low, pairs[1][:, None], self.best - cutoff**2 / 2)
        return result[again.ravel()]

    def _below(
        self, low: npt.NDArray[np.bool_], q: Floats, threshold: float
    ) -> npt.NDArray[np.bool_]:
        """Whether the log-likelihood with a share q in ``low`` is below the threshold everywhere.

        EM whose steps keep the share, with squared extrapolation (Varadhan and Roland 2008); it
        ends where the value and the bound on what it may be short of answer the question.
        """

        high, rest = ~low, 1 - q

        def split(shares: Floats) -> Floats:
            below = (shares * low).sum(axis=1, keepdims=True)
            above = (shares * high).sum(axis=1, keepdims=True)
            of_low: Floats = q / below
            of_high: Floats = rest / above
            times: Floats = np.where(low, of_low, of_high)
            scaled: Floats = shares * times
            return scaled

        def likely(shares: Floats) -> Floats:
            """How likely each output is, from which all others follow."""
            by_output: Floats = shares @ self.columns
            return by_output

        def gradient(likely: Floats) -> Floats:
            slope: Floats = (self.counts / likely) @ self.columns.T / self.n
            return slope

        def step(shares: Floats, slope: Floats) -> Floats:
            return split(np.maximum(shares * slope, _NOBODY))

        def log_likelihood(likely: Floats) -> Floats:
            by_share: Floats = np.log(likely) @ self.counts
            return by_share

        def short(slope: Floats) -> Floats:
            """By concavity; q and 1 - q go to where the gradient is largest."""
            largest = q[:, 0] * np.where(low, slope, 0.0).max(axis=1)
            largest = largest + rest[:, 0] * np.where(low, 0.0, slope).max(axis=1)
            gap: Floats = self.n * np.maximum(largest - 1, 0.0)
            return gap

        shares = split(np.tile(self._start, (len(q), 1)))
        of_shares = likely(shares)
        value, slope = log_likelihood(of_shares), gradient(of_shares)
        for _ in range(_MOST_STEPS):
            once = step(shares, slope)
            twice = step(once, gradient(likely(once)))
            change, curve = once - shares, twice - 2 * once + shares
            length = np.sqrt((change * change).sum(axis=1))
            length /= np.maximum(np.sqrt((curve * curve).sum(axis=1)), _NOBODY)
            stretch = np.minimum(np.maximum(length, 1.0), 1e4)[:, None]
            leap = shares + 2 * stretch * change + stretch**2 * curve
            # An extrapolation can leave the simplex: a share keeps a thousandth of its plain step.
            leap = split(np.maximum(leap, twice * 1e-3))
            leap = step(leap, gradient(likely(leap)))
            of_twice, of_leap = likely(twice), likely(leap)
            plain, leapt = log_likelihood(of_twice), log_likelihood(of_leap)
            # Never below two plain steps, so that the likelihood rises and the rounds end.
            better = (leapt >= plain)[:, None]
            shares = np.where(better, leap, twice)
            slope = gradient(np.where(better, of_leap, of_twice))
            value = np.where(better[:, 0], leapt, plain)
            if ((value >= threshold) | (value + short(slope) < threshold)).all():
                break
        return value + short(slope) < threshold
