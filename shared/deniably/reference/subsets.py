"""Subset selection: draws, exact probabilities and estimates (SPEC 2.1, 2.3 and 2.4)."""

from __future__ import annotations

import itertools
from fractions import Fraction

from deniably.reference.coins import Coins
from deniably.reference.refusal import require
from deniably.reference.values import Json, Law


def check_subset(k: Json, omega: Json, own: Json, other: Json) -> None:
    """Raises Invalid unless the parameters make a subset selection (SPEC 2.1)."""
    integers = all(type(number) is int for number in (k, omega, own, other))
    require(integers, "the parameters are integers")
    require(2 <= k <= 1024, "k is from 2 to 1024")
    require(1 <= omega <= k - 1, "omega is from 1 to k-1")
    require(1 <= other < own, "the weights are 1 <= other < own")
    require(omega * own + (k - omega) * other <= 2**53, "Z is at most 2^53")


def randomise(k: int, omega: int, own: int, other: int, answer: Json, coins: Coins) -> list[int]:
    """Returns a report to an ``answer``: ``omega`` choices in ascending order (SPEC 2.1)."""
    check_subset(k, omega, own, other)
    require(0 <= answer < k, "an answer is from 0 to k-1")
    kept = coins.choose([omega * own, (k - omega) * other]) == 0
    # One draw more than is needed where the answer is kept: how many bytes are taken must not
    # depend on `kept`, which is secret.
    draws = {j: coins.below(j) for j in range(k - omega, k)}
    if kept:
        del draws[k - omega]
    subset = set()
    for j in sorted(draws):
        # Floyd's algorithm (Bentley and Floyd 1987): j - 1 cannot be in the set yet, so it grows
        # every time.
        subset.add(j - 1 if draws[j] in subset else draws[j])
    # The elements number the choices other than the answer; skip the answer's own place.
    report = {i + 1 if i >= answer else i for i in subset}
    if kept:
        report.add(answer)
    assert len(report) == omega
    return sorted(report)


def support(k: int, omega: int, own: int, other: int) -> tuple[Fraction, Fraction]:
    """Returns (p, q): the probabilities that a report contains the true choice, and that it
    contains a given other choice (SPEC 2.1)."""
    z = omega * own + (k - omega) * other
    q = Fraction(omega * ((omega - 1) * own + (k - omega) * other), (k - 1) * z)
    return Fraction(omega * own, z), q


def channel(k: int, omega: int, own: int, other: int) -> list[Law]:
    """Returns for each answer the distribution {report: probability}, computed from the weights of
    all subsets."""
    subsets = list(itertools.combinations(range(k), omega))
    rows = []
    for answer in range(k):
        weights = {subset: own if answer in subset else other for subset in subsets}
        total = sum(weights.values())
        rows.append({subset: Fraction(weight, total) for subset, weight in weights.items()})
    return rows


def estimate(k: int, omega: int, own: int, other: int, n: int, counts: list[int]) -> list[Fraction]:
    """Returns the unbiased estimate of each choice's share (SPEC 2.4).

    ``counts`` says for each choice how many of the ``n`` reports contain it.
    """
    require(n >= 1, "an estimate needs a report")
    p, q = support(k, omega, own, other)
    return [(Fraction(count, n) - q) / (p - q) for count in counts]


def best_omega(k: int, own: int, other: int) -> int:
    """Returns the subset size with the smallest variance, by trying all (SPEC 2.3).

    If several have that variance, the smallest size is returned.
    """

    def variance(omega: int) -> Fraction:
        p, q = support(k, omega, own, other)
        return ((k - 1) * q * (1 - q) + p * (1 - p)) / (p - q) ** 2

    return min(range(1, k), key=lambda omega: (variance(omega), omega))
