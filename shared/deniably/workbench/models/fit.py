"""Defines what every estimator returns, and the steps by which all of them maximise a
likelihood."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import Floats
from deniably.core.errors import BadModel, NoEstimate
from deniably.workbench.models.student import Inversion

Ints = npt.NDArray[np.int64]
StandardErrors = Literal["expected", "observed", "opg", "robust", "HC3"]
KINDS: tuple[StandardErrors, ...] = ("expected", "observed", "opg", "robust", "HC3")
"""The kinds of standard errors, which ``binary.logit`` explains."""

_SMALL_STEP = 1e-10  # of standardised coefficients, far below their errors
_MOST_STEPS = 200
_MOST_HALVINGS = 40
_LONGEST = 3.0  # a step in one logit of a standardised column
_SEPARATED = 15.0
"""A logit of standardised columns beyond this is that of a share below one in three million."""
_VAGUE = 1_000.0
"""A standard error of standardised columns beyond this leaves every share possible."""


@dataclass(frozen=True, eq=False)
class ModelFit:
    """Estimated ``coefficients`` (c,) with their ``covariance`` (c, c).

    ``log_likelihood`` is None where the estimator has none. ``sigma`` is the residual standard
    deviation of a linear model, else None. ``at_the_edge`` is the number of shares of true answers
    that were estimated to be 0, and are then taken as known. ``degrees`` (c,) are the degrees of
    freedom of each coefficient's t, None for a normal statistic. ``inversions`` are the tests
    whose inversion gives the intervals, one per coefficient; if empty, the intervals are
    symmetric.
    """

    coefficients: Floats
    covariance: Floats
    log_likelihood: float | None
    sigma: float | None = None
    at_the_edge: int = 0
    degrees: Floats | None = None
    inversions: tuple[Inversion, ...] = ()


class Slope(NamedTuple):
    """A log-likelihood at a point: its ``value``, its gradient (c,) and an information matrix (c,
    c)."""

    value: float
    gradient: Floats
    information: Floats


@dataclass(frozen=True, eq=False)
class Scaling:
    """A change of units: columns x (n, p) become z = (x / ``reach`` - ``middle``) / ``size``.

    Coefficients are turned back by ``back`` (p, p): b = ``back`` @ g where x @ b = z @ g.
    ``constant`` (p,) are the g for which z @ g is 1 in every row; None where no such g exists.
    """

    reach: Floats
    middle: Floats
    size: Floats
    back: Floats
    constant: Floats | None

    def __call__(self, x: Floats) -> Floats:
        """Returns the scaled columns, of shape (..., p)."""
        standard: Floats = (x / self.reach - self.middle) / self.size
        return standard


def scaling(blocks: Callable[[], Iterable[Floats]]) -> Scaling:
    """Returns the scaling of columns to mean 0 and size 1, so that units do not matter to the fit.

    ``blocks()`` yields the rows (..., p) some at a time, and is called several times. Only with a
    constant column are the others centred. Raises BadModel where a column is 0 or the same in
    every row, and Collinear, with its number, where a column follows from those before it.
    """
    reach = np.max([np.abs(x).max(axis=0) for x in blocks()], axis=0)  # no square beyond floats
    if not reach.all():
        raise BadModel("a column is 0 in every row")
    # A column is constant where it equals its first number in every row.
    first = next(iter(blocks()))[0] / reach
    constant = np.flatnonzero(
        np.logical_and.reduce([(x / reach == first).all(axis=0) for x in blocks()])
    )
    n, p = sum(len(x) for x in blocks()), len(reach)
    middle = np.zeros(p)
    # Centred columns are nearly at right angles to the constant, so that sums lose less.
    if len(constant):
        middle = sum(((x / reach).sum(axis=0) for x in blocks()), middle) / n
    size = sum((((x / reach - middle) ** 2).sum(axis=0) for x in blocks()), np.zeros(p))
    size = np.sqrt(size / n)
    if len(constant):
        middle[constant], size[constant] = 0.0, np.abs(first[constant])
    if (size <= 1e-12).any():  # of columns that reach 1
        raise BadModel("a column is the same in every row")
    left = np.zeros((0, p + 1))
    for x in blocks():
        ones = np.ones((len(x), 1))
        rows = np.hstack([(x / reach - middle) / size, ones])
        # R of stacked blocks is R of the whole: no block is kept, and no square of the columns is
        # made, which would square their condition number.
        left = cast(Floats, np.linalg.qr(np.vstack([left, rows]), mode="r"))
    # What is left of a column once those before it are taken out, beside its length sqrt(n).
    weak = np.abs(np.diag(left)[:p]) < 1e-9 * n**0.5
    if n < p or weak.any():
        raise Collinear(int(np.argmax(weak)) if weak.any() else p - 1)
    back = np.diag(1 / size)
    if len(constant):
        back[constant[0]] -= middle / size / first[constant[0]]
    around = left[p, p] if len(left) > p else 0.0
    spans = abs(around) < 1e-9 * n**0.5
    of_one = cast(Floats, np.linalg.solve(left[:p, :p], left[:p, p])) if spans else None
    return Scaling(reach, middle, size, back / reach[:, None], of_one)


@dataclass(frozen=True, eq=False)
class Standardised:
    """Columns ``z`` of mean 0 and size 1, and the way back: b = ``back`` @ g where x @ b = z @
    g."""

    z: Floats
    back: Floats


def standardised(x: Floats) -> Standardised:
    """Scales the columns of ``x``, of shape (n, p), as ``scaling`` does, and raises what that
    raises."""
    scaled = scaling(lambda: [x])
    return Standardised(scaled(x), scaled.back)


class Collinear(BadModel):
    """The column of number ``column`` (from 0) is a linear combination of those before it."""

    def __init__(self, column: int) -> None:
        self.column = column
        super().__init__(f"column {column + 1} follows from those before it: leave it out")


def climb(slope_at: Callable[[Floats], Slope], start: Floats, rounding: float = 1e-13) -> Floats:
    """Maximises a log-likelihood from ``start`` by Fisher scoring; returns the maximum, shape
    (p,).

    ``slope_at`` gives the value, gradient and information at a point. Stops when every |step| <
    1e-10. A step that lowers the value is halved, unless it lowers it by less than rounding: by
    ``rounding`` relative to the value. Source: Nelder and Wedderburn 1972 (J. R. Stat. Soc. A
    135:370). Raises NoEstimate on separation (a standardised coefficient above 15), and after 200
    steps without an end.
    """
    point, here = start, slope_at(start)
    for _ in range(_MOST_STEPS):
        step = solved(here.information, here.gradient)
        # Where all probabilities are near 0 or 1 the information is nearly 0, and a step enormous.
        step = step * min(1.0, _LONGEST / max(float(np.abs(step).max()), 1e-300))
        for _ in range(_MOST_HALVINGS):
            there = slope_at(point + step)
            if there.value >= here.value - rounding * (1 + abs(here.value)):
                break
            step = step / 2
        else:
            raise NoEstimate(_ENDLESS)
        point, here = point + step, there
        check_separation(point)
        if np.abs(step).max() < _SMALL_STEP:
            return point
    raise NoEstimate(_ENDLESS)


_ENDLESS = (
    "the estimate did not converge: the reports tell too little of so many coefficients; leave"
    " columns out or collect more reports"
)
SEPARATED = (
    "a coefficient has no finite estimate: some columns tell the answer apart completely"
    " (separation), or a share lies at 0 or 100 % (leave a column out or merge categories; an"
    ' answer of yes or no on columns that are not randomised has link="identity", too)'
)


def check_separation(point: Floats) -> None:
    """Raises NoEstimate where a standardised coefficient is above 15, or not finite: some columns
    then separate the answers completely (Albert and Anderson 1984, Biometrika 71:1)."""
    if not np.isfinite(point).all() or np.abs(point).max(initial=0.0) > _SEPARATED:
        raise NoEstimate(SEPARATED)


def are_determined(covariance: Floats) -> Floats:
    """Returns the ``covariance`` of standardised coefficients unchanged. Raises NoEstimate where a
    standard error is above 1,000: the likelihood is flat there, and the estimate merely where the
    iterations stopped."""
    if not (np.diag(covariance) < _VAGUE**2).all():
        raise NoEstimate(SEPARATED)
    return covariance


def solved(information: Floats, gradient: Floats) -> Floats:
    """Returns Newton's step, information^-1 gradient, shape (p,). Raises NoEstimate for a singular
    information."""
    try:
        return cast(Floats, np.linalg.solve(information, gradient))
    except np.linalg.LinAlgError:
        raise NoEstimate(SEPARATED) from None


def bends_down(information: Floats) -> bool:
    """Returns whether an information matrix is positive definite, so that the likelihood is
    concave there."""
    try:
        np.linalg.cholesky(information)
    except np.linalg.LinAlgError:
        return False
    return True


def inverse(information: Floats) -> Floats:
    """Returns the inverse (p, p) of an information matrix. Raises NoEstimate where the matrix is
    not positive definite."""
    if not bends_down(information):
        raise NoEstimate(
            "the reports do not determine the coefficients: the information of the likelihood has"
            " no inverse at the estimate; leave columns out"
        )
    return cast(Floats, np.linalg.inv(information))


def sandwich(bread: Floats, scores: Floats, strata: Ints | None) -> Floats:
    """Returns the sandwich covariance bread @ meat @ bread, with ``scores`` (n, c) centred within
    each stratum.

    The meat is sum_h n_h / (n_h - 1) sum_i (s_hi - mean_h)(s_hi - mean_h)', as in R's ``svyglm``
    (Binder 1983, Int. Stat. Rev. 51:279). ``strata`` (n,) is None for one stratum. Raises BadModel
    for a stratum of one row.
    """
    where = np.zeros(len(scores), np.int64) if strata is None else strata
    sizes, stretch = stretched(where)
    means = np.stack([np.bincount(where, s, len(sizes)) / sizes for s in scores.T], axis=1)
    apart = (scores - means[where]) * np.sqrt(stretch)[where, None]
    covariance: Floats = bread @ (apart.T @ apart) @ bread
    return covariance


def stretched(strata: Ints) -> tuple[Ints, Floats]:
    """Returns the number n of rows of each stratum, and n / (n - 1). Raises BadModel for a stratum
    of one row."""
    sizes = np.bincount(strata)
    if (sizes == 1).any():
        raise BadModel("a stratum has only one row: merge it with another")
    # Numbers that no row has would divide 0 by 0 in means of strata.
    sizes = np.maximum(sizes, 2)
    return sizes, sizes / (sizes - 1)
