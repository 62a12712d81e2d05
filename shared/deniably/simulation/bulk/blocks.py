"""Randomises answers in blocks, so that the buffers of each block stay in the processor's cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

# Answers at once, where a report takes a few bytes: 2**15 of 8 bytes are 256 KB, about a core's
# second-level cache.
BLOCK = 1 << 15
BLOCK_OF_ROWS = 1 << 12
"""Answers at once, where a report is a row with one byte for each choice."""

_Answers = TypeVar("_Answers", bound=np.generic)
_Reports = TypeVar("_Reports", bound=np.generic)


def in_blocks(
    draw: Callable[[npt.NDArray[_Answers]], npt.NDArray[_Reports]],
    answers: npt.NDArray[_Answers],
    size: int,
) -> npt.NDArray[_Reports]:
    """Calls ``draw`` for at most ``size`` answers at a time, and returns all reports as one
    array."""
    # The first block tells the shape and type of a report, even where there are no answers.
    first = draw(answers[:size])
    reports: npt.NDArray[Any] = np.empty((len(answers), *first.shape[1:]), dtype=first.dtype)
    reports[:size] = first
    for start in range(size, len(answers), size):
        part = slice(start, start + size)
        reports[part] = draw(answers[part])
    return reports


Samplers = Mapping[type, Callable[..., npt.NDArray[Any]]]
"""For each class of mechanism, the function that draws reports from a mechanism and valid
answers."""
