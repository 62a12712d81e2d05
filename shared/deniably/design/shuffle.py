"""Privacy amplification by shuffling: the loss of an anonymous collection of reports.

Reports that were randomised with ``epsilon0`` and then stripped of everything that links them to
people protect better than ``epsilon0`` says, because each hides among the others. This has limits:

* It holds against an observer of the anonymous multiset of reports, or of counts made of it. The
  server that collects them sees order, time and address; against it only ``epsilon0`` holds.
* ``n`` is the number of honest reports. Fake reports hide nobody.
* It is for one question; over several questions the results add up (composition).
* Counts for a group use the n of that group; small groups gain almost nothing.

Every result is rounded up: deltas and epsilons are never too small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from deniably.core.bisection import smallest_within
from deniably.core.counting import EVERYBODY
from deniably.design.composition import AnswerPair, binomial_window
from deniably.mechanisms.law import Law, Supporting

Floats = npt.NDArray[np.float64]

_RELATIVE = 1e-9
_ABSOLUTE = 1e-14
"""What is added to a delta for the rounding of floats: tests find it a hundred times smaller."""

_PRECISION = 1e-7  # of an epsilon, relative
PROVED = 1000
"""Reports up to which ``binary_delta`` tries all answers of the other people."""
_TRY = 64  # answers of the others that are tried beyond
_DEVIATIONS = 10
"""Counts further from the likeliest are less probable than 1e-20 each, 1e-16 in all."""


# --- closed forms ---------------------------------------------------------------------------


def closed_form_2021(n: int, epsilon0: float, delta: float) -> float:
    """Returns an epsilon of n shuffled reports, by the closed form of 2021.

    Each report keeps ``epsilon0``; together they keep ln(1 + (a-1)/(a+1) (8 sqrt(a ln(4/delta)/n) +
    8a/n)) with ``delta``, where a = e^epsilon0. Source: Feldman, McMillan and Talwar 2021 (FOCS),
    theorem 3.1. Raises ValueError unless ``epsilon0 <= ln(n / (16 ln(2/delta)))``, where it is
    proved.
    """
    _check(n, epsilon0, delta)
    a = math.exp(epsilon0)
    if a > n / (16 * math.log(2 / delta)):
        raise ValueError(
            f"epsilon0 is {epsilon0:g}; this is proved up to ln(n / (16 ln(2/delta))) only"
        )
    hidden = 8 * math.sqrt(a * math.log(4 / delta) / n) + 8 * a / n
    return (1 + _RELATIVE) * math.log1p((a - 1) / (a + 1) * hidden)


def closed_form_2023(n: int, epsilon0: float, delta: float) -> float:
    """Returns an epsilon of n shuffled reports, by the closed form of 2023.

    Each report keeps ``epsilon0``; together they keep ln(1 + (a-1) (4 sqrt(2 ln(4/delta) / ((a+1)
    n)) + 4/n)) with ``delta``, where a = e^epsilon0. Source: Feldman, McMillan and Talwar 2023
    (SODA), theorem 3.2; by its errata it holds for k-ary randomised response, and not for all
    randomisers. Raises ValueError unless ``epsilon0 <= ln(n / (8 ln(2/delta)) - 1)``, where
    it is proved.
    """
    _check(n, epsilon0, delta)
    a = math.exp(epsilon0)
    if a > n / (8 * math.log(2 / delta)) - 1:
        raise ValueError(
            f"epsilon0 is {epsilon0:g}; this is proved up to ln(n / (8 ln(2/delta)) - 1) only"
        )
    hidden = 4 * math.sqrt(2 * math.log(4 / delta) / ((a + 1) * n)) + 4 / n
    return (1 + _RELATIVE) * math.log1p((a - 1) * hidden)


# --- numerical, for every randomiser --------------------------------------------------------


@dataclass(frozen=True)
class Clones:
    """A randomiser reduced to reports for the true answer, for another one, and for neither.

    The report of the person under attack favours that person's true answer with probability ``p``,
    and the other answer with ``q``. Every other person's report favours each of these two answers
    with probability ``r``, whatever that person's own answer is. Any person's report favours
    neither with probability ``neither``, and is then drawn in the same way for everybody. All
    further reports of the others are assumed to be known.

    Sources: with neither = 0, Feldman, McMillan and Talwar 2023 (SODA), theorem 3.1, which its
    errata (arXiv 2208.04591) keep for some randomisers only; for ``any``, their theorem of 2021
    (FOCS); else the privacy blanket of Balle, Bell, Gascon and Nissim 2019 (CRYPTO), section 5.
    ``neither`` must not include reports that are not drawn in the same way for everybody: for six
    5-ary reports at epsilon0 1.5, the delta of epsilon 0.7 would be 13 % too small.

    Raises ValueError unless ``0 < q < p``, ``0 < 2r <= p + q``, ``p + q + neither <= 1`` and
    ``2r + neither < 1``.
    """

    p: float
    q: float
    r: float
    neither: float = 0.0

    def __post_init__(self) -> None:
        apart = self.p + self.q
        if not (0 < self.q < self.p and 0 < 2 * self.r <= apart):
            raise ValueError(
                f"p is {self.p:g}, q {self.q:g} and r {self.r:g}; use 0 < q < p and 0 < 2r <= p + q"
            )
        if not (0 <= self.neither <= 1 - apart + 1e-12 and 2 * self.r + self.neither < 1):
            raise ValueError(
                f"neither is {self.neither:g}; use a probability up to 1 - p - q, below 1 - 2r"
            )

    @classmethod
    def of(cls, pair: AnswerPair) -> Clones:
        """Returns the clones for a pair of answers under k-ary randomised response, or of the only
        two answers that there are.

        ``AnswerPair(epsilon0)`` holds for every k. A report that favours one of the two answers has
        at least probability q under every third answer, so r = q. Other randomisers have reports
        that favour both: see ``any``.
        """
        return cls(pair.p, pair.q, pair.q, pair.blind)

    @classmethod
    def any(cls, epsilon0: float) -> Clones:
        """Returns the clones for two answers under any randomiser of ``epsilon0`` without delta.

        Every report is at least e^-epsilon0 times as likely under a third answer as under either of
        the two, and so under their mean: r = e^-epsilon0 / 2. Source: Feldman, McMillan and Talwar
        2021 (FOCS), theorem 3.2.
        """
        pair = AnswerPair(epsilon0)
        return cls(pair.p, pair.q, math.exp(-epsilon0) / 2)

    @classmethod
    def under(cls, law: Law, epsilon0: float) -> Clones:
        """Returns the clones for two answers whose reports have this ``law``, which keeps
        ``epsilon0``."""
        k_ary = isinstance(law, Supporting) and law.single and law.size == 1
        if k_ary or law.domain.count == 2:
            return cls.of(AnswerPair(epsilon0))
        return cls.any(epsilon0)


def shuffled_delta(clones: Clones, n: int, epsilon: float) -> float:
    """Returns a delta with which the multiset of ``n`` shuffled reports keeps ``epsilon``.

    With E = e^epsilon, and (n0, n1, m) multinomial with n trials and probabilities (r, r, neither),
    the delta is

        1/n  mean of (n0 (p - E q)/r - n1 (E p - q)/r - m (E - 1))_+
    """
    _check(n, epsilon)
    n = min(n, EVERYBODY)  # a larger crowd hides at least as well
    p, q, r, neither = clones.p, clones.q, clones.r, clones.neither
    if math.exp(epsilon) * q >= p:
        return 0.0
    if not neither:
        return _up(*_crowd_delta(clones, n, epsilon))

    # The others that are drawn alike make the crowd. Their number is rounded down to the first
    # of some dozens of blocks; a smaller crowd hides less.
    alike = 2 * r + neither
    first, weights = _likely(n - 1, alike)
    block = max(1, int(first[0]) // 400, weights.size // 64)
    crowd = Clones(p, q, r / alike, neither)
    plus = minus = 0.0
    for start in range(0, weights.size, block):
        share = float(weights[start : start + block].sum())
        more, less = _crowd_delta(crowd, int(first[start]) + 1, epsilon)
        plus, minus = plus + share * more, minus + share * less
    return _up(plus, minus)


def shuffled_epsilon(clones: Clones, n: int, delta: float) -> float:
    """Returns the smallest epsilon that ``n`` shuffled reports keep with ``delta``, rounded up.

    This takes less than a second for a million reports, and seconds for ten thousand million.
    """
    top = (1 + _RELATIVE) * math.log(clones.p / clones.q)
    _check(n, top, delta)
    guess = top / math.sqrt(n)
    least = smallest_within(lambda eps: shuffled_delta(clones, n, eps), delta, guess, _PRECISION)
    return min(least, top)


def _crowd_delta(clones: Clones, n: int, epsilon: float) -> tuple[float, float]:
    """Delta as a difference, where the n - 1 others speak for neither with 1 - 2r.

    Given t reports that speak for one of the two answers, the odds between these rise with the
    number that speaks for the true one; delta is summed over all t beyond the number from
    which they exceed e^epsilon.
    """
    p, q, r, neither = clones.p, clones.q, clones.r, clones.neither
    gain = math.expm1(epsilon)
    odds = gain + 1

    # j of the other n - 1 speak for one of the two. With the person's own report that makes
    # t = j + 1, and `at` is the least number of ones that speaks for the true answer enough.
    j, weights = _likely(n - 1, 2 * r)
    t = j + 1
    slope = (p - q) * (odds + 1)
    level = t * (odds * p - q) + neither * (n - t) * gain * r / (1 - 2 * r)
    at = np.clip(np.floor(level / slope) + 1, 1, t + 1)
    mass, tail = _fair_coins(j, at)  # P[at - 1 of j], P[at or more of j]

    # The same t comes from j + 1 of the others where the person's own speaks for neither.
    more = weights * (n - t) / t * (2 * r / (1 - 2 * r))
    plus = np.dot(weights * (p - odds * q), mass)
    minus = (p + q) * np.dot(weights, tail) + neither * np.dot(more, tail + mass / 2)
    return float(plus), gain * float(minus)


def _likely(n: int, share: float) -> tuple[Floats, Floats]:
    """The counts of the binomial law that matter here, and their probabilities."""
    return _likely_of_few(n, share) if n < _FEW else _counted(n, share)


_FEW = 100_000
"""Smaller crowds have laws of some kilobytes; a search for epsilon asks for the same dozens."""


@lru_cache(maxsize=128)
def _likely_of_few(n: int, share: float) -> tuple[Floats, Floats]:
    return _counted(n, share)


def _counted(n: int, share: float) -> tuple[Floats, Floats]:
    first, weights = binomial_window(n, share, _DEVIATIONS)
    likely = weights > 1e-20  # the rest is less than _ABSOLUTE
    counts = first + np.arange(weights.size, dtype=np.float64)
    return counts[likely], weights[likely]


def _fair_coins(j: Floats, at: Floats) -> tuple[Floats, Floats]:
    """P[X = at - 1] and P[X >= at] for X ~ Binomial(j, 1/2), along consecutive j.

    From one j to the next ``at`` stays or grows by one, and the tail changes by half of a
    probability; it is summed up from the largest j, where it is smallest.
    """
    mass = _fair_mass(j, at - 1)
    grows = np.diff(at) > 0
    # If ``at`` stays, P[X >= at] grows by half of P[X = at - 1] of the j before; else it falls.
    change = np.where(grows, -mass[:-1] * (j[:-1] - at[:-1] + 1) / at[:-1], mass[:-1]) / 2
    far = float(at[-1]) + 400 + 20 * math.sqrt(j[-1])  # 40 standard deviations
    last: Floats = np.arange(float(at[-1]), min(float(j[-1]), far) + 1)
    end = _fair_mass(np.full(last.size, j[-1]), last).sum()
    tail = end - np.concatenate([np.cumsum(change[::-1])[::-1], np.zeros(1)])
    return mass, np.maximum(tail, 0.0)


def _fair_mass(n: Floats, x: Floats) -> Floats:
    """P[X = x] for X ~ Binomial(n, 1/2) and whole x, to a relative 1e-10.

    Source: Loader 2000, "Fast and accurate computation of binomial probabilities".
    """
    rest = n - x
    inside = (x > 0) & (rest > 0)
    if inside.all():
        return _mass_inside(x, rest)
    mass: Floats = np.where((x == 0) | (rest == 0), np.exp(-n * math.log(2)), 0.0)
    mass[inside] = _mass_inside(x[inside], rest[inside])
    return mass


def _mass_inside(x: Floats, rest: Floats) -> Floats:
    both = x + rest
    skew = (x - rest) / both
    deviance = x * np.log1p(skew) + rest * np.log1p(-skew)
    correction = _stirling_error(both) - _stirling_error(x) - _stirling_error(rest)
    result: Floats = np.exp(correction - deviance - np.log(2 * np.pi * x * rest / both) / 2)
    return result


def _stirling_error(n: Floats) -> Floats:
    """ln(n!) less Stirling's formula, for whole n >= 1."""
    square = n * n
    series: Floats = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / square) / square) / square) / n
    if n.min(initial=_STIRLING.size) >= _STIRLING.size:
        return series
    small = np.minimum(n, _STIRLING.size - 1).astype(np.intp)
    result: Floats = np.where(n < _STIRLING.size, _STIRLING[small], series)
    return result


