"""From a tally to frequencies with honest margins: one estimator for every pure mechanism.

With p = P(support | own answer), q = P(support | other answer), N_v of n reports supporting
choice v, and lambda_v = q + (p - q) f_v, the count N_v is exactly Binomial(n, lambda_v); every
formula below follows from that. ``f`` are true shares of the population that the respondents
are a random sample of.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from deniably.mechanism import SubsetSelection
from deniably.tally import Tally

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Estimate:
    """De-biased frequencies of one question; every array has shape (k,), shares in units of 1.

    ``raw`` is unbiased and may leave [0, 1]: use it for inference. ``consistent`` is the nearest
    point of the simplex: use it for display. ``low .. high`` covers each share with
    ``confidence``; ``joint_low .. joint_high`` covers all shares at once with it.
    ``design_effect`` is the variance against asking n people directly (None where all
    respondents seem to agree and a direct survey would have none), ``effective_n`` is n divided
    by it. ``suspicious`` marks choices whose count no shares can explain (its interval missed
    [0, 1]): a sign of a bug or of crafted reports.
    """

    n: int
    confidence: float
    raw: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    joint_low: Floats
    joint_high: Floats
    consistent: Floats
    design_effect: float | None
    effective_n: float | None
    suspicious: npt.NDArray[np.bool_]


def estimate(tally: Tally, mechanism: SubsetSelection, confidence: float = 0.95) -> Estimate:
    """The estimate for one question from its tally.

    Source: estimator and variance, Wang, Blocki, Li and Jha 2017 (USENIX Security, eqs. 4-7) with
    the exact binomial variance; interval, Wilson 1927 for lambda, mapped to f and intersected
    with [0, 1]; joint intervals, Bonferroni, tightened by the shares' sum of 1.

    Raises ValueError where there is no report, the tally is of another k or confidence is not
    strictly between 0 and 1.
    """
    if tally.n < 1:
        raise ValueError("an estimate needs at least one report")
    if tally.counts.shape != (mechanism.k,):
        raise ValueError("the tally has another number of choices than the mechanism")
    if not 0 < confidence < 1:
        raise ValueError("confidence is between 0 and 1, such as 0.95")
    slope = float(mechanism.p - mechanism.q)
    share = tally.counts / tally.n
    raw = (share - float(mechanism.q)) / slope
    consistent = project(raw)
    low, high, suspicious = _interval(tally, mechanism, 1 - confidence)
    joint_low, joint_high, _ = _interval(tally, mechanism, (1 - confidence) / mechanism.k)
    joint_low, joint_high = _tighten(joint_low, joint_high)
    effect = _design_effect(mechanism, consistent)
    return Estimate(
        n=tally.n,
        confidence=confidence,
        raw=raw,
        standard_error=np.sqrt(share * (1 - share) / tally.n) / slope,
        low=low,
        high=high,
        joint_low=joint_low,
        joint_high=joint_high,
        consistent=consistent,
        design_effect=effect,
        effective_n=None if effect is None else tally.n / effect,
        suspicious=suspicious,
    )


def wilson(successes: npt.ArrayLike, n: int, alpha: float) -> tuple[Floats, Floats]:
    """Wilson's 1927 score interval (JASA 22:209, eq. 5) for binomial shares; level 1 - alpha."""
    z = NormalDist().inv_cdf(1 - alpha / 2)
    share = np.asarray(successes, dtype=np.float64) / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # At the ends the interval reaches 0 and 1; only rounding keeps the formula from it.
    low = np.where(share == 0, 0.0, centre - half)
    high = np.where(share == 1, 1.0, centre + half)
    return low, high


def project(raw: npt.ArrayLike) -> Floats:
    """The nearest point of the simplex {f >= 0, sum f = 1} in Euclidean distance.

    Source: Held, Wolfe and Crowder 1974; the sort-based form of Duchi et al. 2008 (ICML), fig. 1.
    Shifting all and zeroing negatives by rounds ("Norm-Sub") agrees only where the sum is 1.
    """
    values = np.asarray(raw, dtype=np.float64)
    ordered = np.sort(values)[::-1]
    excess = (np.cumsum(ordered) - 1) / np.arange(1, len(ordered) + 1)
    last = int(np.flatnonzero(ordered - excess > 0)[-1])
    projected: Floats = np.maximum(values - excess[last], 0.0)
    shares: Floats = projected / projected.sum()
    return shares


def variance(mechanism: SubsetSelection, share: npt.ArrayLike, n: int = 1) -> Floats:
    """The exact variance of one raw estimate where the true share is ``share``."""
    p, q = float(mechanism.p), float(mechanism.q)
    support = q + (p - q) * np.asarray(share, dtype=np.float64)
    result: Floats = support * (1 - support) / (n * (p - q) ** 2)
    return result


def _interval(
    tally: Tally, mechanism: SubsetSelection, alpha: float
) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    p, q = float(mechanism.p), float(mechanism.q)
    support_low, support_high = wilson(tally.counts, tally.n, alpha)
    low, high = (support_low - q) / (p - q), (support_high - q) / (p - q)
    missed = (high < 0) | (low > 1)
    return np.clip(low, 0, 1), np.clip(high, 0, 1), missed


def _tighten(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The box around {low <= f <= high, sum f = 1}; the box itself where that is empty."""
    if not low.sum() <= 1 <= high.sum():
        return low, high
    return (
        np.maximum(low, 1 - (high.sum() - high)),
        np.minimum(high, 1 - (low.sum() - low)),
    )


def _design_effect(mechanism: SubsetSelection, shares: Floats) -> float | None:
    direct = float((shares * (1 - shares)).sum())
    if direct < 1e-12:
        return None
    return float(variance(mechanism, shares).sum()) / direct
