"""Answers a survey with a mixer: the memory keeps the envelope that is sent to it (SPEC 7).

Devices seal each report for the survey's server, and all of them for the mixer. What was sealed
stays as it is: nobody can change it, and a second envelope would count as a second person.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from deniably.core.coins import Coins
from deniably.core.errors import BadSignature, Refused
from deniably.device.ledger import Limits, charge
from deniably.device.memory import (
    Memory,
    StoredReport,
    charge_day,
    charges,
    counted_since,
    replace,
)
from deniably.survey.mixer import Mixer
from deniably.survey.report import Report, check_names, separate_reports
from deniably.survey.survey import Survey
from deniably.trust.envelope import seal_inner, seal_outer
from deniably.trust.mixer_statement import MixerStatement, read_statement

_HASH_BYTES = 32


@dataclass(frozen=True)
class Envelopes:
    """The envelope to the mixer (``outer``), and those to the survey's server in it (``inner``)."""

    outer: bytes
    inner: Sequence[bytes]


Seal = Callable[[Sequence[Report]], Envelopes]
"""Seals the reports to all questions of a survey, in their order."""


def answer_through_mixer(
    memory: Memory,
    survey: Survey,
    answers: Mapping[str, object],
    seal: Seal,
    *,
    day: str,
    limits: Limits,
    author: str = "",
    coins: Coins | None = None,
) -> Memory:
    """Answers a survey with a mixer; returns the memory with its charges and its envelope.

    Where the survey was answered before, the memory stays as it is: the same bytes are sent again,
    and only the names in ``answers`` are checked.

    Raises BudgetSpent where a limit refuses, before a coin is thrown; BadAnswer for answers that do
    not fit, ValueError for a survey without a mixer, and what ``seal`` raises. The memory that was
    passed is unchanged.
    """
    check_names(survey, answers)
    if survey.digest in memory.reports:
        return memory
    entries = charges(survey, survey.questions, author, charge_day(memory, author, day))
    ledger = charge(memory.ledger, entries, limits, counted_since(memory, author, day))
    kept = _kept(seal(separate_reports(survey, answers, coins)))
    return replace(memory, ledger=ledger, reports=memory.reports | {survey.digest: kept})


def seal_reports(survey: Survey, reports: Sequence[Report], code: str = "") -> Envelopes:
    """Returns the envelopes of one person's ``reports`` to a survey with a mixer, one for each
    question. ``code`` is that of an invitation of the mixer's, 18 characters; empty where nobody
    needs one.

    Raises ValueError for a survey without a mixer.
    """
    mixer = mixer_of(survey)
    inner = [
        seal_inner(mixer.open, survey.digest, report.canonical, mixer.length) for report in reports
    ]
    return with_code(survey, inner, code)


def with_code(survey: Survey, inner: Sequence[bytes], code: str) -> Envelopes:
    """Returns the envelope to the mixer of envelopes to the survey's server that were sealed
    before, with the ``code`` of an invitation."""
    return Envelopes(seal_outer(mixer_of(survey).key, survey.digest, inner, code), inner)


def change_code(memory: Memory, survey: Survey, inner: Sequence[bytes], code: str) -> Memory:
    """Returns the memory with another code in the envelope to the mixer, which refused the first
    one; unchanged where that has other envelopes in it than ``inner``, or was taken.

    The envelopes to the survey's server stay, so nothing is randomised or charged again.
    """
    kept, again = memory.reports.get(survey.digest), _kept(with_code(survey, inner, code))
    if kept is None or kept.sent or kept.inner != again.inner:
        return memory
    return replace(memory, reports=memory.reports | {survey.digest: again})


def check_statement(survey: Survey, text: bytes) -> MixerStatement:
    """Returns what the mixer of a survey states. Raises Refused unless the mixer of the definition
    signed it, for this survey and in the same name."""
    mixer = mixer_of(survey)
    try:
        statement = read_statement(text, mixer.signing)
    except BadSignature as error:
        raise Refused(f"the mixer's statement cannot be trusted: {error}") from None
    if statement.survey != survey.digest:
        raise Refused("the mixer's statement is about another survey")
    if statement.by != mixer.by:
        raise Refused("another name than the survey's is in the mixer's statement")
    return statement


def mixer_of(survey: Survey) -> Mixer:
    """Returns the mixer of a survey. Raises ValueError where it has none."""
    if not isinstance(survey.mixer, Mixer):
        raise ValueError(f"{survey.name} has no mixer")
    return survey.mixer


@dataclass(frozen=True)
class Arrival:
    """How many of a device's envelopes the survey's server received from the mixer (``arrived``),
    and how many the device had sealed (``of``)."""

    arrived: int
    of: int

    @property
    def complete(self) -> bool:
        """Whether all arrived. If not, the mixer left this person out, or the server does not say
        what it received."""
        return self.arrived == self.of


def find_arrived(kept: StoredReport, received: bytes) -> Arrival:
    """Returns which envelopes of a device are in the list of all that the survey's server
    ``received``: their SHA-256 one after the other, ascending.

    Raises Refused for any other list, and ValueError where what is kept is no envelope.
    """
    if kept.inner is msgspec.UNSET:
        raise ValueError("this report was not sealed for a mixer")
    own, found, before = set(map(bytes.fromhex, kept.inner)), 0, b""
    for start in range(0, len(received), _HASH_BYTES):
        each = received[start : start + _HASH_BYTES]
        if len(each) < _HASH_BYTES or each <= before:
            raise Refused("the server's list of the envelopes that it received cannot be read")
        found, before = found + (each in own), each
    return Arrival(found, len(own))


def _kept(envelopes: Envelopes) -> StoredReport:
    # In the order of their hashes, so that none shows which question it is for.
    inner = sorted(hashlib.sha256(each).hexdigest() for each in envelopes.inner)
    return StoredReport(sent=False, sealed=envelopes.outer.hex(), inner=inner)
