"""Computes what a trusted curator would publish: mechanisms of the central model, to compare with.

A curator sees every true answer and adds noise to what is published. Deniably has no curator, on
purpose. These mechanisms work on arrays in memory, for experiments and simulations only: their
noise consists of floating-point numbers, whose last bits give away more than theory says (Mironov
2012, CCS).

Two tables are neighbours if one person's answer differs; the number of people is public. The local
model protects the same, so both can be compared at one epsilon.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, inf, isfinite, log, pi, sqrt
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt
from scipy import special

from deniably.core.binomial import Floats
from deniably.core.bisection import smallest
from deniably.lab.draws import Draws
from deniably.mechanisms.gaussian_delta import analytic_delta, analytic_sigma

# --- noise --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Added:
    """Noise that is added to a number. ``scale`` is b in Laplace's density e**(-|x| / b) / (2 b),
    or the standard deviation of Gaussian noise."""

    shape: Literal["laplace", "gauss"]
    scale: float

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise."""
        return sqrt(2) * self.scale if self.shape == "laplace" else self.scale

    @property
    def mean_distance(self) -> float:
        """The mean absolute value of the noise."""
        return self.scale if self.shape == "laplace" else sqrt(2 / pi) * self.scale

    def density(self, x: npt.ArrayLike) -> Floats:
        """Returns the density at each ``x``, in the shape of ``x``."""
        at = np.abs(np.asarray(x, dtype=np.float64)) / self.scale
        if self.shape == "laplace":
            return np.asarray(np.exp(-at) / (2 * self.scale))
        return np.asarray(np.exp(-(at**2) / 2) / (sqrt(2 * pi) * self.scale))

    def beyond(self, distance: float) -> float:
        """Returns the probability that the noise is above ``distance``."""
        at = distance / self.scale
        if self.shape == "gauss":
            return float(special.ndtr(-at))
        return exp(-at) / 2 if at >= 0 else 1 - exp(at) / 2

    def margin(self, confidence: float = 0.95) -> float:
        """Returns the distance from 0 within which the noise stays with probability
        ``confidence``."""
        if self.shape == "laplace":
            return -self.scale * log(1 - confidence)
        return self.scale * float(special.ndtri((1 + confidence) / 2))

    def draw(self, draws: Draws, size: int) -> Floats:
        """Returns ``size`` independent values of the noise, shape (size,)."""
        u = draws.uniform(size)
        if self.shape == "gauss":
            # The inverse of the distribution: one uniform number a draw.
            return np.asarray(self.scale * special.ndtri(u))
        # The inverse again, from the middle out: log1p keeps the digits where the noise is small.
        away = u - 0.5
        return np.asarray(-self.scale * np.sign(away) * np.log1p(-2 * np.abs(away)))


class Calibrated(Protocol):
    """A privacy guarantee from which the amount of noise follows."""

    def noise(self, sensitivity: float, numbers: int = 1) -> Added:
        """Returns the noise for each of ``numbers`` published numbers, where one person's answer
        can move each by at most ``sensitivity``."""
        ...


@dataclass(frozen=True)
class LaplaceNoise:
    """The Laplace mechanism, which keeps (epsilon, 0)-differential privacy.

    Source: Dwork, McSherry, Nissim and Smith 2006 (TCC), theorem 1. Raises ValueError unless
    epsilon is above 0.
    """

    epsilon: float

    def __post_init__(self) -> None:
        _check_positive(epsilon=self.epsilon)

    def noise(self, sensitivity: float, numbers: int = 1) -> Added:
        """Returns the noise for each of ``numbers`` published numbers, with the scale b = L1
        sensitivity / epsilon. The L1 sensitivity is the sum of the sensitivities of all numbers.

        >>> round(LaplaceNoise(1).noise(1).deviation, 3)
        1.414
        """
        return Added("laplace", _sensitivity(sensitivity, numbers) * numbers / self.epsilon)


