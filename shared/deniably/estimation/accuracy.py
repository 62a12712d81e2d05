"""How accurately a mechanism tells a share or a mean: n times the variance of n people's estimate.

People are drawn at random, and where it depends on how their answers are spread, the worst spread
counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import Floats
from deniably.estimation.inversion import allowed
from deniably.estimation.scores import of_choice, of_number, of_target
from deniably.mechanisms.law import HasLaw, Law, Supporting

Curve = Callable[[float], float]
"""n times the variance of an estimated share, by the true one."""

_MEANS = 129  # tried, for the worst


def share_curve(mechanism: HasLaw[Law], answers: Sequence[int]) -> Curve:
    """Of the share of those who give one of ``answers``; inf throughout where the reports do not
    tell them from the others. Through some channels answers differ: those count that vary most."""
    law = mechanism.law
    if isinstance(law, Supporting) and len(answers) == 1:
        return of_choice(law).at
    target = np.zeros(law.domain.count)
    target[list(answers)] = 1.0
    try:
        return of_target(law, target).at
    except ValueError:
        return lambda _: inf


def worst(curve: Curve, share: float | None = None) -> float:
    """At the share, or at the worst: the top of a parabola that is open below."""
    if share is not None:
        return curve(share)
    none, half, every = curve(0.0), curve(0.5), curve(1.0)
    bend = 2 * (none - 2 * half + every)
    if not bend < 0:  # no estimate: inf throughout
        return none
    return curve(min(max((none - every + bend) / (2 * bend), 0.0), 1.0))


def average_variance(mechanism: HasLaw[Law], places: Floats | None, part: int = 0) -> float:
    """Of the mean of ``places``, shape (k,), on [0, 1]; None stands for positions on an even grid.
    Of several numbers that of one ``part``. inf where the reports do not tell it."""
    if places is None:
        return of_number(mechanism, part).worst
    try:
        return of_target(mechanism, places).worst
    except ValueError:
        return inf


def ratio_variance(mechanism: HasLaw[Law], places: Floats, scored: npt.NDArray[np.bool_]) -> float:
    """Of the mean of ``places`` among those whose answer is ``scored``, if that is everybody.

    To first order the ratio errs as the mean of place - mu does among them, where mu is the true
    mean, and that of no matter what among the others.
    """

    def at(mu: float) -> float:
        square = of_target(mechanism, np.where(scored, places - mu, 0.0)).square
        return float(allowed(places[scored], square[scored])(mu, inf))

    try:
        return max(at(mu) for mu in np.linspace(0, 1, _MEANS).tolist())
    except ValueError:
        return inf
