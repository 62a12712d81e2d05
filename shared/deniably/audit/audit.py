"""Proof instead of sampling: every branch of the running randomiser, in exact fractions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from heapq import heappop, heappush
from typing import Generic, TypeVar

from deniably.core.coins import Coins
from deniably.core.exponential import exp_bounds

R = TypeVar("R", bound=Hashable)

INFINITE: Fraction | None = None
"""Worst odds where one answer rules a report out: no bound at all."""

_ENUMERABLE = 1 << 10
_BITS = 256
_MOST_DRAWS = 1 << 12  # of one path; what draws more is not followed


class _CutOff(Exception):
    """This branch is too improbable to follow."""


IDS = (
    *(digit * 32 for digit in "0123456789abcdef"),
    "0123456789abcdef" * 2,
    "fedcba9876543210" * 2,
)
"""Ids that stand for all 2**128 of them: each digit at each place, and some that have all."""


class _Replay(Coins):
    """Coins that walk a tree: repeat a given path, then take the first branch of every draw."""

    __slots__ = ("cut", "path", "probability", "widths")

    def __init__(self, path: Sequence[int], cut: Fraction) -> None:
        super().__init__(lambda _: b"")
        self.cut = cut
        self.path = list(path)
        self.widths: list[int] = []
        self.probability = Fraction(1)

    def below(self, n: int) -> int:
        branch = self._branch(n)
        self._go(Fraction(1, n))
        return branch

    def choose(self, weights: Sequence[int]) -> int:
        # Small weights go through the shipped `choose`, draw by draw, so that it is audited
        # too; 2**32 branches cannot be, nor those of a run without end: by their weights.
        if sum(weights) <= _ENUMERABLE and not self.cut:
            return super().choose(weights)
        branch = self._branch(len(weights))
        self._go(Fraction(weights[branch], sum(weights)))
        return branch

    def draw_id(self) -> str:
        """Always the same."""
        return IDS[-1]

    def _go(self, probability: Fraction) -> None:
        self.probability *= probability
        if self.probability < self.cut:
            raise _CutOff

    def chance(self, n: int, d: int) -> bool:
        """One branch each way, by e**-(n/d) to 2**-256: paths that end early instead of billions
        of them. That the shipped ``chance`` has this probability is shown on its own."""
        happens = self._branch(2) == 0
        probability = _chance(n, d)
        self._go(probability if happens else 1 - probability)
        return happens

    def _branch(self, width: int) -> int:
        depth = len(self.widths)
        self.widths.append(width)
        if depth == len(self.path):
            self.path.append(0)
        return self.path[depth]


Branches = list[tuple[int, Fraction]]
"""Ways that a draw can go, each with its probability."""


class _Stem(Coins):
    """Coins that repeat the beginning of a path and then go the likeliest way.

    Every draw branches by its weights. ``turns`` holds for each draw the probability of all
    before it and the branches that wait to be followed from there. An id is one of ``ids``,
    and ``drawn`` are those that were drawn.
    """

    __slots__ = ("drawn", "given", "ids", "path", "probability", "turns")

    def __init__(self, path: tuple[int, ...], ids: Sequence[str]) -> None:
        super().__init__(lambda _: b"")
        self.ids = ids
        self.drawn: list[str] = []
        self.given = len(path)
        self.path = list(path)
        self.probability = Fraction(1)
        self.turns: list[tuple[Fraction, Branches]] = []

    def below(self, n: int) -> int:
        branch = self._next(0)
        # Of equally likely branches the next one waits for this one: n may be 2**53.
        waiting = [(branch + 1, Fraction(1, n))] if branch + 1 < n else []
        return self._go(branch, Fraction(1, n), waiting)

    def choose(self, weights: Sequence[int]) -> int:
        total = sum(weights)
        return self._choose([(i, Fraction(w, total)) for i, w in enumerate(weights) if w])

    def draw_id(self) -> str:
        share = Fraction(1, len(self.ids))
        self.drawn.append(self.ids[self._choose([(i, share) for i in range(len(self.ids))])])
        return self.drawn[-1]

    def chance(self, n: int, d: int) -> bool:
        happens = _chance(n, d)
        return self._choose([(1, happens), (0, 1 - happens)] if n else [(1, happens)]) == 1

    def _choose(self, branches: Branches) -> int:
        new = len(self.turns) >= self.given
        branch = self._next(max(branches, key=lambda one: one[1])[0])
        waiting = [one for one in branches if new and one[0] != branch]
        return self._go(branch, dict(branches)[branch], waiting)

    def _next(self, likeliest: int) -> int:
        depth = len(self.turns)
        if depth == _MOST_DRAWS:
            raise _CutOff
        if depth == len(self.path):
            self.path.append(likeliest)
        return self.path[depth]

    def _go(self, branch: int, share: Fraction, waiting: Branches) -> int:
        self.turns.append((self.probability, waiting))
        self.probability *= share
        return branch


@lru_cache(maxsize=4096)
def _chance(n: int, d: int) -> Fraction:
    """e**-(n/d), from below and to 2**-255."""
    return Fraction(1 << _BITS, exp_bounds(Fraction(n, d), _BITS)[1]) if n else Fraction(1)


def distribution(run: Callable[[Coins], R]) -> dict[R, Fraction]:
    """The exact law of ``run(coins)``: each possible result with its probability.

    ``run`` is called once for every path through its draws, which must end. The probabilities
    sum to 1.
    """
    law, rest = distribution_above(run, Fraction(0))
    assert rest == 0
    return law


def distribution_above(
    run: Callable[[Coins], R], cut: Fraction
) -> tuple[dict[R, Fraction], Fraction]:
    """The law of a ``run`` that may go on for ever, by the paths of probability ``cut`` and above.

    Returns a lower bound of each result's probability, and the probability of all that was not
    followed: no true probability is above its lower bound by more than that.
    """
    law: dict[R, Fraction] = {}
    rest = Fraction(0)
    path: list[int] = []
    while True:
        coins = _Replay(path, cut)
        try:
            result = run(coins)
            if coins.probability:
                law[result] = law.get(result, Fraction(0)) + coins.probability
        except _CutOff:
            rest += coins.probability
        path = coins.path[: len(coins.widths)]
        while path and path[-1] + 1 == coins.widths[len(path) - 1]:
            path.pop()
        if not path:
            return law, rest
        path[-1] += 1


@dataclass(frozen=True)
class Followed(Generic[R]):
    """The paths of a run that were followed: for each result a lower bound of its probability.

    ``draws`` is the smallest number of draws on a path, ``rest`` the probability of all paths that
    were not followed; with a rest of 0 the law is exact.
    """

    law: Mapping[R, Fraction]
    paths: int
    draws: int

    @property
    def rest(self) -> Fraction:
        """The probability that is missing from the law."""
        return 1 - sum(self.law.values(), Fraction(0))


def drawn_ids(coins: Coins) -> tuple[str, ...]:
    """The ids that a followed run has drawn so far."""
    assert isinstance(coins, _Stem)
    return tuple(coins.drawn)


def follow(run: Callable[[Coins], R], most: int, ids: Sequence[str] = IDS[-1:]) -> Followed[R]:
    """The ``most`` likeliest beginnings of ``run(coins)``, each followed to an end; or all paths.

    Every draw, also one of ``choose`` or ``chance``, is taken to have its stated weights. No
    branch is left out that is likelier than one that was taken. An id that the run draws is each of
    ``ids``, equally likely.
    """
    law: dict[R, Fraction] = {}
    waiting: list[tuple[float, tuple[int, ...]]] = [(-1.0, ())]
    paths, draws = 0, _MOST_DRAWS
    while waiting and paths < most:
        coins = _Stem(heappop(waiting)[1], ids)
        paths += 1
        try:
            result = run(coins)
            law[result] = law.get(result, Fraction(0)) + coins.probability
        except _CutOff:
            pass
        draws = min(draws, len(coins.turns))
        for depth in range(max(coins.given - 1, 0), len(coins.turns)):
            before, branches = coins.turns[depth]
            for branch, share in branches:
                stem = (*coins.path[:depth], branch)
                heappush(waiting, (-float(before) * float(share), stem))
    return Followed(law, paths, draws)


def worst_odds(laws: Iterable[Mapping[R, Fraction]]) -> Fraction | None:
    """The largest ratio between two answers' probabilities of one report.

    ``laws`` holds the law of every answer. Returns INFINITE (None) where some report is
    possible under one answer and impossible under another. ln of the result is the epsilon.
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
