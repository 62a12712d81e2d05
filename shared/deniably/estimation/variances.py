"""Variances of estimates by mechanism, as n times the variance of an estimate from n reports."""

from __future__ import annotations

import numpy as np

from deniably.core.binomial import Floats
from deniably.estimation.channels import position_scores, rows
from deniably.estimation.estimate import Pure
from deniably.estimation.scores import of_choice, of_target
from deniably.mechanisms.law import Finite, HasLaw, Law, Noise, Several, Supporting


def share_variance(mechanism: Pure, share: float) -> float:
    """Returns n times the variance of an estimated share at the true ``share``.

    The variance is larger where each device reports only a sample of the options.
    """
    return of_choice(mechanism).at(share)


def marginal_variance(mechanism: Pure, groups: int, share: float) -> float:
    """Returns n times the variance of a group's estimated share, at the true ``share``.

    The choices form ``groups`` groups of equal size. In a product, which asks several small
    questions in one joint report, such a group is a choice of one of these questions.
    """
    k = mechanism.law.k
    return of_target(mechanism, np.arange(k) < k // groups).at(share)


def mean_variance(mechanism: HasLaw[Law]) -> float:
    """Returns n times the worst variance of a mean on [-1, 1], averaged over the numbers of a
    vector."""
    law = mechanism.law
    if isinstance(law, Several):
        # Parts with equal ranges mostly share their law, whose variance is found once.
        of_law = {id(part): part for part in law.parts}
        each = {key: mean_variance(part) for key, part in of_law.items()}
        return float(np.mean([each[id(part)] for part in law.parts])) / float(law.sampled_fraction)
    if isinstance(law, Supporting):
        return 4 * float(of_target(law).noise.max())
    if isinstance(law, Noise):
        return law.variance * (2 / (law.k - 1)) ** 2
    return worst_variance(law)


def worst_variance(mechanism: HasLaw[Finite]) -> float:
    """Returns n times the largest variance of an unbiased mean, over all values on [-1, 1].

    ``mechanism`` rounds values to the rows of a matrix. Between two rows the variance is a concave
    parabola, so its top is at an end or at its vertex. If there are no more positions than rows,
    only the rows count.
    """
    law = mechanism.law
    at_rows, between = at_and_between(law)
    return at_rows if law.rows >= law.k else max(at_rows, between)


def at_and_between(mechanism: HasLaw[Finite]) -> tuple[float, float]:
    """Returns n times the largest variance of a mean at the rows, and between two rows.

    ``mechanism`` rounds values to the rows of a matrix. Means are on [-1, 1]; neither number
    depends on the number of positions k.
    """
    law = mechanism.law
    score = position_scores(law) * (2 / (law.k - 1)) - 1
    probabilities = rows(law)
    place = np.linspace(-1, 1, law.rows)
    square: Floats = probabilities @ score**2
    slope = np.diff(square) / np.diff(place)
    # Between rows the mean square is linear in the true value x, so the variance is linear less
    # x^2, with its vertex at half the slope.
    top = np.clip(slope / 2, place[:-1], place[1:])
    between = square[:-1] + slope * (top - place[:-1]) - top**2
    return float((square - place**2).max()), float(between.max())
