"""Computes how many people weighted reports count as, and how many degrees of freedom are left for
errors."""

from __future__ import annotations

import numpy as np

from deniably.core.binomial import Floats
from deniably.core.errors import NoEstimate
from deniably.workbench.models.fit import Ints

_LEAST = 3
"""Degrees of freedom below which no interval is shown."""
ONE_PERSON = (
    "one person decides a coefficient alone: trim the largest weights, or leave columns out"
)


def effective(weights: Floats) -> float:
    """Returns Kish's effective sample size, (sum w)^2 / sum w^2 (Kish 1965)."""
    # So that no square is beyond floats.
    w = weights / weights.max()
    return float(w.sum() ** 2 / (w @ w))


def degrees_left(weights: Floats, columns: int, strata: Ints | None = None) -> float:
    """Returns the degrees of freedom of a fit: Kish's effective sample size, less the ``columns``
    of the model, less the number of different ``strata`` but one.

    Raises NoEstimate where fewer than 3 are left.
    """
    people = effective(weights)
    groups = 1 if strata is None else len(np.unique(strata))
    degrees = people - columns - (groups - 1)
    if degrees < _LEAST:
        what = f"{columns} columns" + (f" and {groups} strata" if groups > 1 else "")
        enough = columns + groups - 1 + _LEAST
        # Equal weights: their cost need not be mentioned.
        if people > len(weights) - 1e-6:
            raise NoEstimate(f"{len(weights)} reports are too few for {what}: at least {enough}")
        raise NoEstimate(
            f"the reports count as those of {people:.1f} people (Kish's effective number), too few"
            f" for {what}: at least {enough} are needed; trim the largest weights, leave columns"
            " out, or collect more reports"
        )
    return degrees
