"""Whether a delta is far enough below 1/n: the one rule, for ``check`` and ``plan``."""

from __future__ import annotations

from fractions import Fraction

from deniably.core.counting import people
from deniably.survey.privacy import to_decimal_text

FAR = 100
"""How many times smaller than 1/n a delta is far below it. The number is this software's own."""


def far_below(n: int) -> Fraction:
    """The largest power of ten that is far below 1/n.

    >>> far_below(10_000), far_below(10_001)
    (Fraction(1, 1000000), Fraction(1, 10000000))
    """
    return Fraction(1, 10 ** len(str(n * FAR - 1)))


def delta_warning(delta: Fraction, n: int) -> str:
    """A sentence where the delta of a person's report is not far below 1/n; else empty.

    With a delta near 1/n, a mechanism could keep its promise and yet publish the answers of a few
    people. Source: Dwork and Roth 2014, section 2.3, who call such values very dangerous. Gaussian
    noise does not do that, but nobody who sees only the delta can know.

    >>> delta_warning(Fraction(1, 100_000), 1000)
    ''
    """
    if delta * n * FAR <= 1:
        return ""
    chance = min(Fraction(1), delta * n)
    return (
        f"delta {to_decimal_text(delta)} is not far below 1/n: of {people(n)}, the promise of"
        f" epsilon may fail for somebody with a chance of up to {float(100 * chance):.3g} %. State"
        f" {to_decimal_text(far_below(n))} or less in all, or leave delta out (Dwork and Roth 2014,"
        " section 2.3)."
    )
