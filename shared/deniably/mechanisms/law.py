"""The law of a mechanism: the probabilities of its reports, given the answer.

Estimation, audit, design and simulation use the law and never the mechanism's class. A *cell* is a
counter of the tally; a report counts in the cells that it *names*, and a cell *supports* an answer
that it speaks for. There are four families:

==========  ==============================================================================
Supporting  a report names cells, and those that support the answer more often
Finite      a matrix of probabilities from positions to outputs
Noise       a position plus noise
Several     several numbers, each with a Finite or Noise law
==========  ==============================================================================

A law has itself as ``law``, so functions that take a mechanism also take a law. Probabilities are
exact fractions; those of noise are floats. Devices load this module, so it does not import numpy;
``mass`` and ``tail`` still accept arrays.

>>> from deniably.mechanisms import SubsetSelection
>>> law = SubsetSelection(k=3, omega=1, own=4, other=1).law
>>> [str(law.probability(0, (choice,))) for choice in range(3)]
['2/3', '1/6', '1/6']
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import chain, combinations, product
from math import comb, fsum, prod
from typing import Any, Protocol, Self, TypeVar

from deniably.core.coins import Coins
from deniably.core.loss import Loss
from deniably.mechanisms.cells import Cells

ROUNDED_UP = Fraction(10**9 + 1, 10**9)
"""Factor on floating-point results, so that rounding never makes them smaller than the truth."""

_NEAR = 64  # steps of noise on either side whose cells are counted
_SPREAD = 64  # positions tried of each part where there are too many combinations


# --- what a mechanism takes -----------------------------------------------------------------


@dataclass(frozen=True)
class One:
    """The domain of answers that are one of ``k`` choices or positions: an integer from 0 to k -
    1."""

    k: int

    @property
    def count(self) -> int:
        """The number of possible answers."""
        return self.k

    @property
    def extremes(self) -> tuple[int, int]:
        """Two answers that differ as much as any two do: the first and the last."""
        return 0, self.k - 1

    def some(self, max_count: int) -> Iterable[int]:
        """Returns all answers, or ``max_count`` evenly spread ones where there are more."""
        if self.k <= max_count:
            return range(self.k)
        return [i * (self.k - 1) // (max_count - 1) for i in range(max_count)]


@dataclass(frozen=True)
class Ticks:
    """The domain of answers that are some of ``k`` options: their indices, ascending.

    At most ``limit`` options may be ticked; None allows all.
    """

    k: int
    limit: int | None = None

    @property
    def most(self) -> int:
        """The largest number of ticks."""
        return self.k if self.limit is None else self.limit

    @property
    def count(self) -> int:
        """The number of possible answers."""
        return sum(comb(self.k, ticks) for ticks in range(self.most + 1))

    @property
    def extremes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Two answers with as few ticks in common as possible, of which the first has the most
        ticks."""
        return (
            tuple(range(self.most)),
            tuple(range(self.most, self.most + min(self.most, self.k - self.most))),
        )

    def some(self, max_count: int) -> Iterator[tuple[int, ...]]:
        """Iterates over all answers, those with few ticks first; ``max_count`` is ignored.

        There are too many for a list: the caller takes as many as it wants.
        """
        del max_count
        return chain.from_iterable(
            combinations(range(self.k), ticks) for ticks in range(self.most + 1)
        )


