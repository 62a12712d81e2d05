"""Several numbers of one person: all are reported, or a random sample of them (SPEC 2.14)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from deniably.core.coins import Coins
from deniably.core.errors import BadAnswer, BadMechanism, BadReport
from deniably.core.loss import Loss, largest
from deniably.mechanisms.cells import LARGEST_NUMBER, Cells
from deniably.mechanisms.channel import Channel
from deniably.mechanisms.law import Several
from deniably.mechanisms.noise import BoundedLaplace, Laplace
from deniably.mechanisms.parameters import Parameters, kept
from deniably.mechanisms.window import Window

PartMechanism = Window | Channel | Laplace | BoundedLaplace

MOST_PARTS = 64


class Vector(Parameters, frozen=True, tag="vector"):
    """A mechanism that reports ``s`` of an answer's numbers, picked at random.

    ``parts`` has for each of the numbers the mechanism that randomises it. Which numbers are picked
    does not depend on the answer. The privacy loss is the sum of the ``s`` largest losses of parts.
    With all numbers and discrete Laplace noise this is the L1 mechanism of Dwork et al. 2006; with
    s = 1 it is coordinate sampling (Duchi, Jordan and Wainwright 2018). Raises BadMechanism where
    the integers break SPEC 2.14.
    """

    s: int
    parts: tuple[PartMechanism, ...]

    def __post_init__(self) -> None:
        if not 2 <= len(self.parts) <= MOST_PARTS:
            raise BadMechanism(f"there are {len(self.parts)} parts; use from 2 to {MOST_PARTS}")
        if not 1 <= self.s <= len(self.parts):
            raise BadMechanism(f"s is {self.s}; a report has from 1 to {len(self.parts)} parts")

    @property
    def loss(self) -> Loss:
        """An upper bound of the privacy loss of one report: the sum of the ``s`` largest losses of
        parts."""
        return largest([part.loss for part in self.parts], self.s)

    @property
    def described(self) -> str:
        """The mechanism and its parameters in a few words, for researchers."""
        return f"{self.s} of {len(self.parts)} numbers: {self.parts[0].described}"

    @kept
    def law(self) -> Several:
        """The law of a report: ``s`` of the numbers, each with the probabilities of the mechanism
        that randomises it."""
        return Several(tuple(part.law for part in self.parts), self.s)

    def randomise(self, answer: Sequence[int], coins: Coins) -> Cells:
        """Draws a report for an answer, which has a position for each of the numbers.

        The report has an integer ``number * len(parts) + part`` for each of the ``s`` numbers that
        are picked, in the order of ``part``. That is the index of its mechanism, and ``number`` is
        what the mechanism reports. Raises BadAnswer before any draw.
        """
        d = len(self.parts)
        if len(answer) != d:
            raise BadAnswer(f"an answer has {d} positions")
        for part, position in zip(self.parts, answer, strict=True):
            if not 0 <= position < part.k:
                raise BadAnswer(f"an answer is a position from 0 to {part.k - 1}")
        return tuple(
            self.parts[index].randomise(answer[index], coins)[0] * d + index
            for index in sorted(coins.pick(d, self.s))
        )

    def check(self, report: Sequence[int], path: str = "$") -> None:
        """Raise BadReport unless ``report`` is one that this mechanism can make."""
        d = len(self.parts)
        if len(report) != self.s:
            raise BadReport(f"a report has {self.s} of the {d} numbers", path)
        # A number may be negative; the remainder in Python is the part all the same.
        if any(a % d >= b % d for a, b in pairwise(report)):
            raise BadReport("the parts of a report must be distinct and in order", path)
        for cell in report:
            if abs(cell) > LARGEST_NUMBER:
                raise BadReport("a reported number is too large", path)
            self.parts[cell % d].check([cell // d], path)
