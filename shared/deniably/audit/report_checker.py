"""Checks reports while a randomiser runs, whatever its mechanism.

The same coins must give the same report. The mechanism must be able to make it. And reports must
fall into each cell of the tally as often as the mechanism's law says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any, cast

import numpy as np

from deniably.core.binomial import upper_tail
from deniably.core.coins import Coins
from deniably.core.errors import BadReport
from deniably.mechanisms import Cells
from deniably.mechanisms.law import Law, Randomiser

Randomise = Callable[..., Hashable]


def checked(mechanism: Randomiser[Law], report: Hashable) -> Cells:
    """Returns the report as a tuple of integers.

    Raises BadReport where the mechanism cannot make such a report.
    """
    made = cast(tuple[object, ...], report)
    if not isinstance(report, tuple) or any(type(cell) is not int for cell in made):
        raise BadReport("a report is a tuple of integers")
    mechanism.check(cast(Cells, made))
    return cast(Cells, made)


class _Recorded(Coins):
    """Coins that remember every draw: its bound and what it gave."""

    __slots__ = ("draws", "inner")

    def __init__(self, inner: Coins) -> None:
        # No bytes are read here: the inner coins draw.
        super().__init__(lambda _: b"")
        self.inner = inner
        self.draws: list[tuple[int, int]] = []

    def below(self, n: int) -> int:
        drawn = self.inner.below(n)
        self.draws.append((n, drawn))
        return drawn


class _OtherDraw(BaseException):  # code under audit may catch every Exception
    """The code drew differently with the same coins."""


class _Repeated(Coins):
    """Coins that repeat recorded draws."""

    __slots__ = ("draws",)

    def __init__(self, draws: list[tuple[int, int]]) -> None:
        super().__init__(lambda _: b"")
        self.draws = iter(draws)

    def below(self, n: int) -> int:
        # No bound is 0, so a draw beyond the recorded ones counts as another draw.
        bound, drawn = next(self.draws, (0, 0))
        if bound != n:
            raise _OtherDraw
        return drawn


def made_twice(run: Callable[[Coins], Hashable], coins: Coins) -> tuple[Hashable, int, bool]:
    """Makes a report, and makes it again from the recorded draws.

    Returns (report, number of draws, whether the second report is the same and made with the same
    draws).
    """
    recorded = _Recorded(coins)
    report = run(recorded)
    try:
        same = run(_Repeated(recorded.draws)) == report
    except _OtherDraw:
        same = False
    return report, len(recorded.draws), same


class ReportChecker:
    """Runs a randomiser on one answer, and checks every report.

    ``fault`` is the first fault found, in words; None without one.
    """

    def __init__(self, mechanism: Randomiser[Law], randomise: Randomise, answer: Any) -> None:
        self.mechanism = mechanism
        self.randomise = randomise
        self.answer = answer
        self.fault: str | None = None
        self.runs = 0
        self.counts: Counter[int] = Counter()

    def __call__(self, coins: Coins) -> Hashable:
        """Returns a report, made twice from the same coins and checked."""
        report, draws, same = made_twice(lambda door: self.randomise(self.answer, door), coins)
        self.runs += 1
        if not draws:
            self._note("it draws no coin")
        try:
            self.counts.update(checked(self.mechanism, report))
        except BadReport as error:
            self._note(f"it makes a report that its mechanism cannot make: {error.why}")
        if not same:
            self._note("it makes another report of the same coins")
        return report

    def misfit(self, alpha: float) -> str | None:
        """Returns a fault in how often reports count in the cells of the tally, in words; None
        without one.

        The cell with the least likely count is tested by exact binomial tails, with a Bonferroni
        correction for the number of cells and for both tails. A correct randomiser is accused with
        probability at most ``alpha``.
        """
        law = self.mechanism.law
        places = list(law.cells(self.answer))
        counts = np.array([self.counts[cell] for cell in places])
        shares = np.array([float(law.cell_probability(self.answer, cell)) for cell in places])
        tails = np.minimum(
            upper_tail(counts, self.runs, shares),
            upper_tail(self.runs - counts, self.runs, 1 - shares),
        )
        worst = int(tails.argmin())
        if tails[worst] >= alpha / (2 * len(places)):
            return None
        return (
            f"{counts[worst]:,} of {self.runs:,} reports count in cell {places[worst]}, not about"
            f" {self.runs * shares[worst]:,.0f}"
        )

    def _note(self, fault: str) -> None:
        self.fault = self.fault or fault
