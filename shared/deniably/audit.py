"""Proof instead of sampling: every branch of the running randomiser, in exact fractions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

from deniably.coins import Coins

R = TypeVar("R", bound=Hashable)

INFINITE: Fraction | None = None
"""Worst odds where one answer rules a report out: no bound at all."""

_ENUMERABLE = 1 << 10


class _Replay(Coins):
    """Coins that walk a tree: repeat a given path, then take the first branch of every draw."""

    __slots__ = ("path", "probability", "widths")

    def __init__(self, path: Sequence[int]) -> None:
        super().__init__(lambda _: b"")
        self.path = list(path)
        self.widths: list[int] = []
        self.probability = Fraction(1)

    def below(self, n: int) -> int:
        branch = self._branch(n)
        self.probability /= n
        return branch

    def choose(self, weights: Sequence[int]) -> int:
        # Small weights go through the shipped `choose`, draw by draw, so that it is audited
        # too; 2**32 branches cannot be, and are taken by their weights.
        if sum(weights) <= _ENUMERABLE:
            return super().choose(weights)
        branch = self._branch(len(weights))
        self.probability *= Fraction(weights[branch], sum(weights))
        return branch

    def _branch(self, width: int) -> int:
        depth = len(self.widths)
        self.widths.append(width)
        if depth == len(self.path):
            self.path.append(0)
        return self.path[depth]


def distribution(run: Callable[[Coins], R]) -> dict[R, Fraction]:
    """The exact law of ``run(coins)``: each possible result with its probability.

    ``run`` is called once for every path through its draws. The probabilities sum to 1.
    """
    law: dict[R, Fraction] = {}
    path: list[int] = []
    while True:
        coins = _Replay(path)
        result = run(coins)
        if coins.probability:
            law[result] = law.get(result, Fraction(0)) + coins.probability
        path = coins.path
        while path and path[-1] + 1 == coins.widths[len(path) - 1]:
            path.pop()
        if not path:
            return law
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
