"""Randomises many positions to one of finitely many outputs: square-wave windows and explicit
matrices of weights."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from deniably.mechanisms import Channel, Window
from deniably.simulation.bulk.blocks import Samplers
from deniably.simulation.bulk.uniform import Int64, below, heads, signed_below


def window(mechanism: Window, answers: Int64) -> Int64:
    """Returns the reported outputs of n people, shape (n,), for valid positions ``answers``. As on
    a device, an output is drawn either from a window around the answer, with a larger probability,
    or from the outputs outside of it."""
    m, w, n = mechanism.m, mechanism.w, len(answers)
    start = knots(answers, mechanism.k, m - w + 1)
    inside = heads(w * mechanism.own, mechanism.total, n)
    # Both are drawn, though one is used: cheaper than splitting the answers. Outputs from ``start``
    # on skip the window.
    i, j = signed_below(w, n), signed_below(m - w, n)
    return np.where(inside, start + i, j + w * (j >= start))


def channel(mechanism: Channel, answers: Int64) -> Int64:
    """Returns the reported outputs of n people, shape (n,), for valid positions ``answers``. A
    uniform integer below the sum of a row's weights is drawn, and its place among the cumulative
    weights of the row is the output."""
    ends, total = _ends(mechanism)
    row = knots(answers, mechanism.k, len(mechanism.weights))
    u = below(total, len(answers)) + row.astype(np.uint64) * np.uint64(total)
    return np.searchsorted(ends, u, side="right") - row * mechanism.law.cell_count


def knots(answers: Int64, k: int, count: int) -> Int64:
    """Returns the row of a matrix with ``count`` rows for each answer, which is a position on a
    grid of k.

    The row is ``answers * (count - 1) / (k - 1)``, rounded up or down at random so that its
    expected value is exact.
    """
    low, rest = np.divmod(answers * (count - 1), k - 1)
    if not rest.any():
        return low
    return low + (signed_below(k - 1, len(answers)) < rest)


@lru_cache(maxsize=8)
def _ends(mechanism: Channel) -> tuple[npt.NDArray[np.uint64], int]:
    """Where each output's weights end, all rows one after the other, and the sum of one row.

    There are at most 2**11 rows of at most 2**53, so only the last end, which no search needs,
    can be 2**64.
    """
    weights = np.array(mechanism.weights, dtype=np.uint64)
    return np.cumsum(weights)[:-1], sum(mechanism.weights[0])


SAMPLERS: Samplers = {Window: window, Channel: channel}
