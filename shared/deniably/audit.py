"""Proof instead of sampling: every branch of the running randomiser, in exact fractions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

from deniably.coins import Coins
from deniably.exponential import exp_bounds

R = TypeVar("R", bound=Hashable)

INFINITE: Fraction | None = None
"""Worst odds where one answer rules a report out: no bound at all."""

_ENUMERABLE = 1 << 10
_BITS = 256


class _CutOff(Exception):
    """This branch is too improbable to follow."""


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

    def _go(self, probability: Fraction) -> None:
        self.probability *= probability
        if self.probability < self.cut:
            raise _CutOff

    def chance(self, n: int, d: int) -> bool:
        """One branch each way, by e**-(n/d) to 2**-256: paths that end early instead of billions
        of them. That the shipped ``chance`` has this probability is shown on its own."""
        happens = self._branch(2) == 0
        if n == 0:
            probability = Fraction(1)
        else:
            probability = Fraction(1 << _BITS, exp_bounds(Fraction(n, d), _BITS)[1])
        self._go(probability if happens else 1 - probability)
        return happens

    def _branch(self, width: int) -> int:
        depth = len(self.widths)
        self.widths.append(width)
        if depth == len(self.path):
            self.path.append(0)
        return self.path[depth]


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
