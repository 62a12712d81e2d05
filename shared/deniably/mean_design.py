"""The best channels for a mean, at given odds: an optimal one by linear programming, and windows.

Needs the extra ``author`` (scipy). Values are positions on [-1, 1] here; accuracy is the variance
of one report's unbiased estimate of its value, where it is worst.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from deniably.binomial import Floats
from deniably.channels import position_scores, rows
from deniably.coins import LARGEST
from deniably.mechanisms import Channel, Window

_CANDIDATES = 161  # output values that the programme may use
_REACH = 1.6  # how far beyond those of two outputs they go
_ROWS = (3, 5, 9, 17, 33)
_MOST_WEIGHTS = 2500  # of a definition; a respondent's phone loads them
_SCALE = 1 << 44
# Parts of the odds that are given up to the tolerance of the solver and to whole weights.
_MARGINS = (1e-6, 1e-5, 1e-4)
_WORTH = 0.995  # more rows have to gain half a percent
_WIDEST = 64


@dataclass(frozen=True)
class Design:
    """A mechanism for k positions and its worst variance on [-1, 1]."""

    mechanism: Window | Channel
    variance: float


@lru_cache(maxsize=128)
def best_for_mean(k: int, own: int, other: int) -> Design:
    """The more accurate of the best window and the best channel at odds ``own / other``."""
    window = best_window(k, own, other)
    channel = best_channel(k, own, other)
    return channel if channel.variance < window.variance else window


def best_window(k: int, own: int, other: int) -> Design:
    """The window (m, w) with the smallest worst variance, for k positions."""
    best: Design | None = None
    for m in range(2, _WIDEST + 1):
        for w in range(1, m // 2 + 1):
            if w * own + (m - w) * other > LARGEST:
                break
            mechanism = Window(k, m, w, own, other)
            variance = worst_variance(mechanism)
            if best is None or variance < best.variance * (1 - 1e-9):
                best = Design(mechanism, variance)
    assert best is not None
    return best


def best_channel(k: int, own: int, other: int) -> Design:
    """The channel that a linear programme finds among all those with odds below ``own / other``.

    The variables are the probabilities of outputs with given values at evenly spaced rows; the
    best channels are staircases (Kairouz, Oh and Viswanath 2014): each output has one of two
    probabilities. Positions between rows are rounded at random, which the programme accounts
    for. The weights are whole numbers, their odds proved below the limit.
    """
    best: Design | None = None
    for r in sorted({min(r, k) for r in (*_ROWS, k) if r <= _ROWS[-1]}):
        weights = _weights(Fraction(own, other), r, between=r < k)
        if weights.size > _MOST_WEIGHTS:
            break
        mechanism = Channel(k, tuple(tuple(int(w) for w in row) for row in weights))
        variance = worst_variance(mechanism)
        if best is None or variance < best.variance * _WORTH:
            best = Design(mechanism, variance)
    assert best is not None
    return best


def worst_variance(mechanism: Window | Channel) -> float:
    """n times the largest variance of an unbiased mean, over all values on [-1, 1].

    Between two rows the variance is a concave parabola, so its top is at its ends or its vertex;
    with no more positions than rows only the rows count.
    """
    last = mechanism.k - 1
    score = position_scores(mechanism) * (2 / last) - 1
    probabilities = rows(mechanism)
    place = np.linspace(-1, 1, len(probabilities))
    square = probabilities @ score**2
    worst = float((square - place**2).max())
    if len(probabilities) >= mechanism.k:
        return worst
    slope = np.diff(square) / np.diff(place)
    top = np.clip(slope / 2, place[:-1], place[1:])
    between = square[:-1] + slope * (top - place[:-1]) - top**2
    return max(worst, float(between.max()))


def _weights(odds: Fraction, r: int, *, between: bool) -> npt.NDArray[np.int64]:
    for margin in _MARGINS:
        found = _whole(_programme(float(odds) * (1 - margin), r, between=between))
        if max(Fraction(int(column.max()), int(column.min())) for column in found.T) <= odds:
            return found
    raise ValueError(f"no channel could be rounded within odds of {odds}")


def _programme(limit: float, r: int, *, between: bool) -> Floats:
    """The best probabilities, shape (r, outputs); outputs of the same kind are put together."""
    from scipy import optimize, sparse

    linprog: Any = optimize.linprog  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]

    m = _CANDIDATES
    value = np.linspace(-1, 1, m) * _REACH * (limit + 1) / (limit - 1)
    place = np.linspace(-1, 1, r)
    half = (r + 1) // 2
    # The problem is the same from both ends, so half of the rows are variables.
    row, column = np.indices((r, m))
    mirrored = row >= half
    variable = np.where(mirrored, (r - 1 - row) * m + (m - 1 - column), row * m + column)
    least = half * m + np.minimum(np.arange(m), np.arange(m)[::-1])
    worst = half * m + m
    terms = _Terms(worst + 1)
    for i in range(half):
        for j in range(m):
            terms.at_most(0, (variable[i, j], 1), (least[j], -limit))
            terms.at_most(0, (variable[i, j], -1), (least[j], 1))
        squares = list(zip(variable[i], value**2, strict=True))
        terms.at_most(place[i] ** 2, *squares, (worst, -1))
        if between and i + 1 < r:
            after = zip(variable[i + 1], value**2 / 2, strict=True)
            middle = (place[i] + place[i + 1]) / 2
            terms.at_most(middle**2, *((at, by / 2) for at, by in squares), *after, (worst, -1))
    equal = np.zeros((2 * half, worst + 1))
    for i in range(half):
        np.add.at(equal[2 * i], variable[i], 1)
        np.add.at(equal[2 * i + 1], variable[i], value)
    wanted = np.stack([np.ones(half), place[:half]], axis=1).ravel()
    found: Any = linprog(
        np.eye(worst + 1)[worst],
        A_ub=sparse.coo_matrix(
            (terms.factors, (terms.rows, terms.columns)), (terms.count, worst + 1)
        ),
        b_ub=terms.bounds,
        A_eq=equal,
        b_eq=wanted,
        method="highs",
    )
    if not found.success:
        raise ValueError(f"no channel was found for odds of {limit:.4g}: {found.message}")
    return _merged(cast(Floats, found.x)[variable])


class _Terms:
    """Inequalities in sparse form."""

    def __init__(self, variables: int) -> None:
        self.variables = variables
        self.rows: list[int] = []
        self.columns: list[int] = []
        self.factors: list[float] = []
        self.bounds: list[float] = []

    @property
    def count(self) -> int:
        return len(self.bounds)

    def at_most(self, bound: float, *terms: tuple[Any, float]) -> None:
        for column, factor in terms:
            self.rows.append(self.count)
            self.columns.append(int(column))
            self.factors.append(float(factor))
        self.bounds.append(float(bound))


def _merged(probabilities: Floats) -> Floats:
    """Outputs that every row gives in the same proportions, as one: they say the same."""
    columns: list[Floats] = []
    for column in probabilities.T:
        if column.max() < 1e-7:
            continue
        shape = column / column.max()
        for index, other in enumerate(columns):
            if np.abs(other / other.max() - shape).max() < 1e-4:
                columns[index] = other + column
                break
        else:
            columns.append(column)
    merged = np.array(columns).T
    return cast(Floats, merged / merged.sum(axis=1, keepdims=True))


def _whole(probabilities: Floats) -> npt.NDArray[np.int64]:
    """Whole weights with equal sums."""
    weights = np.maximum(np.floor(probabilities * _SCALE), 1).astype(np.int64)
    sums = weights.sum(axis=1)
    for row, missing in zip(weights, sums.max() - sums, strict=True):
        row[row.argmax()] += missing
    return weights
