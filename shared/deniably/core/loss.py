"""Privacy loss of reports (epsilon and delta), held and added up exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import ceil, prod

from deniably.core.exponential import at_most_exp, exp_bounds

_BITS = 64
_STEP = 64  # the largest exponent that exp_bounds takes


@dataclass(frozen=True)
class Loss:
    """A privacy loss under local differential privacy: epsilon = ln(odds) + exponent, and delta.

    A report changes the odds between two answers by at most the factor ``odds * e**exponent``,
    except with probability ``delta``. Finite mechanisms have rational odds and exponent 0; Laplace
    noise has odds 1 and a rational exponent. ``loss + loss`` is sequential composition (Dwork and
    Roth 2014, theorem 3.16).

    >>> coin, noise = Loss(odds=Fraction(3)), Loss(exponent=Fraction(1, 2))
    >>> (coin + noise).epsilon_text()
    '1.60'
    >>> (coin + noise).at_most_epsilon(Fraction(8, 5))
    True
    """

    odds: Fraction = Fraction(1)
    exponent: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    def __add__(self, other: Loss) -> Loss:
        return Loss(
            self.odds * other.odds,
            _sum(self.exponent, other.exponent),
            _sum(self.delta, other.delta),
        )

    def __lt__(self, other: Loss) -> bool:
        # By epsilon alone; deltas are maximised separately (see ``largest``).
        return self._ln() < other._ln()

    def at_most_epsilon(self, epsilon: Fraction) -> bool:
        """Returns whether ``odds * e**exponent <= e**epsilon``, decided exactly."""
        return epsilon >= self.exponent and at_most_exp(self.odds, epsilon - self.exponent)

    @property
    def epsilon(self) -> float:
        """ln(odds) + exponent, rounded to a float for display only."""
        return float(self._ln())

    @property
    def odds_bound(self) -> Fraction:
        """The bound ``odds * e**exponent`` of the likelihood ratio of a report under two answers.

        Exact if the exponent is 0, otherwise rounded up, by a relative error of about 2**-60.
        """
        if not self.exponent:
            return self.odds
        # e**exponent = (e**(exponent / parts))**parts, with each exponent in the range of
        # exp_bounds.
        parts = -(-self.exponent // _STEP)
        _, high = exp_bounds(self.exponent / parts, _BITS)
        return self.odds * Fraction(high, 1 << _BITS) ** int(parts)

    def epsilon_text(self, places: int = 2) -> str:
        """Returns epsilon as a decimal for people, rounded up: the printed number is never too
        small."""
        if self.odds == 1:  # rational: no logarithm to be rounded
            return f"{ceil(self.exponent * 10**places) / 10**places:.{places}f}"
        # The logarithm has 50 digits; its error is far below what is added, so the sum is not too
        # small.
        nudged = self._ln() + Decimal(10) ** -20
        return str(nudged.quantize(Decimal(1).scaleb(-places), rounding=ROUND_CEILING))

    def _ln(self) -> Decimal:
        with localcontext(prec=50):
            return _ln(self.odds) + Decimal(self.exponent.numerator) / self.exponent.denominator


def _sum(first: Fraction, second: Fraction) -> Fraction:
    """first + second. Most exponents and deltas are 0, and a sum of fractions takes long."""
    return first + second if first and second else first or second


@lru_cache(maxsize=1024)  # a survey asks for the same few again and again
def _ln(odds: Fraction) -> Decimal:
    """The logarithm to 50 digits."""
    with localcontext(prec=50):
        return Decimal(odds.numerator).ln() - Decimal(odds.denominator).ln()


def largest(losses: Sequence[Loss], count: int) -> Loss:
    """Returns a bound of the sum of any ``count`` of the ``losses``, for surveys in which a device
    draws some of the questions.

    Epsilon and delta are maximised separately, because questions with large odds may have no
    delta, and questions with a delta may have small odds.
    """
    odds = sorted(losses, reverse=True)[:count]
    deltas = sorted((loss.delta for loss in losses), reverse=True)[:count]
    return Loss(
        prod((loss.odds for loss in odds), start=Fraction(1)),
        sum((loss.exponent for loss in odds), Fraction(0)),
        sum(deltas, Fraction(0)),
    )
