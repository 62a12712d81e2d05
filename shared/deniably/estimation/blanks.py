"""Takes blanks out of estimates: made-up reports that a mixer adds to those of people.

A blank is the report of a uniformly random answer, so its law is known (SPEC 13). Say D blanks are
among N = n + D reports, of which n are people's. The mean m of a score over all reports becomes

    (N m - D m0) / n,

where m0 is the mean score of a blank, and its variance gains D v0 / n^2. Estimators come by that in
one of two ways:

* The count of a choice is the sum of two binomials, of people and of blanks: the ``coins`` of
  ``intervals``. So exact intervals stay exact.
* A report drawn from the batch is a blank with probability D / N. So the batch is N reports through
  a blended channel, and whatever estimates through a channel works. As exactly D are blanks,
  estimates vary less than if chance made each a blank: ``Saved`` is the difference.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deniably.core.binomial import Floats


@dataclass(frozen=True, eq=False)
class Blanks:
    """Blanks among reports with finitely many outputs: their ``number``, and the ``law`` of one.

    The law has shape (outputs,). ``fixed`` says that exactly so many are blanks. Otherwise that is
    expected, as of reports with one part of a vector, and nothing is saved.
    """

    number: float
    law: Floats
    fixed: bool = True


@dataclass(frozen=True, eq=False)
class Saved:
    """By how much estimates vary less because exactly D of N reports are blanks.

    The variance at a mean mu is smaller by ``weight`` times (mu - middle)^2, where ``middle`` is
    the mean of uniform answers and the weight D / (n N).
    """

    weight: float
    middle: Floats

    def at(self, mean: Floats) -> Floats:
        """Returns what the variance at ``mean`` is smaller by."""
        saved: Floats = self.weight * (mean - self.middle) ** 2
        return saved


NOTHING_SAVED = Saved(0.0, np.zeros(()))
"""That of reports of which none is a blank."""


def saved_weight(people: float, blanks: float) -> float:
    """Returns D / (n N), the weight of what is saved."""
    return blanks / (people * (people + blanks))


def blended_channel(channel: Floats, people: float, blanks: Blanks | None) -> Floats:
    """Returns the law of a report drawn from the batch by the answer of a person, (k, outputs)."""
    if blanks is None:
        return channel
    reports = people + blanks.number
    blended: Floats = (people * channel + blanks.number * blanks.law) / reports
    return blended


def blended_scores(scores: Floats, people: float, blanks: Blanks | None) -> tuple[Floats, Saved]:
    """Returns scores whose mean over all reports of the batch is that of people, and what is saved.

    ``scores`` have the shape (outputs,) or (t, outputs); ``middle`` of what is saved has (), or
    (t,).
    """
    if blanks is None:
        return scores, Saved(0.0, np.zeros(scores.shape[:-1]))
    made_up = np.asarray(scores @ blanks.law)
    reports = people + blanks.number
    blended: Floats = (reports * scores - blanks.number * made_up[..., None]) / people
    weight = saved_weight(people, blanks.number) if blanks.fixed else 0.0
    return blended, Saved(weight, made_up)
