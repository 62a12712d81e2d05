"""The privacy loss of one person who answers a survey, exactly (SPEC 2.2).

The largest loss counts of one answer, the sum of a whole report, and that sum once for each wave of
a panel. Where a device answers a part of the questions, the most costly part counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from deniably.core.loss import Loss, largest
from deniably.mechanisms import Mechanism, Memoised

OfQuestion = Mechanism | Memoised[Any]
"""The mechanism of a question."""


def worst_answer(mechanisms: Iterable[OfQuestion]) -> Loss:
    """Returns the largest privacy loss of an answer to one question; ``mechanisms`` are those of
    all questions."""
    return largest([mechanism.loss for mechanism in mechanisms], 1)


def whole_report(mechanisms: Iterable[OfQuestion], asked: int) -> Loss:
    """Returns a bound of the privacy loss of a report that answers any ``asked`` of the questions:
    the sum over the ``asked`` mechanisms with the largest losses."""
    return largest([mechanism.loss for mechanism in mechanisms], asked)


def all_waves(mechanisms: Iterable[OfQuestion], asked: int, waves: int) -> Loss:
    """Returns a bound of the privacy loss of one person's reports over ``waves`` waves.

    The reports of a memoised mechanism are bounded over all waves by its ``history``; those of
    other mechanisms add their loss in each wave. ``waves`` is 1 where devices keep memos.
    """
    losses = [
        mechanism.history if isinstance(mechanism, Memoised) else mechanism.loss
        for mechanism in mechanisms
    ]
    # Each wave draws its own ``asked`` questions, so the costliest can be asked in all of them.
    return largest(losses * waves, asked * waves)
