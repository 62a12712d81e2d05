"""Fits logistic and linear regressions of a randomised yes-or-no answer on columns that are not
randomised."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import Floats
from deniably.core.errors import NoEstimate
from deniably.workbench.models.effective_people import ONE_PERSON, degrees_left
from deniably.workbench.models.fit import (
    Ints,
    ModelFit,
    Slope,
    StandardErrors,
    are_determined,
    climb,
    inverse,
    sandwich,
    standardised,
)
from deniably.workbench.models.repeated_rows import alike


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
    """Fits P(yes | x) = 1 / (1 + exp(-x b)) to randomised reports with p = P(1 | yes) and q = P(1
    | no).

    ``reports`` are 0 and 1, one for each of n people. ``x`` (n, c) has all c columns of the model,
    also a constant one; p and q are numbers, or arrays (n,). The likelihood is that of a Bernoulli
    report with mean q + (p - q) P(yes) (Scheers and Dayton 1988, JASA 83:969), maximised by Fisher
    scoring.

    ``errors`` choose the covariance of the coefficients. Three kinds are the inverse of an
    information matrix: of the "expected" one, of the "observed" one, or of the outer product of
    gradients ("opg"). "robust" errors are those of a sandwich (White 1982, Econometrica 50:1).
    With ``weights`` (n,) the likelihood is a pseudo-likelihood; "robust" errors are then those of
    R's ``svyglm``, and may be taken within ``strata`` (n,). "HC3" is the same sandwich after each
    person's score is divided by 1 - leverage (MacKinnon and White 1985, J. Econometrics 29:305);
    intervals take a t with Kish's effective sample size - c degrees of freedom, less the number of
    strata but one. "HC3" is for few effective people, for whom "robust" errors are too small.

    Raises NoEstimate on separation, without convergence, and for "HC3" where fewer than 3 degrees
    of freedom are left.
    """
    # reach = p - q is how far the answer moves the mean of a report: what is left of the signal.
    r = np.asarray(reports, np.float64)
    q = np.asarray(q, np.float64)
    reach = np.asarray(p, np.float64) - q
    plain = weights is None and strata is None
    first, times = alike(r, q, reach, *x.T, apart=not plain or errors == "HC3")
    r, x = r[first], x[first]
    q, reach = (value[first] if value.ndim else value for value in (q, reach))
    w = times if weights is None else weights
    z, back = (columns := standardised(x)).z, columns.back

    # gain is the derivative of a report's mean by the logit x b, from which the score is gain (r -
    # mean) / variance, and the expected information gain^2 / variance.
    def slope_at(b: Floats) -> Slope:
        yes = _share(z @ b)
        mean = q + reach * yes
        gain = reach * yes * (1 - yes)
        # With q = 0 a share near 0 makes a variance of 0.
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
    degrees: Floats | None = None
    match errors:
        case "expected":
            covariance = inverse(expected)
        case "opg":
            # Alike rows stand for many people, each of whom has a score.
            covariance = inverse(scores.T @ (scores / times[:, None]))
        case "robust" if plain:
            bread = inverse(expected)
            covariance = bread @ (scores.T @ (scores / times[:, None])) @ bread
        case "robust":
            covariance = sandwich(inverse(expected), scores, strata)
        case "HC3":
            degrees = degrees_left(w, z.shape[1], strata) * np.ones(z.shape[1])
            bread = inverse(expected)
            leverage = w * gain**2 / spread * np.einsum("ni,ij,nj->n", z, bread, z)
            covariance = sandwich(bread, _left_out(scores, leverage), strata)
        case "observed":
            # The derivative of gain / spread, which is what the residual is weighted with.
            bend = gain * (1 - 2 * yes) * spread - gain**2 * (1 - 2 * mean)
            curve = w * (gain**2 / spread - (r - mean) * bend / spread**2)
            covariance = inverse(z.T @ (curve[:, None] * z))
    covariance = back @ are_determined(covariance) @ back.T
    return ModelFit(back @ b, covariance, _log_likelihood(r, mean, w), degrees=degrees)


def linear_share(
    reports: npt.ArrayLike,
    x: Floats,
    p: npt.ArrayLike,
    q: npt.ArrayLike,
    *,
    weights: Floats | None = None,
    strata: Ints | None = None,
    errors: ShareErrors | None = None,
) -> ModelFit:
    """Fits P(yes | x) = x b to randomised reports, by least squares of (report - q) / (p - q).

    The parameters have the shapes of those of ``logit``. The standard errors are "HC1" by default
    (MacKinnon and White 1985, J. Econometrics 29:305). With ``weights`` or ``strata`` they are
    "CR2" by default (Bell and McCaffrey 2002, Surv. Methodol. 28:169): each report is a cluster,
    whose variance follows from its mean and the channel, and intervals take a t with
    Satterthwaite's degrees of freedom (Pustejovsky and Tipton 2018, J. Bus. Econ. Stat. 36:672).
    "robust" errors are those of R's ``svyglm``. Fitted shares may be negative.

    Raises NoEstimate where all reports with equal x are the same, which leaves no spread to
    estimate an error from, and for "CR2" where fewer than 3 degrees of freedom are left.
    """
    q = np.asarray(q, np.float64)
    reach = np.asarray(p, np.float64) - q
    y: Floats = (np.asarray(reports, np.float64) - q) / reach
    w = np.ones(len(y)) if weights is None else weights / weights.max()
    z, back = (columns := standardised(x)).z, columns.back
    # Weighted least squares: the bread is the inverse of Z'WZ.
    bread = inverse(z.T @ (w[:, None] * z))
    b: Floats = bread @ (z.T @ (w * y))
    scores: Floats = (w * (y - z @ b))[:, None] * z
    plain, degrees = weights is None and strata is None, None
    match errors or ("HC1" if plain else "CR2"):
        case "CR2":
            degrees_left(w, z.shape[1], strata)  # raises where there are too few people
            mean = np.clip(q + reach * (z @ b), np.minimum(q, q + reach), np.maximum(q, q + reach))
            # The variance of a report is known up to its mean, which a line may put outside of 0
            # and 1.
            variance = np.maximum(mean * (1 - mean), 1e-9) / reach**2
            factor, degrees = _satterthwaite(z, w, bread, variance, back)
            covariance = sandwich(bread, factor[:, None] * scores, strata)
        case "robust":
            covariance = sandwich(bread, scores, strata)
        case "HC1":
            covariance = bread @ (scores.T @ scores) @ bread * (len(z) / (len(z) - z.shape[1]))
    if (np.diag(covariance) <= 1e-24 * np.abs(bread).max()).any():
        raise NoEstimate("reports alike in each group leave no spread to take an error from")
    return ModelFit(back @ b, back @ covariance @ back.T, None, degrees=degrees)


ShareErrors = Literal["HC1", "CR2", "robust"]
"""The kinds of standard errors of ``linear_share``."""


def _satterthwaite(
    x: Floats, w: Floats, bread: Floats, variance: Floats, back: Floats
) -> tuple[Floats, Floats]:
    """The factors (n,) of CR2 on scores, and the degrees of freedom of each row of ``back``.

    With H the hat matrix of weighted least squares and F = diag(``variance``), residuals have the
    covariance R = (I - H) F (I - H)'. The factor is sqrt(F_ii / R_ii). The estimated variance of
    c'b is the sum of a_i^2 e_i^2, with a = x bread c times weight and factor; it has the degrees
    (sum B_ii)^2 / sum B_ij^2 where B_ij = a_i a_j R_ij. R is F plus a matrix of rank 3 c, so this
    takes n c^2 steps.
    """
    c = x.shape[1]
    leverage = w * np.einsum("ni,ij,nj->n", x, bread, x)
    middle = bread @ (x.T @ ((w**2 * variance)[:, None] * x)) @ bread
    own = variance * (1 - 2 * leverage) + np.einsum("ni,ij,nj->n", x, middle, x)
    factor = np.sqrt(variance / np.maximum(own, 1e-6 * variance))
    low = np.hstack([x @ bread, (w * variance)[:, None] * x, x])
    core = np.zeros((3 * c, 3 * c))
    core[:c, c : 2 * c] = core[c : 2 * c, :c] = -np.eye(c)
    core[2 * c :, 2 * c :] = middle
    degrees = list[float]()
    for row in back:
        a = (x @ (bread @ row)) * w * factor
        scaled, alone = a[:, None] * low, a**2 * variance
        products = np.einsum("ni,ij,nj->n", scaled, core, scaled)
        inner = core @ (scaled.T @ scaled)
        squares = alone @ alone + 2 * alone @ products + np.trace(inner @ inner)
        degrees.append(max(float((a**2 * own).sum() ** 2 / squares), 1.0))
    return factor, np.array(degrees)


def _left_out(scores: Floats, leverage: Floats) -> Floats:
    """Returns the scores of HC3: that of each person at the estimate without that person."""
    if (leverage > 1 - 1e-9).any():
        raise NoEstimate(ONE_PERSON)
    adjusted: Floats = scores / (1 - leverage)[:, None]
    return adjusted


def _share(logits: Floats) -> Floats:
    return 1 / (1 + np.exp(-np.clip(logits, -40, 40)))


def _log_likelihood(r: Floats, mean: Floats, w: Floats) -> float:
    return float(w @ np.log(np.maximum(np.where(r > 0, mean, 1 - mean), 1e-300)))


def _start(r: Floats, q: Floats, reach: Floats, w: Floats, z: Floats, back: Floats) -> Floats:
    """Returns starting values: all slopes 0, the constant at the logit of the estimated share,
    kept away from 0 and 1."""
    share = float(np.clip(w @ ((r - q) / reach) / w.sum(), 0.05, 0.95))
    start = np.zeros(z.shape[1])
    constant = np.flatnonzero((z == z[:1]).all(axis=0))
    if len(constant):
        start[constant[0]] = np.log(share / (1 - share)) / z[0, constant[0]]
    return start
