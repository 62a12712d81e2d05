"""How a mechanism behaves, apart from how it draws: the probabilities of its reports.

Every mechanism has its ``law``, in one of four families; whoever estimates, audits, plans or
simulates asks the law and no class. ``Supporting``: a report names cells, and those that speak for
the answer more often. ``Finite``: a matrix from few places to outputs. ``Noise``: a number plus
noise. ``Several``: several of these in one report. A law is its own law, so that what takes a
mechanism takes a law. Probabilities are exact fractions, those of noise floating point; a device
loads this, so nothing here needs numpy, and ``mass`` and ``tail`` take arrays all the same.
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
"""What is computed in floating point is raised by this, to be no less than the truth."""

_NEAR = 64  # steps of noise to either side whose cells are counted
_SPREAD = 64  # positions of each part where there are too many combinations of them


# --- what a mechanism takes -----------------------------------------------------------------


@dataclass(frozen=True)
class One:
    """One of ``k`` choices or positions: an integer from 0."""

    k: int

    @property
    def count(self) -> int:
        """How many answers there are."""
        return self.k

    @property
    def extremes(self) -> tuple[int, int]:
        """Two answers that differ as much as any two do."""
        return 0, self.k - 1

    def some(self, most: int) -> Iterable[int]:
        """All answers, or where they are more than ``most`` so many that are evenly spread."""
        if self.k <= most:
            return range(self.k)
        return [i * (self.k - 1) // (most - 1) for i in range(most)]


@dataclass(frozen=True)
class Ticks:
    """Some of ``k`` options, at most ``limit`` where there is one: their indices, ascending."""

    k: int
    limit: int | None = None

    @property
    def most(self) -> int:
        """How many there can be."""
        return self.k if self.limit is None else self.limit

    @property
    def count(self) -> int:
        """How many answers there are."""
        return sum(comb(self.k, ticks) for ticks in range(self.most + 1))

    @property
    def extremes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """As many ticks as there may be, and as many others as are left for it."""
        return (
            tuple(range(self.most)),
            tuple(range(self.most, self.most + min(self.most, self.k - self.most))),
        )

    def some(self, most: int) -> Iterator[tuple[int, ...]]:
        """All answers, those with few ticks first: too many to be listed, but one by one."""
        del most
        return chain.from_iterable(
            combinations(range(self.k), ticks) for ticks in range(self.most + 1)
        )


@dataclass(frozen=True)
class Each:
    """One position for each of several numbers, of ``sizes`` each."""

    sizes: tuple[int, ...]

    @property
    def count(self) -> int:
        """How many answers there are."""
        return prod(self.sizes)

    @property
    def extremes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """All numbers at their one end, and all at the other."""
        return (0,) * len(self.sizes), tuple(k - 1 for k in self.sizes)

    def some(self, most: int) -> Iterator[tuple[int, ...]]:
        """All answers, or where they are more than ``most`` some that are spread out."""
        if self.count <= most:
            return product(*map(range, self.sizes))
        return zip(*(One(k).some(_SPREAD) for k in self.sizes), strict=False)


Domain = One | Ticks | Each


# --- which cells a report names together ----------------------------------------------------


class Joint(Protocol):
    """How likely the cells of a whole report are together."""

    def __call__(self, own: frozenset[int], report: Cells) -> Fraction:
        """P(report | the cells ``own`` speak for the answer)."""
        ...

    def telling(self, ours: frozenset[int], theirs: frozenset[int], report: Cells) -> bool:
        """Whether no report speaks more for the one answer against the other than this one."""
        ...

    @property
    def pairs(self) -> tuple[Fraction, Fraction] | None:
        """Of a single choice: P(u and v are named | u is the answer), and that where neither is;
        None where the joint law of two cells is not the same for all."""
        ...


@dataclass(frozen=True)
class TwoLevel:
    """``size`` of ``cells`` are named; each such set weighs ``own`` if it meets the ``held`` cells
    that speak for the answer, else ``other``."""

    cells: int
    size: int
    own: int
    other: int
    held: int = 1

    @cached_property
    def total(self) -> int:
        """The sum of the weights of all sets, the same for every answer."""
        missing = comb(self.cells - self.held, self.size)
        return (comb(self.cells, self.size) - missing) * self.own + missing * self.other

    def __call__(self, own: frozenset[int], report: Cells) -> Fraction:
        """As of ``Joint``."""
        return Fraction(self.other if own.isdisjoint(report) else self.own, self.total)

    def telling(self, ours: frozenset[int], theirs: frozenset[int], report: Cells) -> bool:
        """As of ``Joint``."""
        return not ours.isdisjoint(report) and theirs.isdisjoint(report)

    @property
    def pairs(self) -> tuple[Fraction, Fraction] | None:
        """As of ``Joint``."""
        if self.held > 1:
            return None
        cells, size = self.cells, self.size
        one = self.own * _sets(cells - 2, size - 2)
        neither = self.own * _sets(cells - 3, size - 3) + self.other * _sets(cells - 3, size - 2)
        return Fraction(one, self.total), Fraction(neither, self.total)


def _sets(cells: int, size: int) -> int:
    return comb(cells, size) if 0 <= size <= cells else 0


@dataclass(frozen=True)
class CoinEach:
    """Every one of ``cells`` is named by a coin of its own: with p if it speaks for the answer,
    else with q."""

    p: Fraction
    q: Fraction
    cells: int

    def __call__(self, own: frozenset[int], report: Cells) -> Fraction:
        """As of ``Joint``."""
        named = set(report)
        chances = (self.p if cell in own else self.q for cell in range(self.cells))
        return prod(
            (one if cell in named else 1 - one for cell, one in enumerate(chances)),
            start=Fraction(1),
        )

    def telling(self, ours: frozenset[int], theirs: frozenset[int], report: Cells) -> bool:
        """As of ``Joint``."""
        return (ours - theirs).issubset(report) and (theirs - ours).isdisjoint(report)

    @property
    def pairs(self) -> tuple[Fraction, Fraction]:
        """As of ``Joint``."""
        return self.p * self.q, self.q**2


@dataclass(frozen=True)
class CoinForSome:
    """One of ``ways`` to draw what is asked, each as likely, then a coin for each cell that is
    named: p if it speaks for the answer, else q."""

    p: Fraction
    q: Fraction
    ways: int

    def __call__(self, own: frozenset[int], report: Cells) -> Fraction:
        """As of ``Joint``."""
        said = (self.p if cell in own else self.q for cell in report)
        return prod(said, start=Fraction(1, self.ways))

    def telling(self, ours: frozenset[int], theirs: frozenset[int], report: Cells) -> bool:
        """As of ``Joint``."""
        return ours.issuperset(report) and theirs.isdisjoint(report)

    @property
    def pairs(self) -> None:
        """As of ``Joint``."""
        return None


# --- the four families ----------------------------------------------------------------------


class _Itself:
    @property
    def law(self) -> Self:
        """A law is its own."""
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
        """Every report counts."""
        return Fraction(1)


@dataclass(frozen=True)
class Supporting(_Itself):
    """A report names cells; one that speaks for the answer is named with ``p``, another with ``q``.

    There is a cell for each choice. ``blanks`` more fill an answer up to as many, so that every
    answer has that many cells of its own. Where ``both`` is true an option has two cells instead,
    ``2 * option + tick``; a report has one of them for each option in its ``sampled_fraction``.
    ``size`` is how many choices a report names, None where any number of them.
    """

    domain: One | Ticks
    p: Fraction
    q: Fraction
    joint: Joint
    size: int | None = None
    sampled_fraction: Fraction = Fraction(1)
    blanks: int = 0
    both: bool = False

    @property
    def k(self) -> int:
        """The number of choices."""
        return self.domain.k

    @property
    def single(self) -> bool:
        """Whether an answer is exactly one choice."""
        return isinstance(self.domain, One)

    @property
    def most(self) -> int:
        """How many choices one report can name."""
        return self.k if self.size is None else self.size

    @property
    def cell_count(self) -> int:
        """The number of cells of a tally."""
        return self.k * (2 if self.both else 1) + self.blanks

    @property
    def exact(self) -> bool:
        """Probabilities are exact, and reports are finitely many."""
        return True

    @property
    def extremes(self) -> tuple[Any, Any]:
        """Two answers that differ as much as any two do: of no two answers is the ratio of the
        probabilities of one report larger than of the first against the second."""
        first, second = self.domain.extremes
        # Whoever ticks most is told by ticks that are reported, or else by those that are not.
        return (first, second) if self.p + self.q <= 1 else (second, first)

    def own(self, answer: Any) -> frozenset[int]:
        """The cells that speak for an answer."""
        if self.single:
            return frozenset((answer,))
        ticks = frozenset(answer)
        if self.both:
            return frozenset(2 * option + (option in ticks) for option in range(self.k))
        return ticks.union(range(self.k, self.k + self.blanks - len(ticks)))

    def probability(self, answer: Any, report: Cells) -> Fraction:
        """P(report | answer) of a report that the mechanism can make."""
        return self.joint(self.own(answer), report)

    def cell_probability(self, answer: Any, cell: int) -> Fraction:
        """P(the report counts in this cell of the tally | answer)."""
        return self.sampled_fraction * (self.p if cell in self.own(answer) else self.q)

    def cells(self, answer: Any) -> Iterable[int]:
        """The cells of a tally to be counted."""
        del answer
        return range(self.cell_count)


WeightsOfRow = Callable[[int], Sequence[int] | Sequence[float]]


@dataclass(frozen=True)
class Finite(_OfPosition):
    """A position is rounded at random, without bias, to one of so many ``rows``; each has its
    weights of ``outputs``.

    ``evenly`` says that a row is a window of outputs that starts there, all others alike, so that
    the mean output is affine in the row. ``exact`` is false where weights are floating point.
    ``usual`` is the median magnitude of noise that stays on the grid, in steps; None where outputs
    are no noisy positions. Laws of one ``source`` (the mechanism) are equal.
    """

    domain: One
    rows: int
    outputs: int
    row: WeightsOfRow = field(compare=False)
    source: Hashable
    evenly: bool = False
    exact: bool = True
    usual: float | None = None

    @property
    def cell_count(self) -> int:
        """The number of cells of a tally."""
        return self.outputs

    @property
    def extremes(self) -> tuple[int, int]:
        """As of ``Supporting``."""
        return self._apart() if self.exact and not self.evenly else self.domain.extremes

    def output(self, row: int, output: int) -> Fraction:
        """P(output | row)."""
        weights, total = self._weighed(row)
        if self.exact:
            return Fraction(weights[output]) / Fraction(total)
        return Fraction(weights[output] / total) * ROUNDED_UP

    def probability(self, answer: int, report: Cells) -> Fraction:
        """P(report | answer) of a report that the mechanism can make."""
        low, rest = divmod(answer * (self.rows - 1), self.k - 1)
        up = Fraction(rest, self.k - 1)
        below = self.output(low, report[0])
        return below if not up else (1 - up) * below + up * self.output(low + 1, report[0])

    def cell_probability(self, answer: int, cell: int) -> Fraction:
        """P(the report counts in this cell of the tally | answer)."""
        return self.probability(answer, (cell,))

    def cells(self, answer: int) -> Iterable[int]:
        """The cells of a tally to be counted: all, or of noise those near the answer."""
        if self.exact:
            return range(self.outputs)
        return range(max(answer - _NEAR, 0), min(answer + _NEAR + 1, self.outputs))

    @cached_property
    def _weighed(self) -> Callable[[int], tuple[Sequence[int] | Sequence[float], float]]:
        def weighed(row: int) -> tuple[Sequence[int] | Sequence[float], float]:
            weights = self.row(row)
            return weights, sum(weights) if self.exact else fsum(weights)

        return lru_cache(maxsize=16)(weighed)

    def _apart(self) -> tuple[int, int]:
        """The two positions whose chances of one output have the largest ratio.

        Between two rows the chance of an output is linear in the position, so its extremes are
        next to the rows.
        """
        last, knots = self.k - 1, self.rows - 1
        near = {i * last // knots for i in range(knots + 1)}
        places = sorted(near | {-(-i * last // knots) for i in range(knots + 1)})
        worst, pair = Fraction(0), (0, last)
        for output in range(self.outputs):
            chances = {place: self.probability(place, (output,)) for place in places}
            first = max(chances, key=chances.__getitem__)
            second = min(chances, key=chances.__getitem__)
            if (ratio := chances[first] / chances[second]) > worst:
                worst, pair = ratio, (first, second)
        return pair


@dataclass(frozen=True)
class Noise(_OfPosition):
    """A position plus whole-number noise with this ``variance`` (in steps squared) and a ``usual``,
    median, magnitude, which reaches at most ``reach`` beyond the grid: what lies farther is
    reported there.

    ``mass(y)`` is P(noise = y) and ``tail(y)`` a bound of P(noise >= y); both take numbers and
    arrays, and ``mass`` is the same on both sides. Laws of one ``source`` are equal.
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
        """The numbers that can be reported are far too many to have a cell each."""
        return None

    @property
    def exact(self) -> bool:
        """Floating point, and hardly an end of reports."""
        return False

    @property
    def extremes(self) -> tuple[int, int]:
        """As of ``Supporting``."""
        return self.domain.extremes

    def probability(self, answer: int, report: Cells) -> Fraction:
        """P(report | answer) of a report that the mechanism can make."""
        away = abs(report[0] - answer)
        if report[0] in (-self.reach, self.k - 1 + self.reach):  # all of the tail beyond this end
            chance = fsum(self.mass(away + far) for far in range(self.reach))
        else:
            chance = self.mass(away)
        return Fraction(chance) * ROUNDED_UP

    def cell_probability(self, answer: int, cell: int) -> Fraction:
        """P(the report counts in this cell of the tally | answer)."""
        return self.probability(answer, (cell,))

    def cells(self, answer: int) -> Iterable[int]:
        """The cells of a tally to be counted: those near the answer."""
        return range(answer - _NEAR, answer + _NEAR + 1)


