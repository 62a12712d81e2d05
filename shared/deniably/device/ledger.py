"""The privacy ledger of one person: an entry for every charge, added up exactly (SPEC 8).

A ledger is a tuple of entries and only grows. Charges add up by sequential composition: odds
multiply, exponents and deltas add (Dwork and Roth 2014, theorem 3.16). In the total of an author
and in that over all, a charge counts for 365 days; in a survey's it counts for good.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Annotated, Literal

import msgspec

from deniably.core.dates import is_date
from deniably.core.errors import BudgetSpent
from deniably.core.loss import Loss
from deniably.survey.parts import FieldName, SurveyName
from deniably.survey.survey import EPSILON_LIMIT

Scope = Literal["survey", "author", "overall"]
"""The three totals that have a limit: this version of a survey, its author, and everything."""
SCOPES: tuple[Scope, ...] = ("survey", "author", "overall")
ENDING_SCOPES: tuple[Scope, ...] = ("author", "overall")
"""The scopes in whose totals a charge stops counting after 365 days."""

LARGEST_LIMIT = 64
"""The largest epsilon that an owner may set as a limit."""
DELTA_LIMIT = Fraction(1, 1000)
"""The largest delta of a total: the probability that the promises in it do not hold."""

_LONGEST = 10**400  # numerators and denominators stay below, to keep the texts short
_FRACTION = re.compile(r"(0|[1-9][0-9]{0,399})(?:/([1-9][0-9]{0,399}))?", re.ASCII)

COUNTED_DAYS = 365
"""The days for which a charge counts against the limit of its author, and of all surveys."""

Day = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")]
Author = Annotated[str, msgspec.Meta(pattern=r"^([0-9a-f]{64})?\Z")]
Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]


class LedgerEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A charge to the privacy budget: the day (UTC), the survey, the question, and the privacy
    loss.

    ``author`` is the public key of the survey's author, empty if unknown. ``version`` is the
    definition's digest. ``odds``, ``exponent`` and ``delta`` are fractions as texts. An entry holds
    no answer.
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
            raise ValueError(
                f"odds are {self.odds} and delta is {self.delta}; odds are at least 1, and delta is"
                " below 1"
            )
        _fraction(self.exponent)

    @property
    def loss(self) -> Loss:
        """The privacy loss that was charged."""
        return Loss(_fraction(self.odds), _fraction(self.exponent), _fraction(self.delta))


Ledger = tuple[LedgerEntry, ...]


@dataclass(frozen=True)
class Limits:
    """The largest epsilon that a device spends on one survey, on one author, and overall.

    ``delta`` is the largest delta of each of these three totals.
    """

    survey: Fraction = Fraction(EPSILON_LIMIT)
    author: Fraction = Fraction(10)
    overall: Fraction = Fraction(20)
    delta: Fraction = DELTA_LIMIT

    @classmethod
    def of(cls, survey: str = EPSILON_LIMIT, author: str = "", overall: str = "") -> Limits:
        """Returns the limits that are given as plain decimals. Raises ValueError unless each is
        above 0 and at most 64.

        An empty ``author`` limit becomes 10, or the ``survey`` limit if that is larger. An empty
        ``overall`` limit becomes 20, or the author's limit if that is larger.
        """
        first = _limit(survey)
        second = _limit(author) if author else max(first, cls.author)
        return cls(first, second, _limit(overall) if overall else max(second, cls.overall))

    def of_scope(self, scope: Scope) -> Fraction:
        """Returns the largest epsilon of one scope: "survey", "author" or "overall"."""
        limit: Fraction = getattr(self, scope)
        return limit


@dataclass(frozen=True)
class CountedSince:
    """The first days whose charges still count: in the total of an author, and in the overall
    total.

    An empty text means that every day counts. In the total of a survey every day always counts.
    """

    author: str = ""
    overall: str = ""

    def counts(self, scope: Scope, day: str) -> bool:
        """Returns whether a charge of this day counts in the total of a scope."""
        # Dates in this form are in order as texts.
        return scope == "survey" or day >= (self.author if scope == "author" else self.overall)


def first_counted_day(day: str, seen: Sequence[str | None]) -> str:
    """Returns the first day whose charges still count (SPEC 8.1): 364 days before ``day``, or
    before the earliest day in ``seen`` if that is earlier than ``day``.

    ``day`` is today by the device's clock. ``seen`` has the day of the last entry of several
    servers' registers: for an author's total of all that list the author, for the overall total of
    all that the device knows. A day that is not known is None. If ``seen`` is empty or has a None,
    the result is "", and every day counts.
    """
    if not seen or None in seen:
        return ""
    last = min([day, *(each for each in seen if each)])
    return _shifted(last, 1 - COUNTED_DAYS)


def _shifted(day: str, days: int) -> str:
    return (date.fromisoformat(day) + timedelta(days=days)).isoformat()


def ledger_entry(
    day: str, author: str, survey: str, version: str, question: str, loss: Loss
) -> LedgerEntry:
    """Returns the ledger's entry for a loss.

    Odds and exponents of more than 400 digits are rounded up, by less than 2**-64.
    """
    texts = (str(_short(loss.odds)), str(_short(loss.exponent)), str(loss.delta))
    return LedgerEntry(day, author, survey, version, question, *texts)


def total_loss(ledger: Iterable[LedgerEntry]) -> Loss:
    """Returns the exact privacy loss of all entries together, by sequential composition."""
    return sum((each.loss for each in ledger), Loss())


def spent(
    ledger: Sequence[LedgerEntry], version: str, author: str, since: CountedSince = CountedSince()
) -> dict[Scope, Loss]:
    """Returns {scope: privacy loss that counts} for a survey, for its author, and overall.

    ``version`` is the digest of the survey's definition. Without ``since``, charges of every day
    count.
    """
    counted = counted_entries(ledger, version, author, since)
    return {scope: total_loss(entries) for scope, entries in counted.items()}


def counted_entries(
    ledger: Sequence[LedgerEntry],
    version: str,
    author: str,
    since: CountedSince = CountedSince(),
) -> dict[Scope, list[LedgerEntry]]:
    """Returns {scope: charges that count} for a survey, for its author, and overall.

    ``version`` is the digest of the survey's definition. Without ``since``, charges of every day
    count.
    """
    return {
        scope: [each for each in ledger if _counts(each, scope, version, author, since)]
        for scope in SCOPES
    }


@dataclass(frozen=True)
class Leaving:
    """The ``loss`` of the oldest charges that count, and the ``day`` from which on they no longer
    do."""

    day: str
    loss: Loss


def first_to_leave(counted: Sequence[LedgerEntry]) -> Leaving | None:
    """Returns the loss of the oldest of these charges, and the day on which they stop counting;
    None where no charge has a valid date."""
    days = [each.day for each in counted if is_date(each.day)]
    if not days:
        return None
    oldest = min(days)
    loss = total_loss(each for each in counted if each.day == oldest)
    return Leaving(_shifted(oldest, COUNTED_DAYS), loss)


def _counts(
    each: LedgerEntry, scope: Scope, version: str, author: str, since: CountedSince
) -> bool:
    here = {"survey": each.version == version, "author": each.author == author, "overall": True}
    return here[scope] and since.counts(scope, each.day)


def charge(
    ledger: Ledger,
    entries: Sequence[LedgerEntry],
    limits: Limits,
    since: CountedSince = CountedSince(),
) -> Ledger:
    """Returns the ledger with the charges of one report, ``entries``, added.

    Raises BudgetSpent for the narrowest scope whose limit the charges would exceed. The error's
    ``until`` is the first day on which they would fit, None if there is none. Without charges, the
    ledger is returned as it is, even if a limit is exceeded already. Without ``since``, earlier
    charges of every day count.
    """
    # What costs nothing is never refused, also where a limit is exceeded already (SPEC 8).
    if not entries:
        return ledger
    try:
        _check_totals(ledger, entries, limits, since)
    except BudgetSpent as refused:
        refused.until = _fits_on(ledger, entries, limits)
        raise
    return (*ledger, *entries)


def _check_totals(
    ledger: Ledger, entries: Sequence[LedgerEntry], limits: Limits, since: CountedSince
) -> None:
    first, wanted = entries[0], total_loss(entries)
    for scope, before in spent(ledger, first.version, first.author, since).items():
        check_limits(scope, before, wanted, limits)


def _fits_on(ledger: Ledger, entries: Sequence[LedgerEntry], limits: Limits) -> str | None:
    """The first day on which these charges fit, if nothing else is charged; None if there is none.

    The register has to come to that day as well.
    """

    def fits(oldest: str) -> bool:
        # Once the charges of `oldest` have left, those from the next day on still count.
        after = _shifted(oldest, 1)
        try:
            _check_totals(ledger, entries, limits, CountedSince(after, after))
        except BudgetSpent:
            return False
        return True

    days = sorted({each.day for each in ledger if is_date(each.day)})
    at = bisect_left(days, True, key=fits)  # where a day fits, all later ones do
    return _shifted(days[at], COUNTED_DAYS) if at < len(days) else None


def check_limits(scope: Scope, before: Loss, added: Loss, limits: Limits) -> None:
    """Raises BudgetSpent where ``before + added`` exceeds the scope's limit of epsilon or delta. If
    ``added`` has no delta, the limit of delta is not checked."""
    after, limit = before + added, limits.of_scope(scope)
    if not after.at_most_epsilon(limit):
        raise BudgetSpent(scope, before, added, limit)
    if added.delta and after.delta > limits.delta:
        raise BudgetSpent(scope, before, added, limits.delta, of_delta=True)


def share(loss: Loss, scope: Scope, limits: Limits) -> int:
    """Returns the percentage of a scope's limit that a loss takes, rounded up.

    The result is the larger of two percentages: of the limit of epsilon, and of the limit of
    delta.
    """
    return max(percent(loss, limits.of_scope(scope)), percent(loss, limits.delta, of_delta=True))


def percent(loss: Loss, limit: Fraction, *, of_delta: bool = False) -> int:
    """Returns the percentage of a ``limit`` that the epsilon of a loss takes, rounded up.

    With ``of_delta`` it is the percentage that the delta of the loss takes.
    """
    if of_delta:
        return ceil(100 * loss.delta / limit)
    # A loss of exactly the limit must show 100: the tolerance absorbs the rounding of the
    # logarithm.
    return max(0, ceil(100 * loss.epsilon / float(limit) - 1e-9))


def _short(value: Fraction) -> Fraction:
    if max(value.numerator, value.denominator) < _LONGEST:
        return value
    # Rounded up, so that a shorter fraction never states a smaller loss.
    return Fraction(-(-value.numerator * (1 << 64) // value.denominator), 1 << 64)


@lru_cache(maxsize=1 << 10)  # the entries of a survey are much alike
def _fraction(text: str) -> Fraction:
    match = _FRACTION.fullmatch(text)
    value = Fraction(int(match[1]), int(match[2] or 1)) if match else None
    if value is None or str(value) != text:
        raise ValueError(f"the fraction is {text[:40]!r}; write n or n/d in lowest terms")
    return value


def _limit(text: str) -> Fraction:
    try:
        limit = Decimal(text)
        if 0 < limit <= LARGEST_LIMIT:
            return Fraction(limit)
    except ArithmeticError:
        pass
    raise ValueError(
        f"the limit of epsilon is {text[:40]!r}; use a number above 0 and at most {LARGEST_LIMIT}"
    )
