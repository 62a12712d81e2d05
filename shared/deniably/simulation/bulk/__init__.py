"""Many answers randomised at once, for simulations: every one of ``mechanisms``, in numpy.

Whole numbers and the operating system's generator only, and exactly the law of the mechanism; but
the random bytes are spent in another way than SPEC section 1 says. A device, which has one
answer, uses ``mechanism.randomise``.
"""

from __future__ import annotations

from functools import partial
from typing import overload

import numpy as np
import numpy.typing as npt

from deniably.estimation.tally import Tally, tally_packed
from deniably.mechanisms import (
    Gaussian,
    Mechanism,
    SampledTicks,
    SetResponse,
    SubsetSelection,
    Unary,
    Vector,
)
from deniably.mechanisms.vector import Part
from deniably.simulation.bulk.answers import Answers, choices, positions, ticks
from deniably.simulation.bulk.blocks import BLOCK, BLOCK_OF_ROWS, in_blocks
from deniably.simulation.bulk.noise import gaussian
from deniably.simulation.bulk.numbers import number, vector
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


def randomise_many(mechanism: Mechanism, answers: Answers) -> Packed | Int64:
    """One report for each of n answers.

    ``answers`` are choices or positions, shape (n,); booleans, shape (n, k), where several options
    can be ticked; positions, shape (n, d), for a vector and for Gaussian noise on d > 1 numbers.

    Returns for subset selection, set response and unary encoding bits, shape
    (n, ceil(cell_count/8)): bit ``v % 8`` of byte ``v // 8`` is set where the report counts in
    cell v. For the others the cells themselves, shape (n,), or (n, s) where a report has several.
    Raises BadAnswer, before any draw.
    """
    match mechanism:
        case SubsetSelection(k=k):
            return subset_selection(mechanism, choices(answers, k))
        case SetResponse(k=k, most=most):
            given = ticks(answers, k, most)
            return in_blocks(partial(set_response, mechanism), given, BLOCK_OF_ROWS)
        case Unary(k=k, most=most):
            given = ticks(answers, k, most)
            return in_blocks(partial(unary, mechanism), given, BLOCK_OF_ROWS)
        case SampledTicks(k=k):
            given = ticks(answers, k, k)
            return in_blocks(partial(sampled_ticks, mechanism), given, BLOCK_OF_ROWS)
        case Gaussian(k=k, d=d):
            return in_blocks(partial(gaussian, mechanism), positions(answers, [k] * d), BLOCK)
        case Vector(parts=parts):
            places = positions(answers, [part.k for part in parts])
            return in_blocks(partial(vector, mechanism), places, BLOCK)
        case _:
            return in_blocks(partial(number, mechanism), positions(answers, [mechanism.k]), BLOCK)


def tally_many(mechanism: Mechanism, reports: Packed | Int64) -> Tally:
    """The tally of reports as ``randomise_many`` returns them."""
    if isinstance(mechanism, SubsetSelection | SetResponse | Unary):
        return tally_packed(reports.astype(np.uint8, copy=False), mechanism.cell_count)
    cells = reports.astype(np.int64, copy=False).ravel()
    if mechanism.cell_count is not None:
        return Tally(len(reports), np.bincount(cells, minlength=mechanism.cell_count))
    start = int(cells.min()) if cells.size else 0
    return Tally(len(reports), np.bincount(cells - start), start, endless=True)
