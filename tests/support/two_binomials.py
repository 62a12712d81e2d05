"""Laws of counts of people's reports and of blanks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import stats

from deniably.core.binomial import AddedCoins

Floats = npt.NDArray[np.float64]


def sum_of(n: int, share: float, coins: AddedCoins) -> Floats:
    """P(X + Y = 0, 1, ...) of X ~ Binomial(n, share) and the heads Y of the coins."""
    law: Floats = np.convolve(
        stats.binom.pmf(np.arange(n + 1), n, share),
        stats.binom.pmf(np.arange(coins.number + 1), coins.number, coins.chance),
    )
    return law


def rates(k: int, odds: float) -> tuple[float, float]:
    """p and q of k-ary randomised response."""
    return odds / (odds + k - 1), 1 / (odds + k - 1)
