"""Suggests the grid of a map: few areas are coarse, many are noisy.

The error of a map is the error of its density. A large area is shown as even inside; every small
area has noise of its own. The best balance depends on the number of reports, so a suggestion needs
that number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import erf, exp, log, sqrt
from statistics import NormalDist

import numpy as np

from deniably.core.binomial import Floats
from deniably.estimation.estimate import variance
from deniably.mechanisms.subset_selection import subset_selection
from deniably.survey.questions import LARGEST_GRID, Point

_SPREADS = (0.08, 0.14)
"""Standard deviations of where people live, as fractions of the map's side: a town, a region."""
_CENTRES = (0.37, 0.45, 0.5, 0.58)
"""Positions of its centre along a side, because a grid may cut it well or badly."""
_REACH, _HALVINGS = 8, 40  # of the shift: in deviations, and how often its range is halved
_STEPS, _NEAR = 20, 2.0**-36  # of Newton's, and how near to the shift they come, of its range
_MANY = 10  # numbers of an area, of which one more or less is not seen
_FINE = 720  # cells of a side, to integrate over
_TABLE = np.linspace(-8, 8, 1601)
_NORMAL = np.array([NormalDist().cdf(each) for each in _TABLE])


@dataclass(frozen=True)
class Suggestion:
    """The best ``grid`` of a map for ``n`` reports, as a number of areas along a side.

    The error of the map's present grid is ``times`` as large.
    """

    n: int
    grid: int
    times: float


def suggested(question: Point, n: int) -> Suggestion:
    """Returns the best grid for n reports, at the odds of the map.

    Its areas are no smaller than the positions of the map's sides.
    """
    own, other = question.report_mechanism.own, question.report_mechanism.other
    finest = min(LARGEST_GRID, *(part.range.positions for part in question.parts))
    best = best_grid(own, other, n, finest)
    times = map_error(own, other, question.grid, n) / map_error(own, other, best, n)
    return Suggestion(n, best, times)


@lru_cache(maxsize=256)
def best_grid(own: int, other: int, n: int, finest: int = LARGEST_GRID) -> int:
    """Returns the number of areas a side, from 2 to ``finest``, with the smallest ``map_error``.

    The odds of a report are ``own / other``, and there are ``n`` reports.
    """
    return min(range(2, finest + 1), key=lambda grid: map_error(own, other, grid, n))


@lru_cache(maxsize=4096)
def map_error(own: int, other: int, grid: int, n: int) -> float:
    """Returns the integrated squared error of the density that a map of ``n`` reports shows.

    The map has ``grid`` areas a side and the odds ``own / other``. The error is relative to the
    integral of the squared density. The result is the geometric mean of two cases: people spread as
    in a town, and as in a region.
    """
    mechanism = subset_selection(grid**2, own, other)
    logs = 0.0
    for spread in _SPREADS:
        errors: list[float] = []
        for centre in _CENTRES:
            shares, square = _shares(centre, spread, grid)
            noise = _projected_error(shares, np.sqrt(variance(mechanism, shares, n)))
            # Pythagoras: the squared density less that of its averages over areas is the error of
            # averaging.
            coarse = square - grid**2 * float((shares**2).sum())
            errors.append((coarse + grid**2 * noise) / square)
        logs += log(sum(errors) / len(errors))
    return exp(logs / len(_SPREADS))


def _projected_error(shares: Floats, deviations: Floats) -> float:
    """The expected squared error, summed, of normal estimates once they are moved to the simplex:
    ``max(estimate - shift, 0)`` with the shift after which they sum to 1 on average."""
    means = shares - _shift(shares, deviations)
    mean, below, density = _positive_part(means, deviations)
    square = (means**2 + deviations**2) * below + means * deviations * density
    return float((square - 2 * shares * mean + shares**2).sum())


def _shift(shares: Floats, deviations: Floats) -> float:
    """The shift after which the estimates sum to 1, by halving its range.

    The sum falls with the shift, and is convex: Newton's steps first tell nearly all of the
    halvings, and a sum is taken only between the two shifts that are known to be nearest.
    """
    low, high = -float(deviations.max()), _REACH * float(deviations.max()) + 1
    left, right = low, high  # at which the sum is above 1, and at which it is not
    at, near = low, (high - low) * _NEAR

    def over(shift: float) -> float:
        """By how much the shift is to grow, to first order."""
        nonlocal left, right
        mean, below, _ = _positive_part(shares - shift, deviations)
        above = float(mean.sum()) - 1
        left, right = (max(left, shift), right) if above > 0 else (left, min(right, shift))
        return above / max(float(below.sum()), near)

    for _ in range(_STEPS):
        step = over(at)
        at = min(max(at + step, low), high)
        if abs(step) < near:
            break
    for shift in (at - near, at + near):
        over(shift)
    for _ in range(_HALVINGS):
        # The halvings give the same result to the last digit whatever Newton's steps found.
        middle = (low + high) / 2
        if left < middle < right:
            over(middle)
        low, high = (middle, high) if middle <= left else (low, middle)
    return high


