"""The power of a logistic slope, by simulating the fit of ``workbench.models.binary.logit``.

With few people or a rare answer the estimate of a slope is far from normal, and many surveys
determine none. So 2,000 surveys are drawn, with a fixed seed, and all are fitted at once as
``logit`` does: Fisher scoring on standardised columns, the expected information, Wald's test. A
survey whose fit is refused counts as not showing the slope. The covariate is normal, rounded to a
twentieth of its standard deviation, so that a survey of a million takes no longer than one of a
hundred.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import log, sqrt
from statistics import NormalDist

import numpy as np

from deniably.core.binomial import Floats
from deniably.design.exact_power import BEYOND, MOST

SURVEYS = 2_000
ERROR = 0.5 / sqrt(SURVEYS)
"""The largest standard error of a simulated power."""
_SEED = 1998
_STEP, _LAST = 0.05, 4.5  # of the covariate's grid, in standard deviations
_MOST_STEPS, _MOST_HALVINGS, _LONGEST = 60, 20, 3.0  # of Fisher scoring; the longest step
_SEPARATED, _VAGUE = 15.0, 1_000.0  # a coefficient, an error, with which ``logit`` refuses a fit
_SMALL = 1e-6  # a step at which a fit has converged
_ROUNDS = 6  # numbers of people tried in a search
_NEAR_ENOUGH = 0.006  # about half of the largest standard error of a power
_FEWEST = 10


@dataclass(frozen=True)
class SlopeTest:
    """A test of whether a logistic slope is 0, where the true one is ``slope``.

    The slope is for one standard deviation of a normal covariate. ``share`` is the share of yes at
    the covariate's mean; p = P(report 1 | yes), q = P(report 1 | no).
    """

    p: float
    q: float
    share: float
    slope: float

    def power(self, n: int, level: float = 0.05) -> float:
        """Returns the fraction of 2,000 simulated surveys of n respondents in which the test
        rejects."""
        z = NormalDist().inv_cdf(1 - level / 2)
        return float((_deviates(self, n) > z).mean())

    def respondents(self, power: float, level: float, near: int) -> int:
        """Returns the number of respondents with this ``power``, to within 0.006 of it.

        It is found by the secant method from ``near``, as the probit of the power is nearly a line
        in the root of n. Raises ValueError if the number is beyond 10^12.
        """
        law = NormalDist()
        wanted, tried = law.inv_cdf(power), dict[int, float]()
        n = max(near, _FEWEST)
        for _ in range(_ROUNDS):
            now = self.power(n, level)
            tried[n] = law.inv_cdf(min(max(now, 0.001), 0.999))
            if abs(now - power) <= _NEAR_ENOUGH:
                return n
            n = max(_next(tried, n, wanted, law.inv_cdf(level / 2)), _FEWEST)
            if n > MOST:
                raise ValueError(BEYOND)
            if n in tried:
                break
        return min(tried, key=lambda people: (abs(tried[people] - wanted), people))


def _next(tried: dict[int, float], n: int, wanted: float, at_none: float) -> int:
    """The next n: on the line through the last two, or through that of nobody and this."""
    others = [other for other in tried if other != n]
    before = min(others, key=lambda other: abs(other - n)) if others else 0
    start = tried[before] if others else at_none
    rise = (tried[n] - start) / (sqrt(n) - sqrt(before))
    root = sqrt(n) + (wanted - tried[n]) / rise if rise > 0 else 2 * sqrt(n)
    return round(min(max(root, sqrt(n) / 2), 2 * sqrt(n)) ** 2)


# --- the surveys ------------------------------------------------------------------------------


@lru_cache(maxsize=32)
def _deviates(test: SlopeTest, n: int) -> Floats:
    """|estimate / standard error| of the slope in every survey; 0 where the fit is refused."""
    edges = np.arange(-_LAST, _LAST + _STEP / 2, _STEP)
    law = NormalDist()
    chances = np.diff([law.cdf(edge) for edge in edges])
    x = (edges[:-1] + edges[1:]) / 2
    yes = _share(log(test.share / (1 - test.share)) + test.slope * x)
    generator = np.random.default_rng(_SEED)
    people = generator.multinomial(n, chances / chances.sum(), SURVEYS)
    ones = generator.binomial(people, test.q + (test.p - test.q) * yes)
    return _Batch(x, people.astype(np.float64), ones.astype(np.float64), test.p, test.q).deviates()


class _Batch:
    """Many surveys: how many ``people`` (surveys, places) have each covariate x, and how many of
    them report 1 (``ones``)."""

    def __init__(self, x: Floats, people: Floats, ones: Floats, p: float, q: float) -> None:
        n = people.sum(axis=1, keepdims=True)
        middle = people @ x[:, None] / n
        spread = np.sqrt(np.maximum((people @ (x**2)[:, None]) / n - middle**2, 1e-12))
        self.x: Floats = (x - middle) / spread
        self.people, self.ones, self.p, self.q = people, ones, p, q
        self.rate = (ones.sum(axis=1) / n[:, 0] - q) / (p - q)

    def deviates(self) -> Floats:
        """Returns |estimate / standard error| of every survey's slope, 0 if the fit is refused.

        All surveys are fitted at once, each until it has converged.
        """
        surveys = len(self.x)
        deviates, point = np.zeros(surveys), np.zeros((surveys, 2))
        share = np.clip(self.rate, 0.05, 0.95)
        point[:, 0] = np.log(share / (1 - share))
        going = np.arange(surveys)
        here = self._slope(going, point)
        for _ in range(_MOST_STEPS):
            step, certain = _newton(here)
            # A first step may be far too long where a survey has few yes; its direction is still
            # right.
            step *= np.minimum(1, _LONGEST / np.maximum(np.abs(step).max(axis=1), 1e-300))[:, None]
            there, step = self._climbed(going, point, step, here[-1])
            point = point + step
            sane = certain & (np.abs(point).max(axis=1) <= _SEPARATED)
            ended = sane & (np.abs(step).max(axis=1) < _SMALL)
            done = tuple(part[ended] for part in there)
            deviates[going[ended]] = _wald(done, point[ended])
            left = sane & ~ended
            going, point = going[left], point[left]
            here = tuple(part[left] for part in there)
            if not len(going):
                break
        return deviates

    def _climbed(
        self, going: np.typing.NDArray[np.int64], point: Floats, step: Floats, height: Floats
    ) -> tuple[tuple[Floats, ...], Floats]:
        """What stands after the step, halved where it does not climb."""
        there = self._slope(going, point + step)
        for _ in range(_MOST_HALVINGS):
            # Near the top the log-likelihood is flat within rounding, and a fall by that is none.
            falls = there[-1] < height - 1e-11 * (1 + np.abs(height))
            if not falls.any():
                break
            step = np.where(falls[:, None], step / 2, step)
            there = self._slope(going, point + step)
        return there, step

    def _slope(self, some: np.typing.NDArray[np.int64], point: Floats) -> tuple[Floats, ...]:
        """The expected information (its three entries), the gradient and the log-likelihood."""
        x, people, ones = self.x[some], self.people[some], self.ones[some]
        yes = _share(point[:, :1] + point[:, 1:] * x)
        mean = self.q + (self.p - self.q) * yes
        gain = (self.p - self.q) * yes * (1 - yes) / np.maximum(mean * (1 - mean), 1e-300)
        weight = people * gain * (self.p - self.q) * yes * (1 - yes)
        score = gain * (ones - people * mean)
        likely = ones * np.log(np.maximum(mean, 1e-300)) + (people - ones) * np.log(
            np.maximum(1 - mean, 1e-300)
        )
        parts = weight, weight * x, weight * x * x, score, score * x, likely
        return tuple(part.sum(axis=1) for part in parts)


def _newton(here: tuple[Floats, ...]) -> tuple[Floats, np.typing.NDArray[np.bool_]]:
    """The step of Fisher scoring, and whether the information has an inverse."""
    a, b, c, first, second, _ = here
    size = a * c - b * b
    certain = size > 1e-14 * np.maximum(a * c, 1e-300)
    size = np.where(certain, size, 1.0)
    step = np.stack([(c * first - b * second) / size, (a * second - b * first) / size], axis=1)
    return np.where(certain[:, None], step, 0.0), certain


def _wald(here: tuple[Floats, ...], point: Floats) -> Floats:
    """|slope| over its standard error; 0 where an error is too large to be one."""
    a, b, c, *_ = here
    size = np.maximum(a * c - b * b, 1e-300)
    vague = np.maximum(a, c) / size >= _VAGUE**2
    deviates: Floats = np.where(vague, 0.0, np.abs(point[:, 1]) / np.sqrt(a / size))
    return deviates


def _share(logits: Floats) -> Floats:
    shares: Floats = 1 / (1 + np.exp(-np.clip(logits, -40, 40)))
    return shares
