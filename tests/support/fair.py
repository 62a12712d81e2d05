"""The golden set of regression: Fair's survey of 6,366 people (1978), randomised by a hash.

statsmodels ships the survey. Every report follows from the number of its row, in whole numbers
alone, so any language makes the same set.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
N = 6366
_ALL = 1 << 32


def uniform(stream: int) -> Ints:
    """N whole numbers from 0 to 2^32 - 1: murmur3's finaliser."""
    row = np.arange(1, N + 1, dtype=np.uint64)
    h = (row * np.uint64(0x9E3779B1) + np.uint64(stream * 0x85EBCA6B)) % np.uint64(_ALL)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        h ^= h >> np.uint64(shift)
        h = (h * np.uint64(factor)) % np.uint64(_ALL)
    return (h ^ (h >> np.uint64(16))).astype(np.int64)


@cache
def truth() -> dict[str, Any]:
    """The true answers; ``marriage`` counts from 0."""
    from statsmodels.datasets import fair

    table = fair.load_pandas().data
    return {
        "affair": (table["affairs"] > 0).to_numpy(np.int64),
        "marriage": table["rate_marriage"].to_numpy(np.int64) - 1,
        "children": (table["children"] > 0).to_numpy(np.int64),
        "age": table["age"].to_numpy(np.float64),
        "yrs": table["yrs_married"].to_numpy(np.float64),
        "religious": table["religious"].to_numpy(np.float64),
    }


@cache
def reports() -> dict[str, Any]:
    """What a researcher would have: three questions randomised, the rest as it is."""
    true = truth()
    kept = 2 * uniform(2) < _ALL
    return {
        **true,
        "affair": np.where(4 * uniform(1) < _ALL, 1 - true["affair"], true["affair"]),
        "marriage": np.where(kept, true["marriage"], 5 * uniform(3) // _ALL),
        "children": np.where(4 * uniform(4) < _ALL, 1 - true["children"], true["children"]),
        "weight": (1 + 3 * uniform(5) // _ALL).astype(np.float64),
        "site": 4 * uniform(6) // _ALL,
    }


def columns(*names: str) -> npt.NDArray[np.float64]:
    """A constant and these columns, shape (N, 1 + names)."""
    return np.column_stack([np.ones(N), *(reports()[name] for name in names)])
