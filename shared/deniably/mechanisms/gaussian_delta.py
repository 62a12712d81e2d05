"""How much Gaussian noise (epsilon, delta) needs: in floats, and certified for whole numbers.

Noise with variance sigma^2 hides a difference of Delta with

    delta(epsilon) = P[Y > epsilon sigma^2/Delta - Delta/2]
                     - e^epsilon P[Y > epsilon sigma^2/Delta + Delta/2]

This holds for Y ~ N(0, sigma^2) (Balle and Wang 2018, theorem 8), here computed in floats. It also
holds for the discrete Gaussian, P(Y = y) proportional to exp(-y^2 / (2 sigma^2)) over the integers
(Canonne, Kamath and Steinke 2020, theorem 7), here decided in whole numbers.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from deniably.core.bisection import smallest_within
from deniably.core.exponential import exp_bounds

BITS = 160
"""The certified bound counts in units of 2**-160."""

_ONE = 1 << BITS
_NEGLIGIBLE = 1 << 64  # 2**-96: where the sum of a tail may stop (SPEC 2.15)
_LARGEST_VARIANCE = 1 << 64
_LARGEST_EXPONENT = 64  # of exp_bounds


# --- real-valued noise, in floats -----------------------------------------------------------


def analytic_delta(sensitivity: float, sigma: float, epsilon: float) -> float:
    """Returns the exact delta of N(0, sigma^2) at ``epsilon >= 0``, rounded up by about 1e-13.

    Source: Balle and Wang 2018 (ICML), theorem 8. With m = Delta/sigma, a = epsilon/m - m/2, b = a
    + m and the normal tail Q, the delta is Q(a) - e^epsilon Q(b). Both terms share the factor
    exp(-a^2/2), because b^2 - a^2 = 2 epsilon; taking it out avoids overflow. Raises ValueError
    where an argument is out of range.
    """
    _check_positive(sensitivity=sensitivity, sigma=sigma)
    if not 0 <= epsilon < math.inf:
        raise ValueError(f"epsilon is {epsilon}; it must be 0 or more")
    m = sensitivity / sigma
    a, b = epsilon / m - m / 2, epsilon / m + m / 2
    # Not scaled where a < 0: there exp(a^2/2) would overflow, and the tail itself is at least 1/2.
    common = math.exp(-a * a / 2)
    first = common * _scaled_tail(a) if a >= 0 else math.erfc(a / math.sqrt(2)) / 2
    # The relative error of the exponentials grows with their exponents; what is added covers it.
    rounding = 1e-15 * (10 + a * a + abs(a) * b) * first
    return min(1.0, max(0.0, first - common * _scaled_tail(b)) + rounding)


def analytic_sigma(sensitivity: float, epsilon: float, delta: float) -> float:
    """Returns the smallest sigma with which N(0, sigma^2) noise keeps (epsilon, delta), rounded up.

    Source: Balle and Wang 2018 (ICML), the analytic Gaussian mechanism. Raises ValueError unless
    ``epsilon > 0`` and ``0 < delta < 1``.

    >>> f"{analytic_sigma(sensitivity=1, epsilon=1, delta=1e-5):.3f}"
    '3.731'
    """
    _check_positive(sensitivity=sensitivity, epsilon=epsilon)
    _check_delta(delta)
    return smallest_within(
        lambda sigma: analytic_delta(sensitivity, sigma, epsilon), delta, sensitivity
    )


def _scaled_tail(x: float) -> float:
    """Q(x) exp(x^2/2) for x >= 0, without underflow."""
    if x < 3:
        return math.exp(x * x / 2) * math.erfc(x / math.sqrt(2)) / 2
    fraction = x  # Laplace's continued fraction; 80 levels give 1e-16 from x = 3 on
    for level in range(80, 0, -1):
        fraction = x + level / fraction
    return 1 / (fraction * math.sqrt(2 * math.pi))


# --- whole-number noise, certified ----------------------------------------------------------


@lru_cache(maxsize=256)  # some milliseconds, and asked again whenever a definition is read
def discrete_gaussian_delta_upper(sigma2: Fraction, shift: int, epsilon: Fraction) -> Fraction:
    """Returns an upper bound of the exact delta of discrete Gaussian noise, for one whole number.

    It holds for any two integers at most ``shift`` apart. The noise is log-concave, so the best
    distinguishing event is {y >= t} for some t, and P[Y >= t - s] - e^epsilon P[Y >= t] grows with
    s for every t. For sigma < 4096 the bound is above the exact delta by about 2**-70 of it (for
    deltas above 2**-80). For larger sigma, blocks of neighbours are summed as one, and the bound is
    above the exact delta by some thousandths of it at most (for epsilon >= 1/1000). The bound is 1
    where ``epsilon sigma2`` is at most about ``shift^2 / 2``: such noise hides too little.

    Source: Canonne, Kamath and Steinke 2020 (NeurIPS), theorem 7. Raises ValueError unless
    ``0 < sigma2 <= 2**64``, ``shift >= 1`` and ``epsilon > 0``.
    """
    _check_positive(sigma2=sigma2, epsilon=epsilon)
    if sigma2 > _LARGEST_VARIANCE:
        raise ValueError(f"sigma2 is {float(sigma2):g}; it must be at most 2**64")
    if shift < 1:
        raise ValueError(f"shift is {shift}; it must be a whole number from 1")
    # The first noise whose likelihood ratio between the two integers is above e**epsilon.
    first = math.floor(epsilon * sigma2 / shift - Fraction(shift, 2)) + 1
    if first <= 0:
        return Fraction(1)

    # Blocks of neighbours, an odd number; they need the weights to be convex, y >= sigma.
    block = (math.isqrt(math.floor(sigma2)) >> 11) | 1 if first * first >= sigma2 else 1
    # Both tails are counted in units of the weight at `first`, which takes e**epsilon in.
    # A convex function is below its chord: the block from y counts as a trapezium ...
    above = block * _tail(first, block, sigma2, up=True) - (block - 1) // 2 * _ONE
    # ... and on average at least what it is at the block's middle.
    middle = first + shift + (block - 1) // 2
    weight, _ = _exp_minus((middle**2 - first**2) / (2 * sigma2) - epsilon)
    below = block * (weight * _tail(middle, block, sigma2, up=False) >> BITS)
    # By Poisson summation the sum over every block-th integer gives the whole sum to a relative
    # exp(-2 pi^2 (sigma/block)^2), less than the one unit taken off.
    whole = block * (2 * _tail(0, block, sigma2, up=False) - _ONE) - 1
    _, weight = _exp_minus(first**2 / (2 * sigma2))
    return min(Fraction(1), Fraction(-(-(above - below) * weight // whole), _ONE))


def discrete_gaussian_vector_delta_upper(
    sigma2: Fraction, shift: int, d: int, epsilon: Fraction
) -> Fraction:
    """Returns an upper bound of delta for d whole numbers, each with discrete Gaussian noise of its
    own.

    Every number may change by up to ``shift``. The privacy loss depends on the sum of the noises
    alone. The law of that sum is within a factor e**(+-tau) of a discrete Gaussian of variance
    parameter ``d sigma2``, with tau = 10 sum_{j=1}^{d-1} exp(-2 pi^2 sigma2 j/(j+1)) (Kairouz, Liu
    and Steinke 2021, ICML, theorem 5). For sigma2 >= 9, tau is below 10 d 2**-128 and adds less
    than 3 tau to delta.

    Raises ValueError as ``discrete_gaussian_delta_upper``, and where d < 1, or sigma2 < 9 with
    d > 1.
    """
    if d < 1:
        raise ValueError(f"d, the number of coordinates, is {d}; it must be 1 or more")
    if d == 1:
        return discrete_gaussian_delta_upper(sigma2, shift, epsilon)
    if sigma2 < 9:
        raise ValueError(f"sigma2 is {float(sigma2):g}; with {d} coordinates it must be at least 9")
    # By the theorem, sums of d noises and of d shifts stand in for the vector.
    within_theorem = discrete_gaussian_delta_upper(d * sigma2, d * shift, epsilon)
    return min(Fraction(1), within_theorem + Fraction(40 * d, 1 << 128))


@lru_cache(maxsize=256)
def discrete_sigma2(shift: int, d: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Returns the smallest sigma^2 certified to keep (``epsilon``, ``delta``) for d numbers.

    Each number may change by up to ``shift``. Only values with ten significant bits are tried:
    multiples of 1/4 up to 256, of 1/2 up to 512, then whole numbers. From 128 on, neighbouring
    values are at most 0.2 % apart. Raises ValueError unless ``epsilon > 0`` and ``0 < delta < 1``.
    """
    _check_positive(epsilon=epsilon)
    _check_delta(delta)

    def accepts(index: int) -> bool:
        bound = discrete_gaussian_vector_delta_upper(_on_grid(index), shift, d, epsilon)
        return bound <= delta

    # The real-valued answer is next to it; below shift^2 d / (2 epsilon) the bound is void.
    real = analytic_sigma(shift * math.sqrt(d), float(epsilon), float(delta)) ** 2
    void = shift * shift * d / (2 * epsilon)
    lowest = 1 if d == 1 else 36  # sigma2 of 9, the least that the theorem allows
    index = max(lowest, _grid_index(max(Fraction(real), void)))
    # The bound is not quite that of real-valued noise: its neighbours are tried, upwards and then
    # down.
    while not accepts(index):
        index += 1
    while index > lowest and accepts(index - 1):
        index -= 1
    return _on_grid(index)