@dataclass(frozen=True)
class Each:
    """The domain of answers to several numbers: a position for each number.

    ``sizes`` has for each number how many positions it can have.
    """

    sizes: tuple[int, ...]

    @property
    def count(self) -> int:
        """The number of possible answers."""
        return prod(self.sizes)

    @property
    def extremes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The answers with all numbers at their lower end, and with all at their upper end."""
        return (0,) * len(self.sizes), tuple(k - 1 for k in self.sizes)

    def some(self, max_count: int) -> Iterator[tuple[int, ...]]:
        """Returns all answers, or some that are spread out where there are over ``max_count``."""
        if self.count <= max_count:
            return product(*map(range, self.sizes))
        return zip(*(One(k).some(_SPREAD) for k in self.sizes), strict=False)


Domain = One | Ticks | Each


# --- which cells a report names together ----------------------------------------------------


class Joint(Protocol):
    """The joint probability of the cells that a report names, given the answer."""

    def __call__(self, own: frozenset[int], report: Cells) -> Fraction:
        """Returns P(report | answer), where ``own`` are the cells that support the answer."""
        ...

    def telling(self, ours: frozenset[int], theirs: frozenset[int], report: Cells) -> bool:
        """Returns whether no report favours one answer over another more than ``report`` does.

        ``ours`` and ``theirs`` are the cells that support the favoured answer and the other one.
        """
        ...

    @property
    def pairs(self) -> tuple[Fraction, Fraction] | None:
        """P(cells u and v are both named) for a single choice: if u is the answer, and if neither
        is.

        None where that is not the same for every pair of cells.
        """
        ...

    @property
    def with_own(self) -> tuple[Fraction, Fraction] | None:
        """P(cells u and v are both named): if one of them supports the answer, and if neither does.

        It is for single choices and for ticks. None where it is not the same for every pair of
        cells.
        """
        ...


@dataclass(frozen=True)
class TwoLevel:
    """The joint law of reports that name a set of ``size`` of ``cells``.

    The answer is supported by ``held`` cells. A set has the weight ``own`` if any of these is in
    it, else the weight ``other``.
    """

    cells: int
    size: int
    own: int
    other: int
    held: int = 1

    @cached_property
    def total(self) -> int:
        """The sum of the weights of all sets, the same for every answer."""
        # Sets with none of the held cells.
        missing = comb(self.cells - self.held, self.size)
        return (comb(self.cells, self.size) - missing) * self.own + missing * self.other

    def __call__(self, own: frozenset[int], report: Cells) -> Fraction:
        """Returns P(report | answer): the set's weight over the sum of all weights."""
        return Fraction(self.other if own.isdisjoint(report) else self.own, self.total)

    def telling(self, ours: frozenset[int], theirs: frozenset[int], report: Cells) -> bool:
        """Returns whether the report has a cell of ``ours`` and none of ``theirs``.

        No report favours the answer of ``ours`` over that of ``theirs`` more.
        """
        return not ours.isdisjoint(report) and theirs.isdisjoint(report)

    @property
    def pairs(self) -> tuple[Fraction, Fraction] | None:
        """P(cells u and v are both named): if u is the answer, and if neither is.

        None where more than one cell supports an answer.
        """
        if self.held > 1:
            return None
        cells, size = self.cells, self.size
        # Numbers of sets with u and v: all of them; and, without the answer's cell, those that have
        # it as a third and those that do not.
        own_pair = self.own * _sets(cells - 2, size - 2)
        neither = self.own * _sets(cells - 3, size - 3) + self.other * _sets(cells - 3, size - 2)
        return Fraction(own_pair, self.total), Fraction(neither, self.total)

    @property
    def with_own(self) -> tuple[Fraction, Fraction]:
        """P(cells u and v are both named): if one of them supports the answer, and if neither
        does."""
        both = _sets(self.cells - 2, self.size - 2)
        # With u and v, and without any of the held cells.
        missing = _sets(self.cells - 2 - self.held, self.size - 2)
        neither = (both - missing) * self.own + missing * self.other
        return Fraction(both * self.own, self.total), Fraction(neither, self.total)


def _sets(cells: int, size: int) -> int:
    return comb(cells, size) if 0 <= size <= cells else 0


