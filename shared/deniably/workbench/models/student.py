"""Makes intervals and tests by Student's t, and by the inversion of a test. Needs scipy."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Any

from deniably.core.chi_squared import chi_squared_tail


def quantile(confidence: float, degrees: float | None) -> float:
    """Returns the number that |T| exceeds with probability 1 - ``confidence``, for a Student's t T
    with ``degrees`` of freedom; for a normal T if ``degrees`` is None."""
    if degrees is None:
        return NormalDist().inv_cdf((1 + confidence) / 2)
    return float(_special().stdtrit(degrees, (1 + confidence) / 2))


def two_sided(t: float, degrees: float | None) -> float:
    """Returns the two-sided p-value of the statistic ``t``, by Student's t with ``degrees`` of
    freedom; by the normal distribution if ``degrees`` is None."""
    if degrees is None:
        return 2 * NormalDist().cdf(-abs(t))
    return float(2 * _special().stdtr(degrees, -abs(t)))


def joint_tail(statistic: float, terms: int, degrees: float | None) -> float:
    """Returns the p-value of Wald's ``statistic`` for the hypothesis that ``terms`` coefficients
    are 0: by F with ``degrees`` in the denominator, by chi-squared if ``degrees`` is None."""
    if degrees is None:
        return chi_squared_tail(statistic, terms)
    return float(_special().fdtrc(terms, degrees, statistic / terms))


def _special() -> Any:
    from scipy import special

    return special


@dataclass(frozen=True)
class Inversion:
    """The score test of a coefficient b = ``estimate`` + d, with all other coefficients profiled
    out.

    Each person contributes r - d s to the score at b. The r of all people sum to 0, and the s to
    ``slope``. ``residuals`` is the sum of r^2, ``products`` the sum of r s, and ``slopes`` the sum
    of s^2. The score over its standard error is a t with ``degrees`` of freedom.
    """

    estimate: float
    slope: float
    residuals: float
    products: float
    slopes: float
    degrees: float

    def bounded(self, confidence: float) -> bool:
        """Returns whether the interval at ``confidence`` has two ends: whether ``slope`` is
        significantly above 0."""
        return self.slope > quantile(confidence, self.degrees) * sqrt(max(self.slopes, 0.0))

    def ends(self, confidence: float) -> tuple[float, float]:
        """Returns the two ends of the interval of all b that the test does not reject (Fieller
        1954, J. R. Stat. Soc. B 16:175).

        At the ends, d is a root of d^2 slope^2 = t^2 (residuals - 2 d products + d^2 slopes).
        """
        f = quantile(confidence, self.degrees) ** 2
        # a is above 0 where the interval is ``bounded``: the roots are its two ends then.
        a, half, c = self.slope**2 - f * self.slopes, f * self.products, f * self.residuals
        root = sqrt(max(half**2 + a * c, 0.0))  # rounding can leave a square below 0
        low, high = ((side * root - half) / a for side in (-1, 1))
        return float(self.estimate + low), float(self.estimate + high)

    def statistic(self) -> float:
        """Returns the t statistic for the hypothesis that b is 0."""
        d = -self.estimate
        square = self.residuals - 2 * d * self.products + d**2 * self.slopes
        # Scores that are all alike prove nothing.
        return -d * self.slope / sqrt(square) if square > 0 else 0.0

    def moved(self, size: float, shift: float) -> Inversion:
        """Returns the test of the coefficient ``size`` * b + ``shift``, which replaces b after a
        change of units."""
        return Inversion(
            size * self.estimate + shift, self.slope / size, self.residuals,
            self.products / size, self.slopes / size**2, self.degrees,
        )  # fmt: skip