@lru_cache(maxsize=64)  # that from 0 on is asked for at every epsilon
def _tail(first: int, step: int, sigma2: Fraction, up: bool) -> int:
    """sum over i >= 0 of w(first + i step) / w(first), w(y) = exp(-y^2/(2 sigma2)); first >= 0.

    In units of 2**-BITS, rounded up or down. Each weight is the one before times a ratio, and
    each ratio the one before times a constant.
    """
    ratio = _exp_minus(Fraction(2 * first * step + step * step) / (2 * sigma2))[up]
    change = _exp_minus(step * step / sigma2)[up]
    total, term = 0, _ONE
    while term >= _NEGLIGIBLE:
        total += term
        term = (term * ratio >> BITS) + up
        ratio = (ratio * change >> BITS) + up
    # The ratios fall, so a geometric series bounds the rest.
    return total + term * _ONE // (_ONE - ratio) + 1 if up else total


def _exp_minus(x: Fraction) -> tuple[int, int]:
    """Integers low <= 2**BITS e**-x <= high, for x >= 0."""
    if x > _LARGEST_EXPONENT:
        low, high = _exp_minus(x / 2)
        return low * low >> BITS, (high * high >> BITS) + 1
    low, high = exp_bounds(x, BITS)
    return _ONE * _ONE // high, -(-_ONE * _ONE // low)


def _on_grid(index: int) -> Fraction:
    """The index-th number with ten significant bits, from 1/4 on."""
    if index < 1024:
        return Fraction(index, 4)
    return Fraction((512 + index % 512) << (index // 512 - 1), 4)


def _grid_index(value: Fraction) -> int:
    quarters = math.floor(4 * value)
    spare = max(0, quarters.bit_length() - 10)
    return (quarters >> spare) + 512 * spare


def _check_positive(**numbers: float | Fraction) -> None:
    for name, number in numbers.items():
        if not 0 < number < math.inf:
            raise ValueError(f"{name} is {number}; it must be a number above 0")


def _check_delta(delta: float | Fraction) -> None:
    if not 0 < delta < 1:
        raise ValueError(f"delta is {delta}; it must be between 0 and 1")