@dataclass(frozen=True)
class GaussNoise:
    """The analytic Gaussian mechanism, for any epsilon: it has the smallest sigma that keeps
    (``epsilon``, ``delta``).

    Source: Balle and Wang 2018 (ICML), theorem 8. Raises ValueError unless epsilon is above 0 and
    delta between 0 and 1.
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        _check_promise(self.epsilon, self.delta)

    def noise(self, sensitivity: float, numbers: int = 1) -> Added:
        """Returns the noise for each of ``numbers`` published numbers. Their L2 sensitivity, which
        determines the noise, is ``sensitivity`` times the root of ``numbers``.

        >>> round(GaussNoise(1, 1e-5).noise(1).deviation, 3)
        3.731
        """
        distance = _sensitivity(sensitivity, numbers) * sqrt(numbers)
        return Added("gauss", distance * analytic_sigma(1.0, self.epsilon, self.delta))


@dataclass(frozen=True)
class ClassicalGaussNoise:
    """The textbook's Gaussian mechanism: sigma = Delta sqrt(2 ln(1.25 / delta)) / epsilon, with
    the L2 sensitivity Delta.

    The formula is proved for epsilon < 1 only (Dwork and Roth 2014, theorem A.1). There sigma is
    larger than needed; above ``classical_limit(delta)`` it is too small. Raises ValueError unless
    epsilon is above 0 and delta between 0 and 1.
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        _check_promise(self.epsilon, self.delta)

    def noise(self, sensitivity: float, numbers: int = 1) -> Added:
        """Returns the noise for each of ``numbers`` published numbers by the textbook's formula,
        even for an epsilon at which the formula is false.

        >>> round(ClassicalGaussNoise(1, 1e-5).noise(1).deviation, 3)
        4.845
        """
        distance = _sensitivity(sensitivity, numbers) * sqrt(numbers)
        return Added("gauss", distance * sqrt(2 * log(1.25 / self.delta)) / self.epsilon)

    @property
    def true_delta(self) -> float:
        """The smallest delta that this noise keeps at its epsilon (Balle and Wang 2018, theorem
        8)."""
        return analytic_delta(1.0, self.noise(1.0).scale, self.epsilon)


def classical_limit(delta: float) -> float:
    """Returns the epsilon above which the textbook's sigma does not keep ``delta``.

    >>> round(classical_limit(1e-5), 2)
    8.42
    """
    return smallest(lambda epsilon: ClassicalGaussNoise(epsilon, delta).true_delta > delta, 1.0)


# --- numbers ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Published:
    """A number as a curator would publish it: its ``exact`` value, and the noise that is added."""

    exact: float
    noise: Added

    def draw(self, draws: Draws, size: int = 1) -> Floats:
        """Returns ``size`` publications of the same number, each with fresh noise, shape
        (size,)."""
        return np.asarray(self.exact + self.noise.draw(draws, size))


def count(having: npt.ArrayLike, by: Calibrated) -> Published:
    """Returns the number of people who have something, as a curator would publish it. ``having``
    has a truth value for each person. Raises ValueError unless ``having`` has one dimension.

    >>> count([True, False, True], LaplaceNoise(0.1)).noise.mean_distance
    10.0
    """
    return Published(float(np.count_nonzero(_one_row(having))), by.noise(1.0))


def total(values: npt.ArrayLike, low: float, high: float, by: Calibrated) -> Published:
    """Returns the sum of ``values``, clipped to ``low`` and ``high``, as a curator would publish
    it.

    Raises ValueError unless low < high and all values are numbers.
    """
    clipped = _clipped(values, low, high)
    return Published(float(clipped.sum()), by.noise(high - low))


def mean(values: npt.ArrayLike, low: float, high: float, by: Calibrated) -> Published:
    """Returns the mean of ``values``, clipped to ``low`` and ``high``, as a curator would publish
    it; the number of values is public.

    Raises ValueError unless low < high, all values are numbers, and there is at least one.
    """
    clipped = _clipped(values, low, high)
    if not len(clipped):
        raise ValueError("a mean needs at least one value")
    return Published(float(clipped.mean()), by.noise((high - low) / len(clipped)))


# --- one of several -----------------------------------------------------------------------------


def selection_law(
    utilities: npt.ArrayLike, epsilon: float, sensitivity: float = 1.0, *, monotone: bool = False
) -> Floats:
    """Returns, for each candidate, the probability that the exponential mechanism chooses it, by
    its utility.

    One person's answer moves a utility by at most ``sensitivity``. If one answer can only move all
    utilities in the same direction (``monotone``), half the noise is enough. Counts of people who
    may each change their choice are not monotone: one falls as another rises. Source: McSherry and
    Talwar 2007 (FOCS), theorem 6; Dwork and Roth 2014, theorem 3.10. Raises ValueError unless
    there is a candidate and epsilon and sensitivity are above 0.

    >>> selection_law([3.0, 1.0], epsilon=1).round(3)
    array([0.731, 0.269])
    """
    _check_positive(epsilon=epsilon, sensitivity=sensitivity)
    row = _one_row(utilities).astype(np.float64)
    if not len(row) or not np.isfinite(row).all():
        raise ValueError("a selection needs at least one candidate, each with a utility")
    # Only differences count; with the largest at 0 no power overflows, and one weight is 1.
    exponent = epsilon / ((1 if monotone else 2) * sensitivity) * (row - row.max())
    weights = np.exp(exponent)
    return np.asarray(weights / weights.sum())


