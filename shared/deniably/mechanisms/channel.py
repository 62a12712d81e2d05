"""Any finite channel, written out: textbook designs, and the best ones for a mean (SPEC 2.6)."""

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

MOST_WEIGHTS = 4096


class Channel(Parameters, frozen=True, tag="channel"):
    """Report output y with probability ``weights[row][y]`` over the row's sum.

    The answer is one of ``k`` positions; where there are fewer rows than positions it is first
    rounded at random (without bias) to a row. All rows have the same sum and no weight is 0.
    The odds are the largest ratio in a column. Raises BadMechanism where that is broken.
    """

    k: int
    weights: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        check_positions(self.k)
        rows, columns = len(self.weights), len(self.weights[0]) if self.weights else 0
        if not 2 <= rows <= self.k:
            raise BadMechanism("weights has from 2 to k rows")
        if columns < 2 or any(len(row) != columns for row in self.weights):
            raise BadMechanism("every row of weights has the same length, 2 or more")
        if rows * columns > MOST_WEIGHTS:
            raise BadMechanism(f"there are at most {MOST_WEIGHTS} weights")
        if any(weight < 1 for row in self.weights for weight in row):
            raise BadMechanism("a weight is an integer of 1 or more: 0 would rule an answer out")
        if len({sum(row) for row in self.weights}) != 1 or sum(self.weights[0]) > LARGEST:
            raise BadMechanism("every row of weights has the same sum, at most 2**53")
        if self.loss.odds == 1:
            raise BadMechanism("the rows are all the same: reports would say nothing")

    @property
    def loss(self) -> Loss:
        """The largest ratio of two weights in one column."""
        columns = zip(*self.weights, strict=True)
        return Loss(max(Fraction(max(column), min(column)) for column in columns))

    @property
    def described(self) -> str:
        """The mechanism and its numbers, for researchers, in a few words."""
        return f"channel, {len(self.weights)} rows of {len(self.weights[0])} outputs"

    @kept
    def law(self) -> Finite:
        """The matrix as it is written."""
        rows = self.weights
        return Finite(One(self.k), len(rows), len(rows[0]), rows.__getitem__, self)

    def randomise(self, answer: int, coins: Coins) -> Cells:
        """The report for ``answer`` (a position below k). Raises BadAnswer, before any draw."""
        check_position(answer, self.k)
        row = knot(answer, self.k, len(self.weights), coins)
        return (coins.choose(self.weights[row]),)

    def check(self, report: Sequence[int], path: str = "$") -> None:
        """Raise BadReport unless ``report`` is one that this mechanism can make."""
        check_one(report, 0, len(self.weights[0]) - 1, path)
