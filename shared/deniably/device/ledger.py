"""What one person has given away: one entry for every charge, added up exactly (SPEC 8).

A ledger is a tuple of entries; it only grows. Charging is sequential composition: odds multiply,
exponents and deltas add (Dwork and Roth 2014, theorem 3.16).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import Annotated, Literal, get_args

import msgspec

from deniably.core.errors import BudgetSpent
from deniably.core.loss import Loss
from deniably.survey.parts import FieldName, SurveyName
from deniably.survey.survey import EPSILON_LIMIT

Scope = Literal["survey", "author", "overall"]
SCOPES: tuple[Scope, ...] = get_args(Scope)

LARGEST_LIMIT = 64
DELTA_LIMIT = Fraction(1, 1000)
"""Of each total: the largest chance that all of the promises in it do not hold."""

_LONGEST = 10**400  # numerators and denominators are below, so that texts stay short
_FRACTION = re.compile(r"(0|[1-9][0-9]{0,399})(?:/([1-9][0-9]{0,399}))?", re.ASCII)

Day = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")]
Author = Annotated[str, msgspec.Meta(pattern=r"^([0-9a-f]{64})?\Z")]
Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]


class LedgerEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One charge: on which day (UTC) which question of which survey cost how much.

    ``author`` is the author's public key, empty where it is not known; ``version`` the digest of
    the definition. ``odds``, ``exponent`` and ``delta`` are fractions as texts. No answer is here.
    """

    day: Day
    author: Author
    survey: SurveyName
    version: Digest
    question: FieldName
    odds: str
    exponent: str
    delta: str

    def __post_init__(self) -> None:
        if _fraction(self.odds) < 1 or _fraction(self.delta) >= 1:
            raise ValueError("odds are at least 1, and delta is below 1")
        _fraction(self.exponent)

    @property
    def loss(self) -> Loss:
        """What was charged."""
        return Loss(_fraction(self.odds), _fraction(self.exponent), _fraction(self.delta))


Ledger = tuple[LedgerEntry, ...]


@dataclass(frozen=True)
class Limits:
    """The largest epsilon that a device spends: in one survey, for one author, over all.

    Whoever lets one survey take more lets its author take as much: a limit that is left out is
    5, 10 or 20, or the one before it where that is larger. ``delta`` is the largest delta of each.
    """

    survey: Fraction = Fraction(EPSILON_LIMIT)
    author: Fraction = Fraction(10)
    overall: Fraction = Fraction(20)
    delta: Fraction = DELTA_LIMIT

    @classmethod
    def of(cls, survey: str = EPSILON_LIMIT, author: str = "", overall: str = "") -> Limits:
        """The limits in plain decimals. Raises ValueError unless above 0 and at most 64."""
        first = _limit(survey)
        second = _limit(author) if author else max(first, cls.author)
        return cls(first, second, _limit(overall) if overall else max(second, cls.overall))

    def of_scope(self, scope: Scope) -> Fraction:
        """The limit of one scope."""
        limit: Fraction = getattr(self, scope)
        return limit


def entry(
    day: str, author: str, survey: str, version: str, question: str, loss: Loss
) -> LedgerEntry:
    """The ledger's entry for a loss.

    Odds and exponents of more than 400 digits are rounded up, by less than 2**-64.
    """
    texts = (str(_short(loss.odds)), str(_short(loss.exponent)), str(loss.delta))
    return LedgerEntry(day, author, survey, version, question, *texts)


def total(ledger: Iterable[LedgerEntry]) -> Loss:
    """What all of the entries together can give away, exactly."""
    return sum((each.loss for each in ledger), Loss())


def spent(ledger: Sequence[LedgerEntry], version: str, author: str) -> dict[Scope, Loss]:
    """What was given away in this version of a survey, to its author, and over all."""
    return {
        "survey": total(each for each in ledger if each.version == version),
        "author": total(each for each in ledger if each.author == author),
        "overall": total(ledger),
    }


def charge(ledger: Ledger, entries: Sequence[LedgerEntry], limits: Limits) -> Ledger:
    """The ledger with the charges of one report, all of one survey.

    Raises BudgetSpent, for the narrowest scope whose limit they would exceed. No charge at all
    exceeds no limit, whatever was spent before.
    """
    if not entries:
        return ledger
    first, asked = entries[0], total(entries)
    for scope, before in spent(ledger, first.version, first.author).items():
        check(scope, before, asked, limits)
    return (*ledger, *entries)


def check(scope: Scope, before: Loss, asked: Loss, limits: Limits) -> None:
    """Raise BudgetSpent where this would take a total over its limit of epsilon, or of delta."""
    after, limit = before + asked, limits.of_scope(scope)
    if not after.at_most_epsilon(limit):
        raise BudgetSpent(scope, before, asked, limit)
    if asked.delta and after.delta > limits.delta:
        raise BudgetSpent(scope, before, asked, limits.delta, of_delta=True)


def share(loss: Loss, scope: Scope, limits: Limits) -> int:
    """How much of a scope's limits a loss takes, for people: in percent, rounded up; of epsilon or
    delta, whichever is more."""
    return max(percent(loss, limits.of_scope(scope)), percent(loss, limits.delta, of_delta=True))


def percent(loss: Loss, limit: Fraction, *, of_delta: bool = False) -> int:
    """The same of one limit."""
    if of_delta:
        return ceil(100 * loss.delta / limit)
    return max(0, ceil(100 * loss.epsilon / float(limit) - 1e-9))


def _short(value: Fraction) -> Fraction:
    if max(value.numerator, value.denominator) < _LONGEST:
        return value
    return Fraction(-(-value.numerator * (1 << 64) // value.denominator), 1 << 64)


def _fraction(text: str) -> Fraction:
    found = _FRACTION.fullmatch(text)
    value = Fraction(int(found[1]), int(found[2] or 1)) if found else None
    if value is None or str(value) != text:
        raise ValueError("a fraction is n or n/d in lowest terms")
    return value


def _limit(text: str) -> Fraction:
    try:
        limit = Decimal(text)
        if 0 < limit <= LARGEST_LIMIT:
            return Fraction(limit)
    except ArithmeticError:
        pass
    raise ValueError(
        f"a limit of epsilon is a number above 0 and at most {LARGEST_LIMIT}, such as 5"
    )
