"""A walk through the branches of running code, held to the law of its mechanism (``laws``).

The probability of all the paths to one report that were followed is at most that report's
probability; where it is more, the code is wrong. If all paths were followed nothing is missing,
so both are then equal, as fractions: the walk is a proof. What was not followed, ``rest``, bounds
how far the code's law can be from the mechanism's (in total variation).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations, product
from math import comb, inf, log, prod
from typing import Any

from deniably.audit.audit import Followed, follow, worst_odds
from deniably.audit.laws import check, probability
from deniably.audit.witness import Randomise
from deniably.core.errors import BadReport
from deniably.mechanisms import (
    BoundedLaplace,
    Channel,
    Gaussian,
    Laplace,
    Mechanism,
    SampledTicks,
    SetResponse,
    Unary,
    Vector,
)

PATHS = 1 << 17
"""Paths of one question after which no other answer is begun."""
_EACH = 1 << 13  # of one answer
_NOISE = 1 << 11  # of one answer with noise, which has no end of them, each of hundreds of bits
_UNFINISHED = 3  # answers with paths left over, after which no other is begun
_SPREAD = 64  # positions of each part where there are too many combinations of them

Law = dict[Hashable, Fraction]


@dataclass(frozen=True)
class Walk:
    """``answers`` ``of`` all were walked, in so many ``paths``; no more than ``rest`` of the
    probability of any of them was left over. ``realised`` is the epsilon of those walked to their
    end (infinite where one rules a report out), None where there are not two."""

    answers: int
    of: int
    paths: int
    rest: float
    realised: float | None
    fault: str | None

    @property
    def complete(self) -> bool:
        """Whether every branch of every answer was walked."""
        return self.answers == self.of and not self.rest


def walk(mechanism: Mechanism, randomise: Randomise, paths: int = PATHS) -> Walk:
    """Walk as many answers, as far, as ``paths`` allow; the most different ones come first."""
    followed, rest, walked, unfinished = 0, Fraction(0), 0, 0
    each = _EACH if _finite(mechanism) else _NOISE
    laws: list[Law] = []
    fault: str | None = None
    for answer in answers(mechanism):
        # Once a fault is found, a few more paths tell what it realises.
        if followed >= (_EACH if fault else paths) or unfinished == _UNFINISHED:
            break
        found = follow(lambda coins, a=answer: randomise(a, coins), each)  # type: ignore[misc]
        followed, walked, rest = followed + found.paths, walked + 1, max(rest, found.rest)
        if found.rest:
            unfinished += 1
        else:
            laws.append(dict(found.law))
        fault = fault or fault_of(mechanism, answer, found)
    odds = worst_odds(laws)
    if odds is None or odds > mechanism.loss.bound:
        fault = fault or "one report shifts the odds by more than the mechanism's weights say"
    realised = None if len(laws) < 2 else inf if odds is None else log(odds)
    return Walk(walked, count(mechanism), followed, float(rest), realised, fault)


def fault_of(mechanism: Mechanism, answer: Any, found: Followed[Hashable]) -> str | None:
    """What is wrong with the paths that were followed for one answer."""
    if not found.draws:
        return "it draws no coin"
    for report, share in found.law.items():
        try:
            most = probability(mechanism, answer, check(mechanism, report))
        except BadReport as error:
            return f"it makes a report that its mechanism cannot make: {error.why}"
        if share > most:
            sure = "" if not found.rest else "at least "
            return (
                f"it gives {answer} the report {report} with probability {sure}{float(share):.6g},"
                f" not {float(most):.6g}"
            )
    return None


def extremes(mechanism: Mechanism) -> tuple[Any, Any]:
    """Two answers that differ as much as any two do: of no two answers is the ratio of the
    probabilities of one report larger than of the first against the second."""
    match mechanism:
        case Unary(k=k, most=most):
            first, second = _ticks_apart(k, most)
            # Whoever ticks most is told by ticks that are reported, or else by those that are not.
            unticked = Fraction(mechanism.total - mechanism.other, mechanism.total - mechanism.own)
            heard = Fraction(mechanism.own, mechanism.other) >= unticked
            return (first, second) if heard else (second, first)
        case SetResponse(k=k, most=most):
            return _ticks_apart(k, most)
        case SampledTicks(k=k):
            return _ticks_apart(k, k)
        case Channel():
            return _rows_apart(mechanism)
        case Vector(parts=parts):
            pairs = [extremes(part) for part in parts]
            return tuple(first for first, _ in pairs), tuple(second for _, second in pairs)
        case Gaussian(d=d, k=k) if d > 1:
            return (0,) * d, (k - 1,) * d
        case _:
            return 0, mechanism.k - 1


def _ticks_apart(k: int, most: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """As many ticks as there may be, and as many others as are left for it: no two answers differ
    in more options, and where blanks fill up the second (padded sets), the two share none."""
    return tuple(range(most)), tuple(range(most, most + min(most, k - most)))


def _rows_apart(channel: Channel) -> tuple[int, int]:
    """The two positions whose chances of one output have the largest ratio.

    Between two rows the chance of an output is linear in the position, so its extremes are next
    to the rows.
    """
    k, knots = channel.k, len(channel.weights) - 1
    near = {i * (k - 1) // knots for i in range(knots + 1)}
    places = sorted(near | {-(-i * (k - 1) // knots) for i in range(knots + 1)})
    worst, pair = Fraction(0), (0, k - 1)
    for output in range(channel.cell_count):
        chances = {place: probability(channel, place, (output,)) for place in places}
        first, second = max(chances, key=chances.__getitem__), min(chances, key=chances.__getitem__)
        if (ratio := chances[first] / chances[second]) > worst:
            worst, pair = ratio, (first, second)
    return pair


def answers(mechanism: Mechanism) -> Iterator[Any]:
    """The extremes, then the others: all, or some that are spread out where they are many."""
    first = extremes(mechanism)
    return chain(first, (answer for answer in _others(mechanism) if answer not in first))


def count(mechanism: Mechanism) -> int:
    """How many answers there are."""
    match mechanism:
        case Unary(k=k, most=most) | SetResponse(k=k, most=most):
            return sum(comb(k, ticks) for ticks in range(most + 1))
        case SampledTicks(k=k):
            return 1 << k
        case Vector(parts=parts):
            return prod(part.k for part in parts)
        case Gaussian(k=k, d=d):
            return prod([k] * d)
        case _:
            return mechanism.k


def _finite(mechanism: Mechanism) -> bool:
    if isinstance(mechanism, Vector):
        return all(_finite(part) for part in mechanism.parts)
    return not isinstance(mechanism, Laplace | BoundedLaplace | Gaussian)


def _others(mechanism: Mechanism) -> Iterable[Any]:
    match mechanism:
        case Unary(k=k, most=most) | SetResponse(k=k, most=most):
            return _ticks(k, most)
        case SampledTicks(k=k):
            return _ticks(k, k)
        case Vector(parts=parts):
            return _grid([part.k for part in parts])
        case Gaussian(k=k, d=d) if d > 1:
            return _grid([k] * d)
        case _:
            return _positions(mechanism.k, PATHS)


def _ticks(k: int, most: int) -> Iterator[tuple[int, ...]]:
    return chain.from_iterable(combinations(range(k), ticks) for ticks in range(most + 1))


def _grid(sizes: list[int]) -> Iterator[tuple[int, ...]]:
    if prod(sizes) <= PATHS:
        return product(*map(range, sizes))
    return zip(*(_positions(k, _SPREAD) for k in sizes), strict=False)


def _positions(k: int, most: int) -> list[int]:
    """At most so many of k positions, evenly spread."""
    if k <= most:
        return list(range(k))
    return [i * (k - 1) // (most - 1) for i in range(most)]