def _positive_part(means: Floats, deviations: Floats) -> tuple[Floats, Floats, Floats]:
    """The mean of max(X, 0) for normal X; and the chance of X > 0, and its density at 0 in units of
    its deviation, of which the mean and the mean square are made."""
    at = means / deviations
    below = np.interp(at, _TABLE, _NORMAL)
    density = np.exp(-(at**2) / 2) / sqrt(2 * np.pi)
    return means * below + deviations * density, below, density


@lru_cache(maxsize=512)
def _shares(centre: float, spread: float, grid: int) -> tuple[Floats, float]:
    """The shares of the areas of a town in the middle of one side and at ``centre`` of the other,
    and the integral of its squared density over the unit square."""

    def side(middle: float, cells: int) -> Floats:
        ends = [erf((end / cells - middle) / (spread * sqrt(2))) for end in range(cells + 1)]
        parts = np.diff(np.array(ends))
        return np.asarray(parts / parts.sum())

    middles = (centre, _CENTRES[0])
    squares = [_FINE * float((side(middle, _FINE) ** 2).sum()) for middle in middles]
    return np.outer(*(side(middle, grid) for middle in middles)).ravel(), squares[0] * squares[1]


# --- for authors ------------------------------------------------------------------------------

_WORTH = 1.15
"""How many times the least error a grid may have before another is suggested."""


def grid_support(question: Point, n: int, answered: float = 1.0) -> str:
    """Returns a sentence on the best grid for ``n`` respondents, and the error of the map's own
    grid.

    A fraction ``answered`` of the respondents is asked the question.
    """
    suggestion = suggested(question, max(1, round(n * answered)))
    best = f"with {n:,} respondents grid: {suggestion.grid} errs least"
    if suggestion.grid == question.grid:
        return f"{best}, as here"
    return f"{best}, and grid: {question.grid} {suggestion.times:.1f} times as much"


def grid_note(question: Point, respondents: Sequence[int], answered: float = 1.0) -> str:
    """Returns a sentence where the error of a map's grid is clearly above the smallest; else empty.

    ``respondents`` are the numbers of people to check, of whom a fraction ``answered`` is asked.
    """
    return "; ".join(
        grid_support(question, n, answered)
        for n in respondents
        if suggested(question, max(1, round(n * answered))).times > _WORTH
    )


# --- areas alike --------------------------------------------------------------------------------


def even_grid(usual: int, positions: Sequence[int]) -> int:
    """Returns the finest grid, up to ``usual`` areas a side, whose areas are equally large.

    ``positions`` are the numbers of positions along the sides of the map; in an even grid all areas
    have equally many. Grids from 3/4 of ``usual`` up to ``usual`` are tried; where none is even,
    ``usual`` is returned.
    """
    return max((grid for grid in _even(positions) if 0.75 * usual <= grid <= usual), default=usual)


def uneven_note(question: Point) -> str:
    """Returns a sentence where areas hold clearly unequal numbers of positions; else empty.

    The sentence says how to change that. Areas with ten and with eleven positions count as equal.
    """
    grid = question.grid
    ranges = {part.name: part.range for part in question.parts}
    uneven = [
        name
        for name, values in ranges.items()
        if values.positions % grid and values.positions < _MANY * grid
    ]
    if not uneven:
        return ""
    few = ranges[uneven[0]].positions // grid
    counts = [values.positions for values in ranges.values()]
    near = [grid_size for grid_size in _even(counts) if 0.75 * grid <= grid_size <= grid / 0.75]
    mends = [f"grid: {grid_size}" for grid_size in near[:1]]
    mends.append(
        " and ".join(
            f"{name} up to {ranges[name].written((ranges[name].positions // grid + 1) * grid - 1)}"
            for name in uneven
        )
    )
    return (
        f"along {' and '.join(uneven)} some areas hold {few:,} numbers and others {few + 1:,}, and"
        f" are drawn so; alike they are with {', or with '.join(mends)}"
    )


def _even(positions: Sequence[int]) -> list[int]:
    return [grid for grid in range(2, LARGEST_GRID + 1) if not any(n % grid for n in positions)]