def select(law: Floats, draws: Draws, size: int = 1) -> npt.NDArray[np.int64]:
    """Returns ``size`` independent choices with the probabilities that ``selection_law`` returns:
    indices of candidates, shape (size,)."""
    ends = np.cumsum(law)
    u = draws.uniform(size) * float(ends[-1])  # rounding leaves the sum near 1, not at it
    chosen: npt.NDArray[np.int64] = np.searchsorted(ends, u, side="right")
    # It may round up to the very end.
    return np.asarray(np.minimum(chosen, len(law) - 1), dtype=np.int64)


# --- propose, test, release ---------------------------------------------------------------------


@dataclass(frozen=True)
class Proposal:
    """Propose-test-release, with a proposed limit on how far one person can move the published
    number. Where the limit holds with a distance to spare, the number is published with little
    noise.

    A table is called unstable if one person could move its number by more than the limit. The test
    adds Laplace noise to the ``distance`` (the number of people who must change their answers
    until the table is unstable), and a table passes if the sum is above ``threshold``. The test
    spends epsilon, and an unstable table passes with probability ``delta`` at most; publishing
    spends epsilon again: (2 epsilon, delta) in all. Source: Dwork and Lei 2009 (STOC); Vadhan
    2017, "The complexity of differential privacy", proposition 3.2. Raises ValueError unless
    epsilon is above 0 and delta between 0 and 1/2.
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        _check_promise(self.epsilon, self.delta)
        if self.delta >= 0.5:
            raise ValueError(f"delta is {self.delta:g}; it must be below 0.5")

    @property
    def threshold(self) -> float:
        """The value, in people, that the distance plus noise must exceed for a table to pass the
        test.

        >>> round(Proposal(1, 1e-5).threshold, 2)
        10.82
        """
        return log(1 / (2 * self.delta)) / self.epsilon

    @property
    def total(self) -> tuple[float, float]:
        """The (epsilon, delta) that test and release spend together."""
        return 2 * self.epsilon, self.delta

    def release_probability(self, distance: float) -> float:
        """Returns the probability that a table at this distance (in people) from an unstable table
        passes the test. At distance 0 it is ``delta``."""
        return Added("laplace", 1 / self.epsilon).beyond(self.threshold - distance)

    def release(self, distance: float, published: Published, draws: Draws) -> float | None:
        """Tests a table at this distance, and returns its number with noise if the table passes,
        otherwise None.

        ``published`` is the number with the noise for the proposed sensitivity.
        """
        test = Added("laplace", 1 / self.epsilon).draw(draws, 1)
        return None if distance + test[0] <= self.threshold else float(published.draw(draws)[0])


def median(values: npt.ArrayLike, low: float, high: float) -> float:
    """Returns the lower median of ``values``, each clipped to the range from ``low`` to ``high``
    before."""
    clipped = np.sort(_clipped(values, low, high))
    # A value that somebody has, not a mean of two, which is easier to bound.
    return float(clipped[ceil(len(clipped) / 2) - 1])


def median_moves(values: npt.ArrayLike, low: float, high: float, changed: int) -> float:
    """Returns the local sensitivity of the median at distance ``changed``: how far one person can
    move the median of any table that differs from this one in the answers of ``changed`` people.

    Source: Nissim, Raskhodnikova and Smith 2007 (STOC), section 3.1: the largest gap between two
    values, ``changed + 1`` apart in sorted order, around the median.
    """
    clipped = np.sort(_clipped(values, low, high))
    place, size = ceil(len(clipped) / 2) - 1, len(clipped)

    def at(index: int) -> float:
        return low if index < 0 else high if index >= size else float(clipped[index])

    # Over every way to choose how many of the changed answers lie on either side.
    return max(at(place + t) - at(place + t - changed - 1) for t in range(changed + 2))


def median_distance(values: npt.ArrayLike, low: float, high: float, proposed: float) -> float:
    """Returns the smallest number of people who must change their answers until one more person
    could move the median by more than ``proposed``. It is 0 if one person already can, and inf if
    the range from ``low`` to ``high`` is not wider than ``proposed``."""
    clipped = _clipped(values, low, high)
    if high - low <= proposed:
        return inf
    # With everybody changed, the whole range is possible, so there is always such a number.
    return next(
        changed
        for changed in range(len(clipped) + 1)
        if median_moves(clipped, low, high, changed) > proposed
    )


# --- groups of places ---------------------------------------------------------------------------

STEPS = 5
"""The number of rounds of a curator's k-means, among which epsilon is divided (Su et al. 2016)."""
# Starts, of which the best result counts, and a limit of rounds, which Lloyd's algorithm seldom
# reaches.
_STARTS, _ROUNDS = 8, 100


