"""Chooses the mechanism for a published question at another level of privacy.

Needs the extra ``author``.
"""

from __future__ import annotations

from fractions import Fraction
from math import prod

from deniably.design.best_mechanisms import beyond_of
from deniably.design.named_mechanisms import (
    Task,
    choice_task,
    joint_task,
    number_task,
    scale_task,
    ticks_task,
    vector_task,
)
from deniably.mechanisms import Mechanism
from deniably.mechanisms.law import Supporting
from deniably.survey.parts import Claim
from deniably.survey.privacy import Privacy
from deniably.survey.questions import (
    Number,
    Point,
    Product,
    Question,
    Scale,
    SelectMultiple,
    VectorOfNumbers,
)


def mechanism_at(question: Question, privacy: Privacy) -> Mechanism:
    """Returns the mechanism that a question would have at another level of privacy.

    If the question has the best mechanism now, it is the best one at that level; otherwise it is
    the one that has the same name. A two-coin design with a biased second coin becomes subset
    selection. Raises ValueError where no mechanism keeps the privacy.
    """
    task = task_of(question)
    name = None if _has_the_best(question, task) else task.names.of(question.report_mechanism)
    return task.choose(privacy, name)


def task_of(question: Question) -> Task:
    """Returns the task of a published question: which figures its mechanism is to estimate."""
    match question:
        case SelectMultiple():
            return ticks_task(len(question.choices), question.most)
        case Scale():
            law = question.mechanism.law
            named = isinstance(law, Supporting) and law.single
            aim = "distribution" if named else question.aim
            return scale_task(len(question.choices), aim)
        case Number():
            return number_task(
                question.mechanism.k, question.aim, beyond_of(question.report_mechanism)
            )
        case VectorOfNumbers():
            return vector_task([part.range.positions for part in question.parts])
        case Point() | Product():
            return joint_task(question.type, prod(question.shape))
        case _:
            return choice_task(len(question.choices))


def _has_the_best(question: Question, task: Task) -> bool:
    try:
        return task.choose(promised(question.claim), None) == question.report_mechanism
    except ValueError:
        return False


def promised(claim: Claim) -> Privacy:
    """Returns the privacy (odds, or epsilon and delta) that a question's published claim states."""
    if isinstance(claim.odds, str):
        return Privacy(odds=Fraction(claim.odds))
    assert isinstance(claim.epsilon, str)
    delta = Fraction(claim.delta) if isinstance(claim.delta, str) else None
    return Privacy(epsilon=Fraction(claim.epsilon), delta=delta)
