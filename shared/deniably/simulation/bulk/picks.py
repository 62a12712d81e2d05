"""Draws random subsets of options or numbers, for many reports at once."""

from __future__ import annotations

import numpy as np

from deniably.simulation.bulk.uniform import Booleans, Int64, signed_below


def picked(sizes: Int64, n: int) -> Booleans:
    """Draws a random subset of the integers below n for each of ``sizes``. The subset has that
    many elements, and all such subsets are equally likely.

    Returns booleans of shape (len(sizes), n), True where an integer is in the subset. Source:
    Bentley and Floyd 1987 (Communications of the ACM 30:9); for smaller subsets the algorithm
    starts at a later integer.
    """
    chosen = np.zeros((len(sizes), n), dtype=np.bool_)
    for j in range(n - int(sizes.max(initial=0)), n):
        rows = np.flatnonzero(sizes >= n - j)
        # Floyd: take t, or j itself if t is in the subset already. j cannot be in it yet.
        t = signed_below(j + 1, rows.size)
        chosen[rows, np.where(chosen[rows, t], j, t)] = True
    return chosen


def sampled(rows: int, size: int, n: int) -> Int64:
    """Draws ``rows`` random subsets of ``size`` integers below n. Returns each subset in ascending
    order, shape (rows, size)."""
    return np.nonzero(picked(np.full(rows, size), n))[1].reshape(rows, size)
