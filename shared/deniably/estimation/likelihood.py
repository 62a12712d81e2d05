"""Maximum likelihood: fits the distribution of answers that makes whole reports likeliest.

``channel`` has shape (inputs, outputs) with channel[x, y] = P(report y | answer x). ``counts`` has
shape (outputs,). Only the columns of outputs that were seen matter, each up to a factor. So if a
channel has too many outputs to list (subsets), pass the columns of its distinct reports.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import Floats

_NOBODY = 1e-300  # EM multiplies: a share of exactly 0 could never rise again


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted distribution of answers: ``shares`` (inputs,), which are not negative and sum to 1.

    No distribution has a log-likelihood above ``log_likelihood + shortfall``. The shortfall is tiny
    at the maximum, and larger for a fit that was smoothed or stopped early.
    """

    shares: Floats
    log_likelihood: float
    shortfall: float
    steps: int


def maximum_likelihood(
    counts: npt.ArrayLike, channel: npt.ArrayLike, shortfall: float = 1e-4, most_steps: int = 50_000
) -> Fit:
    """Fits the distribution of answers with the largest log-likelihood, to within ``shortfall``.

    The fit is by EM (Dempster, Laird and Rubin 1977), accelerated by squared extrapolation
    (Varadhan and Roland 2008, Scand. J. Stat. 35:335, scheme S3). How much the log-likelihood can
    still grow is bounded as by Lindsay 1983 (Ann. Stat. 11:86, th. 4.1), by concavity: n (max_x
    sum_y c_y/n Q(y|x)/(Qf)_y - 1), with the counts c, the channel Q and the shares f.
    If ``most_steps`` run out first, the ``shortfall`` of the fit says so.
    Raises ValueError if there is no report, or if no answer can cause one of the reports.
    """
    seen = _Seen(counts, channel)
    shares = seen.uniform()
    likely = seen.likely(shares)
    slope, step = seen.gradient(likely), 0
    while seen.shortfall(slope) > shortfall and step < most_steps:
        once = seen.moved(shares, slope)
        twice = seen.step(once)
        first, second = once - shares, twice - 2 * once + shares
        curve = np.linalg.norm(second)
        shares, likely, step = twice, seen.likely(twice), step + 1
        if curve > 0:
            # Scheme S3: the step length of Varadhan and Roland, at least that of two plain steps of
            # EM.
            stretch = max(float(np.linalg.norm(first) / curve), 1.0)
            leap = once - first + 2 * stretch * first + stretch**2 * second
            leap = np.maximum(leap, twice * 1e-3)  # never past a face: a share cannot come back
            leap = seen.step(leap / leap.sum())
            beyond = seen.likely(leap)
            # The leap is taken only where it is no worse: so the likelihood never falls.
            if seen.log_likelihood(beyond) >= seen.log_likelihood(likely):
                shares, likely = leap, beyond
        slope = seen.gradient(likely)
    return seen.fit(shares, step)


def expectation_maximisation(
    counts: npt.ArrayLike,
    channel: npt.ArrayLike,
    *,
    smooth: bool = False,
    change: float = 1e-3,
    most_steps: int = 10_000,
) -> Fit:
    """Fits a distribution by EM from the uniform one, stopped early.

    It stops where a step changes the log-likelihood by less than ``change``, which keeps the fit
    from chasing noise. ``smooth`` averages neighbours with weights 1/4, 1/2, 1/4 after each step,
    for ordered answers (EMS; Li et al. 2020, SIGMOD, "Estimating numerical distributions under
    local differential privacy", 5.5). They use a ``change`` of 1e-3 with smoothing, and of
    e^epsilon times 1e-3 without. Raises ValueError as ``maximum_likelihood`` does.
    """
    seen = _Seen(counts, channel)
    shares, step = seen.uniform(), 0
    likely = seen.likely(shares)
    before, now = -np.inf, seen.log_likelihood(likely)
    while abs(now - before) >= change and step < most_steps:
        shares, step = seen.moved(shares, seen.gradient(likely)), step + 1
        shares = _smoothed(shares) if smooth else shares
        likely = seen.likely(shares)
        before, now = now, seen.log_likelihood(likely)
    return seen.fit(shares, step)


class _Seen:
    """The outputs that were seen: how often, and how likely from each answer."""

    def __init__(self, counts: npt.ArrayLike, channel: npt.ArrayLike) -> None:
        tallied, matrix = np.asarray(counts, np.float64), np.asarray(channel, np.float64)
        if tallied.shape != matrix.shape[1:]:
            raise ValueError(
                f"there is one count for each output of the channel: {tallied.shape} counts and"
                f" {matrix.shape[1:]} outputs"
            )
        if not tallied.sum() >= 1:
            raise ValueError("a fit needs at least one report")
        # What nobody sent adds nothing to the likelihood, and its logarithm may not exist.
        seen = tallied > 0
        self.counts, self.n = tallied[seen], tallied[seen].sum()
        self.columns = matrix[:, seen]
        if not self.columns.any(axis=0).all():
            raise ValueError("no answer can cause one of the reports")

    def uniform(self) -> Floats:
        """Returns equal shares, shape (inputs,)."""
        return np.full(len(self.columns), 1 / len(self.columns))

    def likely(self, shares: Floats) -> Floats:
        """Returns (Qf)_y: how likely each output is, from which all else follows."""
        likely: Floats = shares @ self.columns
        return likely

    def gradient(self, likely: Floats) -> Floats:
        """Returns sum_y c_y/n Q(y|x)/(Qf)_y, shape (inputs,).

        At the maximum it is at most 1, and 1 where shares are above 0.
        """
        result: Floats = self.columns @ (self.counts / likely) / self.n
        return result

    def step(self, shares: Floats) -> Floats:
        """Returns the shares after a step of EM."""
        return self.moved(shares, self.gradient(self.likely(shares)))

    def moved(self, shares: Floats, slope: Floats) -> Floats:
        """Returns the shares after a step of EM, where ``slope`` is the gradient at them."""
        moved: Floats = np.maximum(shares * slope, _NOBODY)
        result: Floats = moved / moved.sum()
        return result

    def shortfall(self, slope: Floats) -> float:
        """Returns Lindsay's bound of how far the log-likelihood is below its maximum."""
        return float(self.n * (slope.max() - 1))

    def log_likelihood(self, likely: Floats) -> float:
        """Returns the log-likelihood, up to a constant, of outputs that are so ``likely``."""
        return float(self.counts @ np.log(likely))

    def fit(self, shares: Floats, steps: int) -> Fit:
        """Returns the ``Fit`` with these shares."""
        likely = self.likely(shares)
        shortfall = self.shortfall(self.gradient(likely))
        return Fit(shares, self.log_likelihood(likely), shortfall, steps)


def _smoothed(shares: Floats) -> Floats:
    """Averages neighbours; at the two ends, those that exist."""
    kernel = np.array([1, 2, 1])
    mean = np.convolve(shares, kernel, "same") / np.convolve(np.ones_like(shares), kernel, "same")
    result: Floats = mean / mean.sum()
    return result
