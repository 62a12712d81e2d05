"""Odds for people: as text, of an epsilon, and as the probability of the surest guess."""

from __future__ import annotations

import math
from fractions import Fraction

_LARGEST_DENOMINATOR = 100  # up to which a fraction is readable as it is
_DIGITS = 12  # fewer than a double has, so that e**log(3) is 3


def odds_text(odds: Fraction) -> str:
    """Returns odds as text: exactly if the denominator is at most 100, otherwise rounded up to
    hundredths.

    >>> odds_text(Fraction(13, 7)), odds_text(Fraction("2.718281828"))
    ('13/7', '2.72')
    """
    if odds.denominator <= _LARGEST_DENOMINATOR:
        return str(odds)
    hundredths = math.ceil(odds * 100)
    return f"{hundredths // 100}.{hundredths % 100:02}"


def odds_at(epsilon: float) -> Fraction:
    """Returns e**epsilon rounded to twelve digits, for display only. So the epsilon ``log(3)``, a
    rounded float, gives odds of exactly 3.

    >>> odds_at(math.log(3))
    Fraction(3, 1)
    """
    return Fraction(f"{math.exp(epsilon):.{_DIGITS}g}")


def surest(odds: Fraction) -> Fraction:
    """Returns the largest probability of a right guess between two equally likely answers, after a
    report that changes odds by at most the factor L = ``odds``: L / (L + 1).

    >>> surest(Fraction(3))
    Fraction(3, 4)
    """
    return odds / (odds + 1)
