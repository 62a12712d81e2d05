"""The privacy ledger of one person: an entry for every charge, added up exactly (SPEC 8).

A ledger is a tuple of entries and only grows. Charges add up by sequential composition: odds
multiply, exponents and deltas add (Dwork and Roth 2014, theorem 3.16). In the total of an author
and in that over all, a charge counts for 365 days; in a survey's it counts for good.

The same entries are added up in two accounts. What a survey gives away against its server alone
counts in the first; what it gives away if a mixer and the server work together, in the second. They
differ in surveys with a mixer alone.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
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
from deniably.survey.mixer import Mixer
from deniably.survey.parts import FieldName, SurveyName
from deniably.survey.survey import EPSILON_LIMIT

Scope = Literal["survey", "author", "overall"]
"""The three totals that have a limit: this version of a survey, its author, and everything."""
SCOPES: tuple[Scope, ...] = ("survey", "author", "overall")
ENDING_SCOPES: tuple[Scope, ...] = ("author", "overall")
"""The scopes in whose totals a charge stops counting after 365 days."""

Account = Literal["server", "together"]
"""What is counted: what servers learn alone, or together with mixers (SPEC 8)."""
ACCOUNTS: tuple[Account, ...] = ("server", "together")

LARGEST_LIMIT = 64
"""The largest epsilon that an owner may set as a limit."""
TOGETHER_LIMITS: dict[Scope, Fraction] = {
    "survey": Fraction(25),
    "author": Fraction(50),
    "overall": Fraction(LARGEST_LIMIT),
}
"""The limits of the second account, unless the owner set larger ones for the first."""
DELTA_LIMIT = Fraction(1, 1000)
"""The largest delta of a total: the probability that the promises in it do not hold."""

_LONGEST = 10**400  # numerators and denominators stay below, to keep the texts short
_FRACTION = re.compile(r"(0|[1-9][0-9]{0,399})(?:/([1-9][0-9]{0,399}))?", re.ASCII)

COUNTED_DAYS = 365
"""The days for which a charge counts against the limit of its author, and of all surveys."""

Day = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")]
Author = Annotated[str, msgspec.Meta(pattern=r"^([0-9a-f]{64})?\Z")]
Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]


class MixedLoss(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an entry adds to the loss of a survey with a mixer against its server alone.

    ``epsilon`` and ``delta`` are fractions as texts, ``mixer`` is the mixer's signing key. A claim
    is for a whole survey: it is in the entry of the first question, and 0 in all others.
    """

    epsilon: str
    delta: str
    mixer: Digest

    def __post_init__(self) -> None:
        _fraction(self.epsilon)
        if _fraction(self.delta) >= 1:
            raise ValueError(f"the delta of a mixer's claim is {self.delta}; it is below 1")

    @property
    def loss(self) -> Loss:
        """The privacy loss against the survey's server alone."""
        return Loss(exponent=_fraction(self.epsilon), delta=_fraction(self.delta))


class LedgerEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A charge to the privacy budget: the day (UTC), the survey, the question, and the privacy
    loss.

    ``author`` is the public key of the survey's author, empty if unknown. ``version`` is the
    definition's digest. ``odds``, ``exponent`` and ``delta`` are fractions as texts. ``mixed`` is
    there in a survey with a mixer. An entry holds no answer.
    """

    day: Day
    author: Author
    survey: SurveyName
    version: Digest
    question: FieldName
    odds: str
    exponent: str
    delta: str
    mixed: MixedLoss | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        if _fraction(self.odds) < 1 or _fraction(self.delta) >= 1:
            raise ValueError(
                f"odds are {self.odds} and delta is {self.delta}; odds are at least 1, and delta is"
                " below 1"
            )
        _fraction(self.exponent)

    @property
    def loss(self) -> Loss:
        """The privacy loss that was charged. It holds whoever works together."""
        return Loss(_fraction(self.odds), _fraction(self.exponent), _fraction(self.delta))

    def counts(self, account: Account) -> Loss:
        """Returns the privacy loss that counts in an account."""
        if isinstance(self.mixed, MixedLoss) and account == "server":
            return self.mixed.loss
        return self.loss


Ledger = tuple[LedgerEntry, ...]


@dataclass(frozen=True)
class Limits:
    """The largest epsilon that a device spends on one survey, on one author, and overall.

    ``delta`` is the largest delta of each of these three totals. They are the limits against the
    servers of surveys. If mixers work together with these, ``TOGETHER_LIMITS`` hold, or these where
    they are larger.
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

    def of_scope(self, scope: Scope, account: Account = "server") -> Fraction:
        """Returns the largest epsilon of one scope ("survey", "author" or "overall") in an
        account."""
        limit: Fraction = getattr(self, scope)
        return limit if account == "server" else max(limit, TOGETHER_LIMITS[scope])


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
    day: str,
    author: str,
    survey: str,
    version: str,
    question: str,
    loss: Loss,
    mixed: MixedLoss | msgspec.UnsetType = msgspec.UNSET,
) -> LedgerEntry:
    """Returns the ledger's entry for a loss, with what it is against the server alone in a survey
    with a mixer (``mixed``).

    Odds and exponents of more than 400 digits are rounded up, by less than 2**-64.
    """
    texts = (str(_short(loss.odds)), str(_short(loss.exponent)), str(loss.delta))
    return LedgerEntry(day, author, survey, version, question, *texts, mixed)


