"""Answers a survey with a mixer: the memory keeps the envelope that is sent to it (SPEC 7).

Devices seal each report for the survey's server, and all of them for the mixer. What was sealed
stays as it is: nobody can change it, and a second envelope would count as a second person.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from deniably.core.coins import Coins
from deniably.device.ledger import Limits, charge
from deniably.device.memory import (
    Memory,
    StoredReport,
    charge_day,
    charges,
    counted_since,
    replace,
)
from deniably.survey.report import Report, check_names, separate_reports
from deniably.survey.survey import Survey


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
    envelopes = seal(separate_reports(survey, answers, coins))
    # In the order of their hashes, so that none shows which question it is for.
    inner = sorted(hashlib.sha256(each).hexdigest() for each in envelopes.inner)
    kept = StoredReport(sent=False, sealed=envelopes.outer.hex(), inner=inner)
    return replace(memory, ledger=ledger, reports=memory.reports | {survey.digest: kept})
