"""A device's exchange with the mixer of a survey: it asks for the statement, seals, and sends (SPEC
14)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Protocol

from deniably.device.memory import Memory, StoredReport
from deniably.device.through_mixer import (
    Arrival,
    Envelopes,
    change_code,
    check_statement,
    find_arrived,
    mixer_of,
    seal_reports,
)
from deniably.survey.report import Report
from deniably.survey.survey import Survey
from deniably.trust.mixer_statement import MixerStatement
from deniably_client.errors import Rejected
from deniably_client.exchange import NOT_FOUND, Answer
from deniably_client.response_body import PROBLEM, RECEIVED

_OCTETS = MappingProxyType({"Content-Type": "application/octet-stream"})


class Request(Protocol):
    """Sends a request and returns the answer, as ``Device`` does."""

    def __call__(
        self,
        method: str,
        url: str,
        maximum: int,
        payload: bytes | None = None,
        *,
        headers: Mapping[str, str] = ...,
    ) -> Answer:
        """Reads at most ``maximum`` bytes."""
        ...


@dataclass
class MixerExchange:
    """The exchange of one device with the mixer of ``survey``, by ``request``.

    ``code`` is that of the invitation that is sealed in the envelope; None without one. What was
    sealed for the survey's server is kept here, and nowhere else, so that the envelope around it
    can get another code.
    """

    survey: Survey
    request: Request
    code: str | None = None
    _inner: Sequence[bytes] = field(default=(), repr=False)

    @property
    def address(self) -> str:
        """Where the mixer takes envelopes to this survey, and states what it does."""
        return f"{mixer_of(self.survey).address}/mix/{self.survey.digest}"

    @cached_property
    def statement(self) -> MixerStatement:
        """What the mixer states about the survey. It is fetched once.

        Raises Refused where it cannot be trusted, and what ``request`` raises.
        """
        return check_statement(self.survey, self.request("GET", self.address, PROBLEM).body)

    @property
    def needs_code(self) -> bool:
        """Whether the mixer invites people, and no code is there. Raises what ``statement`` does,
        also where nobody is invited."""
        return self.statement.invitations > 0 and self.code is None

    def seal(self, reports: Sequence[Report]) -> Envelopes:
        """Returns the envelopes of these reports, the outer one with the code."""
        envelopes = seal_reports(self.survey, reports, self.code or "")
        self._inner = envelopes.inner
        return envelopes

    def send(self, sealed: bytes) -> None:
        """Sends an envelope. Raises what ``request`` raises."""
        self.request("POST", self.address, PROBLEM, sealed, headers=_OCTETS)

    def arrival(self, api: str, kept: StoredReport) -> Arrival | None:
        """Returns whether the envelopes of a device are among all that the survey's server at
        ``api`` received; None as long as the mixer has passed nothing on."""
        try:
            received = self.request("GET", f"{api}/mixed/envelopes", RECEIVED)
        except Rejected as refused:
            if refused.status == NOT_FOUND:
                return None
            raise
        return find_arrived(kept, received.body)

    def can_change_code(self, kept: StoredReport | None) -> bool:
        """Returns whether the envelope that a device keeps can get another code: the mixer did not
        take it, and this object sealed it."""
        return bool(self._inner and self.code) and kept is not None and not kept.sent

    def with_code(self, memory: Memory, code: str) -> Memory:
        """Returns the memory with another code in the envelope, around the same sealed reports."""
        self.code = code
        return change_code(memory, self.survey, self._inner, code)
