"""The window mechanism for ordered answers: square wave, Duchi et al., piecewise (SPEC 2.5)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from deniably.core.coins import LARGEST, Coins
from deniably.core.errors import BadMechanism
from deniably.core.loss import Loss
from deniably.mechanisms.cells import Cells, check_one
from deniably.mechanisms.law import Finite, One
from deniably.mechanisms.parameters import Parameters, kept
from deniably.mechanisms.positions import check_position, check_positions, knot

MOST_OUTPUTS = 4096  # SPEC 2.5


class Window(Parameters, frozen=True, tag="window"):
    """A mechanism that reports one of ``m`` outputs; those in a window around the answer are
    likelier.

    The answer is one of ``k`` positions. It is rounded at random, without bias, to one of the
    ``m - w + 1`` places where a window of ``w`` neighbours can start. Outputs inside the window
    weigh ``own``, all others ``other``. Special cases are the mechanism of Duchi, Jordan and
    Wainwright 2018 (JASA 113:182) for (m, w) = (2, 1), a square wave (Li et al. 2020, SIGMOD) for
    ``k = m - w + 1``, and the piecewise mechanism (Wang et al. 2019, ICDE) for large m.
    Raises BadMechanism where the integers break SPEC 2.5.

    >>> Window(k=5, m=8, w=4, own=3, other=1).loss.odds
    Fraction(3, 1)
    """

    k: int
    m: int
    w: int
    own: int
    other: int

    def __post_init__(self) -> None:
        check_positions(self.k)
        if not 2 <= self.m <= MOST_OUTPUTS:
            raise BadMechanism(f"m is {self.m}; from 2 to {MOST_OUTPUTS} outputs are allowed")
        if not 1 <= self.w < self.m:
            raise BadMechanism(f"w is {self.w}; the window has from 1 to m - 1 outputs")
        if not 1 <= self.other < self.own:
            raise BadMechanism(f"own is {self.own} and other {self.other}; use 1 <= other < own")
        if self.total > LARGEST:
            raise BadMechanism(
                f"w * own + (m - w) * other is {self.total}; it must be at most 2**53"
            )

    @property
    def total(self) -> int:
        """Z, the sum of the weights of all outputs."""
        return self.w * self.own + (self.m - self.w) * self.other

    @property
    def loss(self) -> Loss:
        """Privacy loss of one report: the odds are own / other."""
        return Loss(Fraction(self.own, self.other))

    @property
    def described(self) -> str:
        """The mechanism and its parameters in a few words, for researchers."""
        return f"window, {self.w} of {self.m}"

    @kept
    def law(self) -> Finite:
        """The law of a report: a matrix with a row for each place where the window can start."""
        return Finite(One(self.k), self.m - self.w + 1, self.m, self._row, self, evenly=True)

    def _row(self, start: int) -> list[int]:
        rest = self.m - self.w - start
        return [self.other] * start + [self.own] * self.w + [self.other] * rest

    def randomise(self, answer: int, coins: Coins) -> Cells:
        """Draws the report for ``answer``, a position below k. Raises BadAnswer before any draw."""
        check_position(answer, self.k)
        m, w = self.m, self.w
        start = knot(answer, self.k, m - w + 1, coins)
        inside = coins.choose((w * self.own, (m - w) * self.other)) == 0
        # Both are drawn, though one is used: the draws say nothing of the answer.
        i, j = coins.below(w), coins.below(m - w)
        if inside:
            return (start + i,)
        return (j if j < start else j + w,)

    def check(self, report: Sequence[int], path: str = "$") -> None:
        """Raise BadReport unless ``report`` is one that this mechanism can make."""
        check_one(report, 0, self.m - 1, path)