_STIRLING: Floats = np.array(
    [0.0]
    + [
        math.lgamma(n + 1) - (n + 0.5) * math.log(n) + n - math.log(2 * math.pi) / 2
        for n in range(1, 32)
    ]
)


# --- numerical, for yes and no --------------------------------------------------------------


def binary_delta(n: int, epsilon0: float, epsilon: float) -> float:
    """Returns a delta with which the number of "yes" in n reports keeps ``epsilon``.

    The reports are binary randomised responses. The number hides how many reports are pure noise,
    so this delta is smaller than ``shuffled_delta``. N is the number of "yes" among the other n - 1
    reports; p and q are the probabilities of a true and of a false report. The delta is the largest
    value, over c and over the other people's answers, of

        (p - e^epsilon q) P[N = c - 1] - (e^epsilon - 1) P[N >= c]

    For n <= 1000 all combinations of their answers are tried. For larger n, only those are tried in
    which at most 63 people differ from the rest. A search over all combinations at n = 1500, and
    over every third at n = 3000, found the largest value among these; a proof is missing. Where for
    such n the variance of N is below 25, the largest value is not among them, and
    ``shuffled_delta`` is returned.
    """
    _check(n, epsilon0)
    _check(n, epsilon)
    pair = AnswerPair(epsilon0)
    if _too_coarse(n, pair):
        return shuffled_delta(Clones.of(pair), n, epsilon)
    others = min(n, EVERYBODY) - 1
    laws = (_yes_law(others - no, no, pair) for no in _tried(others))
    return max(_binary_profile(law, pair, epsilon) for law in laws)