@dataclass(frozen=True)
class CoinEach:
    """The joint law of reports that name each of ``cells`` independently of the others.

    A cell is named with probability p if it supports the answer, else with q.
    """

    p: Fraction
    q: Fraction
    cells: int

    def __call__(self, own: frozenset[int], report: Cells) -> Fraction:
        """Returns P(report | answer), a product over the cells."""
        named = set(report)
        chances = (self.p if cell in own else self.q for cell in range(self.cells))
        return prod(
            (chance if cell in named else 1 - chance for cell, chance in enumerate(chances)),
            start=Fraction(1),
        )

    def telling(self, ours: frozenset[int], theirs: frozenset[int], report: Cells) -> bool:
        """Returns whether the report has all cells that only ``ours`` has, and none that only
        ``theirs`` has.

        No report favours the answer of ``ours`` over that of ``theirs`` more.
        """
        return (ours - theirs).issubset(report) and (theirs - ours).isdisjoint(report)

    @property
    def pairs(self) -> tuple[Fraction, Fraction]:
        """P(cells u and v are both named): if u is the answer, and if neither is."""
        return self.p * self.q, self.q**2

    @property
    def with_own(self) -> tuple[Fraction, Fraction]:
        """P(cells u and v are both named): if one of them supports the answer, and if neither
        does."""
        return self.pairs


@dataclass(frozen=True)
class CoinForSome:
    """The joint law of reports on a random sample of the options.

    There are ``ways`` equally likely samples. An option has two cells, ticked and not ticked. A
    report names one of them for each sampled option: with probability p the cell that supports the
    answer, with probability q the other one.
    """

    p: Fraction
    q: Fraction
    ways: int

    def __call__(self, own: frozenset[int], report: Cells) -> Fraction:
        """Returns P(report | answer), a product over the sampled options."""
        chances = (self.p if cell in own else self.q for cell in report)
        return prod(chances, start=Fraction(1, self.ways))

    def telling(self, ours: frozenset[int], theirs: frozenset[int], report: Cells) -> bool:
        """Returns whether every cell of the report is in ``ours`` and none is in ``theirs``.

        No report favours the answer of ``ours`` over that of ``theirs`` more.
        """
        return ours.issuperset(report) and theirs.isdisjoint(report)

    @property
    def pairs(self) -> None:
        """None, because no single value fits all pairs of cells.

        The two cells of an option are never named together; cells of different options may be.
        """
        return None

    @property
    def with_own(self) -> None:
        """None, because no single value fits all pairs of cells.

        The two cells of an option are never named together; cells of different options may be.
        """
        return None


# --- the four families ----------------------------------------------------------------------


class _Itself:
    @property
    def law(self) -> Self:
        """The law, which is this object."""
        return self


class _OfPosition(_Itself):
    """A law of one position on a grid."""

    domain: One

    @property
    def k(self) -> int:
        """The number of positions."""
        return self.domain.k

    @property
    def sampled_fraction(self) -> Fraction:
        """The fraction of the reports that have this number: all, so 1."""
        return Fraction(1)


