"""The privacy that an author asks for, and the integer weights that keep it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

from deniably.core.exponential import floor_exp
from deniably.core.loss import Loss

BITS = 32  # of the weight ``other`` where an epsilon is stated (SPEC 2.2)
_PLACES = 10**12


@dataclass(frozen=True)
class Privacy:
    """The privacy that an author asks for: either ``epsilon`` or exact ``odds``; the other is
    None.

    Gaussian noise also has a ``delta``.

    >>> Privacy(odds=Fraction(3)).weights()
    (3, 1)
    >>> own, other = Privacy(epsilon=Fraction(1)).weights()
    >>> own / other < 2.718281828459045
    True
    """

    epsilon: Fraction | None = None
    odds: Fraction | None = None
    delta: Fraction | None = None

    @property
    def claim(self) -> dict[str, str]:
        """The claim as definitions state it (SPEC 2.2): {"odds": ...}, or {"epsilon": ...} with a
        "delta" if there is one. All values are texts."""
        if self.odds is not None:
            return {"odds": str(self.odds)}
        assert self.epsilon is not None
        claim = {"epsilon": to_decimal_text(self.epsilon)}
        return claim | ({"delta": to_decimal_text(self.delta)} if self.delta is not None else {})

    def times(self, count: Fraction) -> Privacy:
        """Returns the privacy with ``count`` times the epsilon, rounded down to twelve decimals.
        Odds are raised to the power ``count``.

        For odds, ``count`` must be a whole number.
        """
        if self.epsilon is not None:
            return Privacy(epsilon=Fraction(int(self.epsilon * count * _PLACES), _PLACES))
        return Privacy(odds=self._odds ** int(count))

    @property
    def ln(self) -> float:
        """The epsilon, or the logarithm of the odds, as a float. Use it only to compare
        accuracies."""
        return float(self.epsilon) if self.epsilon is not None else Loss(self._odds).epsilon

    @property
    def _odds(self) -> Fraction:
        assert self.odds is not None
        return self.odds

    def covers(self, loss: Loss) -> bool:
        """Returns whether a loss without a delta is at most this privacy, decided exactly."""
        if self.epsilon is not None:
            return loss.at_most_epsilon(self.epsilon)
        return not loss.exponent and loss.odds <= self._odds

    def weights(self, parts: int = 1, bits: int = BITS) -> tuple[int, int]:
        """Returns integers (own, other) whose quotient, raised to the power ``parts``, is at most
        the odds, and as large as these integers allow.

        For an epsilon, or where a root of the odds is needed, ``other`` is 2**``bits``.
        """
        if self.epsilon is not None:
            return floor_exp(self.epsilon / parts, bits), 1 << bits
        if parts == 1 and self._odds.denominator <= 1 << bits:
            return self._odds.numerator, self._odds.denominator
        # floor(root(odds) * 2**bits), in whole numbers: the root is never rounded up.
        scaled = self._odds.numerator * (1 << bits * parts) // self._odds.denominator
        return _root(scaled, parts), 1 << bits

    def exponent(self, what: str) -> Fraction:
        """Returns the epsilon, by which noise is calibrated.

        Raises ValueError where odds were given; its message calls the mechanism ``what``.
        """
        if self.epsilon is None:
            raise ValueError(f"{what} is calibrated by epsilon; state epsilon instead of odds")
        return self.epsilon


def to_decimal_text(value: Fraction) -> str:
    """Returns a decimal fraction as text, without an exponent and without superfluous zeros.

    >>> to_decimal_text(Fraction(3, 2))
    '1.5'
    """
    with localcontext(prec=100):  # more digits than any sum of published decimals has
        text = f"{Decimal(value.numerator) / Decimal(value.denominator):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _root(number: int, degree: int) -> int:
    """The floor of the ``degree``-th root, by Newton's method from above."""
    # Above the root; from there Newton's steps fall until they reach its floor.
    guess = 1 << -(-number.bit_length() // degree)
    while True:
        better = ((degree - 1) * guess + number // guess ** (degree - 1)) // degree
        if better >= guess:
            return guess
        guess = better
