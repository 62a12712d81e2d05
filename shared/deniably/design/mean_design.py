"""Finds the best mechanisms for a mean at given odds: windows, and channels by linear programming.

Needs the extra ``analysis`` (scipy). Values are positions on [-1, 1]. Accuracy is the worst-case
variance of one report's unbiased estimate of its value.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import Floats
from deniably.core.coins import LARGEST
from deniably.estimation.variances import at_and_between, worst_variance
from deniably.mechanisms import Channel, Window

_CANDIDATES = 161  # output values that the programme may use
_REACH = 1.6  # how far beyond those of two outputs they go
_ROWS = (3, 5, 9, 17, 33)
_MOST_WEIGHTS = 2500  # of a definition; a respondent's phone loads them
_SCALE = 1 << 44  # the sum of a row of weights, about; at most 2**53 is allowed
# Parts of the odds that are given up to the tolerance of the solver and to whole weights.
_MARGINS = (1e-6, 1e-5, 1e-4)
_WORTH = 0.995  # more rows have to gain half a percent
_MANY_ROWS = 17  # whose programmes take longer than all others together
_SURELY = 1.0005  # for what solvers, rounding and scores between the programme's values may gain
_WIDEST = 64  # outputs of a window


MeanMechanism = Window | Channel
"""A mechanism that is designed for a mean."""


@dataclass(frozen=True)
class MeanDesign:
    """A mechanism for k positions, with n times the worst variance of a mean on [-1, 1]."""

    mechanism: MeanMechanism
    variance: float


@lru_cache(maxsize=128)
def best_for_mean(k: int, own: int, other: int) -> MeanDesign:
    """Returns the more accurate of the best window and the best channel at odds ``own / other``.

    ``k`` is the number of positions.
    """
    window = best_window(k, own, other)
    try:
        channel = best_channel(k, own, other)
    except ValueError:
        return window
    return channel if channel.variance < window.variance else window


def best_window(k: int, own: int, other: int) -> MeanDesign:
    """Returns the window (m, w) with the smallest worst variance, for k positions."""
    best: tuple[float, int, int] | None = None
    for m, w, at_rows, between in _windows(own, other):
        variance = at_rows if k <= m - w + 1 else max(at_rows, between)
        # Of equally good windows the first has the fewest outputs, on every machine.
        if best is None or variance < best[0] * (1 - 1e-9):
            best = variance, m, w
    # The table of all windows rounds differently from the exact sums, so the best is computed
    # again.
    assert best is not None
    _, m, w = best
    at_rows, between = at_and_between(Window(_WIDEST, m, w, own, other))
    variance = at_rows if k <= m - w + 1 else max(at_rows, between)
    return MeanDesign(Window(k, m, w, own, other), variance)


def best_channel(k: int, own: int, other: int) -> MeanDesign:
    """Returns the channel that a linear programme finds best within the odds ``own / other``.

    The variables are the probabilities of outputs with given values at evenly spaced rows; the best
    channels are staircases (Kairouz, Oh and Viswanath 2014): each output has one of two
    probabilities. Positions between rows are rounded at random, which the programme accounts for.
    The result has whole numbers as weights, whose odds are checked exactly. Raises ValueError where
    no channel is found.
    """
    best: MeanDesign | None = None
    for r in sorted({min(r, k) for r in (*_ROWS, k) if r <= _ROWS[-1]}):
        # A bound that is quick to compute shows that more rows are not worth their programme.
        if best and _least_variance(Fraction(own, other), r) >= best.variance * _WORTH * _SURELY:
            continue
        try:
            weights = _weights(Fraction(own, other), r, between=r < k)
            mechanism = Channel(k, tuple(tuple(int(w) for w in row) for row in weights))
            variance = worst_variance(mechanism)
        except ValueError:  # lost in rounding, which takes one number of rows in hundreds
            continue
        if weights.size <= _MOST_WEIGHTS and (best is None or variance < best.variance * _WORTH):
            best = MeanDesign(mechanism, variance)
    if best is None:
        raise ValueError(f"no channel is found for {k} positions at odds of {own / other:.4g}")
    return best


@lru_cache(maxsize=64)
def _windows(own: int, other: int) -> list[tuple[int, int, float, float]]:
    """Every window (m, w) of these odds with its worst variances at the rows and between them, for
    any number of positions, but for rounding: those of ``at_and_between``, all windows at once."""
    pairs = [
        (m, w)
        for m in range(2, _WIDEST + 1)
        for w in range(1, m // 2 + 1)
        if w * own + (m - w) * other <= LARGEST
    ]
    m, w = np.array(pairs, dtype=np.float64).T[:, :, None]
    row, last = np.arange(_WIDEST), m - w  # a window starts at each row up to the last
    total = w * own + (m - w) * other
    light, extra = other / total, (own - other) / total  # of any output; of those in the window
    start = row - (m - 1) / 2  # outputs from the middle of all of them, whose mean is then 0
    ahead = (w - 1) / 2
    # Sums over the outputs y of a row: of y (arithmetic series) and of y^2 (sums of squares), the
    # light weight on all of them and the extra one on the window.
    mean = extra * w * (start + ahead)
    within = w * (start**2 + 2 * start * ahead + ahead * (2 * w - 1) / 3)
    square = light * m * (m**2 - 1) / 12 + extra * within
    place = 2 * row / last - 1
    # The mean output rises by extra * w a row, which scores stretch to 2 / last on [-1, 1].
    noise = (square - mean**2) * (2 / (extra * w * last)) ** 2
    square = noise + place**2
    slope = np.diff(square) * last / 2
    top = np.clip(slope / 2, place[:, :-1], place[:, 1:])
    between = square[:, :-1] + slope * (top - place[:, :-1]) - top**2
    at_rows = np.where(row <= last, noise, -np.inf).max(axis=1)
    between = np.where(row[1:] <= last, between, -np.inf).max(axis=1)
    return [
        (*pair, *both)
        for pair, *both in zip(pairs, at_rows.tolist(), between.tolist(), strict=True)
    ]


@lru_cache(maxsize=256)
def _least_variance(odds: Fraction, r: int) -> float:
    """What no channel of ``r`` rows comes below, where that is known for a tenth of the work of its
    programme: what the same outputs need for a fourth of these rows alone. Else 0."""
    if r < _MANY_ROWS or (r - 1) % 4:
        return 0.0
    try:
        _, least = _solved(float(odds) * (1 - _MARGINS[0]), (r + 3) // 4, between=False)
    except ValueError:
        return 0.0
    return least


@lru_cache(maxsize=256)
def _weights(odds: Fraction, r: int, *, between: bool) -> npt.NDArray[np.int64]:
    for margin in _MARGINS:  # rounding to whole weights can lift the odds above the promise
        channel = _whole(_programme(float(odds) * (1 - margin), r, between=between))
        if max(Fraction(int(column.max()), int(column.min())) for column in channel.T) <= odds:
            return channel
    raise ValueError(f"no channel could be rounded within odds of {odds}")


def _programme(limit: float, r: int, *, between: bool) -> Floats:
    """The best probabilities, shape (r, outputs); outputs of the same kind are put together."""
    return _merged(_solved(limit, r, between=between)[0])


def _solved(limit: float, r: int, *, between: bool) -> tuple[Floats, float]:
    """The best probabilities, shape (r, outputs), and their worst variance.

    A probability is the least of its output and what it has above that, at most (limit - 1) times
    as much: so the odds cost one inequality and a bound, and the programme is solved 3 to 5 times
    as fast as with two inequalities.
    """
    from scipy import optimize, sparse

    linprog: Any = optimize.linprog  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]

    m = _CANDIDATES
    # (limit + 1) / (limit - 1) is the value of an output if there are only two.
    value = np.linspace(-1, 1, m) * _REACH * (limit + 1) / (limit - 1)
    place = np.linspace(-1, 1, r)
    half = (r + 1) // 2
    # The problem is the same from both ends, so half of the rows are variables.
    row, column = np.indices((r, m))
    above = np.where(row >= half, (r - 1 - row) * m + (m - 1 - column), row * m + column)
    least = half * m + np.minimum(np.arange(m), np.arange(m)[::-1])
    worst = half * m + (m + 1) // 2

    def over(i: int, factors: Floats) -> Floats:
        """The factors of the variables in the sum of row i's probabilities times ``factors``."""
        terms = np.zeros(worst + 1)
        np.add.at(terms, above[i], factors)
        np.add.at(terms, least, factors)
        return terms

    # Each row's mean square less its squared value, at most ``worst``, which is minimised.
    squares = [over(i, value**2) for i in range(half + (between and half < r))]
    middles = [(a + b) / 2 for a, b in pairwise(squares)] if between else []
    variances = np.array(squares[:half] + middles)
    variances[:, worst] = -1
    inside = (place[:-1] + place[1:])[: len(middles)] / 2
    count = half * m
    at, of = np.nonzero(variances)
    limits = sparse.coo_matrix(
        (
            np.concatenate([np.ones(count), np.full(count, 1 - limit), variances[at, of]]),
            (
                np.concatenate([np.arange(count), np.arange(count), count + at]),
                np.concatenate([np.arange(count), np.tile(least, half), of]),
            ),
        ),
        (count + len(variances), worst + 1),
    )
    solution: Any = linprog(
        (np.arange(worst + 1) == worst).astype(np.float64),
        A_ub=limits,
        b_ub=np.concatenate([np.zeros(count), place[:half] ** 2, inside**2]),
        # Probabilities of a row sum to 1, and the values have the row's place as their mean: no
        # bias.
        A_eq=np.array([over(i, power) for i in range(half) for power in (value**0, value)]),
        b_eq=np.stack([np.ones(half), place[:half]], axis=1).ravel(),
        method="highs",
    )
    if not solution.success:
        raise ValueError(f"no channel was found for odds of {limit:.4g}: {solution.message}")
    x = cast(Floats, solution.x)
    return x[above] + x[least], float(x[worst])


def _merged(probabilities: Floats) -> Floats:
    """Outputs that every row gives in the same proportions, as one: they say the same."""
    columns: list[Floats] = []
    for column in probabilities.T:
        # What solvers leave of a variable that is 0; as a weight of 1 it would cost odds.
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
        # The largest weight changes least in proportion, and so do the odds.
        row[row.argmax()] += missing
    return weights
