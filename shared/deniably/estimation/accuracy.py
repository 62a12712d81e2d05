"""How accurately a mechanism tells a share or a mean: n times the variance of n people's estimate.

People are drawn at random, and where it depends on how their answers are spread, the worst spread
counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, inf

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import Floats
from deniably.estimation.analysis import noise_of_sum
from deniably.estimation.channels import matrix, noise_law, noise_variance
from deniably.estimation.inversion import allowed, scores
from deniably.estimation.variances import population_variance, share_variance, worst_spread
from deniably.mechanisms import (
    BoundedLaplace,
    Channel,
    Gaussian,
    Laplace,
    Mechanism,
    SampledTicks,
    SetResponse,
    SubsetSelection,
    Unary,
    Vector,
    Window,
)

Curve = Callable[[float], float]
"""n times the variance of an estimated share, by the true one."""

_REACH = 12  # standard deviations of noise; less than 1e-6 lies beyond
_MEANS = 129  # tried, for the worst


def share_curve(mechanism: Mechanism, answers: Sequence[int]) -> Curve:
    """Of the share of those who give one of ``answers``; inf throughout where the reports do not
    tell them from the others. Through some channels answers differ: those count that vary most."""
    if len(answers) == 1 and isinstance(
        mechanism, SubsetSelection | SetResponse | SampledTicks | Unary
    ):
        return lambda share: share_variance(mechanism, share)
    assert not isinstance(mechanism, Vector)
    target = np.zeros(mechanism.k)
    target[list(answers)] = 1.0
    try:
        square = _squares(mechanism, target)
    except ValueError:
        return lambda _: inf
    inside, outside = float(square[target > 0].max()), float(square[target == 0].max())
    return lambda share: share * inside + (1 - share) * outside - share**2


def worst(curve: Curve, share: float | None = None) -> float:
    """At the share, or at the worst: the top of a parabola that is open below."""
    if share is not None:
        return curve(share)
    none, half, every = curve(0.0), curve(0.5), curve(1.0)
    bend = 2 * (none - 2 * half + every)
    if not bend < 0:  # no estimate: inf throughout
        return none
    return curve(min(max((none - every + bend) / (2 * bend), 0.0), 1.0))


def average_variance(mechanism: Mechanism, places: Floats | None, part: int = 0) -> float:
    """Of the mean of ``places``, shape (k,), on [0, 1]; None stands for positions on an even grid.
    Of several numbers that of one ``part``. inf where the reports do not tell it."""
    if isinstance(mechanism, Vector):
        return len(mechanism.parts) / mechanism.s * average_variance(mechanism.parts[part], places)
    if places is None:
        assert isinstance(mechanism, Window | Channel | BoundedLaplace | Laplace | Gaussian)
        return population_variance(mechanism)
    try:
        return worst_spread(places, _squares(mechanism, places))
    except ValueError:
        return inf


def ratio_variance(mechanism: Mechanism, places: Floats, scored: npt.NDArray[np.bool_]) -> float:
    """Of the mean of ``places`` among those whose answer is ``scored``, if that is everybody.

    To first order the ratio errs as the mean of place - mu does among them, where mu is the true
    mean, and that of no matter what among the others.
    """

    def at(mu: float) -> float:
        square = _squares(mechanism, np.where(scored, places - mu, 0.0))
        return float(allowed(places[scored], square[scored])(mu, inf))

    try:
        return max(at(mu) for mu in np.linspace(0, 1, _MEANS).tolist())
    except ValueError:
        return inf


def _squares(mechanism: Mechanism, target: Floats) -> Floats:
    """The mean square of the unbiased score of ``target``, by the true answer."""
    match mechanism:
        case SubsetSelection():
            return noise_of_sum(mechanism, target) + target**2
        case Window() | Channel() | BoundedLaplace():
            channel = matrix(mechanism)
        case Laplace() | Gaussian():
            reach = ceil(_REACH * noise_variance(mechanism) ** 0.5)
            sent: Floats = np.arange(-reach, mechanism.k + reach, dtype=np.float64)
            channel = noise_law(mechanism, sent - np.arange(mechanism.k)[:, None])
        case _:
            raise ValueError("a report of several things has no one score")
    found: Floats = channel @ scores(channel, target) ** 2
    return found
