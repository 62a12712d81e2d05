"""Randomises many answers that are numbers: one number a person by any mechanism, or several."""

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
    """Returns reports to questions about d numbers, of which each person's device samples ``s``.
    ``answers`` are valid positions, shape (n, d); reports are cells ``output * d + part``, shape
    (n, s)."""
    d = len(mechanism.parts)
    # Sampled parts are in ascending order, as in a device's report (SPEC 2.14).
    index = sampled(len(answers), mechanism.s, d)
    cells = np.empty(index.shape, dtype=np.int64)
    for place, part in enumerate(mechanism.parts):
        here = index == place
        draw: Callable[..., Int64] = _OF_ONE.get(type(part), any_law)
        cells[here] = draw(part, answers[here.any(axis=1), place]) * d + place
    return cells


SAMPLERS: Samplers = {**_OF_ONE, Vector: vector}
