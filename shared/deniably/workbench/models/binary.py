"""Logistic and linear regression of a randomised yes-or-no answer on columns that are not."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import Floats
from deniably.core.errors import NoEstimate
from deniably.workbench.models.fit import (
    Ints,
    ModelFit,
    Slope,
    StandardErrors,
    climb,
    inverse,
    sandwich,
    standardised,
    told,
)


def logit(
    reports: npt.ArrayLike,
    x: Floats,
    p: npt.ArrayLike,
    q: npt.ArrayLike,
    *,
    weights: Floats | None = None,
    strata: Ints | None = None,
    errors: StandardErrors = "expected",
) -> ModelFit:
    """Fits P(yes | x) = 1 / (1 + exp(-x b)) to reports with p = P(1 | yes), q = P(1 | no).

    ``reports`` (n,) are 0 and 1, ``x`` (n, c) has every column with the constant one; p and q are
    numbers or (n,). The likelihood is that of a Bernoulli report with mean q + (p - q) P(yes)
    (Scheers and Dayton 1988, JASA 83:969), climbed by Fisher scoring. ``errors`` choose the
    covariance: the inverse of the "expected" information, of the "observed" one or of the outer
    product of gradients ("opg"), or "robust" (White 1982, Econometrica 50:1). With ``weights`` (n,)
    it is a pseudo-likelihood, whose "robust" errors are those of ``svyglm`` and can have
    ``strata`` (n,). Raises NoEstimate on separation and without convergence.
    """
    r = np.asarray(reports, np.float64)
    q = np.asarray(q, np.float64)
    reach = np.asarray(p, np.float64) - q
    w = np.ones(len(r)) if weights is None else weights
    z, back = (columns := standardised(x)).z, columns.back

    def slope_at(b: Floats) -> Slope:
        yes = _share(z @ b)
        mean = q + reach * yes
        gain = reach * yes * (1 - yes)
        spread = np.maximum(mean * (1 - mean), 1e-300)
        weighed = w * gain / spread
        gradient: Floats = z.T @ (weighed * (r - mean))
        information: Floats = z.T @ ((weighed * gain)[:, None] * z)
        return Slope(_log_likelihood(r, mean, w), gradient, information)

    b = climb(slope_at, _start(r, q, reach, w, z, back))
    yes = _share(z @ b)
    mean = q + reach * yes
    spread = mean * (1 - mean)
    gain = reach * yes * (1 - yes)
    scores: Floats = (w * (r - mean) * gain / spread)[:, None] * z
    expected: Floats = z.T @ ((w * gain**2 / spread)[:, None] * z)
    match errors:
        case "expected":
            covariance = inverse(expected)
        case "opg":
            covariance = inverse(scores.T @ scores)
        case "robust" if weights is None and strata is None:
            bread = inverse(expected)
            covariance = bread @ (scores.T @ scores) @ bread
        case "robust":
            covariance = sandwich(inverse(expected), scores, strata)
        case "observed":
            bend = gain * (1 - 2 * yes) * spread - gain**2 * (1 - 2 * mean)
            curve = w * (gain**2 / spread - (r - mean) * bend / spread**2)
            covariance = inverse(z.T @ (curve[:, None] * z))
    return ModelFit(back @ b, back @ told(covariance) @ back.T, _log_likelihood(r, mean, w))


def linear_share(
    reports: npt.ArrayLike,
    x: Floats,
    p: npt.ArrayLike,
    q: npt.ArrayLike,
    *,
    weights: Floats | None = None,
    strata: Ints | None = None,
) -> ModelFit:
    """Fits P(answer is yes | x) = x b by least squares of (report - q) / (p - q).

    Shapes as in ``logit``. The errors are HC1 (MacKinnon and White 1985, J. Econometrics 29:305);
    with ``weights`` or ``strata`` those of ``svyglm``. Shares may be negative. Raises NoEstimate
    where the reports of each group are alike.
    """
    q = np.asarray(q, np.float64)
    y: Floats = (np.asarray(reports, np.float64) - q) / (np.asarray(p, np.float64) - q)
    w = np.ones(len(y)) if weights is None else weights
    z, back = (columns := standardised(x)).z, columns.back
    bread = inverse(z.T @ (w[:, None] * z))
    b: Floats = bread @ (z.T @ (w * y))
    scores: Floats = (w * (y - z @ b))[:, None] * z
    if weights is None and strata is None:
        covariance = bread @ (scores.T @ scores) @ bread * (len(z) / (len(z) - z.shape[1]))
    else:
        covariance = sandwich(bread, scores, strata)
    if (np.diag(covariance) <= 1e-24 * np.abs(bread).max()).any():
        raise NoEstimate("reports alike in each group leave no spread to take an error from")
    return ModelFit(back @ b, back @ covariance @ back.T, None)


def _share(logits: Floats) -> Floats:
    return 1 / (1 + np.exp(-np.clip(logits, -40, 40)))


def _log_likelihood(r: Floats, mean: Floats, w: Floats) -> float:
    return float(w @ np.log(np.maximum(np.where(r > 0, mean, 1 - mean), 1e-300)))


def _start(r: Floats, q: Floats, reach: Floats, w: Floats, z: Floats, back: Floats) -> Floats:
    """All slopes 0, at the estimated share, kept away from 0 and 1."""
    share = float(np.clip(w @ ((r - q) / reach) / w.sum(), 0.05, 0.95))
    start = np.zeros(z.shape[1])
    constant = np.flatnonzero((z == z[:1]).all(axis=0))
    if len(constant):
        start[constant[0]] = np.log(share / (1 - share)) / z[0, constant[0]]
    return start
