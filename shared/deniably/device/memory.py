"""The memory of a device between reports: one document, and the functions that change it (SPEC 7).

The memory never holds a true answer. It holds the randomised report, and in waves the memoised
(permanently randomised) answer, so a stolen device gives away no more than was promised. Everything
here is pure; the client stores the document.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import repeat
from typing import Annotated, Any, Literal

import msgspec

from deniably.core.canonical import canonical, digest, parse
from deniably.core.coins import Coins
from deniably.core.dates import is_date
from deniably.core.errors import (
    BadAnswer,
    BadMemory,
    BadReport,
    Refused,
    Uninvited,
    WavesSent,
)
from deniably.core.loss import Loss
from deniably.device.ledger import (
    Author,
    CountedSince,
    Day,
    Digest,
    Ledger,
    LedgerEntry,
    Limits,
    MixedLoss,
    charge,
    first_counted_day,
    ledger_entry,
    mixed_losses,
)
from deniably.mechanisms.memoised import Memoised
from deniably.survey.mixer import Mixer
from deniably.survey.parts import FieldName
from deniably.survey.questions import Question
from deniably.survey.report import Report, check_names, draw_questions, make_report, read_report
from deniably.survey.strata import Stratum, stratum_in
from deniably.survey.survey import MOST_QUESTIONS, MOST_WAVES, Survey, Waves, show_if

_MEMO = re.compile(r"([0-9a-f]{64})?/[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?/[0-9a-f]{64}")
_ORIGIN = re.compile(r"https?://[^/\s]+")
_Id = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{32}\Z")]
_Signature = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{128}\Z")]
_Prefix = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
_Number = Annotated[str, msgspec.Meta(pattern=r"^([0-9a-f]{2}){256,512}\Z")]
_Ticket = Annotated[str, msgspec.Meta(pattern=r"^([0-9a-f]{2}){288,544}\Z")]
_Code = Annotated[str, msgspec.Meta(pattern=r"^[0-9A-HJKMNP-TV-Y]{18}\Z")]
_Bytes = Annotated[str, msgspec.Meta(pattern=r"^([0-9a-f]{2})+\Z")]
_Inner = Annotated[list[Digest], msgspec.Meta(min_length=1, max_length=MOST_QUESTIONS)]
_Order = Annotated[list[FieldName], msgspec.Meta(min_length=2)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 53) - 1)]


class StoredReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What this device made for a survey and sends, and whether it was ``sent``.

    ``text`` is the canonical JSON of a report. In a survey with a mixer ``sealed`` is the envelope
    to the mixer instead, in hexadecimal, and ``inner`` has the SHA-256 of each envelope in it,
    ascending. Raises ValueError for anything else.
    """

    sent: bool
    text: str | msgspec.UnsetType = msgspec.UNSET
    sealed: _Bytes | msgspec.UnsetType = msgspec.UNSET
    inner: _Inner | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        parts = [isinstance(self.text, str), not self.sealed, not self.inner]
        if len(set(parts)) > 1:
            raise ValueError("either the text of a report is kept, or an envelope with its parts")
        if isinstance(self.inner, list) and sorted(set(self.inner)) != self.inner:
            raise ValueError("the envelopes in an envelope are not in order, or one is there twice")

    @property
    def body(self) -> bytes:
        """The bytes that are sent, the same ones whenever they are sent again."""
        if isinstance(self.sealed, str):
            return bytes.fromhex(self.sealed)
        return str(self.text).encode()

    @property
    def report(self) -> Report | None:
        """The report itself; None where it is sealed."""
        return read_report(self.body) if isinstance(self.text, str) else None


class RegisterCheckpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The signed head of a server's register, as this device verified it last.

    ``count`` is the number of entries, ``head`` the hash of the last entry, and ``day`` its day.
    ``day`` is absent where the entry states no date, and in memories from before days were kept.
    ``log`` and ``map`` are the roots of the hash trees, ``key`` is the server's key, and
    ``signature`` that of the head. These four are absent where the device read the whole register,
    as devices did before heads were signed.
    """

    count: _Count
    head: Digest
    day: Day | msgspec.UnsetType = msgspec.UNSET
    log: Digest | msgspec.UnsetType = msgspec.UNSET
    map: Digest | msgspec.UnsetType = msgspec.UNSET
    key: Digest | msgspec.UnsetType = msgspec.UNSET
    signature: _Signature | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        if self.day is not msgspec.UNSET and not is_date(self.day):
            raise ValueError("the day of a register is no date")


class Ticket(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A ticket: a blind signature of the ``id`` of a report.

    A device gets it from the server in exchange for an invitation (SPEC 11.3).
    """

    id: _Id
    ticket: _Ticket


