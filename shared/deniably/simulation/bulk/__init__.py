"""Many answers randomised at once, for simulations: every one of ``mechanisms``, in numpy,
and slower any other that has a law.

Whole numbers and the operating system's generator only, and exactly the law of the mechanism; but
the random bytes are spent in another way than SPEC section 1 says. A device, which has one
answer, uses ``mechanism.randomise``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from deniably.estimation.tally import Tally, tally_packed
from deniably.mechanisms import (
    Gaussian,
    SampledTicks,
    SetResponse,
    SubsetSelection,
    Unary,
    Vector,
)
from deniably.mechanisms.law import Each, Law, One, Randomiser, Supporting, Ticks
from deniably.mechanisms.vector import Part
from deniably.simulation.bulk import numbers
from deniably.simulation.bulk.answers import Answers, choices, positions, ticks
from deniably.simulation.bulk.any_law import any_law, named
from deniably.simulation.bulk.blocks import BLOCK, BLOCK_OF_ROWS, in_blocks
from deniably.simulation.bulk.noise import gaussian
from deniably.simulation.bulk.numbers import vector
from deniably.simulation.bulk.several_choices import sampled_ticks, set_response, unary
from deniably.simulation.bulk.single_choice import subset_selection
from deniably.simulation.bulk.uniform import Int64

__all__ = ["randomise_many", "tally_many"]

Packed = npt.NDArray[np.uint8]
OfCells = Part | SampledTicks | Gaussian | Vector
"""Mechanisms whose reports are kept as the numbers of their cells."""


@overload
def randomise_many(
    mechanism: SubsetSelection | SetResponse | Unary, answers: Answers
) -> Packed: ...


@overload
def randomise_many(mechanism: OfCells, answers: Answers) -> Int64: ...


@overload
def randomise_many(mechanism: Randomiser[Law], answers: Answers) -> Packed | Int64: ...


def randomise_many(mechanism: Randomiser[Law], answers: Answers) -> Packed | Int64:
    """One report for each of n answers.

    ``answers`` are choices or positions, shape (n,); booleans, shape (n, k), where several options
    can be ticked; positions, shape (n, d), for a vector and for Gaussian noise on d > 1 numbers.

    Returns for subset selection, set response and unary encoding bits, shape
    (n, ceil(cell_count/8)): bit ``v % 8`` of byte ``v // 8`` is set where the report counts in
    cell v. For the others the cells themselves, shape (n,), or (n, s) where a report has several.
    Raises BadAnswer, before any draw.
    """
    given = _given(mechanism.law, answers)
    if isinstance(mechanism, SubsetSelection):  # goes about its own blocks
        return subset_selection(mechanism, given)
    draw, size = _SAMPLERS.get(type(mechanism), (any_law, BLOCK))
    return in_blocks(partial(draw, mechanism), given, size)


_SAMPLERS: Mapping[type, tuple[Callable[..., Any], int]] = {
    SetResponse: (set_response, BLOCK_OF_ROWS),
    Unary: (unary, BLOCK_OF_ROWS),
    SampledTicks: (sampled_ticks, BLOCK_OF_ROWS),
    Gaussian: (gaussian, BLOCK),
    Vector: (vector, BLOCK),
    **{kind: (draw, BLOCK) for kind, draw in numbers.SAMPLERS.items()},
}


def _given(law: Law, answers: Answers) -> Any:
    """The answers, each one that can be given. Raises BadAnswer."""
    match law.domain:
        case Ticks(k=k, most=most):
            return ticks(answers, k, most)
        case Each(sizes=sizes):
            return positions(answers, sizes)
        case One(k=k) if isinstance(law, Supporting):
            return choices(answers, k)
        case One(k=k):
            return positions(answers, [k])


def tally_many(mechanism: Randomiser[Law], reports: Packed | Int64) -> Tally:
    """The tally of reports as ``randomise_many`` returns them."""
    if named(mechanism.law):
        cell_count = mechanism.cell_count or 0
        return tally_packed(reports.astype(np.uint8, copy=False), cell_count)
    cells = reports.astype(np.int64, copy=False).ravel()
    if mechanism.cell_count is not None:
        return Tally(len(reports), np.bincount(cells, minlength=mechanism.cell_count))
    start = int(cells.min()) if cells.size else 0
    return Tally(len(reports), np.bincount(cells - start), start, endless=True)
