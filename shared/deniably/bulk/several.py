"""Ticks and vectors in bulk: some of the options or numbers are picked, for all reports at once."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from math import comb

import numpy as np
import numpy.typing as npt

from deniably.bulk.uniform import Booleans, Int64, below, heads, signed_below
from deniably.mechanisms import SampledTicks, SetResponse, Unary, Vector
from deniably.mechanisms.vector import Part

Packed = npt.NDArray[np.uint8]


def set_response(mechanism: SetResponse, ticks: Booleans) -> Packed:
    """Reports as bits, shape (n, ceil((k + most) / 8)), for valid ticks, shape (n, k)."""
    most, size = mechanism.most, mechanism.size
    weights = [
        comb(most, j) * comb(mechanism.k, size - j) * (mechanism.own if j else mechanism.other)
        for j in range(min(most, size) + 1)
    ]
    ends = np.array(list(accumulate(weights)), dtype=np.uint64)
    u = below(mechanism.total, len(ticks)).astype(np.uint64)
    shared = np.searchsorted(ends, u, side="right")
    inside = picked(shared, most)
    outside = picked(size - shared, mechanism.k)
    return _packed(placed(ticks, inside, outside))


def placed(ticks: Booleans, inside: Booleans, outside: Booleans) -> Booleans:
    """The reported choices, shape (n, k + most), from which of the padded ticks (shape (n, most))
    and of all others (shape (n, k)) are in the report, each counted in ascending order.
    """
    most = inside.shape[1]
    blanks = np.arange(most) < most - ticks.sum(axis=1, keepdims=True)
    padded = np.concatenate([ticks, blanks], axis=1)
    order = np.where(padded, np.cumsum(padded, axis=1) - 1, most - 1 + np.cumsum(~padded, axis=1))
    return np.take_along_axis(np.concatenate([inside, outside], axis=1), order, axis=1)


def sampled_ticks(mechanism: SampledTicks, ticks: Booleans) -> Int64:
    """Cells ``2 * option + tick``, shape (n, s), for ticks of shape (n, k)."""
    option = _sampled(len(ticks), mechanism.s, mechanism.k)
    flipped = heads(mechanism.other, mechanism.own + mechanism.other, option.size)
    return 2 * option + (np.take_along_axis(ticks, option, axis=1) ^ flipped.reshape(option.shape))


def unary(mechanism: Unary, ticks: Booleans) -> Packed:
    """Reports as bits, shape (n, ceil(k/8)), for valid ticks, shape (n, k)."""
    reported = np.empty(ticks.shape, dtype=np.bool_)
    for kind, weight in [(ticks, mechanism.own), (~ticks, mechanism.other)]:
        reported[kind] = heads(weight, mechanism.total, np.count_nonzero(kind))
    return _packed(reported)


def vector(mechanism: Vector, answers: Int64, randomise: Callable[[Part, Int64], Int64]) -> Int64:
    """Cells ``number * d + part``, shape (n, s), for valid positions, shape (n, d).

    ``randomise(part, positions)`` makes the reports of one part, shape (n,).
    """
    d = len(mechanism.parts)
    index = _sampled(len(answers), mechanism.s, d)
    cells = np.empty(index.shape, dtype=np.int64)
    for number, part in enumerate(mechanism.parts):
        here = index == number
        cells[here] = randomise(part, answers[here.any(axis=1), number]) * d + number
    return cells


def picked(sizes: Int64, n: int) -> Booleans:
    """For each of ``sizes`` as many distinct integers below n, every subset equally likely.

    Returns shape (sizes, n), True where an integer is picked. Source: Bentley and Floyd 1987;
    where fewer are picked the algorithm begins later.
    """
    chosen = np.zeros((len(sizes), n), dtype=np.bool_)
    for j in range(n - int(sizes.max(initial=0)), n):
        rows = np.flatnonzero(sizes >= n - j)
        t = signed_below(j + 1, rows.size)
        chosen[rows, np.where(chosen[rows, t], j, t)] = True
    return chosen


def _sampled(rows: int, size: int, n: int) -> Int64:
    """``size`` distinct integers below n in ascending order, shape (rows, size)."""
    return np.nonzero(picked(np.full(rows, size), n))[1].reshape(rows, size)


def _packed(reported: Booleans) -> Packed:
    return np.packbits(reported, axis=1, bitorder="little")
