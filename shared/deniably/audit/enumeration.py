"""Enumerates the branches of a running randomiser: the exact probabilities of its reports, as
fractions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from heapq import heappop, heappush
from math import lcm
from typing import Generic, TypeVar

from deniably.core.coins import Coins
from deniably.core.exponential import exp_bounds

R = TypeVar("R", bound=Hashable)

INFINITE: Fraction | None = None
"""The worst odds where a report is possible under one answer and impossible under another."""

# Precision of e**-x. It costs little, and makes the mass that is rounded away irrelevant.
_BITS = 256
_MOST_DRAWS = 1 << 12  # of one path; a longer one is cut off


class _CutOff(BaseException):  # code under audit may catch every Exception
    """This branch is too improbable to follow."""


IDS = (
    *(digit * 32 for digit in "0123456789abcdef"),
    "0123456789abcdef" * 2,
    "fedcba9876543210" * 2,
)
"""Ids that stand for all 2**128: each digit at every place, and two with all digits."""


Draw = tuple[int, int, int, Sequence[int] | None]
"""A draw on a path: the numerator and the denominator of the path's probability before it, the sum
of its weights, and the weights; None where all are 1."""


class _Replay(Coins):
    """Coins that repeat a given path, then take the first branch of every further draw.

    ``path`` and ``draws`` grow with each of these. The path's probability is ``share / whole``, not
    in lowest terms: that keeps a draw cheap. So does ``cut``, a numerator and a denominator, or
    None where every branch is followed. Every draw branches by its weights. (Other tests show that
    the shipped ``choose`` and ``chance`` have theirs.)
    """

    __slots__ = ("at", "cut", "draws", "given", "path", "share", "whole")

    def __init__(
        self,
        path: list[int],
        draws: list[Draw],
        share: int,
        whole: int,
        cut: tuple[int, int] | None,
    ) -> None:
        super().__init__(lambda _: b"")
        self.path = path
        self.draws = draws
        self.share = share
        self.whole = whole
        self.cut = cut
        # Draws before this one repeat the path; later ones extend it.
        self.given = len(path)
        self.at = 0

    def below(self, n: int) -> int:
        at = self.at
        self.at = at + 1
        if at < self.given:
            return self.path[at]
        self._go(0, (self.share, self.whole, n, None))
        return 0

    def choose(self, weights: Sequence[int]) -> int:
        at = self.at
        self.at = at + 1
        if at < self.given:
            return self.path[at]
        if not any(weights) or min(weights) < 0:
            raise ValueError("choose needs weights, none of them negative")
        first = next(index for index, weight in enumerate(weights) if weight)
        self._go(first, (self.share, self.whole, sum(weights), weights))
        return first

    def chance(self, n: int, d: int) -> bool:
        """Branch in two by ``_chance``, instead of into billions of paths."""
        return self.choose(_chance(n, d)) == 1

    def draw_id(self) -> str:
        """One fixed id."""
        return IDS[-1]

    def _go(self, branch: int, draw: Draw) -> None:
        *_, total, weights = draw
        self.path.append(branch)
        self.draws.append(draw)
        self.share *= weights[branch] if weights else 1
        self.whole *= total
        if self.cut is not None and _below(self.cut, self.share, self.whole):
            raise _CutOff


def _below(cut: tuple[int, int], share: int, whole: int) -> bool:
    # Cross-multiplied, since a Fraction at every draw would be the slowest part of a walk.
    over, under = cut
    return share * under < over * whole


Turn = tuple[int, int, int, int, int, Sequence[int] | None]
"""A draw whose other branches are still to be explored: how many draws came before it, the branch
that it took, the share and the whole of the path until then, the sum of its weights, and these;
None where all weigh 1."""


class _Stem(Coins):
    """Coins that repeat the beginning of a path and then take the likeliest branch of every draw.

    Every draw branches by its weights. ``turns`` holds the draws after the beginning that have more
    branches; ``draws`` counts all of them. The path's probability is ``share / whole``, not in
    lowest terms; those of its beginning are given. An id is one of ``ids``; ``drawn`` lists the ids
    that were drawn.
    """

    __slots__ = ("drawn", "draws", "given", "ids", "path", "share", "turns", "whole")

    def __init__(self, path: Sequence[int], share: int, whole: int, ids: Sequence[str]) -> None:
        # Set directly: a walk makes one of these for each path.
        self._source = _no_bytes
        self.ids = ids
        self.drawn: list[str] = []
        self.given = len(path)
        self.path = list(path)
        self.draws = 0
        self.share = share
        self.whole = whole
        self.turns: list[Turn] = []

    def below(self, n: int) -> int:
        at = self.draws
        if at < self.given:
            self.draws = at + 1
            return self.path[at]
        # All n are equally likely, so any of them is a likeliest one.
        self._take(0)
        if n > 1:
            self.turns.append((at, 0, self.share, self.whole, n, None))
            self.whole *= n
        return 0

    def choose(self, weights: Sequence[int]) -> int:
        at = self.draws
        if at < self.given:
            self.draws = at + 1
            return self.path[at]
        total, heaviest = sum(weights), max(weights)
        likeliest = weights.index(heaviest)
        self._take(likeliest)
        if heaviest < total:
            turn = at, likeliest, self.share, self.whole, total, tuple(weights)
            self.turns.append(turn)
        self.share *= heaviest
        self.whole *= total
        return likeliest

    def draw_id(self) -> str:
        self.drawn.append(self.ids[self.choose((1,) * len(self.ids))])
        return self.drawn[-1]

    def chance(self, n: int, d: int) -> bool:
        return self.choose(_chance(n, d)) == 1

    def _take(self, branch: int) -> None:
        if self.draws == _MOST_DRAWS:
            raise _CutOff
        self.draws += 1
        self.path.append(branch)


def _no_bytes(_: int) -> bytes:
    return b""


@lru_cache(maxsize=4096)
def _chance(n: int, d: int) -> tuple[int, int]:
    """The weights of "no" and of "yes", which has the probability e**-(n/d).

    The probability of "yes" is rounded down by less than 2**-250. The sum of the weights is 2**256:
    a power of two keeps the common denominator of many paths short.
    """
    if not n:
        return 0, 1
    # Divided by the upper bound of e**(n/d), so that "yes" is never stated as likelier than it is.
    unit = 1 << _BITS
    happens = unit * unit // exp_bounds(Fraction(n, d), _BITS)[1]
    return unit - happens, happens


PathShares = defaultdict[R, defaultdict[int, int]]
"""For each result the summed shares of its paths, by their whole; most paths share one whole."""


def _shares() -> PathShares[R]:
    return defaultdict(lambda: defaultdict(int))


def _law(shares: PathShares[R]) -> dict[R, Fraction]:
    return {result: _sum(parts.items()) for result, parts in shares.items()}


def _sum(parts: Iterable[tuple[int, int]]) -> Fraction:
    """The sum of (denominator, numerator) pairs; one common denominator for all is much faster."""
    parts = list(parts)
    common = lcm(*(denominator for denominator, _ in parts))
    return Fraction(sum(numerator * (common // own) for own, numerator in parts), common)


def distribution_above(
    run: Callable[[Coins], R], cut: Fraction
) -> tuple[dict[R, Fraction], Fraction]:
    """Returns the results of ``run(coins)`` with their probabilities, and the probability cut off.

    A path is one sequence of draws. Only paths with a probability of ``cut`` or more are followed,
    all if ``cut`` is 0. The first value is {result: lower bound of its probability}, the second the
    probability of all other paths. Each true probability exceeds its lower bound by at most the
    second value.
    """
    shares: PathShares[R] = _shares()
    unexplored = defaultdict[int, int](int)  # shares, by their whole
    path, draws = list[int](), list[Draw]()
    share = whole = 1
    least = (cut.numerator, cut.denominator) if cut else None
    while True:
        if least and _below(least, share, whole):
            unexplored[whole] += share
        else:
            coins = _Replay(path, draws, share, whole, least)
            try:
                result = run(coins)
                shares[result][coins.whole] += coins.share
            except _CutOff:
                unexplored[coins.whole] += coins.share
            del path[coins.at :], draws[coins.at :]
        # Depth first, like an odometer: the last draw that has another branch takes it, and the
        # draws after it are dropped.
        while path:
            share, whole, total, weights = draws[-1]
            branch = path[-1] + 1
            while weights and branch < len(weights) and not weights[branch]:
                branch += 1
            if branch < (len(weights) if weights else total):
                break
            path.pop()
            draws.pop()
        else:
            return _law(shares), _sum(unexplored.items())
        path[-1] = branch
        share *= weights[branch] if weights else 1
        whole *= total


@dataclass(frozen=True)
class Exploration(Generic[R]):
    """The explored paths of a run, where a path is one sequence of draws.

    ``law`` is {result: lower bound of its probability}. ``paths`` is how many paths were explored,
    ``draws`` the smallest number of draws on any of them. ``unexplored_mass`` is the probability of
    all other paths; where it is 0, ``law`` is exact.
    """

    law: Mapping[R, Fraction]
    paths: int
    draws: int

    @cached_property
    def unexplored_mass(self) -> Fraction:
        """The probability of all paths that were not explored."""
        return 1 - _sum((share.denominator, share.numerator) for share in self.law.values())


def drawn_ids(coins: Coins) -> tuple[str, ...]:
    """Returns the ids that a run under ``explore`` has drawn so far."""
    assert isinstance(coins, _Stem)
    return tuple(coins.drawn)


def explore(run: Callable[[Coins], R], limit: int, ids: Sequence[str] = IDS[-1:]) -> Exploration[R]:
    """Explores up to ``limit`` paths of ``run(coins)``, the likeliest first.

    A path is one sequence of draws. Every draw, also by ``choose`` or ``chance``, branches with its
    stated probabilities. No branch that is left out is likelier than one that was taken. A drawn id
    is any of ``ids``, with equal probabilities.
    """
    shares: PathShares[R] = _shares()
    waiting: list[_Waiting] = [(-1.0, (), 1, 1, 1)]
    paths, draws = 0, _MOST_DRAWS
    while waiting and paths < limit:
        # The float orders the heap alone; the law is made of the exact share and whole.
        place, path, share, whole, alike = heappop(waiting)
        if alike > 1:
            # Equally likely branches wait one at a time, for there may be 2**53.
            heappush(waiting, (place, (*path[:-1], path[-1] + 1), share, whole, alike - 1))
        coins = _Stem(path, share, whole, ids)
        paths += 1
        try:
            result = run(coins)
            shares[result][coins.whole] += coins.share
        except _CutOff:
            pass
        draws = min(draws, coins.draws)
        for turn in coins.turns:
            _wait(waiting, coins.path, turn)
    return Exploration(_law(shares), paths, draws)


_Waiting = tuple[float, tuple[int, ...], int, int, int]
"""The beginning of a path: the negative of its probability, its branches, its share and whole, and
how many branches from the last one on are as likely."""


def _wait(waiting: list[_Waiting], path: list[int], turn: Turn) -> None:
    """Put the other branches of a draw of this path among those that wait."""
    depth, taken, share, whole, total, weights = turn
    stem, likely, over = tuple(path[:depth]), -(share / whole), whole * total
    # One entry for all of them: `explore` puts back the next one when it takes one.
    if weights is None:
        heappush(waiting, (likely * (1 / total), (*stem, 1), share, over, total - 1))
        return
    for branch, weight in enumerate(weights):
        if weight and branch != taken:
            place = likely * (weight / total)
            heappush(waiting, (place, (*stem, branch), share * weight, over, 1))


def worst_odds(laws: Iterable[Mapping[R, Fraction]]) -> Fraction | None:
    """Returns the largest ratio between two answers' probabilities of one report.

    ``laws`` has for each answer {report: probability}. The result is INFINITE (None) where some
    report is possible under one answer and impossible under another. The ln of the result is the
    epsilon.
    """
    laws = list(laws)
    worst = Fraction(1)
    reports = {report for law in laws for report in law}
    for report in reports:
        probabilities = [law.get(report, Fraction(0)) for law in laws]
        if not min(probabilities):
            return INFINITE
        worst = max(worst, max(probabilities) / min(probabilities))
    return worst
