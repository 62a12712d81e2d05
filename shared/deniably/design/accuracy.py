"""Compares the accuracy of a question's mechanism with and without waves.

Needs the extra ``author``.
"""

from __future__ import annotations

from deniably.design.best_mechanisms import cdf_variance
from deniably.design.budgeting import SHARE
from deniably.estimation.channels import matrix
from deniably.estimation.scores import of_target
from deniably.estimation.variances import mean_variance, share_variance
from deniably.mechanisms.law import Finite, HasLaw, Law, Supporting
from deniably.survey.questions import Number, Question


def accuracy(mechanism: HasLaw[Law], kind: str) -> float:
    """Returns n times the variance of an estimate from n reports: a share of 30 %, or a mean on 0
    to 1.

    ``kind`` is the type of the question that the mechanism asks, such as "select_one".
    """
    law = mechanism.law
    if isinstance(law, Supporting):
        return share_variance(law, SHARE)
    if kind in ("yes_no", "select_one"):  # by coins: of each of two answers it is the same
        return of_target(law, (1, 0)).at(SHARE)
    return mean_variance(law) / 4


def cost_of_waves(alone: HasLaw[Law], question: Question) -> float:
    """Returns how many times as many people a wave needs as a single survey of the same accuracy.

    ``alone`` is the mechanism that would ask the published ``question`` without waves.
    """
    single, kept = alone.law, question.mechanism.law
    if (
        isinstance(question, Number)
        and question.aim == "distribution"
        # Distributions of numbers are shown by their distribution function, so its variance is
        # compared.
        and _windows_at(single) == _windows_at(kept) != 0
    ):
        return cdf_variance(matrix(kept)) / cdf_variance(matrix(single))
    return accuracy(kept, question.type) / accuracy(single, question.type)


def _windows_at(law: Law) -> int:
    """The number of places where a window can start; 0 for another mechanism."""
    return law.rows if isinstance(law, Finite) and law.evenly else 0
