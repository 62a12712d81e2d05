"""What the results show of a question, and how accurate each figure is through a mechanism.

Accuracy is n times the variance of the estimate from n people drawn at random: mixing makes it
vary, and people who differ do. Where it depends on how answers are spread, the worst spread
counts. Shares are on [0, 1], and so are means, as parts of their range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import ceil, inf, prod

import numpy as np

from deniably.core.binomial import Floats
from deniably.estimation.analysis import noise_of_sum, roots
from deniably.estimation.channels import matrix, noise_law, noise_variance
from deniably.estimation.inversion import scores
from deniably.estimation.variances import (
    marginal_variance,
    population_variance,
    share_variance,
    worst_spread,
)
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
from deniably.survey.questions import Number, Point, Product, Question, Scale, VectorOfNumbers

Curve = Callable[[float], float]
"""n times the variance of an estimated share, by the true one."""

_REACH = 12  # standard deviations of noise; less than 1e-6 lies beyond


@dataclass(frozen=True)
class Figure:
    """One figure of a question's results, such as a share.

    ``variance`` is n times its variance through a mechanism, inf where that cannot tell it;
    ``spread`` that of asking directly: f (1 - f) for a share, at most 1/4. ``note`` says what the
    figure is where its name does not.
    """

    name: str
    spread: float
    variance: Callable[[Mechanism], float]
    note: str = ""


def figures(question: Question, share: float | None = None) -> list[Figure]:
    """The figures of a question. ``share`` is the expected one; None stands for the worst.

    Raises ValueError unless the share is within [0, 1].
    """
    if share is not None and not 0 <= share <= 1:
        raise ValueError("a share is between 0 and 1")

    def shares(name: str, curves: Callable[[Mechanism], Iterable[Curve]], note: str = "") -> Figure:
        return Figure(
            name,
            0.25 if share is None else share * (1 - share),
            lambda mechanism: max(_at(curve, share) for curve in curves(mechanism)),
            note,
        )

    match question:
        case Product():
            size, cells = question.shape, prod(question.shape)
            return [
                *(
                    shares(f"share of {part.name}", _marginal(size[axis]))
                    for axis, part in enumerate(question.parts)
                ),
                shares(
                    "share of a combination",
                    _choice,
                    f"each of the {cells} combinations in the cross-table of the parts",
                ),
            ]
        case Point():
            return [shares("share of an area", _choice, _areas(question))]
        case VectorOfNumbers():
            return [
                Figure(f"mean of {part.name}", 0.25, _part_mean(index))
                for index, part in enumerate(question.parts)
            ]
        case Number(aim="distribution"):
            better = isinstance(question.once, Window) and roots(question.once) is not None
            up_to = shares(
                "share up to a number",
                _up_to,
                f"at every end of the {question.once.k} buckets; quantiles"
                + (" are known better than this" if better else " follow from it"),
            )
            mean = Figure("mean", 0.25, _mean)
            # Some mechanisms have fewer places than there are buckets.
            return [up_to, mean] if up_to.variance(question.once) < inf else [mean]
        case Number() | Scale(aim="mean"):
            return [Figure("mean", 0.25, _mean)]
        case _:
            return [shares("share", _choice)]


def _at(curve: Curve, share: float | None) -> float:
    """At the share, or at the worst: the top of a parabola that is open below."""
    if share is not None:
        return curve(share)
    none, half, every = curve(0.0), curve(0.5), curve(1.0)
    bend = 2 * (none - 2 * half + every)
    if not bend < 0:  # no estimate: inf throughout
        return none
    return curve(min(max((none - every + bend) / (2 * bend), 0.0), 1.0))


# --- shares -----------------------------------------------------------------------------------


def _choice(mechanism: Mechanism) -> Iterable[Curve]:
    """Of a choice, an option or a cell; through a channel they differ."""
    if isinstance(mechanism, SubsetSelection | SetResponse | SampledTicks | Unary):
        return [lambda share: share_variance(mechanism, share)]
    assert not isinstance(mechanism, Vector)
    return [_group(mechanism, one) for one in np.eye(mechanism.k)]


def _up_to(mechanism: Mechanism) -> Iterable[Curve]:
    assert not isinstance(mechanism, Vector)
    return [_group(mechanism, first) for first in np.tri(mechanism.k)[:-1]]


def _marginal(size: int) -> Callable[[Mechanism], Iterable[Curve]]:
    def curves(mechanism: Mechanism) -> Iterable[Curve]:
        assert isinstance(mechanism, SubsetSelection)
        return [lambda share: marginal_variance(mechanism, size, share)]

    return curves


def _group(mechanism: Mechanism, target: Floats) -> Curve:
    """Of a group of answers (1 in ``target``, else 0): those count that vary most."""
    try:
        square = _squares(mechanism, target)
    except ValueError:  # the reports do not tell the group from the others
        return lambda _: inf
    inside, outside = float(square[target > 0].max()), float(square[target == 0].max())
    return lambda share: share * inside + (1 - share) * outside - share**2


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


# --- means ------------------------------------------------------------------------------------


def _mean(mechanism: Mechanism) -> float:
    if isinstance(mechanism, SubsetSelection):
        place = np.linspace(0, 1, mechanism.k)
        return worst_spread(place, _squares(mechanism, place))
    assert isinstance(mechanism, Window | Channel | BoundedLaplace | Laplace | Gaussian)
    return population_variance(mechanism)


def _part_mean(index: int) -> Callable[[Mechanism], float]:
    def variance(mechanism: Mechanism) -> float:
        if not isinstance(mechanism, Vector):
            return _mean(mechanism)
        return len(mechanism.parts) / mechanism.s * _mean(mechanism.parts[index])

    return variance


def _areas(question: Point) -> str:
    sides = " by ".join(
        f"{float(part.range.value(part.range.positions) - part.range.value(0)) / question.grid:g}"
        + (f" {part.range.unit}" if isinstance(part.range.unit, str) else "")
        for part in question.parts
    )
    return f"each of {question.grid**2} areas, about {sides}; groups on the map gather many of them"
