"""Several ticks in bulk: padded set response, sampled ticks and unary encoding."""

from __future__ import annotations

from itertools import accumulate
from math import comb

import numpy as np
import numpy.typing as npt

from deniably.mechanisms import SampledTicks, SetResponse, Unary
from deniably.simulation.bulk.blocks import Samplers
from deniably.simulation.bulk.picks import picked, sampled
from deniably.simulation.bulk.uniform import Booleans, Int64, below, heads

Packed = npt.NDArray[np.uint8]


def set_response(mechanism: SetResponse, ticks: Booleans) -> Packed:
    """Draws reports as bits, shape (n, ceil((k + most) / 8)), for valid ticks, shape (n, k)."""
    maximum, size = mechanism.most, mechanism.size
    weights = [
        comb(maximum, j) * comb(mechanism.k, size - j) * (mechanism.own if j else mechanism.other)
        for j in range(min(maximum, size) + 1)
    ]
    ends = np.array(list(accumulate(weights)), dtype=np.uint64)
    u = below(mechanism.total, len(ticks)).astype(np.uint64)
    shared = np.searchsorted(ends, u, side="right")
    inside = picked(shared, maximum)
    outside = picked(size - shared, mechanism.k)
    return _packed(placed(ticks, inside, outside))


def placed(ticks: Booleans, inside: Booleans, outside: Booleans) -> Booleans:
    """Returns the reported choices, shape (n, k + most), from which of the padded ticks (shape (n,
    most)) and of all others (shape (n, k)) are in the report, each counted in ascending order.
    """
    maximum: int = inside.shape[1]
    cells: int = maximum + outside.shape[1]
    ticked: Int64 = ticks.sum(axis=1, dtype=np.int64, keepdims=True)
    blanks: Booleans = np.arange(maximum) < maximum - ticked
    padded = np.hstack([ticks, blanks])
    before: Int64 = padded.cumsum(axis=1, dtype=np.int64)
    order = np.where(padded, before - 1, maximum + np.arange(cells) - before)
    return np.take_along_axis(np.concatenate([inside, outside], axis=1), order, axis=1)


def sampled_ticks(mechanism: SampledTicks, ticks: Booleans) -> Int64:
    """Draws cells ``2 * option + tick``, shape (n, s), for ticks of shape (n, k)."""
    option = sampled(len(ticks), mechanism.s, mechanism.k)
    flipped = heads(mechanism.other, mechanism.own + mechanism.other, option.size)
    return 2 * option + (np.take_along_axis(ticks, option, axis=1) ^ flipped.reshape(option.shape))


def unary(mechanism: Unary, ticks: Booleans) -> Packed:
    """Draws reports as bits, shape (n, ceil(k/8)), for valid ticks, shape (n, k)."""
    reported = np.empty(ticks.shape, dtype=np.bool_)
    for kind, weight in [(ticks, mechanism.own), (~ticks, mechanism.other)]:
        reported[kind] = heads(weight, mechanism.total, int(np.count_nonzero(kind)))
    return _packed(reported)


def _packed(reported: Booleans) -> Packed:
    return np.packbits(reported, axis=1, bitorder="little")


SAMPLERS: Samplers = {
    SetResponse: set_response,
    SampledTicks: sampled_ticks,
    Unary: unary,
}
