"""Writes odds as text: exact where that is readable, else rounded up, so never too small."""

from __future__ import annotations

import math
from fractions import Fraction

_LARGEST_DENOMINATOR = 100


def odds_text(odds: Fraction) -> str:
    """Odds such as 3 or 13/7, and 2.72 for those of an epsilon, whose fraction nobody reads."""
    if odds.denominator <= _LARGEST_DENOMINATOR:
        return str(odds)
    hundredths = math.ceil(odds * 100)
    return f"{hundredths // 100}.{hundredths % 100:02}"
