"""Compares the mechanisms that an author can name for a question, at the same privacy.

Needs the extra ``author``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf

from msgspec import UNSET
from msgspec.structs import replace as with_fields

from deniably.design.at_privacy import promised, task_of
from deniably.design.planning import Goal, estimable_groups, margin_for
from deniably.estimation.figures import Group, groups
from deniably.mechanisms import Mechanism, Memoised
from deniably.survey.privacy import Privacy, to_decimal_text
from deniably.survey.questions import Question

USUAL_DELTA = Fraction(1, 100_000)
"""The delta of Gaussian noise where the question has none."""


@dataclass(frozen=True)
class Alternative:
    """A mechanism for a question, with a ``title`` for people and the margin that it would give.

    ``margin`` is the widest margin among the question's figures, infinite where the reports do not
    determine one of the figures.
    """

    title: str
    mechanism: Mechanism
    margin: float


def alternatives(
    question: Question, n: int, share: float | None = None, reports: float = 1.0
) -> list[Alternative]:
    """Returns all mechanisms that an author can name for the question, at its epsilon.

    The margins are those of ``planning.margin_for`` for ``n`` respondents, of whom the fraction
    ``reports`` answers. ``share`` is the expected share; None stands for the one with the largest
    variance. The question's own mechanism is in the list if it has a name. The list is empty where
    there is no other mechanism, and for a wave of a panel, where memos (permanently randomised
    answers) restrict the choice.
    """
    if isinstance(question.mechanism, Memoised):
        return []
    named = list(_different(question))
    if not any(mechanism != question.mechanism for _, mechanism in named):
        return []
    return [
        Alternative(title, mechanism, _margin(question, mechanism, n, share, reports))
        for title, mechanism in named
    ]


def _different(question: Question) -> Iterator[tuple[str, Mechanism]]:
    """Title and mechanism of every name; of several names of one mechanism, the first."""
    task, privacy = task_of(question), promised(question.claim)
    seen: list[Mechanism] = []
    for name, row in task.names.rows.items():
        if not row.listed:
            continue
        # Without a delta first, if the question has none: only Gaussian noise needs one.
        for delta in dict.fromkeys((privacy.delta, USUAL_DELTA)):
            try:
                mechanism = task.choose(replace(privacy, delta=delta), name)
            except ValueError:  # it keeps no such promise, or lacks a delta
                continue
            if mechanism not in seen:
                seen.append(mechanism)
                yield _title(row.titled(name, mechanism), mechanism, privacy), mechanism
            break


def _title(title: str, mechanism: Mechanism, privacy: Privacy) -> str:
    """With the delta, where the question itself has none."""
    if not mechanism.loss.delta or privacy.delta is not None:
        return title
    return f"{title} with delta {to_decimal_text(mechanism.loss.delta)}"


def _margin(
    question: Question, mechanism: Mechanism, n: int, share: float | None, reports: float
) -> float:
    shown = {group.name for group in estimable_groups(question)}
    delta = to_decimal_text(mechanism.loss.delta) if mechanism.loss.delta else UNSET
    claim = with_fields(question.claim, delta=delta)
    asked_so = with_fields(question, mechanism=mechanism, claim=claim)
    margins = [
        margin_for(_goal(group, mechanism, share, reports), mechanism.loss.epsilon, n).margin
        for group in groups(asked_so)
        if group.name in shown
    ]
    return max(margins, default=inf)


def _goal(group: Group, mechanism: Mechanism, share: float | None, reports: float) -> Goal:
    return Goal(lambda _: group.variance(mechanism, share), group.spread(share), reports)
