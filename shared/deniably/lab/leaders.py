"""Computes how likely the choice with the largest share is found: the exact distribution of the
leader of several counts.

The counts of a sample of n people are multinomial, which is the distribution of independent Poisson
counts given that they sum to n (Feller 1968, "An Introduction to Probability Theory", XII.3). Given
independence, probabilities are products over candidates; the condition on the sum is one
coefficient of a product of characteristic functions. Errors are below 1e-9. The first candidate is
the one with the largest share.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt
from scipy import special

from deniably.core.binomial import Floats

Terms = npt.NDArray[np.complex128]
Int64 = npt.NDArray[np.int64]

_COMPLEX = np.complex128

_STEP = 0.25
"""The step of the trapezoid rule; its error falls as e**(-pi**2 / step) for Gumbel noise."""
_LOW, _HIGH = -4.0, 37.0
"""Gumbel noise is below the first with probability e**-54, and above the second with e**-37."""


@dataclass(frozen=True)
class _Count:
    """One candidate: Poisson probabilities of the counts from ``first`` on, and their terms of
    the characteristic function, a row each."""

    first: int
    chances: Floats
    terms: Terms


@dataclass(frozen=True)
class _Sample:
    """``n`` people: the counts of all candidates, and the frequencies of their terms."""

    n: int
    counts: tuple[_Count, ...]
    phases: Terms

    @classmethod
    def of(cls, n: int, shares: Sequence[float]) -> _Sample:
        """The counts of n people, and the frequencies that tell n apart from other sums."""
        length = 2 * _reach(n) + 1  # a sum that far from n is as good as impossible
        turns = np.asarray(-2j * np.pi * np.arange(length // 2 + 1) / length, dtype=_COMPLEX)
        return cls(n, tuple(_count(n * share, turns) for share in shares), turns)

    def given_everybody(self, products: Iterable[Terms]) -> float:
        """The sum of ``products`` of characteristic functions, given that all counts add up to
        n."""
        total = np.zeros(len(self.phases), dtype=_COMPLEX)
        for product in products:
            total += product
        # The inverse Fourier transform at n alone. The other half of the circle is its conjugate,
        # so that twice the real parts add up to it.
        turned: Floats = (total * np.exp(-self.n * self.phases)).real
        length = 2 * len(self.phases) - 1
        coefficient = float(turned[0] + 2 * turned[1:].sum()) / length
        return coefficient / float(_poisson(np.array([self.n]), self.n)[0])


def _count(mean: float, turns: Terms) -> _Count:
    values = np.arange(max(int(mean) - _reach(mean), 0), int(mean) + _reach(mean) + 1)
    chances = _poisson(values, mean)
    terms = chances[:, None] * np.exp(np.outer(values, turns))
    return _Count(int(values[0]), chances, np.asarray(terms, dtype=_COMPLEX))


def _reach(mean: float) -> int:
    """The distance that a Poisson count has from its mean with a probability below 1e-13."""
    return int(8 * sqrt(mean)) + 25


def _poisson(values: Int64, mean: float) -> Floats:
    # By logarithms: n! overflows from 171 on.
    return np.asarray(np.exp(special.xlogy(values, mean) - mean - special.gammaln(values + 1)))


def most_named(n: int, shares: Sequence[float]) -> float:
    """Returns the probability that the first candidate is named most often by n people; ties are
    broken at random. ``shares`` are the candidates' shares in the population.

    >>> round(most_named(2, [0.7, 0.3]), 9)
    0.7
    """
    sample = _Sample.of(n, shares)
    leader, *others = sample.counts
    values = leader.first + np.arange(len(leader.chances))
    products: list[Terms] = []
    # Of t others with as many, 1 / (t + 1) is the integral of z**t: a rule exact to that degree.
    nodes, weights = np.polynomial.legendre.leggauss(len(shares) // 2 + 1)
    for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        product = weight * leader.terms
        for other in others:
            product = product * (_below(other, values) + node * _at(other, values))
        products.append(product.sum(axis=0))
    return sample.given_everybody(products)


def _below(count: _Count, values: Int64) -> Terms:
    """The terms of all counts below each of ``values``, added up."""
    # So that place i has the sum before it.
    sums = np.vstack([np.zeros_like(count.terms[:1]), np.cumsum(count.terms, axis=0)])
    return np.asarray(sums[np.clip(values - count.first, 0, len(count.terms))])


def _at(count: _Count, values: Int64) -> Terms:
    places = values - count.first
    inside = (places >= 0) & (places < len(count.terms))
    terms = count.terms[np.clip(places, 0, len(count.terms) - 1)]
    return np.asarray(np.where(inside[:, None], terms, 0))


def chosen(n: int, shares: Sequence[float], exponent: float) -> float:
    """Returns the probability that the exponential mechanism chooses the first candidate, given
    the counts of n people. It chooses each candidate with a probability proportional to
    e**(exponent * count); ``shares`` are the candidates' shares in the population.

    This is the probability that the first candidate's count is the largest after Gumbel noise of
    scale 1 / exponent is added to all counts (McFadden 1974).

    >>> round(chosen(1, [1.0, 0.0], 1.0), 6)
    0.731059
    """
    sample = _Sample.of(n, shares)
    leader, *others = sample.counts
    ends = leader.first, leader.first + len(leader.chances)
    at = np.arange(exponent * ends[0] + _LOW, exponent * ends[1] + _HIGH + _STEP, _STEP)
    # Rows are points of the integral, columns the leader's counts.
    away = at[:, None] - exponent * (ends[0] + np.arange(len(leader.chances)))
    # The density of Gumbel's law.
    product = _STEP * _mixed(np.exp(-away - _gone(away)), leader.terms)
    for other in others:
        beyond = at[:, None] - exponent * (other.first + np.arange(len(other.chances)))
        product = product * _mixed(np.exp(-_gone(beyond)), other.terms)
    return sample.given_everybody([product.sum(axis=0)])


def _mixed(weights: Floats, terms: Terms) -> Terms:
    """``weights @ terms``, without a complex copy of real weights."""
    return np.asarray(weights @ terms.real + 1j * (weights @ terms.imag))


def _gone(away: Floats) -> Floats:
    """e**-away, as far as numbers go."""
    return np.asarray(np.exp(np.minimum(-away, 500.0)))
