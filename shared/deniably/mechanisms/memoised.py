"""Answers for surveys that are repeated: a kept memo, and fresh chance in each wave (SPEC 2.16)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from math import comb, gcd
from typing import Any, Generic, TypeVar, cast

import msgspec
from msgspec.structs import replace

from deniably.coins import LARGEST, Coins
from deniably.errors import BadMechanism
from deniably.loss import Loss
from deniably.mechanisms.channel import Channel
from deniably.mechanisms.reports import Report
from deniably.mechanisms.subset_selection import SubsetSelection
from deniably.mechanisms.ticks import SetResponse
from deniably.mechanisms.window import Window

Family = SubsetSelection | Window | Channel | SetResponse
"""Mechanisms of finitely many reports whose weights add up to the same for every answer."""

F = TypeVar("F", bound=Family)


class Memoised(
    msgspec.Struct,
    Generic[F],
    frozen=True,
    forbid_unknown_fields=True,
    tag_field="name",
    tag="memoised",
):
    """Send a kept memo with probability keep / (keep + fresh), else a report picked at random.

    The memo is a report of ``memo``, drawn once and kept for all waves, so however many reports
    there are, they give away no more than it: ``history``. One report alone is exactly one of
    ``once``, and is estimated as such. Source: the two rounds of RAPPOR (Erlingsson, Pihur and
    Korolova 2014, CCS, section 2), with the second one so that a report is of the memo's own
    family. Raises BadMechanism where the integers break SPEC 2.16.
    """

    memo: F
    keep: int
    fresh: int

    def __post_init__(self) -> None:
        if self.keep < 1 or self.fresh < 1 or self.keep + self.fresh > LARGEST:
            raise BadMechanism("keep and fresh are integers of 1 or more, sum <= 2**53")
        try:
            _ = self.once
        except BadMechanism as error:
            raise BadMechanism(f"one report of it is of no mechanism: {error}") from None

    @property
    def once(self) -> F:
        """The mechanism that one report, by itself, is exactly a report of."""
        return cast(F, _once(self.memo, self.keep, self.fresh))

    @property
    def loss(self) -> Loss:
        """What one report can give away."""
        return self.once.loss

    @property
    def history(self) -> Loss:
        """What all reports that are made from one memo can give away, however many there are."""
        return self.memo.loss

    @property
    def k(self) -> int:
        """The number of choices, options or positions."""
        return self.memo.k

    @property
    def cell_count(self) -> int:
        """A tally has the cells of one of the memo's mechanism."""
        return self.memo.cell_count

    @property
    def reports(self) -> int:
        """How many different reports there are."""
        size, domain = _shape(self.memo)
        return comb(domain, size)

    def draw_memo(self, answer: Any, coins: Coins) -> Report:
        """What is to be kept for an answer. Raises BadAnswer, before any draw."""
        return self.memo.randomise(answer, coins)

    def again(self, memo: Sequence[int], coins: Coins) -> Report:
        """The report of one wave, from the kept memo alone.

        The same draws are made whether the memo is sent or not. Raises BadReport, before any
        draw, unless this is a memo.
        """
        self.memo.check(memo)
        kept = coins.choose((self.keep, self.fresh)) == 0
        size, domain = _shape(self.memo)
        other = sorted(coins.pick(domain, size))
        return tuple(memo if kept else other)

    def randomise(self, answer: Any, coins: Coins) -> Report:
        """The report of a first wave, whose memo nobody keeps. Raises BadAnswer before any draw."""
        return self.again(self.draw_memo(answer, coins), coins)

    def in_waves(self, answer: Any, waves: int, coins: Coins) -> tuple[Report, ...]:
        """The reports of so many waves, all from one memo. Raises BadAnswer before any draw."""
        memo = self.draw_memo(answer, coins)
        return tuple(self.again(memo, coins) for _ in range(waves))

    def check(self, report: Sequence[int], path: str = "$") -> None:
        """Raise BadReport unless ``report`` is one that this mechanism can make."""
        self.memo.check(report, path)


def memoised(once: F, history: Fraction) -> Memoised[F]:
    """The memo whose reports are, one by one, exactly those of ``once``, and all of them together
    within the odds ``history``.

    What all answers have in common can as well be drawn afresh: of the weights ``own`` and
    ``other`` of one report the same ``c`` is taken off and sent as a report picked at random, which
    leaves the memo the odds ``(own - c) / (other - c)``. They are ``history`` itself where
    whole weights below 2**53 can have them, else next to it, rounded down. For subset selection
    that is keep / fresh = (F - 1)(omega H + k - omega) / (k (H - F)), with F the odds of one report
    and H those of the history. (The second rounds that were published for L-GRR, Arcolezi et al.
    2022, and LOLOHA, Arcolezi et al. 2023, have the odds F for k = 2 only, else smaller ones.)

    Raises BadMechanism where ``history`` is not above the odds of one report.
    """
    if history <= once.loss.odds:
        raise BadMechanism("the odds of the whole history are above those of one report")
    most = min((history * low - high) / (history - 1) for high, low in _extremes(once))
    fits = most.denominator * _total(once) <= LARGEST
    scale = most.denominator if fits else LARGEST // _total(once)
    common = int(scale * most)
    if common < 1:
        raise BadMechanism("the weights leave nothing to be drawn afresh: take smaller ones")
    memo = _changed(once, lambda weight: scale * weight - common)
    afresh = _outputs(once) * common
    ratio = Fraction(scale * _total(once) - afresh, afresh)
    return Memoised(memo, ratio.numerator, ratio.denominator)


@lru_cache(maxsize=256)
def _once(memo: Family, keep: int, fresh: int) -> Family:
    outputs, total = _outputs(memo), _total(memo)
    return _changed(memo, lambda weight: keep * weight * outputs + fresh * total)


def _changed(mechanism: F, change: Callable[[int], int]) -> F:
    """The mechanism with other weights, in lowest terms."""
    if isinstance(mechanism, Channel):
        rows = [[change(weight) for weight in row] for row in mechanism.weights]
        common = gcd(*chain.from_iterable(rows))
        lowest = tuple(tuple(weight // common for weight in row) for row in rows)
        return replace(mechanism, weights=lowest)
    own, other = change(mechanism.own), change(mechanism.other)
    common = gcd(own, other)
    return replace(mechanism, own=own // common, other=other // common)


def _extremes(mechanism: Family) -> list[tuple[int, int]]:
    """The largest and the smallest weight of each report (of all, where they have the same)."""
    if isinstance(mechanism, Channel):
        return [(max(column), min(column)) for column in zip(*mechanism.weights, strict=True)]
    return [(mechanism.own, mechanism.other)]


def _total(mechanism: Family) -> int:
    """Z: the sum of the weights for one answer."""
    return sum(mechanism.weights[0]) if isinstance(mechanism, Channel) else mechanism.total


def _outputs(mechanism: Family) -> int:
    """What Z would be if every weight were 1."""
    match mechanism:
        case SubsetSelection(k=k):
            return k
        case SetResponse(domain=domain, size=size):
            return comb(domain, size)
        case Window() | Channel():
            return mechanism.cell_count


def _shape(mechanism: Family) -> tuple[int, int]:
    """A report is so many distinct integers below so many."""
    match mechanism:
        case SubsetSelection(k=k, omega=omega):
            return omega, k
        case SetResponse(domain=domain, size=size):
            return size, domain
        case Window() | Channel():
            return 1, mechanism.cell_count
