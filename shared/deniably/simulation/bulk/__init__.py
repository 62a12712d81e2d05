"""Randomises many answers at once in numpy, for simulations.

Each common mechanism has a fast sampler; every other mechanism is drawn as a device draws it, which
is slow. Samplers use whole numbers only, and follow the law (output distribution) of the mechanism
exactly. Their random bytes come from the operating system or, where many are needed, from AES-256
in counter mode, keyed by the operating system. The same bytes give other reports than on a device,
since SPEC section 1 fixes only the device's order of draws. A device has one answer and uses
``mechanism.randomise``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from deniably.estimation.tally import Tally, tally_packed
from deniably.mechanisms.law import Each, Law, One, Randomiser, Supporting, Ticks
from deniably.simulation.bulk import numbers, several_choices, single_choice
from deniably.simulation.bulk.answers import AnswerArray, choices, positions, ticks
from deniably.simulation.bulk.any_law import any_law, named
from deniably.simulation.bulk.blocks import BLOCK, BLOCK_OF_ROWS, in_blocks

__all__ = ["randomise_many", "tally_many"]

Reports = npt.NDArray[Any]


def randomise_many(mechanism: Randomiser[Law], answers: AnswerArray) -> Reports:
    """Randomises n answers and returns n reports.

    The type of the question decides the form of ``answers``. For a single choice they are indices
    of choices, and for one number positions on the number's grid, from 0, shape (n,). For a
    question with k options that can be ticked they are booleans, shape (n, k). For d > 1 numbers
    they are positions, shape (n, d).

    A report counts in one or several cells of the tally. Subset selection, set response and unary
    encoding return bits, shape (n, ceil(cell_count/8)): bit ``v % 8`` of byte ``v // 8`` is set
    where the report counts in cell v. The other mechanisms return the numbers of the cells, shape
    (n,), or (n, s) where a report counts in s cells. Raises BadAnswer, before any draw, if the
    shape, type or range of ``answers`` is wrong.
    """
    # A sampler is found by the mechanism's class, not by its law: two classes with the same law
    # draw in different ways.
    kind, laid_out = type(mechanism), _checked(mechanism.law, answers)
    if draw := single_choice.SAMPLERS.get(kind):  # goes about its own blocks
        return draw(mechanism, laid_out)
    if draw := several_choices.SAMPLERS.get(kind):
        return in_blocks(partial(draw, mechanism), laid_out, BLOCK_OF_ROWS)
    return in_blocks(partial(numbers.SAMPLERS.get(kind, any_law), mechanism), laid_out, BLOCK)


def _checked(law: Law, answers: AnswerArray) -> Any:
    """The checked answers. Raises BadAnswer."""
    match law.domain:
        case Ticks(k=k, most=most):
            return ticks(answers, k, most)
        case Each(sizes=sizes):
            return positions(answers, sizes)
        case One(k=k) if isinstance(law, Supporting):
            return choices(answers, k)
        case One(k=k):
            return positions(answers, [k])


def tally_many(mechanism: Randomiser[Law], reports: Reports) -> Tally:
    """Returns the tally of reports in the layout that ``randomise_many`` returns."""
    if named(mechanism.law):
        cell_count = mechanism.law.cell_count or 0
        return tally_packed(reports.astype(np.uint8, copy=False), cell_count)
    cells = reports.astype(np.int64, copy=False).ravel()
    if mechanism.law.cell_count is not None:
        return Tally(len(reports), np.bincount(cells, minlength=mechanism.law.cell_count))
    # Noise has no fixed number of cells: the tally begins at the lowest noisy position that came.
    start = int(cells.min()) if cells.size else 0
    return Tally(len(reports), np.bincount(cells - start), start, endless=True)
