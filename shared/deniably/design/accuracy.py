"""How accurate a question is with its mechanism, and what waves cost of that.

Needs the extra ``author``.
"""

from __future__ import annotations

from deniably.design.budgeting import SHARE
from deniably.design.calibration import cdf_variance, vector_variance
from deniably.estimation.channels import matrix
from deniably.estimation.variances import mean_variance, share_variance
from deniably.mechanisms import (
    BoundedLaplace,
    Channel,
    Gaussian,
    Laplace,
    Mechanism,
    SampledTicks,
    SetResponse,
    SubsetSelection,
    Unary,
    Vector,
    Window,
)
from deniably.survey.questions import Number, Question


def accuracy(mechanism: Mechanism, kind: str) -> float:
    """n times the variance of a share of 30 %, or of a mean on 0 to 1, where a question of this
    type is asked by the mechanism."""
    match mechanism:
        case SubsetSelection() | SetResponse() | SampledTicks() | Unary():
            return share_variance(mechanism, SHARE)
        case Vector():
            return vector_variance(mechanism) / 4
        case Gaussian() if kind == "vector":
            return vector_variance(mechanism) / 4
        case Channel() if kind in ("yes_no", "select_one"):
            (s, _), (t, _) = mechanism.weights
            total = sum(mechanism.weights[0])
            support = (t + (s - t) * SHARE) / total
            return support * (1 - support) / ((s - t) / total) ** 2
        case Window() | Channel() | BoundedLaplace() | Laplace() | Gaussian():
            return mean_variance(mechanism) / 4


def cost_of_waves(alone: Mechanism, question: Question) -> float:
    """How many times the people one wave of a published question takes for the accuracy that it
    would have without waves, when ``alone`` would ask it."""
    kept = question.once
    if (
        isinstance(question, Number)
        and question.aim == "distribution"
        and isinstance(alone, Window)
        and isinstance(kept, Window)
        and alone.m - alone.w == kept.m - kept.w
    ):
        return cdf_variance(matrix(kept)) / cdf_variance(matrix(alone))
    return accuracy(kept, question.type) / accuracy(alone, question.type)
