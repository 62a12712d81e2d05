"""Computes what an author's other surveys of a year leave to somebody who answered all of them.

A device gives one author at most epsilon 10 in 365 days (SPEC 8). The server's public register
lists what an author published there, so anybody can work out who will be refused: those who take
part in everything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from deniably.core.errors import BadRegister, BadSurvey, BudgetSpent
from deniably.core.loss import Loss
from deniably.device.ledger import Limits, charge, first_counted_day, spent
from deniably.device.memory import Memory, charges, fresh_questions, memo_keys, replace
from deniably.device.question_subset import part_of
from deniably.mechanisms import Memoised
from deniably.survey.questions import Question
from deniably.survey.survey import Survey, read_survey
from deniably.trust.register import read_register

Fetch = Callable[[str], bytes]
"""Returns the bytes at a path of the server, such as ``/register``; empty where there are none."""


@dataclass(frozen=True)
class Published:
    """A survey, and the day on which it was published."""

    day: str
    survey: Survey


@dataclass(frozen=True)
class LeftToLoyal:
    """The budget left to somebody who answers every survey of an author, each on its day of
    publication.

    ``others`` is the number of the author's other surveys, and ``answered`` how many of them fitted
    within the limit. ``spent`` is the privacy loss for these that still counts, and ``asked`` is
    what one more survey would add. If that survey does not fit, ``refused`` is true and ``until``
    is the first day on which it fits; None if there is none. If the survey allows parts, ``part``
    is about how many of its questions fit: the mean over orders that start at each question.
    """

    others: int
    answered: int
    spent: Loss
    asked: Loss
    refused: bool = False
    until: str | None = None
    part: int = 0


def published_by(author: str, fetch: Fetch, today: str) -> list[Published]:
    """Returns an author's surveys of the last 365 days that a server lists, oldest first.

    ``author`` is the public key, ``today`` a date such as "2026-11-21". Raises BadRegister where
    the server has no register, or a survey in it cannot be fetched as it was published.
    """
    since = first_counted_day(today, [today])
    surveys: list[Published] = []
    for entry in read_register(fetch("/register")).entries:
        day = str(entry.get("day"))
        if entry.get("event") == "published" and entry.get("author") == author and day >= since:
            surveys.append(Published(day, _definition(entry, fetch)))
    return sorted(surveys, key=lambda published: published.day)


def left_to_loyal(survey: Survey, others: Sequence[Published], today: str) -> LeftToLoyal:
    """Returns the budget that is left for ``survey`` to somebody who answered all ``others``.

    The limits are those that devices have by default. If each device asks only some of the survey's
    questions, those with the largest privacy loss are assumed.
    """
    memory, limits, answered = Memory(), Limits(), 0
    for other in others:
        try:
            memory = _answered(memory, other.survey, other.day, limits)
            answered += 1
        except BudgetSpent:
            continue
    # All surveys are of one author, so an empty key stands for it.
    before = spent(memory.ledger, survey.digest, "")["author"]
    try:
        after = _answered(memory, survey, today, limits)
    except BudgetSpent as refused:
        part, until = _part(memory, survey, today), refused.until
        return LeftToLoyal(len(others), answered, before, refused.asked, True, until, part)
    total = spent(after.ledger[len(memory.ledger) :], survey.digest, "")["author"]
    return LeftToLoyal(len(others), answered, before, total)


def sentences(survey: Survey, author: str, fetch: Fetch, today: str) -> list[str]:
    """Returns sentences for an author on how other surveys of the author affect this one.

    The list is empty if the server has no other surveys of the author. Raises BadRegister as
    ``published_by`` does.
    """
    others = [
        each for each in published_by(author, fetch, today) if each.survey.digest != survey.digest
    ]
    return [_sentence(survey, left_to_loyal(survey, others, today))] if others else []


def _sentence(survey: Survey, left: LeftToLoyal) -> str:
    limit = Limits().author
    others = "the other one" if left.others == 1 else f"the {left.others} others"
    start = (
        f"This is your survey number {left.others + 1} on this server in 365 days. Somebody who"
        f" answered {others} has used epsilon {left.spent.epsilon_text()} of the {limit} that a"
        " device gives away to one author in that time"
    )
    if left.answered < left.others:
        start += f" (only {left.answered} of them fit below this limit)"
    if not left.refused:
        return f"{start}, and {(left.spent + left.asked).epsilon_text()} with this one."
    until = f" before {left.until}" if left.until else ""
    if left.part:
        everything = "the other one" if left.others == 1 else "all others"
        return (
            f"{start}, and this one asks {left.asked.epsilon_text()} more: people who answered"
            f" {everything} will be offered about {left.part} of {survey.asked} questions{until}."
            " So each question has its own n, below the number of reports to the survey."
        )
    return (
        f"{start}, and this one asks {left.asked.epsilon_text()} more: their devices refuse"
        f" it{until}. People who take part in everything will be missing from its results, and the"
        " intervals do not show that. Lower its epsilon, ask fewer questions, or wait."
    )


def _answered(memory: Memory, survey: Survey, day: str, limits: Limits) -> Memory:
    """The memory after the survey's dearest draw. Raises BudgetSpent for the author's limit."""
    fresh = fresh_questions(memory, survey, _dearest(survey))
    ledger = charge(memory.ledger, charges(survey, fresh, "", day), _of_author(limits))
    # Any value marks a memo as drawn: later waves of the panel then cost nothing.
    keys = memo_keys(survey, "") if not survey.count else {}
    return replace(memory, ledger=ledger, memos=memory.memos | {key: [0] for key in keys.values()})


def _part(memory: Memory, survey: Survey, today: str) -> int:
    """About how many questions of the survey fit; 0 where it allows no part."""
    if not survey.part:
        return 0
    names, sizes = [question.name for question in survey.questions], list[int]()
    for start in range(len(names)):
        # Turned so that each question comes first once.
        order = (names * 2)[start : start + survey.asked]
        held = replace(memory, orders={survey.digest: order})
        sizes.append(len(part_of(held, survey, "", today, _of_author(Limits()))))
    return round(sum(sizes) / len(sizes))


def _of_author(limits: Limits) -> Limits:
    """Limits of which only an author's refuses: ``refusals`` looks at that of the survey."""
    return Limits(limits.author, limits.author, limits.author)


def _dearest(survey: Survey) -> list[Question]:
    """The questions of the draw that costs most, in the survey's order."""

    def cost(question: Question) -> Loss:
        mechanism = question.mechanism
        return mechanism.history if isinstance(mechanism, Memoised) else mechanism.loss

    names = [each.name for each in sorted(survey.questions, key=cost, reverse=True)][: survey.asked]
    return [each for each in survey.questions if each.name in names]


def _definition(entry: dict[str, object], fetch: Fetch) -> Survey:
    name = str(entry.get("survey"))
    try:
        survey = read_survey(fetch(f"/api/surveys/{quote(name, safe='')}"))
        if survey.digest == entry.get("digest"):
            return survey
    except BadSurvey:
        pass
    raise BadRegister(f"the survey {name} is in the register, and cannot be fetched as it is there")
