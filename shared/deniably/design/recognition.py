"""Computes how many people can be recognised across two waves from their stored reports alone.

A single report says little about an answer, but two similar reports may come from one person. The
likelihood ratio (one person sent both, against two people) is the best test (Neyman and Pearson
1933), and its logarithms add up over questions. Answers are assumed to be evenly spread.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from math import comb
from typing import Any, cast

import numpy as np

from deniably.core.binomial import Floats
from deniably.estimation.channels import rows
from deniably.mechanisms import Memoised
from deniably.mechanisms.law import Finite, HasLaw, Supporting, TwoLevel
from deniably.mechanisms.memoised import Family

PEOPLE = 1000
"""The number of people in both waves that a count of the recognised assumes."""

LEAST_STATED = 10
"""The smallest number of recognisable people, of 1,000, that is stated."""

_STEP = 0.002  # of the grid of log likelihood ratios
_LENGTH = 1 << 16  # of that grid, where it is not made coarser
_FARTHEST = 30.0  # larger log likelihood ratios are as good as certainty
_NOTHING = 1e-12

Asked = Memoised[Any] | Family
"""The mechanism of two waves: memoised, or randomised afresh in each."""


def recognised(asked: Iterable[Asked], people: int = PEOPLE) -> float:
    """The share of ``people`` whose reports of two waves are matched correctly.

    The attacker matches each report with the likeliest one of the other wave. ``asked`` holds the
    mechanism of each question. With A the distribution function of the log likelihood ratio of two
    people's reports, and b its law for one person's two reports, the share is the sum over all
    values of b times the mean of t**(people - 1) between A before and A at the value. Ties are
    broken at random.
    """
    laws = Counter(asked)
    pairs = [(*pair_law(one), count) for one, count in laws.items()]
    ratios = [np.clip(np.log(same / other), -_FARTHEST, _FARTHEST) for same, other, _ in pairs]
    reach = sum(
        float(np.ptp(ratio)) * count for ratio, (_, _, count) in zip(ratios, pairs, strict=True)
    )
    step = max(_STEP, reach / _LENGTH)
    length = 1 << (int(reach / step) + sum(laws.values()) + 2).bit_length()
    same, other = np.ones(length // 2 + 1, complex), np.ones(length // 2 + 1, complex)
    for ratio, (one, two, count) in zip(ratios, pairs, strict=True):
        place = np.rint((ratio - ratio.min()) / step).astype(int)
        for law, weights in ((same, one), (other, two)):
            law *= np.fft.rfft(np.bincount(place, weights, length)) ** count
    b, a = (np.clip(np.fft.irfft(law, length), 0, None) for law in (same, other))
    return float(b @ _wins(a, people))


def recognised_of_1000(asked: Iterable[Asked]) -> int:
    """The number that a definition states as ``recognised`` where it is 10 or more (SPEC 4.4)."""
    return round(recognised(asked) * PEOPLE)


def _wins(law: Floats, people: int) -> Floats:
    """For each value the probability that it wins against ``people - 1`` others from ``law``."""
    upto = np.minimum(law.cumsum() / law.sum(), 1.0)
    before = np.concatenate([[0.0], upto[:-1]])
    gap = upto - before
    safe = np.where(gap > _NOTHING, gap, 1.0)
    ties = (upto**people - before**people) / (people * safe)
    return cast(Floats, np.where(gap > _NOTHING, ties, upto ** (people - 1)))


@lru_cache(maxsize=256)
def pair_law(asked: Asked) -> tuple[Floats, Floats]:
    """P(pair of reports | one person sent both), and P(pair | two people did), by kind of pair.

    For sets the kind is the number of common members, for single outputs the pair itself. Kinds
    that are impossible under either are left out.
    """
    law = asked.law
    if isinstance(asked, Memoised):
        found = _overlaps(asked.fresh.law) if asked.fresh else _outputs(_sent_rows(asked))
    elif isinstance(law, Finite):
        found = _outputs(rows(law))
    else:
        found = _shared(law) if law.blanks else _overlaps(law)
    same, other = found
    seen = (same > 0) & (other > 0)
    return same[seen], other[seen]


def _sent_rows(asked: Memoised[Any]) -> Floats:
    """P(output | memo)."""
    weights = np.array([asked.row(memo) for memo in range(asked.memo.law.cell_count)], dtype=float)
    return cast(Floats, weights / weights.sum(axis=1, keepdims=True))


def overlap_law(mechanism: HasLaw[Supporting]) -> list[Fraction]:
    """P(two reports of one memo share i choices), for i from 0 to omega."""
    law = mechanism.law
    k, omega, inside = law.k, law.most, law.p

    def shared(first: int, second: int, count: int) -> Fraction:
        """P(both reports share ``count`` other choices | they hold ``first`` and ``second``)."""
        if not 0 <= count <= min(first, second):
            return Fraction(0)
        return Fraction(
            comb(first, count) * comb(k - 1 - first, second - count), comb(k - 1, second)
        )

    return [
        inside**2 * shared(omega - 1, omega - 1, count - 1)
        + 2 * inside * (1 - inside) * shared(omega - 1, omega, count)
        + (1 - inside) ** 2 * shared(omega, omega, count)
        for count in range(omega + 1)
    ]


def _overlaps(sent: Supporting) -> tuple[Floats, Floats]:
    same = [float(share) for share in overlap_law(sent)]
    return np.array(same), _of_two(sent.k, sent.most)


def _of_two(domain: int, size: int) -> Floats:
    """P(two independent sets share i members), for i from 0 to ``size``."""
    ways = [comb(size, i) * comb(domain - size, size - i) for i in range(size + 1)]
    return np.array([float(Fraction(way, comb(domain, size))) for way in ways])


def _outputs(channel: Floats) -> tuple[Floats, Floats]:
    """All pairs of outputs, for a channel whose rows are equally likely."""
    each = channel.mean(axis=0)
    same: Floats = channel.T @ channel / len(channel)
    return same.ravel(), np.outer(each, each).ravel()


def _shared(law: Supporting) -> tuple[Floats, Floats]:
    """Reports to the same ticks: of two with so many members in common, how often the ticks miss
    one of them, and both."""
    joint, domain, size, most = law.joint, law.cell_count, law.most, law.blanks
    assert isinstance(joint, TwoLevel)
    other = _of_two(domain, size)
    all_ticks = comb(domain, most)
    missed = Fraction(comb(domain - size, most), all_ticks)
    step = joint.own - joint.other
    mean = joint.own - step * missed
    ratios: list[float] = []
    for count in range(size + 1):
        left = domain - 2 * size + count
        both = Fraction(comb(left, most) if left >= 0 else 0, all_ticks)
        weight = joint.own**2 - 2 * joint.own * step * missed + step**2 * both
        ratios.append(float(weight / mean**2))
    return other * np.array(ratios), other
