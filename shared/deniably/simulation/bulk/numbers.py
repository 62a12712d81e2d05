"""Numbers in bulk: one of any kind, and several of one person."""

from __future__ import annotations

import numpy as np

from deniably.mechanisms import BoundedLaplace, Channel, Laplace, Vector, Window
from deniably.mechanisms.vector import Part
from deniably.simulation.bulk.noise import bounded_laplace, laplace
from deniably.simulation.bulk.ordered import channel, window
from deniably.simulation.bulk.picks import sampled
from deniably.simulation.bulk.uniform import Int64


def number(mechanism: Part, answers: Int64) -> Int64:
    """Reports, shape (n,), for valid positions."""
    match mechanism:
        case Window():
            return window(mechanism, answers)
        case Channel():
            return channel(mechanism, answers)
        case Laplace():
            return laplace(mechanism, answers)
        case BoundedLaplace():
            return bounded_laplace(mechanism, answers)


def vector(mechanism: Vector, answers: Int64) -> Int64:
    """Cells ``number * d + part``, shape (n, s), for valid positions, shape (n, d)."""
    d = len(mechanism.parts)
    index = sampled(len(answers), mechanism.s, d)
    cells = np.empty(index.shape, dtype=np.int64)
    for place, part in enumerate(mechanism.parts):
        here = index == place
        cells[here] = number(part, answers[here.any(axis=1), place]) * d + place
    return cells
