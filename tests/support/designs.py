"""Surveys to hold estimates against: mechanisms, true shares and the tallies of real reports."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deniably.estimation.tally import Tally
from deniably.mechanisms.subset_selection import SubsetSelection, subset_selection
from support.textbook import weights_for_epsilon

Floats = npt.NDArray[np.float64]


class Design(NamedTuple):
    """A single choice out of k at epsilon, asked of n people."""

    k: int
    epsilon: float
    n: int

    @property
    def mechanism(self) -> SubsetSelection:
        """The most accurate one."""
        return subset_selection(self.k, *weights_for_epsilon(Fraction(str(self.epsilon))))


def true_shares(name: str, k: int) -> Floats:
    """A distribution of answers; zipf<s> falls with the power s of the rank."""
    rank = np.arange(1, k + 1, dtype=np.float64)
    match name:
        case "one":
            shares = (rank == 1) * 1.0
        case "flat":
            shares = np.ones(k)
        case "halving":
            shares = 0.5 ** np.minimum(rank, 60)
        case "three":
            shares = np.append([5.0, 3.0, 2.0], np.zeros(k))[:k]
        case "five":
            shares = np.append([232.0, 194.0, 93.0, 66.0, 16.0], np.zeros(k))[:k]
        case "two levels":
            shares = np.where(rank <= k / 2, 3.0, 1.0)
        case _:
            shares = rank ** -float(name.removeprefix("zipf"))
    result: Floats = shares / shares.sum()
    return result


def answers(shares: Floats, n: int) -> npt.NDArray[np.int64]:
    """What n people answer whose shares are as near to ``shares`` as whole people can be."""
    counts = np.floor(n * shares + 1e-9).astype(np.int64)
    behind = np.argsort(counts - n * shares, kind="stable")
    counts[behind[: n - counts.sum()]] += 1
    return np.repeat(np.arange(len(shares)), counts)


def surveys(
    design: Design, shares: Floats, repeats: int, seed: int, *, drawn: bool = True
) -> Iterator[tuple[Floats, Tally]]:
    """Each time the shares of the respondents, and the tally of their reports.

    The respondents are ``drawn`` from a population with ``shares``, or the same each time.
    """
    generator = np.random.default_rng(seed)
    same = answers(shares, design.n)
    mechanism = design.mechanism
    for _ in range(repeats):
        people = generator.choice(len(shares), design.n, p=shares) if drawn else same
        yield (
            np.bincount(people, minlength=len(shares)) / design.n,
            Tally(design.n, supports(mechanism, people, generator)),
        )


def supports(
    mechanism: SubsetSelection, people: npt.NDArray[np.int64], generator: np.random.Generator
) -> npt.NDArray[np.int64]:
    """How many reports of these people support each choice, drawn by the law of the mechanism."""
    named = _named(mechanism, people, generator)
    return np.bincount(named.ravel(), minlength=mechanism.k)


def support_bits(
    mechanism: SubsetSelection, people: npt.NDArray[np.int64], generator: np.random.Generator
) -> npt.NDArray[np.bool_]:
    """Which choices the report of each person supports, shape (n, k)."""
    bits = np.zeros((len(people), mechanism.k), dtype=np.bool_)
    np.put_along_axis(bits, _named(mechanism, people, generator), True, axis=1)
    return bits


def _named(
    mechanism: SubsetSelection, people: npt.NDArray[np.int64], generator: np.random.Generator
) -> npt.NDArray[np.int64]:
    """The choices that each report supports, shape (n, omega)."""
    n, k, omega = len(people), mechanism.k, mechanism.omega
    own = generator.random(n) < float(mechanism.p)
    if omega == 1:
        others = (people + 1 + generator.integers(k - 1, size=n)) % k
        return np.where(own, people, others)[:, None]
    order = generator.random((n, k), dtype=np.float32)
    order[np.arange(n), people] = np.where(own, -1, 2)
    return np.argpartition(order, omega - 1, axis=1)[:, :omega]
