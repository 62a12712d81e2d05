"""Discrete Laplace and Gaussian noise on a grid, sampled exactly (SPEC 2.10-2.13).

All samplers are from Canonne, Kamath and Steinke 2020 ("The discrete Gaussian for differential
privacy", NeurIPS), algorithms 1 to 3. They use integers only, no floating point.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil, e, exp, floor, fsum, isqrt, log, sqrt, tanh
from typing import Annotated, Any, Literal

import msgspec

from deniably.core.coins import LARGEST, Coins
from deniably.core.errors import BadAnswer, BadMechanism, BadReport
from deniably.core.loss import Loss
from deniably.mechanisms.cells import Cells, check_one
from deniably.mechanisms.gaussian_delta import discrete_gaussian_vector_delta_upper
from deniably.mechanisms.law import Finite, Noise, One, Several
from deniably.mechanisms.parameters import Parameters, kept
from deniably.mechanisms.positions import check_position, check_positions

MOST_COORDINATES = 64
_LARGEST_PART = 1 << 31  # of a numerator or denominator of a scale or sigma2 (SPEC 2.10)
_MOST_NUMBERS = 1 << 24  # different numbers that can be reported (SPEC 2.11)
_Text = Annotated[str, msgspec.Meta(max_length=40)]


# --- samplers -------------------------------------------------------------------------------


def fall(gamma: Fraction, coins: Coins) -> bool:
    """Returns True with probability exactly ``e**-gamma``, for gamma >= 0 with a denominator <=
    2**53."""
    whole, rest = divmod(gamma.numerator, gamma.denominator)
    # e**-gamma = (1/e)**whole * e**-(rest/denominator), as independent coins that must all fall.
    for _ in range(whole):
        if not coins.chance(1, 1):
            return False
    return coins.chance(rest, gamma.denominator)


def discrete_laplace(scale: Fraction, coins: Coins) -> int:
    """Returns a whole number y with probability proportional to ``e**(-|y| / scale)``."""
    t, s = scale.numerator, scale.denominator
    while True:
        # Algorithm 2: u + t v is geometric with the decay e**(-1/t), and dividing by s makes the
        # scale t/s.
        u = coins.below(t)
        if not coins.chance(u, t):
            continue
        v = 0
        while coins.chance(1, 1):
            v += 1
        magnitude = (u + t * v) // s
        negative = coins.below(2)
        # A zero comes with either sign; only the positive one counts, or zero would be twice as
        # likely.
        if magnitude or not negative:
            return -magnitude if negative else magnitude


def discrete_gaussian(variance: Fraction, coins: Coins) -> int:
    """Returns a whole number y with probability proportional to ``e**(-y**2 / (2 variance))``."""
    p, q = variance.numerator, variance.denominator
    t = isqrt(p // q) + 1
    while True:
        y = discrete_laplace(Fraction(t), coins)
        # Algorithm 3: rejection from Laplace noise of about the same width.
        gamma = Fraction((abs(y) * q * t - p) ** 2, 2 * p * q * t * t)
        if fall(gamma, coins):
            return y


# --- mechanisms -----------------------------------------------------------------------------


class Laplace(Parameters, frozen=True, tag="laplace"):
    """A mechanism that reports the position plus discrete Laplace noise, in steps of the grid.

    The answer is one of ``k`` positions. Two answers are at most ``k - 1`` steps apart, so epsilon
    is exactly ``(k - 1) / scale``. Source: Dwork et al. 2006 (TCC); on a grid, Ghosh, Roughgarden
    and Sundararajan 2012 (SIAM J. Comput. 41:1673). Raises BadMechanism where a parameter breaks
    SPEC 2.11.
    """

    k: int
    scale: _Text

    def __post_init__(self) -> None:
        check_positions(self.k)
        ratio(self.scale, "scale")
        _check_numbers(self)

    @property
    def loss(self) -> Loss:
        """Privacy loss of one report: the likelihood ratio is at most e**((k - 1) / scale)."""
        return Loss(exponent=(self.k - 1) / ratio(self.scale, "scale"))

    @property
    def reach(self) -> int:
        """The largest distance of a report from the grid, in steps.

        Honest noise goes further less than once in 10**17 reports. Without a limit, one fake report
        could move a mean anywhere.
        """
        return 40 * ceil(ratio(self.scale, "scale"))

    @property
    def described(self) -> str:
        """The mechanism and its parameters in a few words, for researchers."""
        return f"discrete Laplace, scale {self.scale} steps"

    @kept
    def law(self) -> Noise:
        """The law of a report: the position plus symmetric discrete Laplace noise."""
        scale = float(ratio(self.scale, "scale"))
        decay = exp(-1 / scale)
        variance = 2 * decay / (1 - decay) ** 2
        # The median of |noise| for the continuous law, whose quantiles are in closed form.
        usual = log(2) * scale
        return Noise(One(self.k), variance, usual, self.reach, self._mass, self._tail, self)

    def _mass(self, noise: Any) -> Any:
        scale = float(ratio(self.scale, "scale"))
        return tanh(1 / (2 * scale)) * e ** (-abs(noise) / scale)

    def _tail(self, noise: Any) -> Any:
        """P(noise >= y) is this over 1 + e**(-1 / scale)."""
        return e ** (-noise / float(ratio(self.scale, "scale")))

    def randomise(self, answer: int, coins: Coins) -> Cells:
        """Draws the report for ``answer``, a position below k. Raises BadAnswer before any draw."""
        check_position(answer, self.k)
        noisy = answer + discrete_laplace(ratio(self.scale, "scale"), coins)
        return (within_reach(noisy, self),)

    def check(self, report: Sequence[int], path: str = "$") -> None:
        """Raise BadReport unless ``report`` is one that this mechanism can make."""
        check_one(report, -self.reach, self.k - 1 + self.reach, path)


class BoundedLaplace(Parameters, frozen=True, tag="bounded_laplace"):
    """A mechanism that reports the position plus discrete Laplace noise, and stays on the grid.

    ``beyond`` says how: "clamp" moves a report beyond the grid to the nearer end, "resample" draws
    the noise again. Clamping is post-processing. Resampling is from Holohan et al. 2020 (J. Privacy
    and Confidentiality 10:1). In the local model, epsilon is exactly ``(k - 1) / scale`` with
    resampling too, because the two ends of the grid have the same normaliser. On few choices it is
    the exponential mechanism (McSherry and Talwar 2007) with the utility ``-|i - j|`` and the
    factor ``epsilon / (k - 1)``. Reports are biased in both cases: estimate through the channel.
    """

    k: int
    scale: _Text
    beyond: Literal["clamp", "resample"]

    def __post_init__(self) -> None:
        check_positions(self.k)
        ratio(self.scale, "scale")

    @property
    def loss(self) -> Loss:
        """Privacy loss of one report: the likelihood ratio is at most e**((k - 1) / scale)."""
        return Loss(exponent=(self.k - 1) / ratio(self.scale, "scale"))

    @property
    def described(self) -> str:
        """The mechanism and its parameters in a few words, for researchers."""
        how = {"clamp": "clamped", "resample": "resampled"}[self.beyond]
        return f"bounded Laplace, {how}, scale {self.scale} steps"

    @kept
    def law(self) -> Finite:
        """The law of a report: a matrix with a row for each position, in floating point."""
        usual = log(2) * float(ratio(self.scale, "scale"))
        return Finite(One(self.k), self.k, self.k, self._row, self, exact=False, usual=usual)

    def _row(self, position: int) -> tuple[float, ...]:
        return _bounded_row(self.k, float(ratio(self.scale, "scale")), self.beyond, position)

    def randomise(self, answer: int, coins: Coins) -> Cells:
        """Draws the report for ``answer``, a position below k. Raises BadAnswer before any draw.

        With ``resample`` the number of draws depends on the answer.
        """
        check_position(answer, self.k)
        scale = ratio(self.scale, "scale")
        while True:
            reported = answer + discrete_laplace(scale, coins)
            if self.beyond == "clamp":
                return (min(max(reported, 0), self.k - 1),)
            if 0 <= reported < self.k:
                return (reported,)

    def check(self, report: Sequence[int], path: str = "$") -> None:
        """Raise BadReport unless ``report`` is one that this mechanism can make."""
        check_one(report, 0, self.k - 1, path)


class Gaussian(Parameters, frozen=True, tag="gaussian"):
    """A mechanism that reports ``d`` positions, each plus discrete Gaussian noise.

    The noise has the variance ``sigma2``, in squared steps of the grid. Each answer is one of ``k``
    positions. The privacy guarantee holds except with probability ``delta``, so it is weaker than
    that of all other mechanisms. A certified bound verifies that ``sigma2`` keeps (``epsilon``,
    ``delta``): Canonne, Kamath and Steinke 2020, theorem 7, the exact form of the analytic Gaussian
    mechanism (Balle and Wang 2018). Raises BadMechanism where it does not keep them.
    """

    k: int
    d: int
    sigma2: _Text
    epsilon: _Text
    delta: _Text

    def __post_init__(self) -> None:
        check_positions(self.k)
        if not 1 <= self.d <= MOST_COORDINATES:
            raise BadMechanism(f"d is {self.d}; from 1 to {MOST_COORDINATES} positions are allowed")
        variance = ratio(self.sigma2, "sigma2")
        p, q = variance.numerator, variance.denominator
        # The sampler draws below 2 p q t^2, with t the root and one more, and a draw is at most
        # 2^53.
        if 2 * p * q * (isqrt(p // q) + 1) ** 2 > LARGEST:
            raise BadMechanism(
                f"sigma2 is too large or too finely divided, {self.sigma2}; take a coarser step"
            )
        epsilon, delta = decimal(self.epsilon, "epsilon"), decimal(self.delta, "delta")
        if not 0 < delta <= Fraction(1, 10_000):
            raise BadMechanism(f"delta is {self.delta}; it must be above 0 and at most 0.0001")
        _check_numbers(self)
        if not _keeps(variance, self.k - 1, self.d, epsilon, delta):
            raise BadMechanism(
                f"sigma2 is too small, {self.sigma2}, for epsilon {self.epsilon} and delta"
                f" {self.delta}"
            )

    @property
    def loss(self) -> Loss:
        """Privacy loss of one report: the likelihood ratio is at most e**epsilon, except with
        probability delta."""
        return Loss(exponent=decimal(self.epsilon, "epsilon"), delta=decimal(self.delta, "delta"))

    @property
    def reach(self) -> int:
        """The largest distance of a report from the grid, in steps: a little more than 12 sigma.

        Honest noise practically never goes as far; a fake report cannot go further.
        """
        return 12 * (isqrt(floor(ratio(self.sigma2, "sigma2"))) + 1)

    @property
    def one(self) -> Noise:
        """The law of each position of a report."""
        # The exact variance is at most sigma2 (Canonne, Kamath and Steinke 2020, corollary 9), and
        # from sigma = 1 on less than 1e-7 of it smaller.
        variance = float(ratio(self.sigma2, "sigma2"))
        # The median of |noise|: the upper quartile of the standard normal law.
        usual = 0.6745 * sqrt(variance)
        return Noise(One(self.k), variance, usual, self.reach, self._mass, self._tail, self)

    @property
    def described(self) -> str:
        """The mechanism and its parameters in a few words, for researchers."""
        return f"discrete Gaussian, variance {self.sigma2} steps², delta {self.delta}"

    @kept
    def law(self) -> Noise | Several:
        """The law of a report: of its one position where d is 1, else of all its positions."""
        return self.one if self.d == 1 else Several((self.one,) * self.d, self.d, jointly=True)

    def _mass(self, noise: Any) -> Any:
        return self._tail(noise) / _gaussian_total(float(ratio(self.sigma2, "sigma2")))

    def _tail(self, noise: Any) -> Any:
        """An upper bound of the tail (Canonne, Kamath and Steinke 2020, proposition 25)."""
        return e ** (-(noise * noise) / (2 * float(ratio(self.sigma2, "sigma2"))))

    def randomise(self, answer: int | Sequence[int], coins: Coins) -> Cells:
        """Draws a report for an answer of d positions: d integers ``number * d + coordinate``.

        Where d is 1, the answer is a single integer. Raises BadAnswer before any draw.
        """
        positions = [answer] if isinstance(answer, int) else list(answer)
        if len(positions) != self.d:
            raise BadAnswer(f"an answer has {self.d} positions")
        for position in positions:
            check_position(position, self.k)
        variance = ratio(self.sigma2, "sigma2")
        return tuple(
            within_reach(position + discrete_gaussian(variance, coins), self) * self.d + coordinate
            for coordinate, position in enumerate(positions)
        )

    def check(self, report: Sequence[int], path: str = "$") -> None:
        """Raise BadReport unless ``report`` is one that this mechanism can make."""
        if len(report) != self.d:
            raise BadReport(f"a report has {self.d} numbers", path)
        for coordinate, cell in enumerate(report):
            # Reports may be negative. In Python the remainder is not; in JavaScript it would be.
            if cell % self.d != coordinate:
                raise BadReport("the coordinates of a report are in order", path)
            check_one([cell // self.d], -self.reach, self.k - 1 + self.reach, path)


@lru_cache(maxsize=8)
def _bounded_row(k: int, scale: float, beyond: str, position: int) -> tuple[float, ...]:
    """P(reported | position) of Laplace noise that stays on a grid of k positions."""
    last, decay = k - 1, exp(-1 / scale)
    weights = [decay ** abs(place - position) for place in range(k)]
    if beyond == "clamp":
        # The whole tail beyond an end falls on it: 1 + decay + decay^2 + ... times its first term.
        weights[0] /= 1 - decay
        weights[last] /= 1 - decay
    total = fsum(weights)
    return tuple(weight / total for weight in weights)


@lru_cache(maxsize=64)
def _gaussian_total(variance: float) -> float:
    """The sum of e**(-y**2 / (2 variance)); terms beyond 12 deviations are below 1e-30 of it."""
    # Enough terms for the sum to be exact in floats.
    reach = int(12 * sqrt(variance)) + 12
    return fsum(exp(-(y**2) / (2 * variance)) for y in range(-reach, reach + 1))


def within_reach(noisy: int, mechanism: Laplace | Gaussian) -> int:
    """Returns ``noisy``, clamped to the numbers that the mechanism may report (see ``reach``)."""
    return min(max(noisy, -mechanism.reach), mechanism.k - 1 + mechanism.reach)


def _check_numbers(mechanism: Laplace | Gaussian) -> None:
    if mechanism.k + 2 * mechanism.reach > _MOST_NUMBERS:
        raise BadMechanism(
            f"the noise is too wide for so fine a grid, with k {mechanism.k}; take a larger step"
        )


@lru_cache(maxsize=256)
def _keeps(variance: Fraction, shift: int, d: int, epsilon: Fraction, delta: Fraction) -> bool:
    return discrete_gaussian_vector_delta_upper(variance, shift, d, epsilon) <= delta


@lru_cache(maxsize=256)
def ratio(text: str, name: str) -> Fraction:
    """Returns the value of a positive fraction: n or n/d in lowest terms, each at most 2**31.

    Raises BadMechanism for any other text, with ``name`` in its message.
    """
    if not re.fullmatch(r"[1-9][0-9]{0,9}(/[1-9][0-9]{0,9})?", text, re.ASCII):
        raise BadMechanism(f"{name} is {text!r}; write an integer or a fraction, such as 41/2")
    value = Fraction(text)
    if str(value) != text or max(value.numerator, value.denominator) > _LARGEST_PART:
        raise BadMechanism(f"{name} is {text}; write it in lowest terms, with integers up to 2**31")
    return value


def decimal(text: str, name: str) -> Fraction:
    """Returns the value of a decimal that is not negative and has no superfluous zeros (SPEC 2.2).

    Raises BadMechanism for any other text, with ``name`` in its message.
    """
    if len(text) > 40 or not re.fullmatch(r"(0|[1-9][0-9]*)(\.[0-9]*[1-9])?", text, re.ASCII):
        raise BadMechanism(f"{name} is {text!r}; write a plain decimal number, such as 1.5")
    return Fraction(text)
