"""Randomises many answers of which each is a set of ticked options: padded set response, sampled
ticks and unary encoding."""

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
    """Returns reports as bits, shape (n, ceil((k + most) / 8)), for valid ``ticks``, shape (n, k).
    ``most`` is the largest number of ticks; an answer with fewer ticks is padded to that
    number."""
    maximum, size = mechanism.most, mechanism.size
    # The number of reported sets that share j cells with the padded answer, times the weight of
    # one: ``own`` if they share any.
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
    """Returns which of the k options and ``most`` blanks each report names, booleans of shape (n,
    k + most).

    An answer padded with blanks has ``most`` cells. ``inside`` (n, most) marks which of these the
    report names, counted in ascending order; ``outside`` (n, k) marks which of the other k cells
    the report names.
    """
    maximum: int = inside.shape[1]
    cells: int = maximum + outside.shape[1]
    ticked: Int64 = ticks.sum(axis=1, dtype=np.int64, keepdims=True)
    blanks: Booleans = np.arange(maximum) < maximum - ticked
    padded = np.hstack([ticks, blanks])
    before: Int64 = padded.cumsum(axis=1, dtype=np.int64)
    # For every cell, its column in [inside | outside]: its rank among the cells of its own sort.
    order = np.where(padded, before - 1, maximum + np.arange(cells) - before)
    return np.take_along_axis(np.concatenate([inside, outside], axis=1), order, axis=1)


def sampled_ticks(mechanism: SampledTicks, ticks: Booleans) -> Int64:
    """Returns reports to ``s`` sampled options, for valid ``ticks``, shape (n, k). Reports are
    cells ``2 * option + tick``, shape (n, s), where each tick is flipped with the probability of
    the mechanism."""
    option = sampled(len(ticks), mechanism.s, mechanism.k)
    flipped = heads(mechanism.other, mechanism.own + mechanism.other, option.size)
    return 2 * option + (np.take_along_axis(ticks, option, axis=1) ^ flipped.reshape(option.shape))


def unary(mechanism: Unary, ticks: Booleans) -> Packed:
    """Returns reports as bits, shape (n, ceil(k/8)), for valid ticks, shape (n, k): each bit is
    randomised independently."""
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