@dataclass(frozen=True)
class Supporting(_Itself):
    """The law of reports that name cells; a cell is likelier to be named if it supports the answer.

    A report names a cell with probability ``p`` if it supports the answer, else with probability
    ``q``. There is a cell for each choice, and ``padding`` more, which pad all answers to the same
    number of cells. Where ``both`` is true, an option has two cells instead, ``2 * option + tick``.
    A report then names one of the two for each option that it samples, a ``sampled_fraction`` of
    all options. ``size`` is the number of choices in a report, None where it varies.
    """

    domain: One | Ticks
    p: Fraction
    q: Fraction
    joint: Joint
    size: int | None = None
    sampled_fraction: Fraction = Fraction(1)
    padding: int = 0
    both: bool = False

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Kept: laws are looked up often, and the hash of a fraction takes long."""
        return hash((self.domain, self.p, self.q, self.joint, self.size, self.padding, self.both))

    @property
    def k(self) -> int:
        """The number of choices."""
        return self.domain.k

    @property
    def single(self) -> bool:
        """Whether an answer is exactly one choice."""
        return isinstance(self.domain, One)

    @property
    def binary(self) -> bool:
        """Whether this is randomised response: a report names one of two answers (Warner 1965)."""
        return isinstance(self.domain, One) and self.k == 2 and self.size == 1

    @property
    def most(self) -> int:
        """The largest number of choices that one report can have."""
        return self.k if self.size is None else self.size

    @property
    def cell_count(self) -> int:
        """The number of cells that a tally of such reports has."""
        return self.k * (2 if self.both else 1) + self.padding

    @property
    def own_cells(self) -> slice:
        """For each of the ``k`` choices, the cell that a report names if it supports the choice."""
        return slice(1, 2 * self.k, 2) if self.both else slice(self.k)

    @property
    def exact(self) -> bool:
        """True: probabilities are exact, and there are finitely many reports."""
        return True

    @property
    def extremes(self) -> tuple[Any, Any]:
        """The two answers (x, y) that a report can tell apart best.

        P(report | x) / P(report | y) is larger for them than for any other pair, or as large.
        """
        first, second = self.domain.extremes
        # Many ticks show in the ticks that are reported, or else in those that are not.
        return (first, second) if self.p + self.q <= 1 else (second, first)

    def own(self, answer: Any) -> frozenset[int]:
        """Returns the cells of the tally that support an answer."""
        if self.single:
            return frozenset((answer,))
        ticks = frozenset(answer)
        if self.both:
            return frozenset(2 * option + (option in ticks) for option in range(self.k))
        # A cell of padding for each tick below the limit (SPEC 2.7).
        return ticks.union(range(self.k, self.k + self.padding - len(ticks)))

    def probability(self, answer: Any, report: Cells) -> Fraction:
        """Returns P(report | answer); ``report`` must be one that the mechanism can make."""
        return self.joint(self.own(answer), report)

    def cell_probability(self, answer: Any, cell: int) -> Fraction:
        """Returns P(the report counts in this cell of the tally | answer)."""
        return self.sampled_fraction * (self.p if cell in self.own(answer) else self.q)

    def cells(self, answer: Any) -> Iterable[int]:
        """Returns the cells of the tally in which reports to ``answer`` can count: all of them."""
        del answer
        return range(self.cell_count)


WeightsOfRow = Callable[[int], Sequence[int] | Sequence[float]]


@dataclass(frozen=True)
class Finite(_OfPosition):
    """The law of reports that are one output, drawn from a row of a matrix of weights.

    A position is first rounded at random, without bias, to one of the ``rows``. ``row(i)`` returns
    the weights of the ``outputs`` in row i. ``evenly`` says that the heavier outputs of row i are a
    window that starts at output i, so that the mean output is a linear function of the row.
    ``exact`` is false where weights are floats. ``usual`` is the median magnitude of the noise, in
    steps; None where outputs are not positions with noise. Two laws are equal if their domain,
    shape and ``source`` (the mechanism) are.
    """

    domain: One
    rows: int
    outputs: int
    # Functions do not compare; ``source`` stands for what they compute.
    row: WeightsOfRow = field(compare=False)
    source: Hashable
    evenly: bool = False
    exact: bool = True
    usual: float | None = None

    @property
    def cell_count(self) -> int:
        """The number of cells that a tally of such reports has: one for each output."""
        return self.outputs

    @property
    def extremes(self) -> tuple[int, int]:
        """The two answers (x, y) that a report can tell apart best.

        P(report | x) / P(report | y) is larger for them than for any other pair, or as large.
        """
        return self._apart if self.exact and not self.evenly else self.domain.extremes

    @property
    def beside_rows(self) -> list[int]:
        """The positions that are at a row of the matrix or next to one, ascending.

        Between two rows probabilities are linear in the position, so the extremes are among these
        positions.
        """
        last, knots = self.k - 1, self.rows - 1
        near = {i * last // knots for i in range(knots + 1)}
        return sorted(near | {-(-i * last // knots) for i in range(knots + 1)})

    def output(self, row: int, output: int) -> Fraction:
        """Returns P(output | row)."""
        weights, total = self._weighed(row)
        if self.exact:
            return Fraction(weights[output]) / Fraction(total)
        return Fraction(weights[output] / total) * ROUNDED_UP

    def probability(self, answer: int, report: Cells) -> Fraction:
        """Returns P(report | answer); ``report`` must be one that the mechanism can make."""
        low, rest = divmod(answer * (self.rows - 1), self.k - 1)
        up = Fraction(rest, self.k - 1)
        below = self.output(low, report[0])
        # Unbiased rounding: to the row above with the probability of the fraction ``up``.
        return below if not up else (1 - up) * below + up * self.output(low + 1, report[0])

    def cell_probability(self, answer: int, cell: int) -> Fraction:
        """Returns P(the report counts in this cell of the tally | answer)."""
        return self.probability(answer, (cell,))

    def cells(self, answer: int) -> Iterable[int]:
        """Returns the cells in which reports to ``answer`` can count.

        Where outputs are positions with noise, cells more than 64 steps from the answer are left
        out.
        """
        if self.exact:
            return range(self.outputs)
        return range(max(answer - _NEAR, 0), min(answer + _NEAR + 1, self.outputs))

    @cached_property
    def _weighed(self) -> Callable[[int], tuple[Sequence[int] | Sequence[float], float]]:
        def weighed(row: int) -> tuple[Sequence[int] | Sequence[float], float]:
            weights = self.row(row)
            return weights, sum(weights) if self.exact else fsum(weights)

        # A cache of this law alone, which goes when the law does.
        return lru_cache(maxsize=16)(weighed)

    @cached_property
    def _apart(self) -> tuple[int, int]:
        """The two positions whose probabilities of one output have the largest ratio."""
        places = self.beside_rows
        worst, pair = Fraction(0), self.domain.extremes
        for output in range(self.outputs):
            chances = {place: self.probability(place, (output,)) for place in places}
            first = max(chances, key=chances.__getitem__)
            second = min(chances, key=chances.__getitem__)
            if (ratio := chances[first] / chances[second]) > worst:
                worst, pair = ratio, (first, second)
        return pair


@dataclass(frozen=True)
class Noise(_OfPosition):
    """The law of reports that are a position plus whole-number noise.

    A report is clamped to at most ``reach`` steps beyond the grid. ``variance`` is that of the
    noise in steps squared, and ``usual`` its median magnitude in steps. ``mass(y)`` is P(noise =
    y), symmetric about 0, and ``tail(y)`` is an upper bound of P(noise >= y). Both functions take
    numbers and arrays. Two laws are equal if their parameters and ``source`` (the mechanism) are.
    """

    domain: One
    variance: float
    usual: float
    reach: int
    mass: Callable[[Any], Any] = field(compare=False)
    tail: Callable[[Any], Any] = field(compare=False)
    source: Hashable

    @property
    def cell_count(self) -> None:
        """None: far too many numbers can be reported to count each in a cell."""
        return None

    @property
    def exact(self) -> bool:
        """False: probabilities are floats."""
        return False

    @property
    def extremes(self) -> tuple[int, int]:
        """The worst pair of answers: the two ends of the grid."""
        return self.domain.extremes

    def probability(self, answer: int, report: Cells) -> Fraction:
        """Returns P(report | answer); ``report`` must be one that the mechanism can make."""
        away = abs(report[0] - answer)
        if report[0] in (-self.reach, self.k - 1 + self.reach):  # the whole tail beyond this end
            # Terms beyond ``reach`` further steps are far below the factor that rounds the result
            # up.
            chance = fsum(self.mass(away + far) for far in range(self.reach))
        else:  # a number that only its own noise gives
            chance = self.mass(away)
        return Fraction(chance) * ROUNDED_UP

    def cell_probability(self, answer: int, cell: int) -> Fraction:
        """Returns P(the report counts in this cell of the tally | answer)."""
        return self.probability(answer, (cell,))

    def cells(self, answer: int) -> Iterable[int]:
        """Returns the cells in which reports to ``answer`` are counted: those within 64 steps of
        the answer."""
        return range(answer - _NEAR, answer + _NEAR + 1)


@dataclass(frozen=True)
class Several(_Itself):
    """The law of reports on a random sample of ``s`` of an answer's numbers.

    Each of the numbers is called a part of the answer, and ``parts`` has the law of each. A report
    of ``number`` for the part with index ``part`` counts in cell ``number * len(parts) + part``.
    ``jointly`` says that the privacy guarantee is for all numbers together, so that all parts have
    the same noise.
    """

    parts: tuple[Finite | Noise, ...]
    s: int
    jointly: bool = False

    @property
    def domain(self) -> Each:
        """The domain of answers: a position for each part."""
        return Each(tuple(part.k for part in self.parts))

    @property
    def sampled_fraction(self) -> Fraction:
        """The fraction of the reports that contain a given part."""
        return Fraction(self.s, len(self.parts))

    @property
    def cell_count(self) -> int | None:
        """The number of cells that a tally has; None where a part has no fixed number of cells."""
        counts = [part.cell_count for part in self.parts]
        known = [count for count in counts if count is not None]
        return max(known) * len(self.parts) if len(known) == len(counts) else None

    @property
    def exact(self) -> bool:
        """Whether the laws of all parts are exact."""
        return all(part.exact for part in self.parts)

    @property
    def extremes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The two answers that a report can tell apart best, composed of those of all parts."""
        pairs = [part.extremes for part in self.parts]
        return tuple(first for first, _ in pairs), tuple(second for _, second in pairs)

    def probability(self, answer: Sequence[int], report: Cells) -> Fraction:
        """Returns P(report | answer); ``report`` must be one that the mechanism can make."""
        d = len(self.parts)
        chances = (self.parts[c % d].probability(answer[c % d], (c // d,)) for c in report)
        return prod(chances, start=Fraction(1, comb(d, self.s)))

    def cell_probability(self, answer: Sequence[int], cell: int) -> Fraction:
        """Returns P(the report counts in this cell of the tally | answer)."""
        number, index = divmod(cell, len(self.parts))
        return self.sampled_fraction * self.parts[index].probability(answer[index], (number,))

    def cells(self, answer: Sequence[int]) -> Iterable[int]:
        """Returns the cells of the tally in which reports to ``answer`` are counted."""
        d = len(self.parts)
        return [c * d + i for i, value in enumerate(answer) for c in self.parts[i].cells(value)]


Law = Supporting | Finite | Noise | Several
OfNumber = Finite | Noise
"""Laws of one position on a grid."""

L_co = TypeVar("L_co", bound=Law, covariant=True)


class HasLaw(Protocol[L_co]):
    """A mechanism or a law, for functions that need its law alone."""

    @property
    def law(self) -> L_co:
        """The probabilities of the mechanism's reports, given the answer."""
        ...

    # Mechanisms and laws are keys of caches.
    def __hash__(self) -> int: ...


class Randomiser(HasLaw[L_co], Protocol[L_co]):
    """The interface of a mechanism of single reports."""

    @property
    def loss(self) -> Loss:
        """Privacy loss of one report."""
        ...

    @property
    def described(self) -> str:
        """The mechanism and its parameters in a few words, for researchers."""
        ...

    def randomise(self, answer: Any, coins: Coins) -> Cells:
        """Returns a report for ``answer``. Raises BadAnswer before any draw."""
        ...

    def check(self, report: Sequence[int], path: str = "$") -> None:
        """Raise BadReport unless ``report`` is one that this mechanism can make."""
        ...
