"""Fits multinomial logistic regressions of a randomised choice on columns that are not
randomised."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np

from deniably.core.binomial import Floats
from deniably.core.errors import BadModel, NoEstimate
from deniably.workbench.models.effective_people import ONE_PERSON, degrees_left
from deniably.workbench.models.fit import (
    Ints,
    ModelFit,
    Slope,
    StandardErrors,
    are_determined,
    bends_down,
    climb,
    inverse,
    sandwich,
    standardised,
)
from deniably.workbench.models.repeated_rows import alike

_MOST_COEFFICIENTS = 1000
_Weight = Callable[[int, int], Floats]
"""A function of two answers: what each row (n,) adds to their block of the information."""


def multinomial(
    codes: Ints,
    chances: Floats,
    x: Floats,
    *,
    complete: bool = True,
    weights: Floats | None = None,
    strata: Ints | None = None,
    errors: StandardErrors = "expected",
) -> ModelFit:
    """Fits P(answer a | x) = exp(x b_a) / sum_j exp(x b_j), with b_0 = 0, to reports of any
    channel with k answers.

    ``codes`` (n,) has the number of each person's report, ``chances`` (reports, k) = P(report |
    answer), and ``x`` (n, c) the c columns of the model. The likelihood of a report is summed over
    the answers (van den Hout, van der Heijden and Gilchrist 2007, Comput. Stat. Data Anal.
    51:6060). A report that names several choices is a single report. The coefficients, ((k - 1)
    c,), are those of answer 1, then of answer 2, and so on. ``weights``, ``strata`` and ``errors``
    are those of ``binary.logit``; "expected" errors need ``complete``: that ``chances`` has all
    possible reports.

    Raises BadModel for more than 1,000 coefficients, and NoEstimate on separation, without
    convergence, and for "HC3" where fewer than 3 degrees of freedom are left.
    """
    c, k = x.shape[1], chances.shape[1]
    if (k - 1) * c > _MOST_COEFFICIENTS:
        raise BadModel(f"{(k - 1) * c} coefficients are more than {_MOST_COEFFICIENTS}")
    plain = weights is None and strata is None
    first, times = alike(codes.astype(np.float64), *x.T, apart=not plain or errors == "HC3")
    codes, x = codes[first], x[first]
    n, w = len(x), times if weights is None else weights
    counts = (w > 0)[:, None]
    columns = standardised(x)
    z = columns.z
    likelihoods = chances[codes]

    def at(b: Floats) -> tuple[Floats, Floats, Floats]:
        logits = np.column_stack([np.zeros(n), z @ b.reshape(k - 1, c).T])
        share = np.exp(logits - logits.max(axis=1, keepdims=True))  # exp overflows beyond 709
        share /= share.sum(axis=1, keepdims=True)
        both = share * likelihoods
        chance = np.maximum(both.sum(axis=1), 1e-300)
        return share, both / chance[:, None], chance

    # The derivative of a report's log-likelihood by logit a is P(a | report) - P(a).
    def scores(share: Floats, posterior: Floats) -> Floats:
        apart = (w[:, None] * (posterior - share))[:, 1:]
        return (apart[:, :, None] * z[:, None, :]).reshape(n, -1)

    def slope_at(b: Floats) -> Slope:
        share, posterior, chance = at(b)
        of_rows = scores(share, posterior)
        information = _blocks(_bend(share, posterior), w, z, k)
        # Far from the top the observed information may be negative; these two never are, and Newton
        # with them climbs.
        if not bends_down(information):
            if complete:
                information = _blocks(_expected(share, chances), w, z, k)
            else:
                weighing = np.divide(of_rows, w[:, None], out=np.zeros_like(of_rows), where=counts)
                information = weighing.T @ of_rows
        return Slope(float(w @ np.log(chance)), of_rows.sum(axis=0), information)

    start = np.zeros((k - 1) * c)
    b = climb(slope_at, start)
    share, posterior, chance = at(b)
    of_rows = scores(share, posterior)
    match errors:
        case "opg":
            covariance = inverse(of_rows.T @ (of_rows / times[:, None]))
        case "observed":
            covariance = inverse(_blocks(_bend(share, posterior), w, z, k))
        case "expected" | "robust" | "HC3" if complete:
            covariance = inverse(_blocks(_expected(share, chances), w, z, k))
        case _:  # of reports without an end, the bread is the observed information
            covariance = inverse(_blocks(_bend(share, posterior), w, z, k))
    if errors == "robust":
        meat = covariance @ (of_rows.T @ (of_rows / times[:, None])) @ covariance
        covariance = meat if plain else sandwich(covariance, of_rows, strata)
    degrees: Floats | None = None
    if errors == "HC3":
        degrees = degrees_left(w, c, strata) * np.ones((k - 1) * c)
        # As the bread: leverages of another matrix would not sum to the coefficients.
        expects = _expected(share, chances) if complete else _bend(share, posterior)
        apart = (w[:, None] * (posterior - share))[:, 1:]
        covariance = sandwich(covariance, _left_out(apart, expects, w, z, covariance), strata)
    back = np.kron(np.eye(k - 1), columns.back)
    covariance = back @ are_determined(covariance) @ back.T
    return ModelFit(back @ b, covariance, float(w @ np.log(chance)), degrees=degrees)


def _expected(share: Floats, chances: Floats) -> _Weight:
    """Returns the expected information of a report, over all ``chances`` (reports, k) of one."""
    seen = 1 / np.maximum(share @ chances.T, 1e-300)

    def weight(a: int, b: int) -> Floats:
        products: Floats = share[:, a] * share[:, b] * (seen @ (chances[:, a] * chances[:, b]) - 1)
        return products

    return weight


def _left_out(apart: Floats, weight: _Weight, w: Floats, z: Floats, covariance: Floats) -> Floats:
    """Returns each person's score at the estimate without that person: (I - I_i C)^-1 s_i, HC3 for
    several logits.

    The information of a person is D (x) z z' and the score g (x) z, with g ``apart`` (n, k - 1);
    so the result is (I - D Q)^-1 g (x) z with Q_ab = z' C_ab z.
    """
    (n, c), logits = z.shape, len(covariance) // z.shape[1]
    blocks = covariance.reshape(logits, c, logits, c)
    size = np.einsum("ni,aibj,nj->nab", z, blocks, z, optimize=True)
    own = np.empty((n, logits, logits))
    for a in range(logits):
        for b in range(a + 1):
            own[:, a, b] = own[:, b, a] = w * weight(a + 1, b + 1)
    try:
        pull = cast(Floats, np.linalg.solve(np.eye(logits) - own @ size, apart[:, :, None]))
    except np.linalg.LinAlgError:
        raise NoEstimate(ONE_PERSON) from None
    return (pull * z[:, None, :]).reshape(n, -1)


def _bend(share: Floats, posterior: Floats) -> _Weight:
    """Returns the observed information of a report: Cov(answer) - Cov(answer | report)."""

    def weight(a: int, b: int) -> Floats:
        products: Floats = posterior[:, a] * posterior[:, b] - share[:, a] * share[:, b]
        return products + (share[:, a] - posterior[:, a] if a == b else 0.0)

    return weight


def _blocks(weight: _Weight, w: Floats, z: Floats, k: int) -> Floats:
    c = z.shape[1]
    blocks = np.zeros((k - 1, c, k - 1, c))
    for a in range(1, k):
        for b in range(1, a + 1):
            block = z.T @ ((w * weight(a, b))[:, None] * z)
            blocks[a - 1, :, b - 1], blocks[b - 1, :, a - 1] = block, block.T
    return blocks.reshape((k - 1) * c, (k - 1) * c)
