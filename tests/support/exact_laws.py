"""The laws of counts and of draws, for the tests that enumerate all that can be seen."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from scipy import special

from deniably.audit.enumeration import distribution_above
from deniably.core.coins import Coins

Floats = npt.NDArray[np.float64]
R = TypeVar("R", bound=Hashable)


def distribution(run: Callable[[Coins], R]) -> dict[R, Fraction]:
    """The exact law of ``run(coins)``: each possible result with its probability.

    ``run`` is called once for every path through its draws, and every path must end. The
    probabilities sum to 1.
    """
    law, unexplored = distribution_above(run, Fraction(0))
    assert unexplored == 0
    return law


def multinomial(cells: npt.ArrayLike) -> Callable[[npt.ArrayLike], Floats]:
    """(probabilities, shape (kinds,)) -> the probability of each of the tables ``cells``, shape
    (tables, kinds). What hangs on the tables alone is computed once for all laws."""
    tables = np.asarray(cells, dtype=np.float64)
    ways = special.gammaln(tables.sum(axis=1) + 1) - special.gammaln(tables + 1).sum(axis=1)

    def law(probabilities: npt.ArrayLike) -> Floats:
        found: Floats = np.exp(ways + special.xlogy(tables, np.asarray(probabilities)).sum(axis=1))
        return found

    return law
