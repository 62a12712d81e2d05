"""Whether honest reports explain what was counted, with a risk of a false alarm that is guaranteed.

An alarm accuses somebody. So each test here has a bound on the chance that honest reports raise
it, whatever people answered and however few they are: an exact binomial tail, or Bennett's
inequality for sums of independent bounded scores (Bennett 1962, JASA 57:33; as in Boucheron,
Lugosi and Massart 2013, theorem 2.9). The price is that small frauds stay unseen, and somebody who
sends what the mechanism would have sent for a lie is seen by no test: see ``poisoning``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import Floats, upper_tail
from deniably.estimation.analysis import noise_of_sum
from deniably.estimation.channels import noise_variance, position_scores, some_positions
from deniably.estimation.difference import pair_support
from deniably.estimation.estimate import Pure, supports
from deniably.estimation.tally import Tally, support_rows
from deniably.mechanisms import Gaussian, Laplace, SubsetSelection, Unary
from deniably.mechanisms.noise import ratio
from deniably.robustness.poisoning import Positional, of_weighted

RISK = 1e-4
"""The chance of a false alarm over a whole survey that alarms are set to."""

_BLOCK = 10_000  # reports whose supports are in memory at once

Flags = npt.NDArray[np.bool_]


def impossible(mechanism: Pure, tally: Tally, risk: float) -> Flags:
    """Which choices were reported more often or more rarely than any answers explain, shape (k,).

    The count of a choice is a sum of n coins with chances between q and p, so its tails are at
    most those of Binomial(n, q) below and Binomial(n, p) above. With all choices together a false
    alarm has at most the chance ``risk``.
    """
    counts, asked = supports(tally, mechanism)
    p, q = float(mechanism.p), float(mechanism.q)
    each = risk / (2 * mechanism.k)
    found = np.zeros(mechanism.k, dtype=np.bool_)
    for v in np.flatnonzero((counts > asked * p) | (counts < asked * q)):  # others are likely
        count, n = int(counts[v]), int(asked[v])
        tails = upper_tail([count], n, p), upper_tail([n - count], n, 1 - q)
        found[v] = min(float(tail[0]) for tail in tails) < each
    return found


def impossible_shares(
    channel: Floats, each: Floats, estimates: npt.ArrayLike, n: int, risk: float
) -> Flags:
    """The same through any channel of shape (k, outputs), where a share is the mean of scores:
    ``each`` has those of every choice, shape (k, outputs); ``estimates`` their means (k,)."""
    return np.array(
        [
            too_far(float(estimate), n, spread_of(channel, score), risk / len(each))
            for estimate, score in zip(np.asarray(estimates), each, strict=True)
        ],
        dtype=np.bool_,
    )


def too_far(estimate: float, n: int, spread: Spread, risk: float) -> bool:
    """Whether the mean of n scores, whose expectation lies in 0 .. 1, is too far out of that."""
    reach = deviation(n, spread, risk / 2)
    return estimate > 1 + reach or estimate < -reach


@dataclass(frozen=True)
class Spread:
    """How a score scatters around its expectation, whatever the answer: its largest variance, and
    the farthest that it can be away."""

    variance: float
    farthest: float


def deviation(n: int, spread: Spread, risk: float) -> float:
    """How far the mean of n independent scores exceeds its expectation with at most the chance
    ``risk``: Bernstein's form of Bennett's inequality, solved for the deviation."""
    log = math.log(1 / risk)
    third = spread.farthest * log / (3 * n)
    return third + math.sqrt(third**2 + 2 * spread.variance * log / n)


def spread_of_mean(mechanism: Positional) -> Spread:
    """Of the score of a position, on a scale from 0 to 1."""
    last = mechanism.k - 1
    if isinstance(mechanism, Laplace | Gaussian):
        return Spread(noise_variance(mechanism) / last**2, 1 + mechanism.reach / last)
    _, channel = some_positions(mechanism)
    return spread_of(channel, position_scores(mechanism) / last)


def spread_of(channel: Floats, score: Floats) -> Spread:
    """Of the scores that the outputs of a channel have."""
    target = channel @ score
    variance = float((channel @ score**2 - target**2).max())
    farthest = max(float(score.max() - target.min()), float(target.max() - score.min()))
    return Spread(variance, farthest)


def spread_of_weighted(mechanism: SubsetSelection, places: Floats) -> Spread:
    """Of the summed places of the choices that a report names."""
    leverage = of_weighted(mechanism, places)
    farthest = max(leverage.high, 1 - leverage.low)
    return Spread(float(noise_of_sum(mechanism, places).max()), farthest)


def beyond_noise(mechanism: Laplace | Gaussian, tally: Tally, risk: float) -> int:
    """How many numbers lie farther off the grid than the noise of any of the n would with the
    chance ``risk``; 0 for honest reports but for that risk."""
    if isinstance(mechanism, Laplace):
        # P(noise >= y) = e^(-y / scale) / (1 + e^(-1 / scale)), for each of two sides.
        scale = float(ratio(mechanism.scale, "scale"))
        far = scale * math.log(2 * tally.n / risk)
    else:
        # Below the tail of the continuous one (Canonne, Kamath and Steinke 2020, proposition 25),
        # which is below e^(-y^2 / (2 sigma^2)).
        variance = float(ratio(mechanism.sigma2, "sigma2"))
        far = math.sqrt(2 * variance * math.log(2 * tally.n / risk))
    reach = math.ceil(far)
    cells = tally.cells().items()
    return sum(n for cell, n in cells if not -reach <= cell <= mechanism.k - 1 + reach)


@dataclass(frozen=True)
class Pair:
    """Two choices that were reported together more or less often than any answers explain."""

    first: int
    second: int
    together: int
    expected: float


class PairCounts:
    """Of reports, as they are added: ``n``, how many, and ``both`` (k, k), how many support both of
    two of k choices; on the diagonal how many support each one."""

    def __init__(self, k: int) -> None:
        self.n = 0
        self.both: npt.NDArray[np.int64] = np.zeros((k, k), dtype=np.int64)

    def add(self, reports: Iterable[Sequence[int]]) -> None:
        """Count these as well; each is the choices that it supports."""
        rest = iter(reports)
        while block := list(islice(rest, _BLOCK)):
            bits = support_rows(block, len(self.both)).astype(np.float32)
            self.both += (bits.T @ bits).astype(np.int64)
            self.n += len(block)


def pair_counts(reports: Iterable[Sequence[int]], k: int) -> tuple[int, npt.NDArray[np.int64]]:
    """``n`` and ``both`` of ``PairCounts``."""
    counts = PairCounts(k)
    counts.add(reports)
    return counts.n, counts.both


def odd_pairs(
    mechanism: SubsetSelection | Unary, n: int, both: npt.ArrayLike, risk: float
) -> list[Pair]:
    """The pairs of choices that do not go together as chance would have them, the oddest first.

    ``both`` is that of ``pair_counts``; every person has one answer. What a report says about a
    pair, less what it says about the two one by one, has the expectation 0 whatever the answer is;
    over all pairs a false alarm has at most the chance ``risk``. Nothing is found where a report
    names one choice only.
    """
    counts = np.asarray(both, dtype=np.float64)
    k = len(counts)
    if n < 1 or not says_pairs(mechanism):
        return []
    alone, offset, spread = pair_score(mechanism)
    single = np.diag(counts)
    expected = n * offset + alone * (single[:, None] + single)
    # Each of the k (k - 1) / 2 pairs can be off to two sides.
    reach = n * deviation(n, spread, risk / (k * (k - 1)))
    odd = np.argwhere(np.triu(np.abs(counts - expected) > reach, 1)).tolist()
    pairs = [Pair(a, b, int(counts.item(a, b)), float(expected.item(a, b))) for a, b in odd]
    return sorted(pairs, key=lambda pair: -abs(pair.together - pair.expected))


def says_pairs(mechanism: object) -> bool:
    """Whether its reports name several choices of which one is the answer at most."""
    match mechanism:
        case SubsetSelection(omega=omega):
            return omega > 1
        case Unary():
            return True
        case _:
            return False


def pair_score(mechanism: SubsetSelection | Unary) -> tuple[float, float, Spread]:
    """(a, c, spread) such that [u and v supported] - a ([u] + [v]) - c has expectation 0."""
    p, q = float(mechanism.p), float(mechanism.q)
    if isinstance(mechanism, Unary):
        one, neither = p * q, q * q
    else:
        one, neither = pair_support(mechanism.k, mechanism.omega, p)
    alone = (one - neither) / (p - q)
    offset = neither - 2 * q * alone
    values = np.array([1 - 2 * alone - offset, -alone - offset, -offset])
    laws = [
        np.array([together, first + second - 2 * together, 1 - first - second + together])
        for together, first, second in ((one, p, q), (neither, q, q))
    ]
    variance = max(float(law @ values**2) for law in laws)
    return alone, offset, Spread(variance, float(np.abs(values).max()))
