"""Privacy amplification by blanks: what made-up reports hide when a mixer adds them to a batch.

A mixer adds D **blanks** to the reports of each question, each the report of a uniformly random
answer, and removes what shows who sent what. Then a person hides among the blanks, even if the
server knows or made all other people's reports. So the promise needs no honest crowd, unlike those
of ``shuffle``. The number of blanks is public, and estimates subtract them.

Of two answers, reports are of three kinds: for the one, for the other, for neither. The server sees
how many of each kind there are among D + 1, the person's own and the blanks. For yes/no and k-ary
randomised response that is all there is to see. Clones bound every other mechanism, as in Feldman,
McMillan and Talwar 2021 (FOCS): every blank is in part a report for one of the two. Questions are
independent, so their losses add up. Wang et al. 2020 (PVLDB 13:3545) proposed blanks of a shuffler
against dishonest servers. SPEC 13.1.

Every result is rounded up: a delta, an epsilon or a number of blanks is never too small.

* A law of the loss lists every outcome that matters; the rest counts as ``lost``, as if it gave
  everything away.
* For sums, each outcome is split into two on a grid of losses, with its own probability under both
  answers. Merging the two gives the outcome back, so the split law gives away at least as much
  (Doroshenko et al. 2022, PoPETs 4:552). Rounding losses up instead would need a far finer grid.
* Each loss is raised by 1e-12, and floats move a sum of losses by less than 1e-13 a question.
* Sums and products here have positive terms alone, so probabilities keep a relative error below
  1e-9; deltas are raised by 1e-8. No Fourier transform is taken, whose errors are absolute.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt

from deniably.core.bisection import smallest_within
from deniably.design.composition import (
    AnswerPair,
    basic_composition,
    binomial_window,
    privacy_profile,
)
from deniably.mechanisms.law import Law, Randomiser, Supporting
from deniably.survey.mixer import MOST_BLANKS

Floats = npt.NDArray[np.float64]

_FIRST_TRIED = 16
_UP = 1 + 1e-8
_RAISE = 1e-12
_STEPS = 500
"""Of the grid, from no loss to the largest likely one. For hundreds of blanks a delta is then 1 in
1,000 too large; for a handful up to 5."""
_NEVER = 1e-24
"""Outcomes less likely than this are not listed."""


@dataclass(frozen=True)
class HiddenPair:
    """Two answers to one question, and how blanks hide which of them a person gave.

    The person's own report speaks for the true answer with probability ``p``, for the other one
    with ``q``, and else for neither. A blank speaks for either with probability ``r``. Reports for
    neither are drawn alike for a person and a blank.

    Raises ValueError unless ``0 < q < p``, ``p + q <= 1`` and ``0 < 2r <= p + q``.
    """

    p: float
    q: float
    r: float

    def __post_init__(self) -> None:
        apart = self.p + self.q
        if not (0 < self.q < self.p and apart <= 1 + 1e-12 and 0 < 2 * self.r <= apart + 1e-12):
            raise ValueError(
                f"p is {self.p:g}, q {self.q:g} and r {self.r:g}; use 0 < q < p, p + q <= 1 and"
                " 0 < 2r <= p + q"
            )

    @classmethod
    def k_ary(cls, k: int, odds: float) -> HiddenPair:
        """Returns any two answers under k-ary randomised response; ``k = 2`` is yes/no.

        Exact: a server that knows all other people's reports learns no more than this says.
        """
        if not (k >= 2 and odds > 1):
            raise ValueError(f"k is {k} and odds {odds:g}; use 2 or more and odds above 1")
        return cls(odds / (odds + k - 1), 1 / (odds + k - 1), 1 / k)

    @classmethod
    def clones(cls, epsilon: float, answers: int) -> HiddenPair:
        """Returns any two answers under any randomiser of ``epsilon`` without delta that takes so
        many ``answers``.

        A blank answers each of them equally often. Its report is for either of the two where it
        answers so, with probability 1/answers; and any other answer's report is at least
        e^-epsilon times as likely as one under the mean of the two.
        """
        pair, own = AnswerPair(epsilon), 1 / answers
        return cls(pair.p, pair.q, own + (0.5 - own) * math.exp(-epsilon) * (1 - 1e-15))

    @classmethod
    def of(cls, mechanism: Randomiser[Law]) -> HiddenPair:
        """Returns the two answers that ``mechanism`` tells apart best.

        Raises ValueError if it has a delta, with which no clones exist.
        """
        law, loss = mechanism.law, mechanism.loss
        if loss.delta:
            raise ValueError("blanks hide reports of mechanisms without a delta only")
        if isinstance(law, Supporting) and law.single and law.size == 1:
            return cls(float(law.p), float(law.q), 1 / law.k)
        return cls.clones(math.nextafter(loss.epsilon, math.inf), law.domain.count)

    @property
    def epsilon(self) -> float:
        """The epsilon without blanks, ln(p/q), rounded up."""
        return math.log(self.p / self.q) + _RAISE


@dataclass(frozen=True, eq=False)
class LossLaw:
    """The law of the privacy loss of one answer among blanks.

    ``losses`` have the probabilities ``weights`` if the answer that they speak for is the true one;
    the law is the same the other way round. All other outcomes together have at most the
    probability ``lost``. No loss is above ``largest``.
    """

    losses: Floats
    weights: Floats
    lost: float
    largest: float


def blanks_law(blanks: int, pair: HiddenPair) -> LossLaw:
    """Returns the law of the loss of an answer among so many ``blanks``.

    Among D + 1 reports, let a speak for the true answer, b for the other and c for neither. As if
    all were blanks that is multinomial, and the true answer makes it more likely by the factor
    (p a/r + q b/r + c (1-p-q)/(1-2r)) / (D+1); the other answer swaps a and b. So the loss is the
    logarithm of the ratio of the two factors. Raises ValueError for fewer than 0 blanks.
    """
    if not 0 <= blanks <= MOST_BLANKS:
        raise ValueError(f"{blanks:,} blanks; use a number from 0 to {MOST_BLANKS:,}")
    n = blanks + 1
    own, other, neither, mass = _kinds(n, pair.r)
    rest = 1 - 2 * pair.r
    others = neither * ((1 - pair.p - pair.q) / rest) if neither.any() else 0.0
    true = (pair.p / pair.r * own + pair.q / pair.r * other + others) / n
    false = (pair.q / pair.r * own + pair.p / pair.r * other + others) / n
    happens = true > 0  # some report is the person's own
    true, false, mass = true[happens], false[happens], mass[happens]
    lost = n * n * _NEVER * pair.p / pair.r
    return LossLaw(np.log(true / false) + _RAISE, mass * true, lost, pair.epsilon)


def mixed_delta(laws: Sequence[LossLaw], epsilon: float) -> float:
    """Returns a delta for which answers to different questions together keep (epsilon, delta).

    It is never below the exact one, and a few in 1,000 above; where ``epsilon`` is near the largest
    loss it is further above. One question's is exact but for rounding. Raises ValueError without a
    law, and for an epsilon below 0.
    """
    return _Together.of(laws).delta(epsilon)


def mixed_epsilon(laws: Sequence[LossLaw], delta: float) -> float:
    """Returns the smallest epsilon that the answers keep together with ``delta``; see above.

    Raises ValueError unless ``0 < delta < 1``.
    """
    _check_delta(delta)
    together = _Together.of(laws)
    return min(together.largest, smallest_within(together.delta, delta, together.largest))


def least_blanks(pairs: Sequence[HiddenPair], target: float, delta: float) -> int:
    """Returns the fewest blanks for each question that keep ``(target, delta)`` for all together.

    ``pairs`` has one pair for each question. ``target`` is an epsilon: round ln(odds) down.

    >>> least_blanks([HiddenPair.k_ary(2, odds=8)] * 6, target=1.0986, delta=1e-6)
    218

    Raises ValueError where ``target`` is not above 0, ``delta`` not between 0 and 1, there is no
    question, or more than ``MOST_BLANKS`` are needed.
    """
    _check_delta(delta)
    if not target > 0:
        raise ValueError(f"the target is {target:g}; it is an epsilon above 0")
    alike = Counter(pairs)

    def enough(blanks: int) -> bool:
        laws = {pair: blanks_law(blanks, pair) for pair in alike}
        return mixed_delta([laws[pair] for pair in pairs], target) <= delta

    if enough(0):
        return 0
    few, many = 0, _FIRST_TRIED
    while not enough(many):
        few, many = many, 2 * many
        if many > MOST_BLANKS:
            raise ValueError(
                f"more than {MOST_BLANKS:,} blanks for each question are needed; accept larger odds"
                " against the server, ask fewer questions or lower the local odds"
            )
    return bisect_left(range(many), True, lo=few + 1, key=enough)


# --- below ------------------------------------------------------------------------------------


def _kinds(n: int, r: float) -> tuple[Floats, Floats, Floats, Floats]:
    """How many of n blanks speak for the one answer, the other and neither, and how likely that is.

    Leaves out what is less likely than ``_NEVER``.
    """
    if 2 * r >= 1:  # no report speaks for neither
        first, mass = binomial_window(n, 0.5)
        own = first + np.arange(mass.size, dtype=np.float64)
        likely = mass > _NEVER
        own, mass = own[likely], mass[likely]
        return own, n - own, np.zeros_like(own), mass
    first, alone = binomial_window(n, r)
    some = first + np.flatnonzero(alone > _NEVER)
    pairs = np.stack(np.meshgrid(some, some)).reshape(2, -1)
    a, b = pairs[:, pairs.sum(axis=0) <= n]
    c = n - a - b
    logs = np.array([math.lgamma(count + 1) for count in range(n + 1)])
    ways = logs[n] - logs[a] - logs[b] - logs[c]
    mass = np.exp(ways + (a + b) * math.log(r) + c * math.log1p(-2 * r))
    likely = mass > _NEVER
    kinds = np.stack([a, b, c])[:, likely].astype(np.float64)
    return kinds[0], kinds[1], kinds[2], mass[likely]


@dataclass(frozen=True, eq=False)
class _OnGrid:
    """A law of losses ``(first + i) * step``, and the probability of what is not listed."""

    first: int
    weights: Floats
    lost: float

    @classmethod
    def split(cls, law: LossLaw, step: float) -> _OnGrid:
        """Every outcome as two, at the losses of the grid below and above its own."""
        below = np.floor(law.losses / step)
        apart = np.clip(law.losses - below * step, 0.0, step)
        # Both probabilities have the sum w, and divided by their odds the sum w / e^loss.
        upper = law.weights * (np.expm1(-apart) / math.expm1(-step))
        first = int(below.min())
        place = below.astype(np.int64) - first
        size = int(place.max()) + 2
        weights = np.bincount(place, law.weights - upper, size)
        weights += np.bincount(place + 1, upper, size)
        return cls(first, np.maximum(weights, 0.0), law.lost)

    def __add__(self, other: _OnGrid) -> _OnGrid:
        """The law of the sum of two independent losses."""
        weights = np.convolve(self.weights, other.weights)
        likely = np.flatnonzero(weights > _NEVER)
        start, stop = int(likely[0]), int(likely[-1]) + 1
        kept = weights[start:stop].copy()
        kept[0] += weights[:start].sum()  # small losses are raised, large ones are lost
        lost = self.lost + other.lost + float(weights[stop:].sum())
        return _OnGrid(self.first + other.first + start, kept, lost)

    def times(self, count: int) -> _OnGrid:
        """The law of the sum of so many losses, by squaring."""
        if count == 1:
            return self
        half = self.times(count // 2)
        return half + half + self if count % 2 else half + half


@dataclass(frozen=True, eq=False)
class _Together:
    """The law of the sum of the losses of several questions."""

    losses: Floats
    weights: Floats
    lost: float
    largest: float

    @classmethod
    def of(cls, laws: Sequence[LossLaw]) -> _Together:
        if not laws:
            raise ValueError("the list of laws is empty; a promise is about at least one question")
        largest = basic_composition(law.largest for law in laws)
        if len(laws) == 1:
            return cls(laws[0].losses, laws[0].weights, laws[0].lost, largest)
        step = max(float(law.losses.max()) for law in laws) / _STEPS
        total = reduce(
            _OnGrid.__add__,
            (_OnGrid.split(law, step).times(count) for law, count in Counter(laws).items()),
        )
        losses = (total.first + np.arange(total.weights.size, dtype=np.float64)) * step
        return cls(losses, total.weights, total.lost, largest)

    def delta(self, epsilon: float) -> float:
        if epsilon < 0:
            raise ValueError(f"epsilon is {epsilon:g}; give a number from 0")
        if epsilon >= self.largest:
            return 0.0
        return min(1.0, _UP * privacy_profile(self.losses, self.weights, epsilon) + self.lost)


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise ValueError(f"delta is {delta:g}; it is a probability strictly between 0 and 1")