@dataclass(frozen=True)
class Several(_Itself):
    """``s`` of several numbers, picked at random, each by the law of its part; the cell is
    ``number * parts + part``."""

    parts: tuple[Finite | Noise, ...]
    s: int

    @property
    def domain(self) -> Each:
        """One position a part."""
        return Each(tuple(part.k for part in self.parts))

    @property
    def sampled_fraction(self) -> Fraction:
        """The share of the reports that have a part."""
        return Fraction(self.s, len(self.parts))

    @property
    def cell_count(self) -> int | None:
        """The number of cells of a tally; None where a part has no end of them."""
        counts = [part.cell_count for part in self.parts]
        known = [count for count in counts if count is not None]
        return max(known) * len(self.parts) if len(known) == len(counts) else None

    @property
    def exact(self) -> bool:
        """Whether every part is."""
        return all(part.exact for part in self.parts)

    @property
    def extremes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """As of ``Supporting``."""
        pairs = [part.extremes for part in self.parts]
        return tuple(first for first, _ in pairs), tuple(second for _, second in pairs)

    def probability(self, answer: Sequence[int], report: Cells) -> Fraction:
        """P(report | answer) of a report that the mechanism can make."""
        d = len(self.parts)
        said = (self.parts[c % d].probability(answer[c % d], (c // d,)) for c in report)
        return prod(said, start=Fraction(1, comb(d, self.s)))

    def cell_probability(self, answer: Sequence[int], cell: int) -> Fraction:
        """P(the report counts in this cell of the tally | answer)."""
        number, index = divmod(cell, len(self.parts))
        return self.sampled_fraction * self.parts[index].probability(answer[index], (number,))

    def cells(self, answer: Sequence[int]) -> Iterable[int]:
        """The cells of a tally to be counted."""
        d = len(self.parts)
        return [c * d + i for i, one in enumerate(answer) for c in self.parts[i].cells(one)]


Law = Supporting | Finite | Noise | Several
OfNumber = Finite | Noise
"""Laws of one position on a grid."""

L_co = TypeVar("L_co", bound=Law, covariant=True)


class HasLaw(Protocol[L_co]):
    """A mechanism, or its law by itself."""

    @property
    def law(self) -> L_co:
        """How its reports fall."""
        ...

    def __hash__(self) -> int: ...


class Randomiser(HasLaw[L_co], Protocol[L_co]):
    """All that is asked of a mechanism."""

    @property
    def loss(self) -> Loss:
        """What one report can give away."""
        ...

    @property
    def described(self) -> str:
        """The mechanism and its numbers, for researchers, in a few words."""
        ...

    def randomise(self, answer: Any, coins: Coins) -> Cells:
        """A report. Raises BadAnswer, before any draw."""
        ...

    def check(self, report: Sequence[int], path: str = "$") -> None:
        """Raise BadReport unless ``report`` is one that this mechanism can make."""
        ...
