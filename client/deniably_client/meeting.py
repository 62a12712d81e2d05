"""A device meets a survey: it fetches the definition and verifies it against the server's register
(SPEC 10.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from deniably.core.errors import BadSurvey, Refused
from deniably.device.memory import Memory, RegisterCheckpoint
from deniably.device.verify_listing import VerifiedSurvey, verify_listing, what_more
from deniably.survey.survey import Survey, read_survey
from deniably.trust.listing import LARGEST_LISTING
from deniably_client.exchange import Answer
from deniably_client.response_body import DEFINITION, REGISTER
from deniably_client.storage import Storage, Transient

_read_survey = lru_cache(maxsize=4)(read_survey)
"""Reads a definition, once for the same bytes: all devices of a rehearsal get the same ones, and
nothing changes a definition."""


@dataclass(frozen=True)
class SurveyAddress:
    """The address of a server (``base``), its ``origin``, and the ``name`` of a survey there."""

    base: str
    origin: str
    name: str

    @property
    def api(self) -> str:
        """Where the survey's definition is."""
        return f"{self.base}/api/surveys/{self.name}"


@dataclass(frozen=True)
class Meeting:
    """Fetches the survey at an address by ``request`` and verifies it; ``memory`` keeps what was
    seen of the register. ``digest`` pins the version and ``fingerprint`` the author, where they are
    known."""

    address: SurveyAddress
    request: Callable[[str, str, int], Answer]
    memory: Storage | Transient
    digest: str | None
    fingerprint: str | None

    def meet(self) -> tuple[Survey, VerifiedSurvey]:
        """Returns the survey, and its verified entry in the register.

        Raises Refused, with the reason, where the survey cannot be trusted, AuthorChanged where
        only the author differs from those known at this server, and what ``request`` raises.
        """
        survey = self._fetch()
        while True:
            before = self._checkpoint
            try:
                return survey, self._verify(survey)
            except Refused:
                if self._checkpoint == before:
                    raise
                # Another process stored a longer register meanwhile: fetch again.

    @property
    def _checkpoint(self) -> RegisterCheckpoint | None:
        return self.memory.read().registers.get(self.address.origin)

    def _verify(self, survey: Survey) -> VerifiedSurvey:
        address = f"{self.address.base}/register/{self.address.name}"
        listing = self.request("GET", address, LARGEST_LISTING).body
        path = what_more(self.memory.read(), self.address.origin, listing)
        further = (
            {path: self.request("GET", f"{self.address.base}{path}", REGISTER).body} if path else {}
        )
        # All requests come before the update: none is made while the memory is locked.
        verified: list[VerifiedSurvey] = []

        def meet(memory: Memory) -> Memory:
            after, listed = verify_listing(
                memory, self.address.origin, survey, listing, self.fingerprint, further
            )
            verified.append(listed)
            return after

        self.memory.update(meet)
        return verified[-1]

    def _fetch(self) -> Survey:
        response = self.request("GET", self.address.api, DEFINITION)
        try:
            survey = _read_survey(response.body)
        except BadSurvey as error:
            raise Refused(f"this survey's definition cannot be trusted: {error}") from None
        # The tag of a compressed response is weak (SPEC 6).
        if response.headers.get("ETag", "").removeprefix("W/").strip('"') != survey.digest:
            raise Refused("the definition is not the version that the server says it is")
        if self.digest is not None and self.digest != survey.digest:
            raise Refused(
                f"the survey was changed: its version is {survey.digest}, not {self.digest}"
            )
        if survey.name != self.address.name:
            raise Refused("the server sent the definition of another survey")
        return survey
