"""Odds for people: of an epsilon, as text, and as the surest guess that they allow."""

from __future__ import annotations

import math
from fractions import Fraction

_LARGEST_DENOMINATOR = 100
_DIGITS = 12


def odds_text(odds: Fraction) -> str:
    """Odds as text: exact where that is readable, else rounded up, so never too small.

    >>> odds_text(Fraction(13, 7)), odds_text(Fraction("2.718281828"))
    ('13/7', '2.72')
    """
    if odds.denominator <= _LARGEST_DENOMINATOR:
        return str(odds)
    hundredths = math.ceil(odds * 100)
    return f"{hundredths // 100}.{hundredths % 100:02}"


def odds_at(epsilon: float) -> Fraction:
    """e**epsilon to twelve digits, for display only: the ln of 3 has odds of exactly 3.

    >>> odds_at(math.log(3))
    Fraction(3, 1)
    """
    return Fraction(f"{math.exp(epsilon):.{_DIGITS}g}")


def surest(odds: Fraction) -> Fraction:
    """How sure a guess between two equally likely answers can be: L / (L + 1).

    >>> surest(Fraction(3))
    Fraction(3, 4)
    """
    return odds / (odds + 1)
