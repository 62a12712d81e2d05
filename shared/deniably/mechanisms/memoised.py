"""Memoisation for repeated surveys (SPEC 2.16).

One randomised answer, the memo, is kept on the device and randomised again in every wave.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Generic, TypeVar

from msgspec.structs import replace

from deniably.core.coins import LARGEST, Coins
from deniably.core.errors import BadMechanism
from deniably.core.loss import Loss
from deniably.mechanisms.cells import Cells
from deniably.mechanisms.channel import Channel
from deniably.mechanisms.law import Finite, Supporting
from deniably.mechanisms.parameters import Parameters, kept
from deniably.mechanisms.subset_selection import SubsetSelection
from deniably.mechanisms.ticks import SetResponse
from deniably.mechanisms.window import Window

Family = SubsetSelection | Window | Channel | SetResponse
"""Mechanisms whose reports can be made from a memo."""

F = TypeVar("F", bound=Family)
_IN_JSON = {"single_report_mechanism": "once"}


class Memoised(Parameters, Generic[F], frozen=True, tag="memoised", rename=_IN_JSON):
    """A mechanism for several waves: it randomises an answer once, and each wave's report from
    that.

    ``memo``, k-ary response with the odds ``own / other``, draws a randomised answer once; this is
    the memo, which the device keeps. Every report is made from the memo alone, so any number of
    reports gives away at most ``history``. The second round is chosen so that a single report has
    exactly the probabilities of ``single_report_mechanism``, and is estimated accordingly.

    Keeping one report and sending it in every wave, as in RAPPOR (Erlingsson, Pihur and Korolova
    2014, CCS, section 2), would give away no more of the answer. But it would link a person's
    reports: there are so many different reports that two equal ones come from one device. Two
    rounds of k-ary response are L-GRR (Arcolezi et al. 2022, exact for k = 2), here with exact odds
    for every k.

    Raises BadMechanism where the integers break SPEC 2.16.
    """

    single_report_mechanism: F
    own: int
    other: int

    def __post_init__(self) -> None:
        single = self.single_report_mechanism
        if isinstance(single, SetResponse) and single.size != 1:
            raise BadMechanism(f"once.size is {single.size}; a memo is one number, so it must be 1")
        try:
            # Made here so that its own checks refuse bad weights; it is kept for later.
            _ = self.memo
        except BadMechanism as error:
            raise BadMechanism(f"own and other make no memo: {error}") from None
        if (self.own - self.other) * total_weight(single) > LARGEST:
            raise BadMechanism(
                f"(own - other) * Z is {(self.own - self.other) * total_weight(single)}, with Z the"
                " weights of a report; it must be at most 2**53"
            )
        if self._least < 1:
            raise BadMechanism(
                f"own is {self.own} and other {self.other}: the history is too small for this"
                " mechanism; no memo within it makes its reports"
            )
        _ = self.fresh

    @kept
    def memo(self) -> SubsetSelection | Window | SetResponse:
        """The mechanism of the first round, whose report is the memo: the permanently randomised
        answer.

        The memo is one number.
        """
        single = self.single_report_mechanism
        match single:
            case SubsetSelection(k=k):
                return SubsetSelection(k, 1, self.own, self.other)
            case Window(k=k) | Channel(k=k):
                # A window of one output: the position is rounded to a row without bias, and the row
                # is randomised by k-ary response.
                return Window(k, _rows(single), 1, self.own, self.other)
            case SetResponse(k=k, most=max_ticks):
                return SetResponse(k, max_ticks, 1, self.own, self.other)

    @kept
    def fresh(self) -> SubsetSelection | None:
        """The mechanism of the second round, which makes a report from the memo in each wave.

        None for a window and for a channel. Their report is a single output, drawn with the weights
        that ``row`` returns.
        """
        single = self.single_report_mechanism
        if isinstance(single, Window | Channel):
            return None
        least = self._least
        # rest(c) and rest(c) + M*(x - y) of SPEC 2.16.
        largest = least + (single.own - single.other) * self.memo.total
        if isinstance(single, SetResponse):
            return SubsetSelection(single.domain, 1, largest, least)
        return SubsetSelection(single.k, single.omega, largest, least)

    def row(self, memo: int) -> tuple[int, ...]:
        """Returns the weights of all outputs of a window or a channel, given the memo.

        The memo is the permanently randomised answer, a row of the mechanism's matrix.
        """
        single, whole = self.single_report_mechanism, self.memo.total
        if isinstance(single, Channel):
            sums = (sum(column) for column in zip(*single.weights, strict=True))
            weights = zip(single.weights[memo], sums, strict=True)
            # With M the weights of the memo's own round: M weights[z][y] - other * (sum of column
            # y). The mean over memos, weighed by how likely each is, is (own - other)
            # weights[row][y] (SPEC 2.16).
            return tuple(whole * weight - self.other * column_sum for weight, column_sum in weights)
        assert isinstance(single, Window)
        last, w, step = single.m - single.w, single.w, single.own - single.other
        rest = single.other * (self.own - self.other)
        # Outputs in many windows are likely from other memos, too, and so weigh less from this one.
        return tuple(
            rest
            - self.other * step * (min(y, last) - max(y - w, -1))
            + whole * step * (0 <= y - memo < w)
            for y in range(single.m)
        )

    @property
    def loss(self) -> Loss:
        """The privacy loss of one report by itself, which is that of
        ``single_report_mechanism``."""
        return self.single_report_mechanism.loss

    @property
    def history(self) -> Loss:
        """Privacy loss of all reports from one memo together, however many there are.

        The memo is the permanently randomised answer.
        """
        return self.memo.loss

    @property
    def described(self) -> str:
        """The mechanism and its parameters in a few words, for researchers."""
        return f"{self.single_report_mechanism.described}, of a kept answer"

    @property
    def law(self) -> Supporting | Finite:
        """The law of a single report, that of ``single_report_mechanism``."""
        return self.single_report_mechanism.law

    @property
    def k(self) -> int:
        """The number of choices, options or positions."""
        return self.single_report_mechanism.k

    def draw_memo(self, answer: Any, coins: Coins) -> Cells:
        """Draws the memo of an answer: its permanently randomised form, which a device keeps.

        Raises BadAnswer before any draw.
        """
        return self.memo.randomise(answer, coins)

    def report_from_memo(self, memo: Sequence[int], coins: Coins) -> Cells:
        """Returns one wave's report, drawn from the memo (the permanently randomised answer).

        The number of draws does not depend on the memo. Raises BadReport before any draw where
        ``memo`` is not one that ``draw_memo`` can return.
        """
        self.memo.check(memo)
        (first,) = memo
        if fresh := self.fresh:
            return fresh.randomise(first, coins)
        return (coins.choose(self.row(first)),)

    def randomise(self, answer: Any, coins: Coins) -> Cells:
        """Draws a memo (a permanently randomised answer) that is not kept, and returns a report
        from it.

        Raises BadAnswer before any draw.
        """
        return self.report_from_memo(self.draw_memo(answer, coins), coins)

    def reports_over_waves(self, answer: Any, waves: int, coins: Coins) -> tuple[Cells, ...]:
        """Returns one report for each of ``waves``, all drawn from one memo.

        The memo is the permanently randomised answer. Raises BadAnswer before any draw.
        """
        memo = self.draw_memo(answer, coins)
        return tuple(self.report_from_memo(memo, coins) for _ in range(waves))

    def check(self, report: Sequence[int], path: str = "$") -> None:
        """Raise BadReport unless ``report`` is one that this mechanism can make."""
        self.single_report_mechanism.check(report, path)

    @property
    def _least(self) -> int:
        """The smallest weight of any report given any memo.

        Without the memo in it, a report weighs what it does alone (``other`` of the single
        mechanism, times ``own - other``), less what the memos other than the answer add.
        """
        single = self.single_report_mechanism
        if isinstance(single, Channel):
            return min(min(self.row(memo)) for memo in range(len(single.weights)))
        less = other_memos(single) * self.other * (single.own - single.other)
        return single.other * (self.own - self.other) - less


def memoised(single: F, history: Fraction) -> Memoised[F]:
    """Returns ``single`` with a memo, a permanently randomised answer from which reports are made.

    A single report has exactly the probabilities of ``single``. All reports together keep the odds
    ``history``, exactly where whole weights can have these odds; otherwise they keep the largest
    smaller odds that weights can have. Raises BadMechanism where ``history`` is not above the odds
    of one report. Raises it also where ``history`` is too small for the number of choices in a
    report or for the width of a window (``widest`` has the condition).

    >>> mechanism = memoised(SubsetSelection(2, 1, 3, 1), Fraction(9))
    >>> mechanism.loss.odds, mechanism.history.odds
    (Fraction(3, 1), Fraction(9, 1))
    >>> mechanism.memo
    SubsetSelection(k=2, omega=1, own=9, other=1)
    >>> mechanism.fresh
    SubsetSelection(k=2, omega=1, own=26, other=6)
    """
    if history <= single.loss.odds:
        raise BadMechanism(f"the history's odds, {history}, must be above {single.loss.odds}")
    total = total_weight(single)
    if (history.numerator - history.denominator) * total <= LARGEST:
        return Memoised(single, history.numerator, history.denominator)
    # The finest binary weights that fit: rounding ``own`` down keeps the odds at most ``history``.
    for bits in range(LARGEST.bit_length(), -1, -1):
        own, other = int(history * (1 << bits)), 1 << bits
        if (own - other) * total <= LARGEST:
            return Memoised(single, own, other)
    raise BadMechanism("the weights leave no room for those of a memo: take smaller ones")


def widest(odds: Fraction, history: Fraction) -> int:
    """Returns the largest omega (subset selection) or width (window) that a memo can support.

    A memo is a permanently randomised answer. The condition is omega (F - 1) < H - 1, with F the
    ``odds`` of one report and H the odds ``history`` of all reports.
    """
    ratio = (history - 1) / (odds - 1)
    return -(-ratio.numerator // ratio.denominator) - 1


def width(single: object) -> int:
    """Returns the size omega of a report of subset selection, or the width w of a window.

    The result is 1 for other mechanisms.
    """
    match single:
        case SubsetSelection(omega=omega):
            return omega
        case Window(w=w):
            return w
        case _:
            return 1


def narrowed(single: Family, history: Fraction) -> Family:
    """Returns ``single``, narrowed if that is necessary for a memo within the odds ``history``.

    A memo is a permanently randomised answer, from which reports are made. Subset selection gets at
    most ``widest`` choices in a report, a window gets at most this width, and a set response
    reports one option.
    """
    widest_memo = widest(single.loss.odds, history) if history > single.loss.odds else 1
    match single:
        case SubsetSelection(omega=omega):
            return replace(single, omega=min(omega, widest_memo))
        # So many windows have an output in common, with m - w + 1 of them in all.
        case Window(m=m, w=w) if min(w, m - w) > widest_memo:
            return replace(single, m=m - w + widest_memo, w=widest_memo)
        case SetResponse():
            return replace(single, size=1)
        case _:
            return single


def reweighed(single: Family, own: int, other: int) -> Family:
    """Returns the mechanism with the weights ``own`` and ``other``; a channel is returned
    unchanged."""
    return single if isinstance(single, Channel) else replace(single, own=own, other=other)


def other_memos(single: SubsetSelection | Window | SetResponse) -> int:
    """Returns the largest number of memos that support a report which the answer's own memo does
    not.

    A memo is a permanently randomised answer. The number is the c of SPEC 2.16.
    """
    match single:
        case SubsetSelection(omega=omega):
            return omega
        case Window(w=w):
            return min(w, _rows(single) - 1)
        case SetResponse():
            return 1


def _rows(single: Window | Channel) -> int:
    """The number of places that positions are rounded to."""
    return len(single.weights) if isinstance(single, Channel) else single.m - single.w + 1


def total_weight(single: Family) -> int:
    """Returns Z, the sum of the weights of all reports for one answer."""
    return sum(single.weights[0]) if isinstance(single, Channel) else single.total
