"""Some of many options or numbers, picked for all reports at once."""

from __future__ import annotations

import numpy as np

from deniably.simulation.bulk.uniform import Booleans, Int64, signed_below


def picked(sizes: Int64, n: int) -> Booleans:
    """Draws for each of ``sizes`` as many distinct integers below n, every subset equally likely.

    Returns shape (sizes, n), True where an integer is picked. Source: Bentley and Floyd 1987;
    where fewer are picked the algorithm begins later.
    """
    chosen = np.zeros((len(sizes), n), dtype=np.bool_)
    for j in range(n - int(sizes.max(initial=0)), n):
        rows = np.flatnonzero(sizes >= n - j)
        t = signed_below(j + 1, rows.size)
        chosen[rows, np.where(chosen[rows, t], j, t)] = True
    return chosen


def sampled(rows: int, size: int, n: int) -> Int64:
    """Draws ``size`` distinct integers below n in ascending order, shape (rows, size)."""
    return np.nonzero(picked(np.full(rows, size), n))[1].reshape(rows, size)
