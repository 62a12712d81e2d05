"""Many reports in blocks, so that the buffers of each stay in the cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

BLOCK = 1 << 15
BLOCK_OF_ROWS = 1 << 12
"""Reports at once, where a report is a row with one byte a choice."""

_Answers = TypeVar("_Answers", bound=np.generic)
_Reports = TypeVar("_Reports", bound=np.generic)


def in_blocks(
    draw: Callable[[npt.NDArray[_Answers]], npt.NDArray[_Reports]],
    answers: npt.NDArray[_Answers],
    size: int,
) -> npt.NDArray[_Reports]:
    """Calls ``draw`` for ``size`` answers at a time and joins the rows."""
    first = draw(answers[:size])
    reports: npt.NDArray[Any] = np.empty((len(answers), *first.shape[1:]), dtype=first.dtype)
    reports[:size] = first
    for start in range(size, len(answers), size):
        part = slice(start, start + size)
        reports[part] = draw(answers[part])
    return reports


Samplers = Mapping[type, Callable[..., npt.NDArray[Any]]]
"""Reports of each class of mechanism, for a mechanism and valid answers."""
