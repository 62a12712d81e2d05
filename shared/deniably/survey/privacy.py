"""What an author promises for one question, and the whole weights that keep it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

from deniably.core.exponential import floor_exp
from deniably.core.loss import Loss

BITS = 32
_PLACES = 10**12


@dataclass(frozen=True)
class Privacy:
    """An ``epsilon`` or exact ``odds``; with Gaussian noise also a ``delta``."""

    epsilon: Fraction | None = None
    odds: Fraction | None = None
    delta: Fraction | None = None

    @property
    def claim(self) -> dict[str, str]:
        """The claim as it is published (SPEC 2.2)."""
        if self.odds is not None:
            return {"odds": str(self.odds)}
        assert self.epsilon is not None
        claim = {"epsilon": to_decimal_text(self.epsilon)}
        return claim | ({"delta": to_decimal_text(self.delta)} if self.delta is not None else {})

    def times(self, count: Fraction) -> Privacy:
        """The promise for ``count`` times the epsilon, rounded down to twelve decimals; of odds a
        whole number of times."""
        if self.epsilon is not None:
            return Privacy(epsilon=Fraction(int(self.epsilon * count * _PLACES), _PLACES))
        return Privacy(odds=self._odds ** int(count))

    @property
    def ln(self) -> float:
        """The epsilon as a float, for comparing accuracies."""
        return float(self.epsilon) if self.epsilon is not None else Loss(self._odds).epsilon

    @property
    def _odds(self) -> Fraction:
        assert self.odds is not None
        return self.odds

    def covers(self, loss: Loss) -> bool:
        """Whether a loss without delta stays within the promise, exactly."""
        if self.epsilon is not None:
            return loss.at_most_epsilon(self.epsilon)
        return not loss.exponent and loss.odds <= self._odds

    def weights(self, parts: int = 1, bits: int = BITS) -> tuple[int, int]:
        """(own, other) whose odds, ``parts`` times over, are within the promise and next to it."""
        if self.epsilon is not None:
            return floor_exp(self.epsilon / parts, bits), 1 << bits
        if parts == 1 and self._odds.denominator <= 1 << bits:
            return self._odds.numerator, self._odds.denominator
        scaled = self._odds.numerator * (1 << bits * parts) // self._odds.denominator
        return _root(scaled, parts), 1 << bits

    def exponent(self, what: str) -> Fraction:
        """The epsilon, which noise needs. Raises ValueError where odds were given."""
        if self.epsilon is None:
            raise ValueError(f"{what} is calibrated by epsilon; state epsilon instead of odds")
        return self.epsilon


def to_decimal_text(value: Fraction) -> str:
    """A decimal in its one spelling: no exponent, no trailing zeros."""
    with localcontext(prec=100):  # more digits than any sum of published decimals has
        text = f"{Decimal(value.numerator) / Decimal(value.denominator):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _root(number: int, degree: int) -> int:
    """The floor of the root, by Newton's method from above."""
    guess = 1 << -(-number.bit_length() // degree)
    while True:
        better = ((degree - 1) * guess + number // guess ** (degree - 1)) // degree
        if better >= guess:
            return guess
        guess = better
