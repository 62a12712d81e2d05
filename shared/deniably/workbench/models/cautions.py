"""Adds notes of caution to a model whose reports say so little that its figures promise too
much."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from deniably.core.binomial import Floats
from deniably.workbench.models.effective_people import effective
from deniably.workbench.models.estimators import Task
from deniably.workbench.models.randomised import Randomised

_VAGUE = 0.1
"""The standard error of the share of yes above which a note is shown. At .20 (epsilon 0.5, 100
people) 43 of 100 fits of a slope of .5 were refused, and the median of the others was .28; at .10
it was 4 of 100, and .51."""
_RARE = 3.0
"""A share below this many of its standard errors is called rare. Intervals of the coefficients of
such answers held in as few as 89 of 100 surveys."""


def cautions(task: Task) -> Iterator[str]:
    """Yields notes of caution on a model of a randomised outcome: that the reports leave the share
    of yes very uncertain, or, with more than two answers, that some answers are rare. Yields
    nothing for a linear model."""
    if task.outcome is None or task.link == "identity":
        return
    shares, errors = _shares(task.outcome, task.weights)
    if task.outcome.k == 2 and errors[1] > _VAGUE:
        yield (
            f"Caution: these reports tell the share of {task.outcome.choices[1]} itself only to"
            f" within {1.96 * errors[1]:.2f} either way. Of reports that say so little many fits"
            " are refused, and the slopes of the others tend to be nearer to 0 than the true ones."
        )
    rare = np.flatnonzero(shares < _RARE * errors)
    if task.outcome.k > 2 and rare.size:
        named = ", ".join(str(task.outcome.choices[place]) for place in rare)
        yield (
            f"Caution: few people answered {named}, by these reports. Intervals of the coefficients"
            " of a rare answer may hold the truth less often than they say: merge it with another."
        )


def _shares(outcome: Randomised, weights: Floats | None) -> tuple[Floats, Floats]:
    """Returns the unbiased share of each answer, and its standard error."""
    # Only ratios of weights count, and no square overflows.
    w = np.ones(len(outcome.codes)) if weights is None else weights / weights.max()
    kinds = np.bincount(outcome.codes, w, len(outcome.scores)) / w.sum()
    shares = kinds @ outcome.scores
    variance = kinds @ (outcome.scores - shares) ** 2
    return shares, np.sqrt(variance / effective(w))
