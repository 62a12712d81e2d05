"""A mechanism given by its matrix: textbook designs and optimal ones for a mean (SPEC 2.6)."""

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

MOST_WEIGHTS = 4096  # a definition publishes all of them (SPEC 2.6)


class Channel(Parameters, frozen=True, tag="channel"):
    """A mechanism with a published matrix: it reports output y in proportion to
    ``weights[row][y]``.

    The answer is one of ``k`` positions. If the matrix has fewer rows than there are positions, the
    answer is first rounded at random, without bias, to a row. All rows have the same sum and no
    weight is 0. The odds are the largest ratio of two weights in a column. Raises BadMechanism
    where a rule of SPEC 2.6 is broken.
    """

    k: int
    weights: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        check_positions(self.k)
        rows, columns = len(self.weights), len(self.weights[0]) if self.weights else 0
        if not 2 <= rows <= self.k:
            raise BadMechanism(f"weights has {rows} rows; it must have from 2 to k, {self.k}")
        if wrong := [row for row in self.weights if len(row) != max(columns, 2)]:
            raise BadMechanism(
                "the rows of weights differ in length, or have fewer than 2 entries; one has"
                f" {len(wrong[0])}"
            )
        if rows * columns > MOST_WEIGHTS:
            raise BadMechanism(f"weights has {rows * columns} entries; {MOST_WEIGHTS} are allowed")
        if (least := min(map(min, self.weights))) < 1:
            raise BadMechanism(f"a weight is {least}; use 1 or more: 0 would rule an answer out")
        sums = {sum(row) for row in self.weights}
        if len(sums) != 1 or max(sums) > LARGEST:
            raise BadMechanism(
                "the rows of weights differ in their sum, or exceed 2**53; the sums reach from"
                f" {min(sums)} to {max(sums)}"
            )
        if self.loss.odds == 1:
            raise BadMechanism(
                f"the rows of weights are all the same, {str(list(self.weights[0]))[:64]}:"
                " reports would say nothing"
            )

    @kept
    def loss(self) -> Loss:
        """Privacy loss of one report: the odds are the largest ratio of two weights in one
        column."""
        columns = zip(*self.weights, strict=True)
        return Loss(max(Fraction(max(column), min(column)) for column in columns))

    @property
    def described(self) -> str:
        """The mechanism and its parameters in a few words, for researchers."""
        return f"channel, {len(self.weights)} rows of {len(self.weights[0])} outputs"

    @kept
    def law(self) -> Finite:
        """The law of a report, given by the published matrix."""
        rows = self.weights
        return Finite(One(self.k), len(rows), len(rows[0]), rows.__getitem__, self)

    def randomise(self, answer: int, coins: Coins) -> Cells:
        """Draws the report for ``answer``, a position below k. Raises BadAnswer before any draw."""
        check_position(answer, self.k)
        row = knot(answer, self.k, len(self.weights), coins)
        return (coins.choose(self.weights[row]),)

    def check(self, report: Sequence[int], path: str = "$") -> None:
        """Raise BadReport unless ``report`` is one that this mechanism can make."""
        check_one(report, 0, len(self.weights[0]) - 1, path)
