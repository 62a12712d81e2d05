"""Numbers in bulk: one of any kind, and several of one person."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deniably.mechanisms import Vector
from deniably.simulation.bulk import noise, ordered
from deniably.simulation.bulk.any_law import any_law
from deniably.simulation.bulk.blocks import Samplers
from deniably.simulation.bulk.picks import sampled
from deniably.simulation.bulk.uniform import Int64

_OF_ONE: Samplers = {**ordered.SAMPLERS, **noise.SAMPLERS}


def vector(mechanism: Vector, answers: Int64) -> Int64:
    """Draws cells ``number * d + part``, shape (n, s), for valid positions, shape (n, d)."""
    d = len(mechanism.parts)
    index = sampled(len(answers), mechanism.s, d)
    cells = np.empty(index.shape, dtype=np.int64)
    for place, part in enumerate(mechanism.parts):
        here = index == place
        draw: Callable[..., Int64] = _OF_ONE.get(type(part), any_law)
        cells[here] = draw(part, answers[here.any(axis=1), place]) * d + place
    return cells


SAMPLERS: Samplers = {**_OF_ONE, Vector: vector}
