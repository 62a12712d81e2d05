"""Estimates as people expect to see them: no share below 0, none above 1, sums that add up.

Everything here changes unbiased estimates and is for display only; inference stays with those.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from deniably.binomial import Floats
from deniably.estimate import project


def shares_of_one(
    raw: npt.ArrayLike, low: npt.ArrayLike | None = None, high: npt.ArrayLike | None = None
) -> Floats:
    """Shares of a single choice, shape (k,): the nearest point of the simplex.

    With the ends of intervals, each share is then moved into its own, so that no picture shows a
    point outside its margin; the sum may miss 1 by as much as that moved, which is rare and little.
    """
    shares = project(raw)
    return shares if low is None or high is None else clamp(shares, low, high)


def shares_of_set(raw: npt.ArrayLike) -> Floats:
    """Shares of a question with any number of ticks: each is a share of its own, within [0, 1]."""
    return clamp(raw, 0.0, 1.0)


def clamp(point: npt.ArrayLike, low: npt.ArrayLike, high: npt.ArrayLike) -> Floats:
    """The point of ``low .. high`` nearest to each displayed ``point``; arrays that broadcast."""
    inside: Floats = np.clip(np.asarray(point, dtype=np.float64), low, high)
    return inside


def shares_of_few(raw: npt.ArrayLike, stands_out: npt.ArrayLike) -> Floats | None:
    """Shares of a single choice in a large sparse domain, where few choices have nearly everybody:
    those that stand out (see ``base_cut``) and no other, shape (k,); None where the domain is small
    (up to ``LARGE`` choices) or those that stand out have less than ``NEARLY_ALL``.

    Projecting takes the noise of all others away from these: its squared error was two to four
    times as large with 3 of 40 or 200 choices taken, 5,000 people, epsilon 1 or 2 (simulated).
    """
    values, stays = np.asarray(raw, dtype=np.float64), np.asarray(stands_out, dtype=np.bool_)
    if values.size <= LARGE or values[stays].sum() < NEARLY_ALL:
        return None
    shown = np.zeros_like(values)
    shown[stays] = project(values[stays])
    return shown


LARGE, NEARLY_ALL = 20, 0.9


def base_cut(
    raw: npt.ArrayLike, noise: npt.ArrayLike, alpha: float = 0.05, *, normalise: bool = False
) -> Floats:
    """The choices that stand out from the noise in a large domain, all others 0; shape (k,).

    Zero is what lies below ``noise`` times the 1 - alpha / k quantile of the normal distribution,
    where ``noise`` is the standard error at a true share of 0: the chance that any of k choices
    that nobody has is shown is then about alpha. The shares that stay are unbiased but for being
    selected, and so they are left as they are: their sum says how much was found. ``normalise``
    projects them on a sum of 1, as if nobody had a choice that was cut.
    Source: Wang et al. 2020 (NDSS, "Locally differentially private frequency estimation with
    consistency"), Base-Cut. Raises ValueError unless 0 < alpha < 1.
    """
    if not 0 < alpha < 1:
        raise ValueError("alpha, the risk of showing a choice that nobody has, is between 0 and 1")
    values = np.asarray(raw, dtype=np.float64)
    threshold = np.asarray(noise) * NormalDist().inv_cdf(1 - alpha / values.size)
    stays = values >= threshold
    shown: Floats = np.where(stays, values, 0.0)
    if normalise and stays.any():
        shown[stays] = project(shown[stays])
    return shown
