"""Composition: the privacy loss of many answers of one person together, and zCDP accounting.

A survey promises the plain sum of the epsilons. For surveys of usual length that is nearly exact:
with a delta of 1e-6 the exact composition saves a tenth from 19 answers at epsilon 0.1 on, and from
68 at epsilon 1. These functions compute the exact figure, for information, and account for Gaussian
noise (zCDP).

Every result is rounded up: deltas and epsilons are never too small.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np
import numpy.typing as npt

from deniably.core.bisection import smallest_within

Floats = npt.NDArray[np.float64]

_UP = 1 + 1e-9
"""Covers the rounding of floats in sums of positive terms, which stays below 1e-10 here."""

_GRID = 500  # steps of loss to the mean epsilon
_STEPS = 200_000  # to the sum of all epsilons, where the answers are many: ten seconds for 10,000
_COARSEST = 20  # steps of loss to the mean epsilon, at least


def basic_composition(charges: Iterable[float | Fraction]) -> float:
    """Returns the sum of epsilons, of deltas or of rhos (sequential composition), rounded up.

    A sum of epsilons is attained where all answers differ. So "parallel composition" does not help
    for questions to one person. Source: Dwork and Roth 2014, theorem 3.16.

    >>> basic_composition([0.5, 0.25])
    0.75
    """
    # Exact, in fractions; equal ones are added up once, as sums of fractions take long.
    alike = Counter(charges)
    exact = sum((Fraction(charge) * times for charge, times in alike.items()), Fraction(0))
    nearest = float(exact)
    return nearest if nearest >= exact else math.nextafter(nearest, math.inf)


# --- exact composition of equal epsilons ----------------------------------------------------


def kairouz_delta(k: int, epsilon: float, whole: float) -> float:
    """Returns the smallest delta with which k answers of ``epsilon`` each keep the epsilon
    ``whole``.

    The worst randomiser has two outputs: its privacy loss is +epsilon with probability 1/(1 +
    e^-epsilon), else -epsilon. With j positive losses out of k, delta is the mean of (1 - e^{whole
    - (2j - k) epsilon})_+. Source: Kairouz, Oh and Viswanath 2015 (ICML), theorem 3.3, as a privacy
    profile.
    """
    _check_answers(k, epsilon)
    if whole >= basic_composition([epsilon] * k):
        return 0.0
    return privacy_profile(*_binary_law(k, epsilon), whole)


def kairouz_epsilon(k: int, epsilon: float, delta: float) -> float:
    """Returns the smallest epsilon that k answers of ``epsilon`` each keep together with this
    ``delta``."""
    _check_answers(k, epsilon)
    everything = basic_composition([epsilon] * k)
    if not _check_delta(delta):
        return everything
    losses, weights = _binary_law(k, epsilon)
    return min(
        everything, smallest_within(partial(privacy_profile, losses, weights), delta, everything)
    )


def kairouz_list(k: int, epsilon: float) -> list[tuple[float, float]]:
    """Returns pairs (epsilon, delta) that k answers of ``epsilon`` each keep together.

    They are ((k - 2i) epsilon, delta_i) for i = 0 .. floor(k/2), with

        delta_i = sum_{l<i} C(k,l) (e^{(k-l) epsilon} - e^{(k-2i+l) epsilon}) / (1 + e^epsilon)^k.

    Source: Kairouz, Oh and Viswanath 2015 (ICML), theorem 3.3.
    """
    _check_answers(k, epsilon)
    losses, weights = _binary_law(k, epsilon)
    wholes = [(k - 2 * i) * epsilon for i in range(k // 2 + 1)]
    return [(whole, privacy_profile(losses, weights, whole)) for whole in wholes]


def kairouz_closed_form(k: int, epsilon: float, delta: float) -> float:
    """Returns an epsilon that k answers of ``epsilon`` each keep together with ``delta``, in closed
    form.

    It is never below the smallest possible epsilon (``kairouz_epsilon``).

    Source: Kairouz, Oh and Viswanath 2015 (ICML), theorem 3.4.
    """
    _check_answers(k, epsilon)
    if not _check_delta(delta):
        return basic_composition([epsilon] * k)
    mean = k * epsilon * math.tanh(epsilon / 2)
    logarithm = min(
        math.log(math.e + math.sqrt(k * epsilon * epsilon) / delta), math.log(1 / delta)
    )
    advanced = _UP * (mean + epsilon * math.sqrt(2 * k * logarithm))
    return min(basic_composition([epsilon] * k), advanced)


def _binary_law(k: int, epsilon: float) -> tuple[Floats, Floats]:
    """The losses of k worst-case answers and their probabilities."""
    first, weights = binomial_window(k, 1 / (1 + math.exp(epsilon)))
    negative = first + np.arange(weights.size, dtype=np.float64)
    return (k - 2 * negative) * epsilon, weights


# --- exact composition of different questions -----------------------------------------------


@dataclass(frozen=True)
class AnswerPair:
    """How well a report to one question tells two answers apart, as three probabilities.

    With probability ``apart``, a report favours one of the two answers: its privacy loss is
    +epsilon or -epsilon, with odds e^epsilon to 1. Otherwise the report is equally likely under
    both answers. ``AnswerPair(epsilon)`` is the worst case of all randomisers that keep
    ``epsilon``.

    ``blind`` is the part of the other reports that is drawn in the same way for every possible
    answer: its probability, or 0 where that is unknown. Raises ValueError unless ``epsilon > 0``,
    ``0 < apart <= 1`` and ``0 <= blind <= 1 - apart``.
    """

    epsilon: float
    apart: float = 1.0
    blind: float = 0.0

    def __post_init__(self) -> None:
        _check_answers(1, self.epsilon)
        if not 0 < self.apart <= 1:
            raise ValueError(f"apart is {self.apart:g}; use a probability above 0")
        if not 0 <= self.blind <= 1 - self.apart + 1e-12:
            raise ValueError(
                f"blind is {self.blind:g}; use a probability up to 1 - apart, {1 - self.apart:g}"
            )

    @classmethod
    def subset_selection(cls, k: int, omega: int, epsilon: float) -> AnswerPair:
        """Returns the pair of any two answers under subset selection, which is GRR (k-RR) for omega
        = 1.

        Raises ValueError unless omega is from 1 to k - 1.
        """
        if not 1 <= omega < k:
            raise ValueError(
                f"omega is {omega}; use a number of choices from 1 to k - 1, and k is {k}"
            )
        a = math.exp(epsilon)
        weight = omega * a + k - omega
        # P(the other answer is in the set, and the true one is not).
        false = omega * (k - omega) / ((k - 1) * weight)
        # Of k/weight, the share of reports that are drawn from all sets alike.
        return cls(epsilon, min(1.0, false * (a + 1)), max(0.0, k / weight - 2 * false))

    @property
    def p(self) -> float:
        """The probability of a report that favours the true answer."""
        return self.apart / (1 + math.exp(-self.epsilon))

    @property
    def q(self) -> float:
        """The probability of a report that favours the other answer."""
        return self.apart / (1 + math.exp(self.epsilon))


def composed_delta(pairs: Sequence[AnswerPair], whole: float) -> float:
    """Returns a delta with which answers to different questions keep the epsilon ``whole``.

    The exact laws of the privacy losses are convolved. Before that, every epsilon is rounded up to
    a multiple of 1/500 of their mean (1/20 for 10,000 answers), which makes delta larger, never
    smaller. The result is exact for equal epsilons.
    """
    losses, weights = _law(pairs)
    if whole >= basic_composition(pair.epsilon for pair in pairs):
        return 0.0
    return privacy_profile(losses, weights, whole)


def composed_epsilon(pairs: Sequence[AnswerPair], delta: float) -> float:
    """Returns the smallest epsilon that answers to different questions keep with ``delta``.

    The result is rounded up in the way that ``composed_delta`` describes.
    """
    everything = basic_composition(pair.epsilon for pair in pairs)
    losses, weights = _law(pairs)
    if not _check_delta(delta):
        return everything
    return min(
        everything, smallest_within(partial(privacy_profile, losses, weights), delta, everything)
    )


def _law(pairs: Sequence[AnswerPair]) -> tuple[Floats, Floats]:
    if not pairs:
        raise ValueError("the list of answers is empty; composition needs at least one")
    mean = basic_composition(pair.epsilon for pair in pairs) / len(pairs)
    grid = max(_COARSEST, min(_GRID, _STEPS // len(pairs)))
    step = mean / grid if len({pair.epsilon for pair in pairs}) > 1 else mean
    law: Floats = np.ones(1)
    for pair in pairs:
        # Equal epsilons lie on the grid, up to the rounding of the division.
        reach = math.ceil(pair.epsilon / step * (1 - 1e-12))
        # The law of the raised epsilon, not only its losses: it can be turned into the true one
        # by chance alone, so it gives away at least as much.
        raised = replace(pair, epsilon=max(pair.epsilon, reach * step))
        longer = np.zeros(law.size + 2 * reach)
        # Losses -epsilon, 0 and +epsilon, with the probabilities under the true answer.
        longer[: law.size] += raised.q * law
        longer[reach : reach + law.size] += (1 - raised.apart) * law
        longer[2 * reach :] += raised.p * law
        law = longer
    losses = (np.arange(law.size, dtype=np.float64) - law.size // 2) * (step * (1 + 1e-12))
    return losses, law


def privacy_profile(losses: Floats, weights: Floats, whole: float) -> float:
    """Returns the delta of the epsilon ``whole`` for a law of the privacy loss.

    It is the mean of (1 - e^{whole - loss})_+, with losses and the mean rounded up. ``weights``
    are the probabilities of ``losses``, if the answer that the losses speak for is the true one.
    Source: Balle, Barthe and Gaboardi 2018 (NeurIPS), on privacy profiles.
    """
    above = losses > whole
    excess = losses[above] * (1 + 1e-15) - whole
    return float(min(1.0, _UP * np.dot(weights[above], -np.expm1(-excess))))


def binomial_window(n: int, share: float, deviations: int = 40) -> tuple[int, Floats]:
    """Returns the first likely count of a binomial (n, share) and the probabilities from there on.

    Only counts with a probability below 1e-290 are left out, or below 1e-20 with ``deviations`` of
    10. Each probability is computed from its neighbour, outwards from the mode, and their sum is 1;
    the relative error is about 1e-16 for each step from the mode. ``share`` is strictly between 0
    and 1. If it is near 1, count the other outcome, whose share is exact.
    """
    mode = min(n, math.floor((n + 1) * share))
    odds = share / (1 - share)
    # 40 standard deviations, or 400 steps in a long Poisson-like tail, have less than 1e-290.
    reach = 400 + math.ceil(deviations * math.sqrt(n * share * (1 - share)))
    up = np.arange(mode, min(n, mode + reach), dtype=np.float64)
    down = np.arange(mode, max(0, mode - reach), -1, dtype=np.float64)
    rising = np.cumprod((n - up) / (up + 1) * odds, dtype=np.float64)
    falling = np.cumprod(down / (n - down + 1) / odds, dtype=np.float64)
    rising, falling = rising[rising > 1e-290], falling[falling > 1e-290]
    weights = np.concatenate([falling[::-1], np.ones(1), rising])
    return mode - falling.size, weights / weights.sum()


# --- zero-concentrated differential privacy -------------------------------------------------


def rho_of_pure(epsilon: float) -> float:
    """Returns the smallest rho for every randomiser that keeps ``epsilon``: epsilon
    tanh(epsilon/2).

    It is the mean loss of binary randomised response (Steinke 2024, "Tight RDP and zCDP bounds
    from pure DP").
    """
    _check_answers(1, epsilon)
    return _UP * epsilon * math.tanh(epsilon / 2)


def rho_of_gaussian(sensitivity: float, sigma: float) -> float:
    """Returns the rho of Gaussian noise, discrete or not: Delta^2 / (2 sigma^2).

    Source: Bun and Steinke 2016, proposition 1.6; Canonne, Kamath and Steinke 2020, theorem 4.
    Raises ValueError unless both numbers are above 0.
    """
    if not (sensitivity > 0 and sigma > 0):
        raise ValueError(f"sensitivity is {sensitivity:g} and sigma {sigma:g}; use numbers above 0")
    return _UP * (sensitivity / sigma) ** 2 / 2


def zcdp_delta(rho: float, epsilon: float) -> float:
    """Returns a delta with which rho-zCDP keeps ``epsilon``.

    It is the minimum over alpha > 1 of e^{(alpha-1)(alpha rho - epsilon)} (1 - 1/alpha)^alpha /
    (alpha - 1); any alpha gives a true bound. Source: Canonne, Kamath and Steinke 2020 (NeurIPS),
    corollary 13. Raises ValueError unless rho is above 0 and epsilon from 0.
    """
    if not (rho > 0 and epsilon >= 0):
        raise ValueError(
            f"rho is {rho:g} and epsilon {epsilon:g}; use numbers, rho above 0 and epsilon from 0"
        )

    def logarithm(log_beta: float) -> float:
        # In logarithms, as both factors can overflow; over log beta the function has one valley.
        beta = math.exp(log_beta)  # alpha - 1
        return (
            beta * ((beta + 1) * rho - epsilon) - (beta + 1) * math.log1p(1 / beta) - math.log(beta)
        )

    return min(1.0, _UP * math.exp(min(0.0, _minimum(logarithm, -30.0, 30.0))))


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Returns the smallest epsilon that rho-zCDP keeps with ``delta`` above 0, by ``zcdp_delta``.

    Raises ValueError where delta is not strictly between 0 and 1.
    """
    if not _check_delta(delta):
        raise ValueError(
            "delta is 0, with which zCDP keeps no epsilon; use one above 0, such as 1e-6"
        )
    if zcdp_delta(rho, 0.0) <= delta:
        return 0.0
    return smallest_within(partial(zcdp_delta, rho), delta, rho + math.sqrt(rho))


def zcdp_rho(epsilon: float, delta: float) -> float:
    """Returns the largest rho whose zCDP keeps (epsilon, delta) by ``zcdp_delta``, rounded down.

    Raises ValueError where delta is not strictly between 0 and 1.
    """
    _check_answers(1, epsilon)
    if not _check_delta(delta):
        raise ValueError("delta is 0, which no rho keeps; use one above 0, such as 1e-6")
    inverse = smallest_within(lambda inverse: zcdp_delta(1 / inverse, epsilon), delta, 1.0)
    return 1 / (inverse * _UP)


def _minimum(function: Callable[[float], float], low: float, high: float) -> float:
    """The value at the bottom of a function with one valley, by golden section."""
    golden = (math.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(80):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = function(right)
    return min(at_left, at_right)


def _check_answers(k: int, epsilon: float) -> None:
    if k < 1:
        raise ValueError(f"k is {k}; it is the number of answers, at least 1")
    if not 0 < epsilon < 700:
        raise ValueError(f"epsilon is {epsilon:g}; give a number above 0 and below 700")


def _check_delta(delta: float) -> bool:
    """Whether a valid delta is above 0."""
    if not 0 <= delta < 1:
        raise ValueError(f"delta is {delta:g}; it is a probability below 1")
    return delta > 0
