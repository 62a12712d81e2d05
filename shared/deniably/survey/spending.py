"""How much of the privacy that devices allow one survey it spends, as a number out of 100.

Unlike odds, the number adds up: each question has its share of the whole. 100 is ``EPSILON_LIMIT``,
above which devices refuse the survey. The number is rounded up, so it is above 100 exactly where
the printed epsilon is above the limit.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from deniably.core.loss import Loss
from deniably.survey.survey import EPSILON_LIMIT

FULL = 100
"""All that a device allows one survey."""


def privacy_spent(loss: Loss, limit: Fraction = Fraction(EPSILON_LIMIT)) -> int:
    """Returns the part of the privacy limit of a device that a loss uses up, in hundredths of the
    limit, rounded up: with the usual limit, 20 times the epsilon as printed.

    >>> privacy_spent(Loss(odds=Fraction(3))), privacy_spent(Loss(odds=Fraction(81)))
    (22, 88)
    """
    return ceil(Fraction(loss.epsilon_text()) * FULL / limit)
