"""How often somebody who sees a report guesses right between two answers.

A guess that knows nothing is right half of the time. From the report it is right (1 + TV) / 2 of
the time, where TV is the total variation distance between what is sent for the one answer and for
the other (Neyman and Pearson 1933). For each mechanism, the two answers that are easiest to tell
apart are taken.

A *kind* of report is the set of all reports with one likelihood ratio between the two answers. TV
is exact (a fraction) where the probabilities are and there are few kinds. Otherwise it is an upper
bound: likelihood ratios are put on a grid in such a way that the answers are told apart at least as
well (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022, "Connect the dots").

Beside other reports, two answers that are told apart less well alone may be told apart better. They
never are if the sum of max(P - r Q, 0) over all reports is no larger for any ratio r (Zhu, Dong and
Wang 2022, "Optimal accounting of differential privacy via characteristic function"). Where that
does not hold, a pair is taken that is above all.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import assert_never

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import Floats
from deniably.core.loss import Loss
from deniably.mechanisms.law import (
    ROUNDED_UP,
    CoinEach,
    CoinForSome,
    Domain,
    Finite,
    HasLaw,
    Law,
    Noise,
    Several,
    Supporting,
    Ticks,
    TwoLevel,
)

_BINS = 128  # of the grid on which noise of one question is put, on either side of a ratio of 1
_CHUNK = 1 << 16  # reports of noise that are looked at together
_FEW = 12  # options up to which all ways to tick them differently are tried
_SAME = 1e-11  # differences of sums of probabilities that are rounding
_MOST_STEPS = 3_000  # multiplications of fractions
_LENGTH = 1 << 16  # of the grid of all answers
_FINEST = 0.0005  # and its finest step
_CERTAIN = 10**13
"""Odds that are as good as certainty."""


@dataclass(frozen=True)
class LikelihoodPair:
    """The probabilities of reports under two answers, grouped by likelihood ratio.

    All reports with the same likelihood ratio are one kind; ``kinds`` has for each kind its
    probabilities under the first and under the second answer. ``exact`` is false where these
    probabilities are an approximation that makes the two answers a little easier to tell apart.
    ``alone`` is then the exact total variation distance of a single report, or None where that is
    not known.
    """

    kinds: tuple[tuple[Fraction, Fraction], ...]
    exact: bool = True
    alone: Fraction | None = None

    @classmethod
    def of(cls, chances: Iterable[tuple[Fraction, Fraction]], exact: bool = True) -> LikelihoodPair:
        """Returns the pair for ``chances``, the probabilities of each report under the two answers.

        Reports with the same likelihood ratio become one kind.
        """
        kinds: dict[Fraction | None, tuple[Fraction, Fraction]] = {}
        for first, second in chances:
            ratio = first / second if second else None
            before = kinds.get(ratio, (Fraction(0), Fraction(0)))
            kinds[ratio] = (before[0] + first, before[1] + second)
        return cls(tuple(kind for kind in kinds.values() if any(kind)), exact)

    @classmethod
    def three_kinds(cls, odds: Fraction, distance: Fraction) -> LikelihoodPair:
        """Returns the pair of this total variation ``distance`` that is easiest to tell apart.

        Its reports favour either answer with the odds ``odds``, or favour none. No pair with at
        most these odds and this distance is easier to tell apart.
        """
        high = min(odds * distance / (odds - 1), odds / (odds + 1))
        low = high / odds
        return cls.of(_three(high, low), exact=False)

    @property
    def symmetric(self) -> bool:
        """Whether the probabilities stay the same if the two answers are swapped."""
        return {(second, first) for first, second in self.kinds} == set(self.kinds)

    @property
    def either_way(self) -> LikelihoodPair:
        """A symmetric pair that is at least as easy to tell apart as this pair, and as this pair
        swapped."""
        odds = max(max(kind) / min(kind) for kind in self.kinds)
        return LikelihoodPair.three_kinds(odds, self.distance)

    @property
    def distance(self) -> Fraction:
        """The total variation distance between the reports to the two answers."""
        return sum((max(first - second, Fraction(0)) for first, second in self.kinds), Fraction(0))


def _three(high: Fraction, low: Fraction) -> list[tuple[Fraction, Fraction]]:
    rest = 1 - high - low
    return [(high, low), (low, high), (rest, rest)]


LikelihoodPairs = Mapping[LikelihoodPair, int]
"""Independent pairs, each with the number of times it occurs in one report or in several."""


@dataclass(frozen=True)
class Distance:
    """A total variation distance between reports to two answers; an upper bound unless
    ``exact``."""

    value: Fraction
    exact: bool

    @property
    def rate(self) -> Fraction:
        """The probability that a guess between the two answers is right: from 1/2 to 1."""
        return (1 + self.value) / 2


def together(pairs: LikelihoodPairs) -> Distance:
    """Returns the distance between two sets of answers whose reports differ in all of ``pairs``.

    Either set may contain the first answer of some pairs and the second answer of others. That
    matters where several pairs are not symmetric.
    """
    if sum(times for pair, times in pairs.items() if not pair.symmetric) > 1:
        # Which of the two answers goes with which is open: a symmetric pair bounds both ways.
        evened: Counter[LikelihoodPair] = Counter()
        for pair, times in pairs.items():
            evened[pair if pair.symmetric else pair.either_way] += times
        pairs = evened
    if all(pair.exact for pair in pairs) and (joint := _multiplied(pairs)):
        return Distance(joint.distance, exact=True)
    if sum(pairs.values()) == 1:
        (only,) = pairs
        if only.alone is not None:
            return Distance(only.alone, exact=True)
        return _bound(only.distance)
    return _bound(Fraction(_on_a_grid(pairs)))


def luck(pairs: LikelihoodPairs) -> Fraction:
    """Returns the probability that every report is the one that most favours the true answer.

    There is one report for each pair. The true answer of a pair is the one of its two for which
    such a report is more likely. The result is an upper bound where a pair is not exact.

    >>> from deniably.mechanisms import SubsetSelection
    >>> luck({pair: 2 for pair in pairs_of(SubsetSelection(k=2, omega=1, own=3, other=1))})
    Fraction(9, 16)
    """
    chance = Fraction(1)
    for pair, times in pairs.items():
        ways = [pair.kinds, [(second, first) for first, second in pair.kinds]]
        chance *= max(max(kinds, key=_ratio)[0] for kinds in ways) ** times
    return chance


def _ratio(kind: tuple[Fraction, Fraction]) -> Fraction:
    first, second = kind
    return min(first / second, Fraction(_CERTAIN)) if second else Fraction(_CERTAIN)


def _bound(value: Fraction) -> Distance:
    return Distance(min(Fraction(1), value * ROUNDED_UP), exact=False)


@lru_cache(maxsize=1024)
def distance(mechanism: HasLaw[Law]) -> Distance:
    """Returns the distance between the two answers that are easiest to tell apart by a report.

    >>> from deniably.mechanisms import SubsetSelection
    >>> distance(SubsetSelection(k=3, omega=1, own=11, other=5)).rate
    Fraction(9, 14)
    """
    return together(pairs_of(mechanism))


@lru_cache(maxsize=1024)
def pairs_of(mechanism: HasLaw[Law]) -> Counter[LikelihoodPair]:
    """Returns the pair of a mechanism's two answers that are easiest to tell apart by a report.

    If a report has several independent components (coins or numbers), there is a pair for each,
    counted by how often it occurs.
    """
    law = mechanism.law
    match law:
        case Supporting():
            return _of_named_cells(law)
        case Finite():
            return Counter([_of_outputs(law)])
        case Noise():
            return Counter([_of_noise(law)])
        case Several(parts=parts, s=s):
            each = [pairs_of(part) for part in parts]
            return worst_sample(each, [_largest_odds(pairs) for pairs in each], s)
        case _:
            assert_never(law)


def worst_sample(
    each: list[Counter[LikelihoodPair]], odds: list[Fraction], count: int
) -> Counter[LikelihoodPair]:
    """Returns the pairs of a report of ``count`` components, drawn from those in ``each``.

    ``each`` has the pairs of every component, ``odds`` a bound of its likelihood ratio. Where the
    components differ and not all are sent, the result has the largest odds and the largest
    distances. It is then an upper bound: no sample of ``count`` components is easier to tell apart.
    """
    if count == len(each):
        return sum(each, Counter[LikelihoodPair]())
    if all(pairs == each[0] for pairs in each):
        return Counter({pair: times * count for pair, times in each[0].items()})
    distances = sorted((together(pairs).value for pairs in each), reverse=True)
    return Counter(LikelihoodPair.three_kinds(max(odds), each) for each in distances[:count])


def bounded_odds(loss: Loss) -> Fraction:
    """Returns the largest likelihood ratio of a report, at most 10**13, which counts as certainty.

    A loss with a delta has no bound, so the result is 10**13.
    """
    return Fraction(_CERTAIN) if loss.delta else min(loss.odds_bound, Fraction(_CERTAIN))


def _largest_odds(pairs: LikelihoodPairs) -> Fraction:
    whole = Fraction(1)
    for pair, times in pairs.items():
        whole *= max(chance / other_chance for chance, other_chance in pair.kinds) ** times
    return min(whole, Fraction(_CERTAIN))


# --- one law ----------------------------------------------------------------------------------


def _of_named_cells(law: Supporting) -> Counter[LikelihoodPair]:
    """Cells of either answer, or of none. Two answers differ in as many cells as any two do."""
    match law.joint:
        case TwoLevel() as joint:
            return Counter([_of_sets(joint)])
        case CoinEach(p=p, q=q):
            return _of_coins(p, q, law.domain)
        case CoinForSome(p=p, q=q):
            return Counter({_coin(p, q): law.most})
        case _:
            raise TypeError(f"no distance is known of {law.joint}")


def _of_sets(joint: TwoLevel) -> LikelihoodPair:
    """Sets that meet the cells of one answer alone, of the other alone, and of both or none."""
    cells, size, held = joint.cells, joint.size, joint.held
    # Both answers have ``held`` cells, and none in common.
    misses_one, misses_both = math.comb(cells - held, size), math.comb(cells - 2 * held, size)
    alone = misses_one - misses_both
    high, low = (Fraction(alone * weight, joint.total) for weight in (joint.own, joint.other))
    return LikelihoodPair.of(_three(high, low))


def _of_coins(p: Fraction, q: Fraction, ticks: Domain) -> Counter[LikelihoodPair]:
    """A coin for each option in which the answers differ: some ticked in one, others in the other.

    How many of them are ticked in which answer matters where a tick that stays is not as likely as
    a blank that stays. All ways are tried if there are few options; else the result bounds all
    ways.
    """
    assert isinstance(ticks, Ticks)
    differ = min(ticks.k, 2 * ticks.most)
    own_way, other_way = _coin(p, q), _coin(q, p)
    if own_way.symmetric or differ > _FEW:
        return Counter({own_way if own_way.symmetric else own_way.either_way: differ})
    ways = range(max(differ - ticks.most, 0), differ // 2 + 1)
    joint = [_multiplied({own_way: differ - way, other_way: way}) for way in ways]
    tried = [pair for pair in joint if pair]
    best = max(tried, key=lambda pair: pair.distance)
    return Counter([_above(best, ((a[None], b[None]) for a, b in map(_arrays, tried)))])


def _coin(first: Fraction, second: Fraction) -> LikelihoodPair:
    return LikelihoodPair.of([(first, second), (1 - first, 1 - second)])


def _of_outputs(law: Finite) -> LikelihoodPair:
    if not law.exact:
        # Laplace noise: the two ends of the grid are easiest to tell apart.
        low, high = (np.array(law.row(row), dtype=float) for row in (0, law.rows - 1))
        return _binned(lambda: iter([(low / low.sum(), high / high.sum())]))
    if law.evenly:
        return _of_positions(law, *law.extremes)
    # The distance is convex in each position between two rows, so the worst pair is next to rows.
    places = law.beside_rows
    chances = np.array(
        [[float(law.probability(place, (y,))) for y in range(law.outputs)] for place in places]
    )
    farthest = [np.abs(chances - row).sum(axis=1) for row in chances]
    first = int(np.argmax([row.max() for row in farthest]))
    best = _of_positions(law, places[first], places[int(farthest[first].argmax())])
    rest = ((np.broadcast_to(row, chances[i:].shape), chances[i:]) for i, row in enumerate(chances))
    return _above(best, rest)


def _of_positions(law: Finite, first: int, second: int) -> LikelihoodPair:
    outputs = range(law.outputs)
    return LikelihoodPair.of(
        (law.probability(first, (y,)), law.probability(second, (y,))) for y in outputs
    )


def _of_noise(law: Noise) -> LikelihoodPair:
    """The two ends of the grid. Clamped reports count as different, which is never too little."""
    last = law.k - 1

    def chunks() -> Iterator[tuple[Floats, Floats]]:
        for start in range(-law.reach, last + law.reach + 1, _CHUNK):
            sent = np.arange(start, min(start + _CHUNK, last + law.reach + 1), dtype=float)
            yield law.mass(sent), law.mass(sent - last)

    return _binned(chunks)


def _binned(chunks: Callable[[], Iterator[tuple[Floats, Floats]]]) -> LikelihoodPair:
    """Floats of many reports, on a grid of ratios that has 1 on it: that keeps the distance."""
    reach = max(float(np.abs(_log_ratio(*chunk)).max()) for chunk in chunks())
    step = max(reach * (1 + 1e-9) / _BINS, 1e-12)
    first, second = np.zeros(2 * _BINS + 3), np.zeros(2 * _BINS + 3)
    for chunk in chunks():
        for place, first_mass, second_mass in _between_dots(*chunk, step):
            np.add.at(first, place + _BINS + 1, first_mass)
            np.add.at(second, place + _BINS + 1, second_mass)
    kinds = zip(first / first.sum(), second / second.sum(), strict=True)
    return LikelihoodPair(tuple((Fraction(a), Fraction(b)) for a, b in kinds if a > 0), False)


# --- the pair that is told apart best beside other reports ------------------------------------


def _above(best: LikelihoodPair, others: Iterable[tuple[Floats, Floats]]) -> LikelihoodPair:
    """``best`` if no other pair is easier to tell apart beside other reports; else a pair above
    all of them, whose distance alone is that of ``best``.

    The others have probabilities of shape (..., kinds), given the one answer and the other.
    """
    mine = _arrays(best)
    at = mine[0] / mine[1]
    limit = _told(*mine, at)
    beyond = [mine]
    for a, b in others:
        # A pair the other way round tells as much beside reports that are symmetric.
        forth, back = (_told(a, b, at) - limit).max(-1), (_told(b, a, at) - limit).max(-1)
        beyond += [
            (a[i], b[i]) if forth[i] <= back[i] else (b[i], a[i])
            for i in np.flatnonzero(np.minimum(forth, back) > _SAME)
        ]
    if len(beyond) == 1:
        return best
    if best.symmetric:
        beyond += [(b, a) for a, b in beyond]
    # Between its dots the curve of the pair is straight, so it is nowhere below the others.
    logs = np.concatenate([np.log(a / b) for a, b in beyond])
    step = float(abs(logs).max()) / _BINS
    grid = np.unique(np.append(np.copysign(np.ceil(abs(logs) / step - _SAME), logs), 0.0))
    dots = np.append(0.0, np.exp(grid * step))
    height = np.max([_told(a, b, dots) for a, b in beyond], axis=0)
    slopes = np.append(np.diff(height) / np.diff(dots), 0.0)
    mass = np.maximum(np.diff(slopes), 0)
    ratios = map(Fraction, dots[1:].tolist())
    kinds = [(r * m, m) for r, m in zip(ratios, map(Fraction, mass.tolist()), strict=True)]
    if best.symmetric:  # but for rounding, so is this
        above = [kind for kind in kinds if kind[0] > kind[1]]
        rest = 1 - sum((a + b for a, b in above), Fraction(0))
        rest = max(rest, Fraction(0))
        kinds = [*above, *((b, a) for a, b in above), (rest, rest)]
    return replace(LikelihoodPair.of(kinds, exact=False), alone=best.distance)


def _told(first: Floats, second: Floats, ratios: Floats) -> Floats:
    """The sum of max(P - r Q, 0) over all kinds (the last axis) for each of the ratios r."""
    over: Floats = np.maximum(first[..., None, :] - ratios[:, None] * second[..., None, :], 0)
    total: Floats = over.sum(axis=-1)
    return total


# --- many laws --------------------------------------------------------------------------------


def _multiplied(pairs: LikelihoodPairs) -> LikelihoodPair | None:
    """All pairs as one, in fractions; None where that takes too long."""
    joint, steps = LikelihoodPair.of([(Fraction(1), Fraction(1))]), 0
    for pair in Counter(pairs).elements():
        steps += len(joint.kinds) * len(pair.kinds)
        if steps > _MOST_STEPS:
            return None
        joint = LikelihoodPair.of((a * c, b * d) for a, b in joint.kinds for c, d in pair.kinds)
    return joint


def _on_a_grid(pairs: LikelihoodPairs) -> float:
    """The distance, from the laws of the privacy loss, convolved on a grid."""
    laws = [(*_arrays(pair), times) for pair, times in pairs.items()]
    reach = sum(float(np.abs(_log_ratio(left, right)).max()) * times for left, right, times in laws)
    # The losses of independent pairs add up, so their laws are convolved, by FFT; the grid must
    # hold the largest sum, or values would wrap around.
    step = max(_FINEST, 2 * reach / _LENGTH)
    last_place = math.ceil(reach / step) + sum(pairs.values()) + 1
    length = 1 << (2 * last_place).bit_length()
    spectrum = np.ones(length // 2 + 1, complex)
    for left, right, times in laws:
        law = np.zeros(length)
        for place, mass, _ in _between_dots(left, right, step):
            np.add.at(law, place % length, mass)
        spectrum *= np.fft.rfft(law) ** times
    joint = np.fft.irfft(spectrum, length)[1 : length // 2]  # the reports that speak for the first
    # TV = sum over losses l > 0 of P(l | first answer) (1 - e^-l).
    return float(joint @ -np.expm1(-step * np.arange(1, length // 2)))


def _arrays(pair: LikelihoodPair) -> tuple[Floats, Floats]:
    first, second = (np.array([float(kind[i]) for kind in pair.kinds]) for i in (0, 1))
    return first, second


def _log_ratio(first: Floats, second: Floats) -> Floats:
    """The privacy loss; reports that neither answer sends within the range of floats have 0."""
    farthest = math.log(_CERTAIN)
    # Probabilities underflow far out in the tails: 0/0 is a report of no weight, x/0 a certain one.
    with np.errstate(divide="ignore", invalid="ignore"):
        loss: Floats = np.log(first / second)
    return np.clip(np.where(np.isnan(loss), 0.0, loss), -farthest, farthest)


def _between_dots(
    first: Floats, second: Floats, step: float
) -> Iterator[tuple[npt.NDArray[np.int64], Floats, Floats]]:
    """Kinds of reports, each split between the two neighbours on the grid of log ratios.

    Yields places and both probabilities, which stay the same in sum: merging the two parts gives
    the kind back, so together they tell at least as much.
    """
    loss = _log_ratio(first, second)
    below = np.floor(loss / step)
    low, high = np.exp(below * step), np.exp((below + 1) * step)
    # Two neighbours with ratios low and high that add up to (first, second).
    upper = np.clip((first - second * low) / (high - low), 0, second)
    lower = second - upper
    at_lower = np.minimum(lower * low, first)
    yield below.astype(np.int64), at_lower, lower
    yield below.astype(np.int64) + 1, first - at_lower, upper
