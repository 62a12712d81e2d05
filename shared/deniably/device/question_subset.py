"""Chooses a part of a survey's questions, where a device has too little budget left for all
(SPEC 4.7).

Chance puts the questions into an order, once; the memory keeps it. A device answers those that
still fit its limits, taken in that order. So which they are depends on chance, on public losses and
on the ledger, and on no answer.
"""

from __future__ import annotations

from deniably.core.coins import Coins
from deniably.core.errors import BudgetSpent
from deniably.core.loss import Loss
from deniably.device.ledger import (
    Account,
    Limits,
    Scope,
    accounts,
    check_limits,
    spent,
    total_loss,
)
from deniably.device.memory import Memory, charge_day, charges, counted_since, replace
from deniably.survey.questions import Question
from deniably.survey.survey import Survey


def with_order(memory: Memory, survey: Survey, coins: Coins | None = None) -> Memory:
    """Returns the memory with a random order of the survey's questions.

    An order that the memory has already is kept; otherwise one is drawn. In a survey with ``ask``
    the order has only that many questions. If the survey was answered, no order is added. Store the
    memory before you show any question: otherwise a person could reload until the order suits.
    """
    version = survey.digest
    if version in (memory.orders or {}) or version in memory.reports:
        return memory
    size = len(survey.questions)  # all are drawn, whatever number is asked
    drawn = (coins or Coins()).pick(size, size)[: survey.asked]
    names = [survey.questions[place].name for place in drawn]
    return replace(memory, orders={**(memory.orders or {}), version: names})


def ordered_questions(memory: Memory, survey: Survey) -> list[Question] | None:
    """Returns the questions in the order that ``with_order`` drew for this survey; None without an
    order."""
    names = (memory.orders or {}).get(survey.digest)
    if names is None:
        return None
    by_name = {question.name: question for question in survey.questions}
    return [by_name[name] for name in names]


def part_of(
    memory: Memory, survey: Survey, author: str, day: str, limits: Limits
) -> list[Question]:
    """Returns the questions for which the limits leave enough budget, in the survey's order.

    Questions are taken in the order that ``with_order`` drew, and one that no longer fits is
    skipped. The list is empty if no question fits, or if the memory has no order of the survey's
    questions. ``author`` is the author's public key, ``day`` today's date by the device's clock.
    """
    since = counted_since(memory, author, day)
    before: dict[Account, dict[Scope, Loss]] = {
        account: spent(memory.ledger, survey.digest, author, since, account)
        for account in accounts(memory.ledger)
    }
    dated = charge_day(memory, author, day)
    taken: list[Question] = []
    for question in ordered_questions(memory, survey) or ():
        # All taken questions are charged together in the end, so their exact sum is what has to
        # fit.
        loss = total_loss(charges(survey, [*taken, question], author, dated))
        try:
            for account, totals in before.items():
                for scope, so_far in totals.items():
                    check_limits(scope, so_far, loss, limits, account)
        except BudgetSpent:
            continue  # a later question with a smaller loss may still fit
        taken.append(question)
    return [question for question in survey.questions if question in taken]
