"""A respondent's device: it fetches a survey, verifies it, randomises answers and submits a report.

    receipt = Device("https://example.org/s/workplace").answer({"stolen": "yes"})

True answers exist only inside ``answer``. The device sends, stores and receipts only the
randomised report.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from types import MappingProxyType
from urllib.parse import SplitResult, urlsplit, urlunsplit

import requests

from deniably.core.errors import Refused, SurveyChanged, Uninvited
from deniably.core.loss import Loss
from deniably.device import memory as remembered
from deniably.device import question_subset
from deniably.device.ledger import (
    Account,
    Limits,
    check_limits,
)
from deniably.device.memory import Memory, StoredReport, Ticket
from deniably.device.through_mixer import Arrival, answer_through_mixer
from deniably.device.tickets import begin_trade, end_trade, finish_trade
from deniably.device.verify_listing import VerifiedSurvey
from deniably.survey.mixer import Mixer
from deniably.survey.questions import Question
from deniably.survey.report import draw_questions
from deniably.survey.survey import Survey
from deniably.trust.invitation_codes import read_code
from deniably.trust.mixer_statement import MixerStatement
from deniably.trust.signing import fingerprint
from deniably_client.cost import Cost, cost_of
from deniably_client.errors import (
    AlreadyAnswered,
    InvitationUnknown,
    InvitationUsed,
    MemoryUnusable,
    Unreachable,
)
from deniably_client.exchange import NOT_MODIFIED, Answer, exchange, session
from deniably_client.meeting import Meeting, SurveyAddress
from deniably_client.mixer_exchange import MixerExchange
from deniably_client.receipt import Receipt, ThroughMixer
from deniably_client.response_body import (
    DEFINITION,
    PROBLEM,
)
from deniably_client.storage import Storage, Transient

_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[^@\\\s]+")
"""A host, with or without a port. A user name before an @ would identify the respondent. A
backslash is refused because URL parsers disagree on the host around it."""

__all__ = ["Cost", "Device", "session"]


@dataclass
class Device:
    """One respondent's device for one survey.

    ``url`` is the survey's address (``/s/<name>`` or ``/api/surveys/<name>``), with the stratum of
    its link behind a ``?`` where the survey has strata. ``memory`` stores reports, the ledger of
    privacy losses, and what the device saw of registers; if it is None, all of this is lost with
    this object. The device refuses what would exceed its ``limits``. ``digest`` pins the survey's
    version and ``fingerprint`` its author, where the respondent knows them. ``invitation`` is the
    code for a survey by invitation; a link may carry it after the ``#``. ``timeout`` is in seconds
    for each request.

    Raises ValueError where ``url`` is not the address of a survey.
    """

    url: str
    memory: Storage | Transient | None = None
    limits: Limits = field(default_factory=Limits)
    digest: str | None = None
    fingerprint: str | None = None
    invitation: str | None = field(default=None, repr=False)
    timeout: float = 30.0
    session: requests.Session = field(default_factory=session, repr=False)

    def __post_init__(self) -> None:
        self.url, _, behind = self.url.partition(
            "#"
        )  # self.url may be shown: keep the code out of it
        self.invitation = self.invitation or behind or None
        self._base, self._origin, self._name = _address(self.url)
        self._query = urlsplit(self.url).query
        self._api = f"{self._base}/api/surveys/{self._name}"
        self._memory = self.memory or Transient()

    @property
    def survey(self) -> Survey:
        """The survey, verified against the server's public register. It is fetched once.

        Raises Refused, with the reason, where the survey cannot be trusted; AuthorChanged where
        only the author differs from those known at this server; Rejected where the server refuses
        a request; Unreachable where it does not answer.
        """
        return self._verified[0]

    @property
    def author(self) -> str:
        """The author's public key, 64 hexadecimal digits. Raises what ``survey`` raises."""
        return self._verified[1].author

    @cached_property
    def _verified(self) -> tuple[Survey, VerifiedSurvey]:
        address = SurveyAddress(self._base, self._origin, self._name)
        meeting = Meeting(address, self._request, self._memory, self.digest, self.fingerprint)
        return meeting.meet()

    @cached_property
    def statement(self) -> MixerStatement | None:
        """What the mixer of the survey states about it, signed; None in a survey without a mixer.
        It is fetched once, and nothing is sealed without it.

        Raises SurveyClosed once the mixer takes no more envelopes, Refused where the statement
        cannot be trusted, Rejected where the mixer has not accepted the survey, and Unreachable
        where it does not answer.
        """
        return self._mixer.statement if self._mixer else None

    @cached_property
    def _mixer(self) -> MixerExchange | None:
        return MixerExchange(self.survey, self._request) if self.survey.mixer else None

    @property
    def arrival(self) -> Arrival | None:
        """Whether what this device sealed for the survey's mixer has reached the survey's server.

        It is None in a survey without a mixer, where this device has sealed nothing, and as long
        as the mixer has not passed on the answers. The device fetches the list of all envelopes
        that the server received, so that the server does not learn which ones it looks for.

        Raises Refused for a list that cannot be read, Rejected and Unreachable where the server
        does not give it.
        """
        kept = self.kept
        return self._mixer.arrival(self._api, kept) if self._mixer and kept else None

    @cached_property
    def questions(self) -> list[Question]:
        """The questions that this device asks. If the survey's ``ask`` has a number, this device
        drew so many questions at random, once; otherwise it asks all.

        After ``take_part`` these are the questions that ``take_part`` chose.
        """
        ordered = question_subset.ordered_questions(self._memory.read(), self.survey)
        if ordered is None:
            return draw_questions(self.survey)
        return [question for question in self.survey.questions if question in ordered]

    def take_part(self) -> list[Question]:
        """Chooses as many questions as the device's limits leave room for, and returns them.

        Use it where ``cost`` raises BudgetSpent and the survey lets people answer only a part of
        the questions. From then on ``questions`` has only the chosen ones. The device draws a
        random order of the questions once and keeps it; it chooses those that fit in this order.
        Tell your user before you ask: most of what the limits permit is given away, chance drew
        the questions, and a shorter report shows whoever sees it that less was left.

        Returns ``questions`` unchanged where the survey allows no such part or was answered
        before. Raises BudgetSpent where these, or even a single question, exceed a limit.
        """
        survey = self.survey
        if not survey.part or self.kept is not None:
            self.cost()  # raises BudgetSpent where all questions do not fit
            return self.questions
        memory = self._memory.update(lambda memory: question_subset.with_order(memory, survey))
        # Forgets the questions that were drawn before: from now on the kept order decides.
        self.__dict__.pop("questions", None)
        part = question_subset.part_of(memory, survey, self.author, _today(), self.limits)
        if not part:
            self.cost()  # raises BudgetSpent, with what is spent
        self.questions = part
        return part

    @property
    def kept(self) -> StoredReport | None:
        """The report that this device made for this version of the survey; None where it made
        none."""
        return self._memory.read().reports.get(self.survey.digest)

    @property
    def stratum(self) -> dict[str, str]:
        """The stratum of this device's report: that of the report it made, else that of its link.

        It maps each key of the survey's strata to a value, and is empty without strata. Raises
        BadLink where the link names no stratum.
        """
        return remembered.stratum_of(self._memory.read(), self.survey, self._query)

    @property
    def needs_invitation(self) -> bool:
        """Whether this device still has to exchange an invitation for a ticket, to answer this
        survey. Where a mixer invites, whether the device still needs the code of an invitation."""
        if self.kept is not None:
            return False
        if self._mixer:
            return self._mixer.needs_code
        return bool(self.survey.invited) and self._ticket is None

    @property
    def _ticket(self) -> Ticket | None:
        return self._memory.read().ticket(self.survey.digest)

    def trade(self, invitation: str | None = None) -> None:
        """Exchanges an invitation, by default the device's, for a ticket that cannot be linked to
        it. Where a mixer invites, only keeps the code until it is sealed in the envelope.

        Does nothing where the survey needs no invitation, or where the device has a ticket or a
        report already.

        ``answer`` does this where needed. Do it early: the longer before the report, the less its
        time reveals about the report. Repeating it after a fault is safe.

        Raises BadInvitation for a text that is no code, and Uninvited where no invitation is
        given; InvitationUnknown and InvitationUsed where the server says so; BudgetSpent where the
        device would refuse to answer; Refused where the server signs with another key than its
        register shows; SurveyClosed and Rejected where the server refuses, and Unreachable where
        it does not answer.
        """
        if not self.needs_invitation:
            return
        if self._mixer:
            self._mixer.code = read_code(self._given(invitation))
            return
        version, key = self.survey.digest, self._verified[1].invitations or ""
        before = self._memory.read().trade(version)
        text = self._given(invitation or self.invitation or (before.code if before else None))
        self.cost()  # keep the invitation where the device would refuse to answer
        begun = self._memory.update(lambda memory: begin_trade(memory, version, key, text))
        trade = begun.trade(version)
        if trade is None:
            return  # another process was quicker
        try:
            signed = self._signed(trade.code, trade.blinded)
        except (InvitationUnknown, InvitationUsed):
            self._memory.update(lambda memory: end_trade(memory, version, trade))
            if trade.code == read_code(text):
                raise
            self.trade(text)  # the earlier code failed: try the new one
            return
        self._memory.update(lambda memory: finish_trade(memory, version, key, trade, signed))

    def _given(self, invitation: str | None) -> str:
        text = invitation or self.invitation
        if text is None:
            raise Uninvited("this survey needs an invitation: Device(url, invitation=...)")
        return text

    def _signed(self, code: str, blinded: str) -> str:
        """Fetch the blind signature, over a connection that the report will not use."""
        body = json.dumps({"invitation": code, "blinded": blinded}).encode()
        address, own_connection = f"{self._api}/tickets", {"Connection": "close"}
        answer = self._request("POST", address, PROBLEM, body, headers=own_connection)
        try:
            return str(json.loads(answer.body)["signature"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise Refused("the server's answer to an invitation cannot be read") from None

    def fresh(self, changed: Collection[str] = ()) -> list[Question]:
        """Returns the questions to ask: those that this device has not answered yet, and those
        whose names are in ``changed`` because the true answer is another one now."""
        return remembered.fresh_questions(
            self._memory.read(), self.survey, self.questions, changed, self.author
        )

    @property
    def known(self) -> list[Question]:
        """The questions that this device has answered: in its report to this survey, or else in
        earlier waves."""
        kept, memory = self.kept, self._memory.read()
        memos = remembered.kept_memos(memory, self.survey, self.author)
        report = None if kept is None else kept.report
        names = memos if report is None else report.values
        return [question for question in self.survey.questions if question.name in names]

    def cost(self, changed: Collection[str] = (), account: Account = "server") -> Cost:
        """Returns the privacy loss of answering, before any question is asked.

        ``changed`` are the names of questions whose true answers have changed. ``account`` says
        what is counted: what servers learn alone ("server"), or if mixers work together with them
        ("together"). Raises BudgetSpent where a limit of the device would be exceeded, WavesSent
        where the survey states a number of waves and all of them are answered.
        """
        memory, day = self._memory.read(), _today()
        self._check_total(memory)
        fresh = self.fresh(changed)
        remembered.rounds(memory, self.survey, fresh, self.author)
        return cost_of(memory, self.survey, fresh, self.author, day, self.limits, account)

    def answer(
        self,
        answers: Mapping[str, object] | None = None,
        changed: Collection[str] = (),
        **named: object,
    ) -> Receipt:
        """Randomises the true answers, keyed by question name, and submits the report.

        An answer is the name or label of a choice, a list of these (select_multiple), a number, or
        a mapping by part (vector, point, product). Where the survey asks only some of its
        questions, give answers to those in ``questions``; other answers are ignored.

        The answers are randomised once. If sending fails, ``resend`` sends the same report.
        ``answer`` also sends the same report if the memory has one, and the receipt then says
        ``again``. ``changed`` has the names of questions whose true answers have changed: only
        these, and questions whose ``show_if`` names one of them, are randomised and charged again.
        The charge and the report are stored before anything is sent. In a survey by invitation
        ``trade`` comes first.

        Where the limits do not leave enough for all questions, call ``take_part`` first.

        Raises, before anything is drawn or sent, BadAnswer for a missing or invalid answer,
        BadLink for a link without its stratum, BudgetSpent and WavesSent as ``cost`` does. Raises
        SurveyChanged where the server has another version now, AlreadyAnswered where this device
        has no memory and has answered, MemoryUnusable where its memory cannot be read or written,
        what ``trade`` and ``resend`` raise, and TypeError for answers that are not one mapping.
        """
        if answers is None or named:
            example = next(iter(named), self.survey.questions[0].name)
            raise TypeError(
                "answers are one mapping, with the names of questions:"
                f' answer({{"{example}": ...}})'
            )
        if self.memory is None and not changed and self.kept is not None:
            raise AlreadyAnswered("this device has made its report; resend() sends it again")
        survey, author, drawn = self.survey, self.author, self.questions
        stratum = self.stratum
        # With a mixer the server must not learn when: the version is in the mixer's statement.
        if not self._mixer and (changed or self.kept is None):
            self._check_unchanged()
        self.trade()

        def change(memory: Memory) -> Memory:
            self._check_total(memory)
            if self._mixer:
                remembered.fresh_questions(memory, survey, drawn, changed)  # refuses changes
                return answer_through_mixer(
                    memory, survey, answers, self._mixer.seal, author=author, day=_today(),
                    limits=self.limits,
                )  # fmt: skip
            return remembered.answer(
                memory, survey, answers, author=author, day=_today(), limits=self.limits,
                drawn=drawn, changed=changed, strata=stratum,
            )  # fmt: skip

        memories: list[Memory] = []

        def kept(memory: Memory) -> Memory:
            # Both memories: only a comparison shows whether a report was made or was there.
            memories[:] = [memory, change(memory)]
            return memories[1]

        self._memory.update(kept)  # no network request while it is locked
        before, after = (_made(memory, survey.digest) for memory in memories)
        return self._send(again=before == after)

    def resend(self) -> Receipt:
        """Submits the stored report again: the same bytes and id, so the server counts it once.

        The receipt says ``again`` where a server already had the report. Where a mixer refused the
        code of an invitation, set ``invitation`` to another one first: this device then seals the
        same randomised answers with that code, as long as this object lives. Raises SurveyClosed
        and Rejected where the server refuses, Unreachable where it does not answer, and ValueError
        where there is no report yet.
        """
        self._change_code()
        kept = self.kept
        return self._send(again=kept is not None and kept.sent)

    @property
    def can_change_code(self) -> bool:
        """Whether this device can seal the same randomised answers with another code, because the
        mixer of the survey did not take them."""
        return bool(self._mixer and self._mixer.can_change_code(self.kept))

    def _change_code(self) -> None:
        mixer = self._mixer
        if mixer and self.invitation and self.can_change_code:
            code = read_code(self.invitation)
            if code != mixer.code:
                self._memory.update(lambda memory: mixer.with_code(memory, code))

    def _send(self, *, again: bool) -> Receipt:
        survey, kept = self.survey, self.kept
        if kept is None:
            raise ValueError("there is no report yet: call answer() first")
        report, sent = kept.report, kept.body
        ticket = self._ticket
        headers = {"Deniably-Ticket": ticket.ticket} if ticket else {}
        if self._mixer:
            self._mixer.send(sent)
        else:
            self._request("POST", f"{self._api}/reports", PROBLEM, sent, headers=headers)
        with suppress(MemoryUnusable):  # it is sent; the same bytes count once
            self._memory.update(lambda memory: remembered.mark_sent(memory, survey.digest, sent))
        losses = {
            question.name: question.mechanism.loss
            for question in survey.questions
            if report is None or question.name in report.values
        }
        author, seal = fingerprint(self.author), self._verified[1].seal
        receipt = Receipt(
            survey.name, survey.digest, author, seal, losses, survey.total,
            hashlib.sha256(sent).hexdigest(), again, survey.history if survey.waves else None,
            survey.recognised_of_100, report.stratum if report else {},
        )  # fmt: skip
        if isinstance(survey.mixer, Mixer) and kept.inner:
            through = ThroughMixer(survey.mixer.by, survey.server_loss, tuple(kept.inner))
            return replace(receipt, mixer=through)
        return receipt

    def _check_total(self, memory: Memory) -> None:
        """Refuse a survey whose worst draw of questions would exceed the limit.

        Once an order is kept, the charges alone decide.
        """
        version = self.survey.digest
        if version not in memory.reports and version not in (memory.orders or {}):
            check_limits("survey", Loss(), self.survey.server_loss, self.limits)

    def _check_unchanged(self) -> None:
        """Raise SurveyChanged where the server now shows another version.

        Without a network the check is skipped.
        """
        try:
            response = self._request("GET", self._api, DEFINITION, version=self.survey.digest)
        except Unreachable:
            return
        if response.status != NOT_MODIFIED and response.body != self.survey.canonical:
            raise SurveyChanged(
                "the survey was changed since this device loaded it; nothing was sent"
            )

    def _request(
        self,
        method: str,
        url: str,
        maximum: int,
        payload: bytes | None = None,
        version: str | None = None,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> Answer:
        return exchange(self.session, self.timeout, method, url, maximum, payload, version, headers)


def _made(memory: Memory, version: str) -> bytes | None:
    """What a memory has for a survey, as it is sent; None where nothing was made."""
    kept = memory.reports.get(version)
    return None if kept is None else kept.body


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _address(url: str) -> tuple[str, str, str]:
    """Split a URL into the server's address, its origin, and the survey's name."""
    parts = urlsplit(url)
    match = re.fullmatch(r"(.*?)/(?:s|surveys|api/surveys)/([a-z0-9-]+)/?", parts.path)
    if parts.scheme not in ("http", "https") or not _HOST.fullmatch(parts.netloc) or not match:
        raise ValueError("a survey's address looks like https://example.org/s/name")
    base = urlunsplit((parts.scheme, parts.netloc, match[1], "", ""))
    return base, _origin(parts), match[2]


def _origin(parts: SplitResult) -> str:
    """The origin as browsers write it: lower case, without the default port."""
    host = parts.hostname or ""
    # urlsplit takes the brackets of an IPv6 address off.
    shown_host = f"[{host}]" if ":" in host else host
    usual = parts.port in (None, _PORTS[parts.scheme])
    return f"{parts.scheme}://{shown_host}" + ("" if usual else f":{parts.port}")
