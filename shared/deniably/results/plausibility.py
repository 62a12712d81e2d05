"""Tests whether honest reports explain the counts, with a guaranteed bound on false alarms.

An alarm accuses somebody. So each test bounds the probability that honest reports raise it,
whatever people answered and however few they are. The bound is an exact binomial tail, or Bennett's
inequality for sums of independent bounded scores (Bennett 1962, JASA 57:33; as in Boucheron, Lugosi
and Massart 2013, theorem 2.9). The price: small frauds stay unseen. No test can see a fake report
that an honest device could also have sent; ``poisoning`` bounds the harm of these.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, repeat

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import tail_with
from deniably.estimation.estimate import Pure, supports
from deniably.estimation.scores import Score
from deniably.estimation.tally import Tally, support_rows
from deniably.mechanisms.law import HasLaw, Law, Noise, Supporting

RISK = 1e-4
"""The largest probability of a false alarm over a whole survey."""

_BLOCK = 10_000  # reports whose supports are in memory at once

Flags = npt.NDArray[np.bool_]


def impossible(mechanism: Pure, tally: Tally, risk: float) -> Flags:
    """Returns, for each of the k choices, whether more or fewer reports name it than any true
    answers explain, shape (k,).

    The count of a choice is a sum of n coins whose probabilities lie between q and p. So its lower
    tail is at most that of Binomial(n, q), and its upper tail at most that of Binomial(n, p).
    Blanks add coins of their own. The probability of a false alarm is at most ``risk``, over all
    choices together.
    """
    seen, k = supports(tally, mechanism), mechanism.law.k
    p, q, coins = seen.p, seen.q, seen.coins
    own = seen.counts - coins.expected
    # Bonferroni over k choices and two sides.
    each = risk / (2 * k)
    implausible = np.zeros(k, dtype=np.bool_)
    for v in np.flatnonzero((own > seen.n * p) | (own < seen.n * q)):  # others are likely
        count, n, often = int(seen.counts[v]), int(seen.n[v]), own[v] > seen.n[v] * p
        tail = tail_with(count, n, p if often else q, coins, upper=bool(often))
        implausible[v] = tail < each  # on the other side it is a half or more
    return implausible


def impossible_shares(
    scores: Sequence[Score], estimates: npt.ArrayLike, n: int, risk: float, blanks: float = 0.0
) -> Flags:
    """Returns, for each of the k choices, whether no true answers explain its estimated share,
    shape (k,). Works for any mechanism with scores.

    ``scores`` has the score of each choice (a function of a report whose mean over reports is the
    unbiased estimate), and ``estimates``, shape (k,), are these means. A mixer added so many
    ``blanks`` for each of n people. The probability of a false alarm is at most ``risk``, over all
    choices together.
    """
    return np.array(
        [
            too_far(float(estimate), n, of_score(score, blanks), risk / len(scores))
            for estimate, score in zip(np.asarray(estimates), scores, strict=True)
        ],
        dtype=np.bool_,
    )


def too_far(estimate: float, n: int, spread: Spread, risk: float) -> bool:
    """Returns whether ``estimate``, the mean of n scores, is too far outside [0, 1] for honest
    reports, which get that far with a probability of at most ``risk``. The expectation of the mean
    lies within [0, 1]."""
    reach = deviation(n, spread, risk / 2)
    return estimate > 1 + reach or estimate < -reach


@dataclass(frozen=True)
class Spread:
    """How far a score of a report can be from its expectation, whatever the answer.

    ``variance`` is the largest variance, ``farthest`` the largest distance.
    """

    variance: float
    farthest: float


def deviation(n: int, spread: Spread, risk: float) -> float:
    """Returns a distance that the mean of n independent scores exceeds, in a given direction from
    its expectation, with a probability of at most ``risk``.

    This is Bernstein's form of Bennett's inequality, solved for the distance.
    """
    log = math.log(1 / risk)
    # risk = exp(-n t**2 / (2 (variance + farthest t / 3))) is a quadratic equation in t.
    third = spread.farthest * log / (3 * n)
    return third + math.sqrt(third**2 + 2 * spread.variance * log / n)


def of_score(score: Score, blanks: float = 0.0) -> Spread:
    """Returns the spread of a figure's score, with so many ``blanks`` for each person.

    A blank's score is expected between the targets, so that none is farther from it. If devices
    draw what they report, chance decides how many blanks count, too.
    """
    variance, farthest = float(score.noise.max()) + blanks * score.blank_variance, score.farthest
    if blanks and score.sampled_fraction < 1:
        apart = float(np.abs(score.target - score.blank_mean).max())
        variance, farthest = variance + blanks / (1 + blanks) * apart**2, farthest + apart
    return Spread(variance, farthest)


def beyond_noise(mechanism: HasLaw[Noise], tally: Tally, risk: float) -> int:
    """Returns how many reported numbers lie farther outside the range than noise explains.

    If reports are honest, the probability that the count is above 0 is at most ``risk``. Numbers
    are counted from the smallest distance for which this holds.
    """
    law = mechanism.law
    chance = risk / (2 * tally.reports)  # of one report, for each of two sides
    # The tail falls with the distance, so the first distance that is rare enough is found by
    # halving.
    first = bisect_left(range(law.reach + 1), True, key=lambda y: law.tail(y) <= chance)
    cells = tally.cells().items()
    return sum(n for cell, n in cells if not -first < cell < law.k - 1 + first)


@dataclass(frozen=True)
class ImplausiblePair:
    """Two choices (indices) that were reported together more or less often than any true answers
    explain."""

    first: int
    second: int
    together: int
    expected: float


class PairCounts:
    """Counts, over the reports that are added, how often each pair of choices is supported by one
    report.

    ``n`` is the number of reports. ``both[u, v]`` is the number of reports that support both u and
    v; ``both[v, v]`` is the number that support v.
    """

    def __init__(self, k: int) -> None:
        self.n = 0
        self.both: npt.NDArray[np.int64] = np.zeros((k, k), dtype=np.int64)

    def add(self, reports: Iterable[Sequence[int]], times: Iterable[int] | None = None) -> None:
        """Adds reports, each given as the list of choices that it supports. ``times`` has how many
        times each report is counted; None means once."""
        rest = zip(reports, repeat(1) if times is None else times, strict=False)
        while block := list(islice(rest, _BLOCK)):
            # One product of matrices counts all pairs of a block; doubles hold such counts exactly.
            bits = support_rows([value for value, _ in block], len(self.both)).astype(np.float64)
            counts = np.array([count for _, count in block])
            self.both += ((bits * counts[:, None]).T @ bits).astype(np.int64)
            self.n += int(counts.sum())


def implausible_pairs(
    mechanism: Pure, n: int, both: npt.ArrayLike, risk: float
) -> list[ImplausiblePair]:
    """Returns the pairs of choices that ``n`` reports name together more or less often than chance
    explains, the most implausible first.

    ``both`` has shape (k, k) for k choices, as in ``PairCounts``; every person has one answer. The
    score of a pair is 1 if a report names both choices, minus a linear function of how many of the
    two it names, so that the expectation is 0 whatever the answer. The probability of a false
    alarm is at most ``risk``, over all pairs together. The list is empty if reports name one
    choice only.
    """
    counts = np.asarray(both, dtype=np.float64)
    k = len(counts)
    if not n or not says_pairs(mechanism):
        return []
    alone, offset, spread = pair_score(mechanism)
    single = np.diag(counts)
    expected = n * offset + alone * (single[:, None] + single)
    # Each of the k (k - 1) / 2 pairs can be off to two sides.
    reach = n * deviation(n, spread, risk / (k * (k - 1)))
    # The upper triangle: each pair once.
    odd = np.argwhere(np.triu(np.abs(counts - expected) > reach, 1)).tolist()
    pairs = [
        ImplausiblePair(a, b, int(counts.item(a, b)), float(expected.item(a, b))) for a, b in odd
    ]
    return sorted(pairs, key=lambda pair: -abs(pair.together - pair.expected))


def says_pairs(mechanism: HasLaw[Law]) -> bool:
    """Returns whether a report names several choices, of which at most one is the answer. Pairs of
    choices can then be checked."""
    law = mechanism.law
    return isinstance(law, Supporting) and law.joint.pairs is not None and law.size != 1


def pair_score(mechanism: Pure) -> tuple[float, float, Spread]:
    """Returns (a, c, spread) such that [u and v supported] - a ([u] + [v]) - c has expectation 0
    for every pair u, v, where [x] is 1 if a report supports x, otherwise 0.

    Raises ValueError if the probability of a pair depends on which pair it is.
    """
    law = mechanism.law
    if (pairs := law.joint.pairs) is None:
        raise ValueError("how often two choices are named together depends on which they are")
    p, q, either, neither = (float(each) for each in (law.p, law.q, *pairs))
    # Solved so that the expectation is 0 for an answer in the pair, and for one that is in neither.
    alone = (either - neither) / (p - q)
    offset = neither - 2 * q * alone
    # The score where a report names both, one of them, and neither.
    values = np.array([1 - 2 * alone - offset, -alone - offset, -offset])
    laws = [
        np.array([together, first + second - 2 * together, 1 - first - second + together])
        for together, first, second in ((either, p, q), (neither, q, q))
    ]
    variance = max(float(law @ values**2) for law in laws)
    return alone, offset, Spread(variance, float(np.abs(values).max()))