class Rounds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The number of waves of a question that is randomised afresh in each wave.

    ``count`` is how many waves the survey states, ``sent`` how many reports this device made.
    """

    count: Annotated[int, msgspec.Meta(ge=2, le=MOST_WAVES)]
    sent: Annotated[int, msgspec.Meta(ge=1, le=MOST_WAVES)]


class Trade(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An unfinished exchange of an invitation for a ticket (SPEC 11.4).

    If the server does not answer, the device sends the same request again.
    """

    blinded: _Number
    code: _Code
    id: _Id
    inverse: _Number
    prefix: _Prefix


class Memory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole memory of a device. It is frozen: each change makes a new document.

    The keys of ``reports``, ``orders``, ``tickets`` and ``trades`` are digests of surveys'
    definitions. Those of ``authors`` and ``registers`` are origins of servers, and those of
    ``memos`` and ``waves`` come from ``memo_keys``.
    """

    spec: Literal[1] = 1
    ledger: Ledger = ()
    reports: dict[Digest, StoredReport] = {}
    memos: dict[str, list[int]] = {}
    authors: dict[str, list[Digest]] = {}
    registers: dict[str, RegisterCheckpoint] = {}
    tickets: dict[Digest, Ticket] | msgspec.UnsetType = msgspec.UNSET
    trades: dict[Digest, Trade] | msgspec.UnsetType = msgspec.UNSET
    waves: dict[str, Rounds] | msgspec.UnsetType = msgspec.UNSET
    orders: dict[Digest, _Order] | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        for version, kept in self.reports.items():
            report = kept.report
            if report and (report.survey != version or report.canonical != kept.body):
                raise ValueError("a report is kept under another version, or not as it is sent")
        if not all(map(_MEMO.fullmatch, [*self.memos, *(self.waves or ())])):
            raise ValueError("the key of a memo is not of the form panel, question and author")
        if any(wave.sent > wave.count for wave in (self.waves or {}).values()):
            raise ValueError("more reports were sent than there are waves")
        if not all(map(_ORIGIN.fullmatch, [*self.authors, *self.registers])):
            raise ValueError("an origin is not of the form https://host")
        if {} in (self.tickets, self.trades, self.waves, self.orders):
            raise ValueError("tickets, trades, waves and orders are left out where there are none")
        if any(len(set(names)) < len(names) for names in (self.orders or {}).values()):
            raise ValueError("an order has a question twice")
        if set(self.orders or ()) & set(self.reports):
            raise ValueError("an order is kept of a survey that was answered")

    @property
    def canonical(self) -> bytes:
        """The document in canonical JSON (SPEC 3), to be encrypted and stored."""
        return canonical(msgspec.to_builtins(self))

    def report(self, version: str) -> Report | None:
        """Returns the report that this device made to a survey; None without one, and where it was
        sealed for a mixer.

        ``version`` is the digest of the survey's definition.
        """
        kept = self.reports.get(version)
        return None if kept is None else kept.report

    def ticket(self, version: str) -> Ticket | None:
        """Returns the ticket that this device has for a survey, None without one.

        ``version`` is the digest of the survey's definition.
        """
        return self.tickets.get(version) if self.tickets else None

    def trade(self, version: str) -> Trade | None:
        """Returns the unfinished exchange of an invitation for a ticket to a survey, None without
        one.

        ``version`` is the digest of the survey's definition.
        """
        return self.trades.get(version) if self.trades else None


# Built here, once and in one thread (see survey.py).
_DECODER = msgspec.json.Decoder(Memory)


def read_memory(text: bytes) -> Memory:
    """Returns the memory in a document. Raises BadMemory unless the document is a memory in
    canonical JSON."""
    try:
        parse(text)  # refuses repeated keys
        memory = _DECODER.decode(text)
        if memory.canonical == text:
            return memory
    except (ValueError, BadReport, UnicodeDecodeError, RecursionError):
        pass  # their messages could quote the document
    raise BadMemory("this is not the memory of a device (SPEC 7)")


def kept_memos(memory: Memory, survey: Survey, author: str) -> dict[str, list[int]]:
    """Returns {question: memo} from earlier waves of a survey's panel.

    A memo is a permanently randomised answer. Questions without one are left out.
    """
    keys = memo_keys(survey, author)
    return {name: memory.memos[key] for name, key in keys.items() if key in memory.memos}


def memo_keys(survey: Survey, author: str) -> dict[str, str]:
    """Returns {question: key of its memo in the device's memory}; empty without waves.

    A memo is a permanently randomised answer. Two waves have the same question, and so the same
    key, only if all of the question's texts, its claim and its mechanism are equal.
    """
    if not isinstance(survey.waves, Waves):
        return {}
    panel = survey.waves.panel
    return {
        question.name: f"{author}/{panel}/{digest(msgspec.to_builtins(question))}"
        for question in survey.questions
    }


def fresh_questions(
    memory: Memory,
    survey: Survey,
    drawn: Sequence[Question],
    changed: Collection[str] = (),
    author: str = "",
) -> list[Question]:
    """Returns the questions to ask, randomise and charge.

    They are those without a report or memo (a permanently randomised answer), and those in
    ``changed``. ``drawn`` are the questions that this device asks if it remembers nothing of the
    survey. A question whose condition depends on a changed question counts as changed, too. Raises
    BadAnswer for a changed question that was not answered before, and for any change in a survey by
    invitation or with a mixer.
    """
    if survey.mixer and survey.digest in memory.reports:
        if changed:
            raise BadAnswer("what was sealed for a mixer stays as it is", min(changed))
        return []
    report = memory.report(survey.digest)
    if report and changed and survey.invited:
        raise BadAnswer("one invitation gives one report, and it stays as it is", min(changed))
    known = report.values if report else kept_memos(memory, survey, author)
    for name in changed:
        if name not in known:
            raise BadAnswer("cannot have changed: this device has not answered it yet", name)
    if report is None:
        return [each for each in drawn if each.name in changed or each.name not in known]
    fresh: list[Question] = []
    for question in survey.questions:
        condition = show_if(question)
        after = condition is not None and any(
            condition.question == earlier.name for earlier in fresh
        )
        if after or question.name in changed:
            fresh.append(question)
    return _on_their_own(fresh)


def counted_since(memory: Memory, author: str, day: str) -> CountedSince:
    """Returns the first days whose charges still count, for a survey of this author.

    ``day`` is today by the device's clock. A charge leaves the author's total when it is old enough
    by the clock, and by the newest days of all registers with this author. For the overall total it
    has to be old enough by those of all registers (SPEC 8.1).
    """
    return CountedSince(
        first_counted_day(day, _seen_days(memory, author)),
        first_counted_day(day, _seen_days(memory)),
    )


def charge_day(memory: Memory, author: str, day: str) -> str:
    """Returns the day that a new charge gets.

    It is the clock's ``day``, or the earliest last day of the author's registers if that is later
    and all these days are known. So a clock that is set back does not date a charge too early.
    """
    seen = _seen_days(memory, author)
    known = [each for each in seen if each]
    # The smallest day: one server with a wrong clock must not date a charge into the future.
    return max(day, min(known)) if len(known) == len(seen) > 0 else day


def _seen_days(memory: Memory, author: str | None = None) -> list[str | None]:
    """The newest day of each register that has this author, or any; None for one without a day."""
    days = [
        memory.registers.get(origin)
        for origin, authors in memory.authors.items()
        if author is None or author in authors
    ]
    return [seen.day if seen and isinstance(seen.day, str) else None for seen in days]


def charges(survey: Survey, fresh: Sequence[Question], author: str, day: str) -> list[LedgerEntry]:
    """Returns one ledger entry for each of these questions. A question with a memo (a permanently
    randomised answer) is charged once, for all waves. In a survey with a mixer the first entry has
    the mixer's claim."""
    head = (day, author, survey.name, survey.digest)
    mixer = survey.mixer
    mixed: Iterable[MixedLoss | msgspec.UnsetType] = (
        mixed_losses(mixer) if isinstance(mixer, Mixer) else repeat(msgspec.UNSET)
    )
    return [
        ledger_entry(*head, question.name, _loss(question), against_server)
        for question, against_server in zip(fresh, mixed, strict=False)
    ]


def rounds(
    memory: Memory, survey: Survey, fresh: Sequence[Question], author: str
) -> dict[str, Rounds]:
    """Returns the new value of ``memory.waves`` when these questions are randomised afresh once
    more.

    If surveys of the panel state different numbers of waves, the smallest counts. Raises WavesSent
    where that many waves were sent already.
    """
    waves = dict(memory.waves or {})
    keys = memo_keys(survey, author)
    for question in fresh if survey.count else ():
        key = keys[question.name]
        before = waves.get(key)
        # An author who states more waves later gets no more reports than were promised first.
        count = min(survey.count or 0, before.count) if before else survey.count or 0
        sent = before.sent if before else 0
        if sent >= count:
            raise WavesSent(count)
        waves[key] = Rounds(count, sent + 1)
    return waves


def answer(
    memory: Memory,
    survey: Survey,
    answers: Mapping[str, object],
    *,
    day: str,
    limits: Limits,
    author: str = "",
    drawn: Sequence[Question] | None = None,
    changed: Collection[str] = (),
    strata: Stratum | None = None,
    coins: Coins | None = None,
) -> Memory:
    """Answers a survey; returns the memory with its charges and its report.

    If the survey was answered before and no answer ``changed``, the memory stays as it is: the
    stored report is to be sent again, and only the names in ``answers`` are checked. If answers
    changed, only these are needed. The new report has a new id, and the other values of the old
    one. A survey by invitation takes one report for each invitation, with the id of the ticket, and
    no changes. ``strata`` is the stratum in the link, if the survey has strata. A report that
    replaces an earlier one keeps the stratum of that.

    A survey with a mixer is refused here; see ``through_mixer``.

    Raises BadReport for a stratum that the survey does not have, Uninvited where there is no
    ticket, WavesSent after the last wave, BudgetSpent where a limit refuses (before a coin is
    thrown) and BadAnswer for answers that do not fit. The memory that was passed is unchanged.
    """
    check_names(survey, answers)
    if survey.mixer:  # one report with all answers would show whose they are
        raise Refused("the answers to this survey have to be sealed for its mixer")
    # Drawn before any answer is looked at, so that what is asked depends on no answer.
    drawn = draw_questions(survey, coins) if drawn is None else drawn
    before = memory.report(survey.digest)
    fresh = fresh_questions(memory, survey, drawn, changed, author)
    if before and not fresh:
        return memory
    ticket = memory.ticket(survey.digest)
    if survey.invited and ticket is None:
        raise Uninvited("this survey needs an invitation, and this device has traded none")
    waves = rounds(memory, survey, fresh, author)
    entries = charges(survey, fresh, author, charge_day(memory, author, day))
    # The budget is checked before anything is randomised, so that a refusal reveals nothing of an
    # answer.
    ledger = charge(memory.ledger, entries, limits, counted_since(memory, author, day))
    names = {question.name for question in fresh}
    memos = {n: m for n, m in kept_memos(memory, survey, author).items() if n not in names}
    # A first report of a wave has all questions: those with a memo are sent from it, without an
    # answer.
    asked = fresh if before or not memos else drawn
    # A report keeps the stratum that it was made with, whatever link is opened later.
    id_, stratum = ticket.id if ticket else None, before.stratum if before else strata
    made = make_report(survey, answers, coins, asked, memos, id_, stratum)
    # Values that did not change are sent again as they are: fresh chance would average out.
    values = (before.values if before else {}) | made.report.values
    report = msgspec.structs.replace(made.report, values=values)
    keys = memo_keys(survey, author)
    return replace(
        memory,
        ledger=ledger,
        reports=memory.reports | {survey.digest: _unsent(report)},
        memos=memory.memos | {keys[name]: list(memo) for name, memo in made.memos.items()},
        waves=waves or msgspec.UNSET,
        orders={
            version: names
            for version, names in (memory.orders or {}).items()
            if version != survey.digest
        }
        or msgspec.UNSET,
    )


def stratum_of(memory: Memory, survey: Survey, query: str) -> dict[str, str]:
    """Returns the stratum of the report that this device made to a survey.

    Without a report it is the stratum in the ``query`` of the survey's link.

    Raises BadLink where the link does not name a stratum of the survey.
    """
    before = memory.report(survey.digest)
    return dict(before.stratum) if before else stratum_in(query, survey.strata or {})


def mark_sent(memory: Memory, version: str, body: bytes) -> Memory:
    """Returns the memory with what is stored for a survey marked as sent; unchanged where that is
    not ``body``, the bytes that were sent."""
    kept = memory.reports.get(version)
    # The report changed while the request was under way: the new one is not sent yet.
    if kept is None or kept.body != body:
        return memory
    sent = msgspec.structs.replace(kept, sent=True)
    return replace(memory, reports=memory.reports | {version: sent})


def replace(memory: Memory, **changes: Any) -> Memory:
    """Returns the memory with these ``changes`` of its fields. Raises ValueError where fields
    contradict each other."""
    return msgspec.structs.replace(memory, **changes)


def _loss(question: Question) -> Loss:
    mechanism = question.mechanism
    return mechanism.history if isinstance(mechanism, Memoised) else mechanism.loss


def _unsent(report: Report) -> StoredReport:
    return StoredReport(sent=False, text=report.canonical.decode())


def _on_their_own(fresh: Sequence[Question]) -> list[Question]:
    """Drop the conditions whose question is not asked again: the respondent met them before."""
    names = {question.name for question in fresh}
    return [
        msgspec.structs.replace(question, show_if=msgspec.UNSET)
        if (condition := show_if(question)) and condition.question not in names
        else question
        for question in fresh
    ]


__all__ = [
    "Author",
    "Day",
    "Memory",
    "RegisterCheckpoint",
    "Rounds",
    "StoredReport",
    "Ticket",
    "Trade",
    "answer",
    "charge_day",
    "charges",
    "counted_since",
    "fresh_questions",
    "kept_memos",
    "mark_sent",
    "memo_keys",
    "read_memory",
    "replace",
    "rounds",
    "stratum_of",
]  # fmt: skip