def mixed_losses(mixer: Mixer) -> Iterator[MixedLoss]:
    """Yields ``mixed`` of the entries of a survey, one after the other: the mixer's whole claim,
    and from then on nothing."""
    loss = mixer.claim.loss
    yield MixedLoss(str(loss.exponent), str(loss.delta), mixer.signing)
    while True:
        yield MixedLoss("0", "0", mixer.signing)


def total_loss(ledger: Iterable[LedgerEntry], account: Account = "server") -> Loss:
    """Returns the exact privacy loss of all entries together in an account, by sequential
    composition."""
    return sum((each.counts(account) for each in ledger), Loss())


def accounts(*ledgers: Iterable[LedgerEntry]) -> tuple[Account, ...]:
    """Returns the accounts that can refuse a charge. Where no entry is of a survey with a mixer,
    both have the same totals, and the first one has the smaller limits."""
    mixed = any(each.mixed for ledger in ledgers for each in ledger)
    return ACCOUNTS if mixed else ACCOUNTS[:1]


def spent(
    ledger: Sequence[LedgerEntry],
    version: str,
    author: str,
    since: CountedSince = CountedSince(),
    account: Account = "server",
) -> dict[Scope, Loss]:
    """Returns {scope: privacy loss that counts in an account} for a survey, for its author, and
    overall.

    ``version`` is the digest of the survey's definition. Without ``since``, charges of every day
    count.
    """
    counted = counted_entries(ledger, version, author, since)
    return {scope: total_loss(entries, account) for scope, entries in counted.items()}


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


def first_to_leave(counted: Sequence[LedgerEntry], account: Account = "server") -> Leaving | None:
    """Returns the loss in an account of the oldest of these charges, and the day on which they stop
    counting; None where no charge has a valid date."""
    days = [each.day for each in counted if is_date(each.day)]
    if not days:
        return None
    oldest = min(days)
    loss = total_loss((each for each in counted if each.day == oldest), account)
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

    Raises BudgetSpent for the narrowest scope whose limit the charges would exceed, in the account
    of servers or else in that of servers and mixers together. The error's ``until`` is the first
    day on which they would fit, None if there is none. Without charges, the ledger is returned as
    it is, even if a limit is exceeded already. Without ``since``, earlier charges of every day
    count.
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
    first = entries[0]
    for account in accounts(ledger, entries):
        wanted = total_loss(entries, account)
        before = spent(ledger, first.version, first.author, since, account)
        for scope, so_far in before.items():
            check_limits(scope, so_far, wanted, limits, account)


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


def check_limits(
    scope: Scope, before: Loss, added: Loss, limits: Limits, account: Account = "server"
) -> None:
    """Raises BudgetSpent where ``before + added`` exceeds the scope's limit of epsilon or delta in
    an account. If ``added`` has no delta, the limit of delta is not checked."""
    after, limit = before + added, limits.of_scope(scope, account)
    together = account == "together"
    if not after.at_most_epsilon(limit):
        raise BudgetSpent(scope, before, added, limit, together=together)
    if added.delta and after.delta > limits.delta:
        raise BudgetSpent(scope, before, added, limits.delta, of_delta=True, together=together)


def share(loss: Loss, scope: Scope, limits: Limits, account: Account = "server") -> int:
    """Returns the percentage of a scope's limit in an account that a loss takes, rounded up.

    The result is the larger of two percentages: of the limit of epsilon, and of the limit of
    delta.
    """
    epsilon = percent(loss, limits.of_scope(scope, account))
    return max(epsilon, percent(loss, limits.delta, of_delta=True))


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
