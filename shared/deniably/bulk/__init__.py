"""Many answers randomised at once, for simulations: every mechanism of `mechanisms`, in numpy.

Whole numbers and the operating system's generator only, and exactly the law of the mechanism; but
the random bytes are spent in another way than SPEC section 1 says. A device, which has one
answer, uses ``mechanism.randomise``.
"""

from __future__ import annotations

from typing import Any, overload

import numpy as np
import numpy.typing as npt

from deniably.bulk import several
from deniably.bulk.blocks import BLOCK, BLOCK_OF_ROWS, in_blocks
from deniably.bulk.noise import bounded_laplace, gaussian, laplace
from deniably.bulk.ordered import channel, window
from deniably.bulk.several import sampled_ticks, set_response, unary
from deniably.bulk.subset_selection import Packed, subset_selection
from deniably.bulk.uniform import Booleans, Int64
from deniably.errors import BadAnswer
from deniably.mechanisms import (
    BoundedLaplace,
    Channel,
    Gaussian,
    Laplace,
    Mechanism,
    SampledTicks,
    SetResponse,
    SubsetSelection,
    Unary,
    Vector,
    Window,
)
from deniably.mechanisms.vector import Part
from deniably.tally import Tally, tally_packed

Answers = npt.NDArray[Any]


@overload
def randomise_many(
    mechanism: SubsetSelection | SetResponse | Unary, answers: Answers
) -> Packed: ...


@overload
def randomise_many(
    mechanism: Part | Gaussian | SampledTicks | Vector, answers: Answers
) -> Int64: ...


def randomise_many(mechanism: Mechanism, answers: Answers) -> Packed | Int64:
    """One report for each of n answers.

    ``answers`` are choices or positions, shape (n,); booleans, shape (n, k), where several options
    can be ticked; positions, shape (n, d), for a vector and for Gaussian noise on d > 1 numbers.

    Returns for subset selection, set response and unary encoding bits, shape
    (n, ceil(cell_count/8)): bit ``v % 8`` of byte ``v // 8`` is set where the report counts in
    cell v. For the others the cells themselves, shape (n,), or (n, s) for s cells a report.
    Raises BadAnswer, before any draw.
    """
    match mechanism:
        case SubsetSelection(k=k):
            _check_shape(answers, 1)
            _check_range(answers, k, f"an answer is the index of a choice, from 0 to {k - 1}")
            return subset_selection(mechanism, answers.astype(np.intp, copy=False))
        case SetResponse(k=k, most=most) | Unary(k=k, most=most):
            _check_ticks(answers, k, most)
            draw = set_response if isinstance(mechanism, SetResponse) else unary
            return in_blocks(lambda part: draw(mechanism, part), answers, BLOCK_OF_ROWS)  # type: ignore
        case SampledTicks(k=k):
            _check_ticks(answers, k, k)
            return in_blocks(lambda part: sampled_ticks(mechanism, part), answers, BLOCK_OF_ROWS)
        case _:
            return np.zeros(0)


def tally_many(mechanism: Mechanism, reports: Packed | Int64) -> Tally:
    """The tally of reports as ``randomise_many`` gives them."""