def binary_epsilon(n: int, epsilon0: float, delta: float) -> float:
    """Returns the smallest epsilon that the number of "yes" among n reports keeps with ``delta``.

    As in ``binary_delta``, the worst case is not proved for n above 1000.
    """
    _check(n, epsilon0, delta)
    pair = AnswerPair(epsilon0)
    if _too_coarse(n, pair):
        return shuffled_epsilon(Clones.of(pair), n, delta)
    others = min(n, EVERYBODY) - 1
    tried = _tried(others)
    # The worst answers are nearly always among few, which come first. One law is held at a time.
    smallest = 0.0
    # An answer is looked at closely only if the smallest epsilon so far is not enough for it.
    for no in (*tried[:: max(1, len(tried) // _TRY)], *tried):
        law = _yes_law(others - no, no, pair)

        def spent(epsilon: float, law: tuple[Floats, Floats] = law) -> float:
            return _binary_profile(law, pair, epsilon)

        if not smallest or spent(smallest) > delta:
            smallest = smallest_within(spent, delta, smallest or epsilon0, _PRECISION)
    return smallest


def _too_coarse(n: int, pair: AnswerPair) -> bool:
    return n > PROVED and (n - 1) * pair.p * pair.q < 25


def _tried(others: int) -> range:
    """The numbers of "no" among the others that are tried."""
    return range(others + 1 if others < PROVED else _TRY)


def _yes_law(yes: int, no: int, pair: AnswerPair) -> tuple[Floats, Floats]:
    """P[N = y] and P[N > y] along y, where so many of the others answer "yes" and "no"."""
    false = _false_of_few if yes + no < PROVED else _false
    # "Yes" comes from "yes" people whose report is true, and from "no" people whose report is
    # false.
    law = np.convolve(false(yes, pair)[::-1], false(no, pair))
    return law, np.append(np.cumsum(law[:0:-1])[::-1], 0.0)


def _false(n: int, pair: AnswerPair) -> Floats:
    """The law of the number of false reports among n; where it begins does not matter here."""
    return binomial_window(n, pair.q, _DEVIATIONS)[1]


@lru_cache(maxsize=1024)  # all answers of few people are tried: each law of some kilobytes twice
def _false_of_few(n: int, pair: AnswerPair) -> Floats:
    return _false(n, pair)


def _binary_profile(law: tuple[Floats, Floats], pair: AnswerPair, epsilon: float) -> float:
    gain = math.expm1(epsilon)
    report = pair.p - (gain + 1) * pair.q
    if report <= 0:
        return 0.0
    mass, above = law
    worst = np.max(report * (1 + _RELATIVE) * mass - gain * (1 - _RELATIVE) * above)
    return _up(float(worst), 0.0)


def _up(plus: float, minus: float) -> float:
    """``plus - minus``, each off by the rounding of floats, rounded up."""
    return min(1.0, max(0.0, plus * (1 + _RELATIVE) - minus * (1 - _RELATIVE)) + _ABSOLUTE)


def _check(n: int, epsilon: float, delta: float = 0.5) -> None:
    if n < 1:
        raise ValueError(f"n is {n}; it is the number of honest reports, at least 1")
    if not 0 <= epsilon < 700:
        raise ValueError(f"epsilon is {epsilon:g}; give a number from 0, below 700")
    if not 0 < delta < 1:
        raise ValueError(f"delta is {delta:g}; it is a probability strictly between 0 and 1")
