"""Numbers in bulk: one of any kind, and several of one person."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from deniably.mechanisms import BoundedLaplace, Channel, Laplace, Vector, Window
from deniably.simulation.bulk.any_law import any_law
from deniably.simulation.bulk.noise import bounded_laplace, laplace
from deniably.simulation.bulk.ordered import channel, window
from deniably.simulation.bulk.picks import sampled
from deniably.simulation.bulk.uniform import Int64

SAMPLERS: Mapping[type, Callable[[Any, Int64], Int64]] = {
    Window: window,
    Channel: channel,
    Laplace: laplace,
    BoundedLaplace: bounded_laplace,
}
"""Of one number each: reports, shape (n,), for valid positions."""


def vector(mechanism: Vector, answers: Int64) -> Int64:
    """Cells ``number * d + part``, shape (n, s), for valid positions, shape (n, d)."""
    d = len(mechanism.parts)
    index = sampled(len(answers), mechanism.s, d)
    cells = np.empty(index.shape, dtype=np.int64)
    for place, part in enumerate(mechanism.parts):
        here = index == place
        draw: Callable[[Any, Int64], Int64] = SAMPLERS.get(type(part), any_law)
        cells[here] = draw(part, answers[here.any(axis=1), place]) * d + place
    return cells
