"""Answers for surveys that are repeated: one is kept, with fresh chance each wave (SPEC 2.16)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Generic, TypeVar

from msgspec.structs import replace

from deniably.core.coins import LARGEST, Coins
from deniably.core.errors import BadMechanism
from deniably.core.loss import Loss
from deniably.mechanisms.channel import Channel
from deniably.mechanisms.law import Finite, Supporting
from deniably.mechanisms.parameters import Parameters
from deniably.mechanisms.reports import Report
from deniably.mechanisms.subset_selection import SubsetSelection
from deniably.mechanisms.ticks import SetResponse
from deniably.mechanisms.window import Window

Family = SubsetSelection | Window | Channel | SetResponse
"""Mechanisms that a randomised answer can stand before."""

F = TypeVar("F", bound=Family)


class Memoised(Parameters, Generic[F], frozen=True, tag="memoised"):
    """Randomise the answer once, for all waves, and what came of that afresh in each of them.

    The memo is a randomised *answer* (``memo``: k-ary response with the odds ``own / other``),
    drawn once and kept. No report is made of anything else, so however many there are, they give
    away no more than it: ``history``. In each wave it is randomised again, just so that one report
    by itself is exactly one of ``once``, and is estimated as such. A kept report, as in RAPPOR
    (Erlingsson, Pihur and Korolova 2014, CCS, section 2), would give away no more of the answer;
    but there are so many different reports that whoever sends the same one twice is recognised.
    Two rounds of k-ary response with exact odds are those of ``once`` with omega = 1 (Arcolezi et
    al. 2022, L-GRR, have them for k = 2). Raises BadMechanism where the integers break SPEC 2.16.
    """

    once: F
    own: int
    other: int

    def __post_init__(self) -> None:
        if isinstance(self.once, SetResponse) and self.once.size != 1:
            raise BadMechanism("of several ticks one number is kept: size is 1")
        try:
            _ = self.memo
        except BadMechanism as error:
            raise BadMechanism(f"the memo is of no mechanism: {error}") from None
        if (self.own - self.other) * total_weight(self.once) > LARGEST:
            raise BadMechanism("(own - other) * Z is at most 2**53, with Z the weights of a report")
        if self._least < 1:
            raise BadMechanism(
                "the history is too small for this mechanism: no memo within it makes its reports"
            )
        _ = self.fresh

    @property
    def memo(self) -> SubsetSelection | Window | SetResponse:
        """What randomises the answer once: its report is the memo, one number."""
        once = self.once
        match once:
            case SubsetSelection(k=k):
                return SubsetSelection(k, 1, self.own, self.other)
            case Window(k=k) | Channel(k=k):
                return Window(k, _rows(once), 1, self.own, self.other)
            case SetResponse(k=k, most=most):
                return SetResponse(k, most, 1, self.own, self.other)

    @property
    def fresh(self) -> SubsetSelection | None:
        """What randomises the memo in each wave; None where that is an output by its ``row``."""
        once = self.once
        if isinstance(once, Window | Channel):
            return None
        least = self._least
        most = least + (once.own - once.other) * self.memo.total
        if isinstance(once, SetResponse):
            return SubsetSelection(once.domain, 1, most, least)
        return SubsetSelection(once.k, once.omega, most, least)

    def row(self, memo: int) -> tuple[int, ...]:
        """The weights of the outputs of a window or a channel, for a memo."""
        once, whole = self.once, self.memo.total
        if isinstance(once, Channel):
            sums = (sum(column) for column in zip(*once.weights, strict=True))
            weights = zip(once.weights[memo], sums, strict=True)
            return tuple(whole * weight - self.other * every for weight, every in weights)
        assert isinstance(once, Window)
        last, w, step = once.m - once.w, once.w, once.own - once.other
        rest = once.other * (self.own - self.other)
        return tuple(
            rest
            - self.other * step * (min(y, last) - max(y - w, -1))
            + whole * step * (0 <= y - memo < w)
            for y in range(once.m)
        )

    @property
    def loss(self) -> Loss:
        """What one report can give away."""
        return self.once.loss

    @property
    def history(self) -> Loss:
        """What all reports that are made from one memo can give away, however many there are."""
        return self.memo.loss

    @property
    def described(self) -> str:
        """The mechanism and its numbers, for researchers, in a few words."""
        return f"{self.once.described}, of a kept answer"

    @property
    def law(self) -> Supporting | Finite:
        """How each report falls by itself: as one of ``once``."""
        return self.once.law

    @property
    def k(self) -> int:
        """The number of choices, options or positions."""
        return self.once.k

    def draw_memo(self, answer: Any, coins: Coins) -> Report:
        """What is to be kept for an answer. Raises BadAnswer, before any draw."""
        return self.memo.randomise(answer, coins)

    def again(self, memo: Sequence[int], coins: Coins) -> Report:
        """The report of one wave, from the kept memo alone.

        The same draws are made for every memo. Raises BadReport, before any draw, unless this is
        a memo.
        """
        self.memo.check(memo)
        (kept,) = memo
        if fresh := self.fresh:
            return fresh.randomise(kept, coins)
        return (coins.choose(self.row(kept)),)

    def randomise(self, answer: Any, coins: Coins) -> Report:
        """The report of a first wave, whose memo nobody keeps. Raises BadAnswer before any draw."""
        return self.again(self.draw_memo(answer, coins), coins)

    def in_waves(self, answer: Any, waves: int, coins: Coins) -> tuple[Report, ...]:
        """The reports of so many waves, all from one memo. Raises BadAnswer before any draw."""
        memo = self.draw_memo(answer, coins)
        return tuple(self.again(memo, coins) for _ in range(waves))

    def check(self, report: Sequence[int], path: str = "$") -> None:
        """Raise BadReport unless ``report`` is one that this mechanism can make."""
        self.once.check(report, path)

    @property
    def _least(self) -> int:
        """The smallest weight of a report, given any memo: reports of ``once`` without the memo in
        them weigh ``other`` of ``once``, less what other memos than the answer add to them."""
        once = self.once
        if isinstance(once, Channel):
            return min(min(self.row(memo)) for memo in range(len(once.weights)))
        less = other_memos(once) * self.other * (once.own - once.other)
        return once.other * (self.own - self.other) - less


def memoised(once: F, history: Fraction) -> Memoised[F]:
    """The memo whose reports are, one by one, exactly those of ``once``, and all of them together
    within the odds ``history``: those odds exactly where whole weights can have them, else next
    to them, rounded down.

    Raises BadMechanism where ``history`` is not above the odds of one report, or too small for so
    many choices (neighbours) in one report: those of ``widest``.
    """
    if history <= once.loss.odds:
        raise BadMechanism("the odds of the whole history are above those of one report")
    total = total_weight(once)
    if (history.numerator - history.denominator) * total <= LARGEST:
        return Memoised(once, history.numerator, history.denominator)
    for bits in range(LARGEST.bit_length(), -1, -1):
        own, other = int(history * (1 << bits)), 1 << bits
        if (own - other) * total <= LARGEST:
            return Memoised(once, own, other)
    raise BadMechanism("the weights leave no room for those of a memo: take smaller ones")


def widest(odds: Fraction, history: Fraction) -> int:
    """The largest omega of a subset selection, or width of a window, with these odds of which a
    memo within the history can make the reports: omega (F - 1) < H - 1."""
    ratio = (history - 1) / (odds - 1)
    return -(-ratio.numerator // ratio.denominator) - 1


def width(once: object) -> int:
    """How many choices or neighbours one report names, where it takes a memo before them all."""
    match once:
        case SubsetSelection(omega=omega):
            return omega
        case Window(w=w):
            return w
        case _:
            return 1


def narrowed(once: Family, history: Fraction) -> Family:
    """The mechanism, with as many choices, neighbours or ticks in a report as a memo allows."""
    most = widest(once.loss.odds, history) if history > once.loss.odds else 1
    match once:
        case SubsetSelection(omega=omega):
            return replace(once, omega=min(omega, most))
        case Window(m=m, w=w) if min(w, m - w) > most:
            return replace(once, m=m - w + most, w=most)
        case SetResponse():
            return replace(once, size=1)
        case _:
            return once


def reweighed(once: Family, own: int, other: int) -> Family:
    """The mechanism with these weights; a channel, which has many, as it is."""
    return once if isinstance(once, Channel) else replace(once, own=own, other=other)


def other_memos(once: SubsetSelection | Window | SetResponse) -> int:
    """Of how many memos a report without the answer's own can have been made most probably."""
    match once:
        case SubsetSelection(omega=omega):
            return omega
        case Window(w=w):
            return min(w, _rows(once) - 1)
        case SetResponse():
            return 1


def _rows(once: Window | Channel) -> int:
    """Places to which positions are rounded."""
    return len(once.weights) if isinstance(once, Channel) else once.m - once.w + 1


def total_weight(once: Family) -> int:
    """Z: the sum of the weights for one answer."""
    return sum(once.weights[0]) if isinstance(once, Channel) else once.total
