"""How accurate one report is: n times the variance of an estimate from n of them."""

from __future__ import annotations

import numpy as np

from deniably.core.binomial import Floats
from deniably.estimation.channels import (
    matrix,
    noise_variance,
    position_scores,
    rows,
    some_positions,
)
from deniably.estimation.difference import pair_support
from deniably.estimation.estimate import Pure, variance
from deniably.mechanisms import (
    BoundedLaplace,
    Channel,
    Gaussian,
    Laplace,
    SampledTicks,
    SubsetSelection,
    Window,
)


def share_variance(mechanism: Pure, share: float) -> float:
    """n times the variance of an estimated share; options that are sampled cost the more."""
    rare = mechanism.k / mechanism.s if isinstance(mechanism, SampledTicks) else 1.0
    return rare * float(variance(mechanism, share))


def marginal_variance(mechanism: SubsetSelection, groups: int, share: float) -> float:
    """The same for the share of one of ``groups`` equal groups of choices: a product's marginal.

    A report scores one over p - q for each of its choices in the group; how often two choices are
    reported together follows from the channel.
    """
    size = mechanism.k // groups
    p, q = float(mechanism.p), float(mechanism.q)
    own, other = pair_support(mechanism.k, mechanism.omega, p)
    inside = p + (size - 1) * q  # reported choices of the group, on average
    outside = size * q
    inside_square = inside + 2 * (size - 1) * own + (size - 1) * (size - 2) * other
    outside_square = outside + size * (size - 1) * other
    mean = share * inside + (1 - share) * outside
    square = share * inside_square + (1 - share) * outside_square
    return (square - mean**2) / (p - q) ** 2


def mean_variance(mechanism: Window | Channel | BoundedLaplace | Laplace | Gaussian) -> float:
    """n times the variance of an estimated mean on [-1, 1], where it is worst."""
    unit = (2 / (mechanism.k - 1)) ** 2
    if isinstance(mechanism, Laplace | Gaussian):
        return noise_variance(mechanism) * unit
    if isinstance(mechanism, BoundedLaplace):
        channel, score = matrix(mechanism), position_scores(mechanism)
        worst = channel @ score**2 - np.arange(mechanism.k) ** 2
        return float(worst.max()) * unit
    return worst_variance(mechanism)


def worst_variance(mechanism: Window | Channel) -> float:
    """n times the largest variance of an unbiased mean, over all values on [-1, 1].

    Between two rows the variance is a concave parabola, so its top is at its ends or its vertex;
    with no more positions than rows only the rows count.
    """
    at_rows, between = worst_variances(mechanism)
    return at_rows if len(rows(mechanism)) >= mechanism.k else max(at_rows, between)


def worst_variances(mechanism: Window | Channel) -> tuple[float, float]:
    """The largest variance at the rows, and between them; neither depends on k."""
    score = position_scores(mechanism) * (2 / (mechanism.k - 1)) - 1
    probabilities = rows(mechanism)
    place = np.linspace(-1, 1, len(probabilities))
    square = probabilities @ score**2
    slope = np.diff(square) / np.diff(place)
    top = np.clip(slope / 2, place[:-1], place[1:])
    between = square[:-1] + slope * (top - place[:-1]) - top**2
    return float((square - place**2).max()), float(between.max())


def population_variance(
    mechanism: Window | Channel | BoundedLaplace | Laplace | Gaussian,
) -> float:
    """n times the variance of an estimated mean on [0, 1] of people drawn at random, whose answers
    are spread in the worst way."""
    last = mechanism.k - 1
    if isinstance(mechanism, Laplace | Gaussian):
        return noise_variance(mechanism) / last**2 + 0.25  # half of them at either end
    positions, channel = some_positions(mechanism)
    return worst_spread(positions / last, channel @ (position_scores(mechanism) / last) ** 2)


def worst_spread(place: Floats, square: Floats) -> float:
    """The largest variance of the scores of people at several places, whatever their shares.

    ``square`` has the mean square of the unbiased score of each place. At a mean mu the largest
    mean square is on a line between two places, and mu^2 is taken off.
    """
    run = place[:, None] - place
    slope = np.divide(square[:, None] - square, run, out=np.zeros_like(run), where=run != 0)
    low, high = np.minimum(place[:, None], place), np.maximum(place[:, None], place)
    mean = np.clip(slope / 2, low, high)
    return float((square + slope * (mean - place) - mean**2).max())
