"""Positions on a grid: checks, and unbiased rounding to a coarser grid."""

from __future__ import annotations

from deniably.core.coins import Coins
from deniably.core.errors import BadAnswer, BadMechanism

MOST_POSITIONS = (1 << 20) + 1  # a range has at most 2**20 steps (SPEC 4.1)


def check_positions(k: int) -> None:
    """Raise BadMechanism unless a grid may have ``k`` positions."""
    if not 2 <= k <= MOST_POSITIONS:
        raise BadMechanism(f"k is {k}; from 2 to {MOST_POSITIONS} positions are allowed")


def check_position(answer: int, k: int) -> None:
    """Raise BadAnswer unless ``answer`` is one of ``k`` positions."""
    if not 0 <= answer < k:
        raise BadAnswer(f"an answer is a position from 0 to {k - 1}")


def knot(answer: int, k: int, knots: int, coins: Coins) -> int:
    """Rounds ``answer``, one of ``k`` positions, at random to one of ``knots`` knots; returns the
    knot.

    Knots are numbers from 0 on, evenly spread over the positions. The mean of the result is exactly
    ``answer * (knots - 1) / (k - 1)``, so rounding has no bias. One draw is always made, even where
    there is nothing to round.
    """
    low, rest = divmod(answer * (knots - 1), k - 1)
    # Up with probability rest / (k - 1), the fraction by which the answer is above ``low``.
    return low + 1 - coins.choose((rest, k - 1 - rest))
