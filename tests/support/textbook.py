"""Formulas of the literature that tests and benchmarks compare with, and nothing else uses."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from deniably.mechanisms.subset_selection import SubsetSelection
from deniably.survey.privacy import Privacy


def weights_for_epsilon(epsilon: Fraction) -> tuple[int, int]:
    """(own, other) with own / other <= e**epsilon and within 2**-32 of it."""
    return Privacy(epsilon=epsilon).weights()


def weights_for_odds(odds: Fraction) -> tuple[int, int]:
    """(own, other) with own / other == odds, exactly."""
    return odds.numerator, odds.denominator


def k_ary(k: int, own: int, other: int) -> SubsetSelection:
    """k-ary or generalised randomised response (k-RR, GRR): Kairouz, Oh and Viswanath 2014."""
    return SubsetSelection(k, 1, own, other)


def warner(own: int, other: int) -> SubsetSelection:
    """Warner 1965 (JASA 60:63): the truth with probability own / (own + other)."""
    return SubsetSelection(2, 1, own, other)


def wasserstein(first: npt.ArrayLike, second: npt.ArrayLike, width: float = 1.0) -> float:
    """W1, the least mean distance to move one distribution into the other; buckets ``width`` apart.

    In one dimension the area between the two distribution functions (Vallender 1974).
    """
    moved = np.cumsum(np.asarray(first, np.float64) - np.asarray(second, np.float64))
    return width * float(np.abs(moved[:-1]).sum())
