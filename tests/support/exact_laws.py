"""The laws of counts, for the tests that enumerate all that can be seen."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import special

Floats = npt.NDArray[np.float64]


def multinomial(cells: npt.ArrayLike) -> Callable[[npt.ArrayLike], Floats]:
    """(probabilities, shape (kinds,)) -> the probability of each of the tables ``cells``, shape
    (tables, kinds). What hangs on the tables alone is computed once for all laws."""
    tables = np.asarray(cells, dtype=np.float64)
    ways = special.gammaln(tables.sum(axis=1) + 1) - special.gammaln(tables + 1).sum(axis=1)

    def law(probabilities: npt.ArrayLike) -> Floats:
        found: Floats = np.exp(ways + special.xlogy(tables, np.asarray(probabilities)).sum(axis=1))
        return found

    return law
