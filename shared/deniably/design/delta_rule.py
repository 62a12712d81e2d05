"""Whether a delta is far enough below 1/n: the one rule, for ``check`` and ``plan``."""

from __future__ import annotations

from fractions import Fraction

from deniably.core.counting import people
from deniably.survey.privacy import to_decimal_text

FAR = 100
"""How many times smaller than 1/n a delta is at least far below it, also where n is smaller. The
number is this software's own."""


def most_delta(n: int) -> Fraction:
    """Returns the largest delta without a warning: 1/n**2, and 1/(FAR n) where n is below ``FAR``.

    With 1/n**2, a mechanism that publishes each answer with the probability delta shows anybody's
    with a probability of 1/n at most. Source: Near and Abuah 2021, "Programming Differential
    Privacy", chapter on approximate differential privacy.
    """
    return Fraction(1, n * max(n, FAR))


def far_below(n: int) -> Fraction:
    """Returns the largest power of ten that causes no warning.

    >>> far_below(1000), far_below(1001)
    (Fraction(1, 1000000), Fraction(1, 10000000))
    """
    return Fraction(1, 10 ** len(str(most_delta(n).denominator - 1)))


def delta_warning(delta: Fraction, n: int) -> str:
    """Returns a sentence where the delta of a person's report is above ``most_delta``; else empty.

    With a delta near 1/n, a mechanism could keep its promise and yet publish the answers of a few
    people. Source: Dwork and Roth 2014, section 2.3, who call such values very dangerous. Gaussian
    noise does not do that, but nobody who sees only the delta can know.

    >>> delta_warning(Fraction(1, 1_000_000), 1000)
    ''
    """
    if delta <= most_delta(n):
        return ""
    chance = min(Fraction(1), delta * n)
    return (
        f"delta {to_decimal_text(delta)} is above {'1/n²' if n > FAR else f'1/({FAR} n)'}: of"
        f" {people(n)}, the promise of"
        f" epsilon may fail for somebody with a chance of up to {float(100 * chance):.3g} %. State"
        f" {to_decimal_text(far_below(n))} or less in all, or leave delta out (Dwork and Roth 2014,"
        " section 2.3)."
    )