def k_means(points: Floats, weights: Floats, groups: int) -> Floats:
    """Returns the centres that k-means finds for weighted points, shape (groups, 2), without any
    privacy protection.

    Lloyd's algorithm runs several times, and the best result is returned. Each run begins with one
    of the points with the largest weights as the first centre; every further centre is the point
    with the largest weight times squared distance from the nearest centre. The same points give
    the same centres.
    """
    best, least = points[:groups], inf
    # Stable, so that equal weights are taken in one order on every machine.
    for start in np.argsort(-weights, kind="stable")[:_STARTS]:
        centres = points[[start]]
        while len(centres) < groups:
            far = weights * _apart(points, centres).min(axis=1)
            centres = np.vstack([centres, points[[int(far.argmax())]]])
        for _ in range(_ROUNDS):
            nearest = _apart(points, centres).argmin(axis=1)
            mass = np.bincount(nearest, weights, minlength=groups)
            sums = np.stack([np.bincount(nearest, weights * axis, minlength=groups)
                             for axis in points.T], axis=1)  # fmt: skip
            # A centre that nobody is nearest to stays where it is; dividing by 0 would lose it.
            moved = np.where(mass[:, None] > 0, sums / np.maximum(mass, 1e-300)[:, None], centres)
            if np.array_equal(moved, centres):
                break
            centres = moved
        if (off := float(weights @ _apart(points, centres).min(axis=1))) < least:
            best, least = centres, off
    return best


def k_means_in_process(
    points: Floats, groups: int, epsilon: float, draws: Draws, steps: int = STEPS
) -> Floats:
    """Returns the centres that a curator's k-means finds, shape (groups, 2), where every round
    adds Laplace noise to its counts and sums.

    ``points`` are clipped to the square from -1 to 1. A person who moves from one group to another
    changes two counts by 1 and four sums by at most 1, an L1 sensitivity of 6 in every round;
    epsilon is divided among the rounds. Source: Blum, Dwork, McSherry and Nissim 2005 (PODS); Su,
    Cao, Li, Bertino and Jin 2016 (CODASPY), whose neighbours have one person more or less, so that
    theirs is 3.
    """
    inside = np.clip(points, -1, 1)
    noise = LaplaceNoise(epsilon / steps).noise(6.0)
    centres = 2 * draws.uniform(2 * groups).reshape(groups, 2) - 1
    for _ in range(steps):
        nearest = _apart(inside, centres).argmin(axis=1)
        counts: Floats = np.bincount(nearest, minlength=groups) + noise.draw(draws, groups)
        sums = np.stack(
            [np.bincount(nearest, axis, minlength=groups) for axis in inside.T], axis=1
        ) + noise.draw(draws, 2 * groups).reshape(groups, 2)
        moved = np.clip(sums / np.maximum(counts, 1.0)[:, None], -1, 1)
        # A group with a noisy count below 1 would divide noise by noise.
        centres = np.where(counts[:, None] >= 1, moved, centres)
    return np.asarray(centres)


def counted_on_a_grid(cells: npt.NDArray[np.int64], areas: int, epsilon: float) -> list[Published]:
    """Returns the number of people in each area as a curator would publish it, with Laplace noise.
    ``cells`` has the area (from 0) of each person. A person who moves changes two counts by 1."""
    noise = LaplaceNoise(epsilon).noise(2.0)
    return [Published(float(count), noise) for count in np.bincount(cells, minlength=areas)]


def spread(points: Floats, centres: Floats) -> float:
    """Returns the mean squared distance of points from their nearest centre."""
    return float(_apart(points, centres).min(axis=1).mean())


def _apart(points: Floats, centres: Floats) -> Floats:
    """Squared distances, a row for each point."""
    across, along = (points[:, [axis]] - centres[:, axis] for axis in (0, 1))
    return np.asarray(across**2 + along**2)


# --- below --------------------------------------------------------------------------------------


def _one_row(values: npt.ArrayLike) -> npt.NDArray[np.generic]:
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"values have {array.ndim} dimensions; give one row")
    return array


def _clipped(values: npt.ArrayLike, low: float, high: float) -> Floats:
    if not (isfinite(low) and isfinite(high) and low < high):
        raise ValueError(f"the range is from {low:g} to {high:g}; its low end must be below")
    clipped = _one_row(values).astype(np.float64)
    if np.isnan(clipped).any():
        raise ValueError("a value is not a number")
    return np.clip(clipped, low, high)


def _sensitivity(sensitivity: float, numbers: int) -> float:
    _check_positive(sensitivity=sensitivity, numbers=numbers)
    return sensitivity


def _check_promise(epsilon: float, delta: float) -> None:
    _check_positive(epsilon=epsilon)
    if not 0 < delta < 1:
        raise ValueError(f"delta is {delta:g}; it must be between 0 and 1")


def _check_positive(**numbers: float) -> None:
    for name, number in numbers.items():
        if not 0 < number < inf:
            raise ValueError(f"{name} is {number:g}; it must be a number above 0")
