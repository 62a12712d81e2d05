"""Turns finite laws into channel matrices, and computes the scores that make reports unbiased."""

from __future__ import annotations

from functools import lru_cache
from typing import cast

import numpy as np
import numpy.typing as npt

from deniably.estimation.inversion import scores
from deniably.mechanisms.law import Finite, HasLaw, Law, Noise, Supporting

Floats = npt.NDArray[np.float64]

_MOST_INPUTS = 513  # positions that stand for all of a grid with up to a million


def matrix(mechanism: HasLaw[Law]) -> Floats:
    """Returns the channel Q[x, y] = P(report y | answer x), shape (k answers, outputs); rows sum to
    1.

    The mechanism must report one of finitely many outputs, as windows, channels and generalised
    randomised response (GRR, k-RR) do. Raises ValueError for noise, which has no last output, and
    for mechanisms that report several choices or numbers.
    """
    law = mechanism.law
    if isinstance(law, Finite):
        by_row = rows(law)
        return by_row if len(by_row) == law.k else rounding(law.k, len(by_row)) @ by_row
    if isinstance(law, Supporting) and law.single and law.size == 1:
        same = np.full((law.k, law.k), float(law.q))
        np.fill_diagonal(same, float(law.p))
        return same
    raise ValueError("a report of several choices or numbers is not a single output")


def sent(mechanism: HasLaw[Law], numbers: npt.ArrayLike) -> Floats:
    """Returns Q[x, y] = P(report y | position x) for y in ``numbers``, shape (k, len(numbers)).

    It also works for Laplace and Gaussian noise, which have too many reports for ``matrix``.
    """
    law, y = mechanism.law, np.asarray(numbers)
    if isinstance(law, Noise):
        return masses(law, y - np.arange(law.k)[:, None])
    return matrix(law)[:, y]


def masses(mechanism: HasLaw[Noise], noise: npt.ArrayLike) -> Floats:
    """Returns the probability that the mechanism adds each of the whole numbers in ``noise``."""
    return cast(Floats, mechanism.law.mass(np.asarray(noise, dtype=np.float64)))


def rows(mechanism: HasLaw[Finite]) -> Floats:
    """Returns the mechanism's matrix as probabilities P(output | row), shape (rows, outputs).

    A position is first rounded to one of these rows.
    """
    return _rows(mechanism.law)


@lru_cache(maxsize=64)
def _rows(law: Finite) -> Floats:
    if law.evenly:  # each is the one before, one output further: all of them at once
        # The last row up to where its window begins, then the first row: every row is a slice of
        # it.
        around = np.array([*law.row(law.rows - 1)[: law.rows - 1], *law.row(0)], dtype=np.float64)
        weights = np.lib.stride_tricks.sliding_window_view(around, law.outputs)[::-1]
    else:
        weights = np.array([law.row(row) for row in range(law.rows)], dtype=np.float64)
    shares: Floats = weights / weights.sum(axis=1, keepdims=True)
    return shares


def rounding(k: int, knots: int, positions: npt.ArrayLike | None = None) -> Floats:
    """Returns P(row | position), shape (positions, knots), for unbiased rounding to ``knots`` rows.

    ``positions`` are numbers from 0 to k - 1, by default all of them.
    """
    at = np.arange(k) if positions is None else np.asarray(positions)
    place = at * (knots - 1) / (k - 1)
    return cast(Floats, np.maximum(1 - np.abs(place[:, None] - np.arange(knots)), 0.0))


def position_scores(mechanism: HasLaw[Finite]) -> Floats:
    """Returns the unbiased estimate of the position (0 to k - 1) for each output, shape (outputs,).

    For a window the estimate is a linear function of the output. For other mechanisms it has the
    least variance that is possible for evenly spread answers.
    """
    return _position_scores(mechanism.law)


@lru_cache(maxsize=64)
def _position_scores(law: Finite) -> Floats:
    last = law.k - 1
    if not law.evenly:
        return scores(rows(law), np.linspace(0, last, law.rows))
    first, end, outputs = law.row(0), law.row(law.rows - 1), range(law.outputs)
    # In whole numbers where weights are, so that the slope is exact.
    farther = sum(y * (b - a) for y, a, b in zip(outputs, first, end, strict=True))
    slope = farther / (sum(first) * (law.rows - 1))
    mean_at_0 = float(rows(law)[0] @ np.arange(law.outputs))
    position_scores: Floats = (np.arange(law.outputs) - mean_at_0) / slope * last / (law.rows - 1)
    return position_scores


def some_positions(mechanism: HasLaw[Finite]) -> tuple[npt.NDArray[np.int64], Floats]:
    """Returns m of the k positions, shape (m,), and the channel's rows for them, shape (m,
    outputs).

    If k is small, all positions are returned; otherwise those at the rows of the mechanism's matrix
    and some that are evenly spread.
    """
    law = mechanism.law
    k = law.k
    if k <= _MOST_INPUTS or k == law.rows:
        return np.arange(k), matrix(law)
    by_row = rows(law)
    knots = np.round(np.linspace(0, k - 1, len(by_row))).astype(np.int64)
    even = np.round(np.linspace(0, k - 1, _MOST_INPUTS)).astype(np.int64)
    positions = np.unique(np.concatenate([knots, even]))
    return positions, rounding(k, len(by_row), positions) @ by_row
