"""Whether a delta is far enough below 1/n: the one rule, for ``check`` and ``plan``."""

from __future__ import annotations

from fractions import Fraction

from deniably.core.counting import people
from deniably.survey.privacy import to_decimal_text

FAR = 100
"""A delta causes no warning only if it is at least so many times smaller than 1/n, also for small
n. The number is this software's own."""


def most_delta(n: int) -> Fraction:
    """Returns the largest delta that causes no warning: 1/n**2, or 1/(FAR n) for n below ``FAR``.

    A mechanism that publishes each of n answers with probability 1/n**2 publishes any answer at all
    with probability at most 1/n. Source: Near and Abuah 2021, "Programming Differential Privacy",
    chapter on approximate differential privacy.
    """
    return Fraction(1, n * max(n, FAR))


def far_below(n: int) -> Fraction:
    """Returns the largest power of ten that is at most ``most_delta(n)``.

    >>> far_below(1000), far_below(1001)
    (Fraction(1, 1000000), Fraction(1, 10000000))
    """
    # The smallest power of ten that is at least the denominator: so many digits has the number
    # before it.
    return Fraction(1, 10 ** len(str(most_delta(n).denominator - 1)))


def delta_warning(delta: Fraction, n: int) -> str:
    """Returns a warning sentence where a report's ``delta`` is above ``most_delta(n)``; else empty.

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
