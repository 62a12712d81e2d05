"""What answering a survey costs a person: the privacy loss before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deniably.core.loss import Loss
from deniably.device.ledger import (
    ENDING_SCOPES,
    Account,
    Leaving,
    Limits,
    Scope,
    charge,
    counted_entries,
    first_to_leave,
    spent,
    total_loss,
)
from deniably.device.memory import Memory, charge_day, charges, counted_since
from deniably.survey.questions import Question
from deniably.survey.survey import Survey


@dataclass(frozen=True)
class Cost:
    """The privacy loss that counts against each limit before and after a report.

    ``before`` and ``after`` have the loss for "survey" (all reports to this version), "author" and
    "overall". ``ever`` is the loss of all that this device ever sent, this report included.
    Charges for "author" and "overall" stop counting after a year; ``leaving`` has the (loss, day)
    of the next charges to do so, or None where nothing counts.
    """

    before: Mapping[Scope, Loss]
    after: Mapping[Scope, Loss]
    ever: Loss
    leaving: Mapping[Scope, Leaving | None]


def cost_of(
    memory: Memory,
    survey: Survey,
    fresh: Sequence[Question],
    author: str,
    day: str,
    limits: Limits,
    account: Account,
) -> Cost:
    """Returns what it costs to answer the ``fresh`` questions of a survey today, ``day``.

    ``account`` says what is counted. Raises BudgetSpent where a limit would be exceeded.
    """
    own, since = (survey.digest, author), counted_since(memory, author, day)
    counted = counted_entries(memory.ledger, *own, since)
    before: dict[Scope, Loss] = {
        scope: total_loss(entries, account) for scope, entries in counted.items()
    }
    leaving: dict[Scope, Leaving | None] = {
        scope: first_to_leave(counted[scope], account) for scope in ENDING_SCOPES
    }
    entries = charges(survey, fresh, author, charge_day(memory, author, day))
    ledger = charge(memory.ledger, entries, limits, since)
    after = spent(ledger, *own, since, account)
    return Cost(before, after, total_loss(ledger, account), leaving)
