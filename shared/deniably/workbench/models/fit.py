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
    """The estimated ``coefficients`` of a model, shape (c,), with their ``covariance`` (c, c).

    ``log_likelihood`` is None where the estimator has none. ``sigma`` is the residual standard
    deviation of a linear model, else None. ``at_the_edge`` is the number of shares of true answers
    that were estimated to be 0, and are then treated as known. ``degrees`` (c,) has the degrees of
    freedom of each coefficient's t statistic; it is None if the statistics are normal.
    ``inversions`` has a test for each coefficient, whose inversion gives the interval; if empty,
    the intervals are symmetric.
    """

    coefficients: Floats
    covariance: Floats
    log_likelihood: float | None
    sigma: float | None = None
    at_the_edge: int = 0
    degrees: Floats | None = None
    inversions: tuple[Inversion, ...] = ()


class Slope(NamedTuple):
    """A log-likelihood at some point: its ``value``, its ``gradient`` (c,) and an ``information``
    matrix (c, c), for c coefficients."""

    value: float
    gradient: Floats
    information: Floats


@dataclass(frozen=True, eq=False)
class Scaling:
    """A change of units of p columns: x (n, p) becomes z = (x / ``reach`` - ``middle``) /
    ``size``, in each column.

    The matrix ``back`` (p, p) converts coefficients: if x @ b = z @ g, then b = ``back`` @ g.
    ``constant`` (p,) is a g for which z @ g is 1 in every row; None where no such g exists.
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
    """Returns the scaling that gives each of p columns the root mean square 1, so that units do not
    matter to the fit.

    If a constant column is among them, all others are centred first: they get the mean 0, and so
    the standard deviation 1. ``blocks()`` yields the rows in blocks, shape (rows, p), and is
    called several times. Raises BadModel where a column is 0 in every row, or varies only by
    rounding. Raises Collinear, with the number of the column, where a column is a linear
    combination of those before.
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
    """Columns ``z`` that were scaled as ``scaling`` says. The matrix ``back`` converts
    coefficients: if x @ b = z @ g for the original columns x, then b = ``back`` @ g."""

    z: Floats
    back: Floats


def standardised(x: Floats) -> Standardised:
    """Scales the columns of ``x``, of shape (n, p), with ``scaling``, and raises the same
    errors."""
    scaled = scaling(lambda: [x])
    return Standardised(scaled(x), scaled.back)


class Collinear(BadModel):
    """Column number ``column`` (from 0) is a linear combination of the columns before it."""

    def __init__(self, column: int) -> None:
        self.column = column
        super().__init__(f"column {column + 1} follows from those before it: leave it out")


def climb(slope_at: Callable[[Floats], Slope], start: Floats, rounding: float = 1e-13) -> Floats:
    """Maximises a log-likelihood of p coefficients by Fisher scoring from ``start``; returns the
    place of the maximum, shape (p,).

    ``slope_at`` gives the value, gradient and information at a point. Stops when every component
    of a step is below 1e-10. A step that lowers the value is halved, unless the loss is within
    rounding: at most ``rounding`` relative to the value. Source: Nelder and Wedderburn 1972 (J. R.
    Stat. Soc. A 135:370). Raises NoEstimate on separation, as ``check_separation`` does, and if
    200 steps are not enough.
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
    """Raises NoEstimate where a standardised coefficient is not finite, or beyond 15 in absolute
    value: then some columns separate the answers completely (Albert and Anderson 1984, Biometrika
    71:1)."""
    if not np.isfinite(point).all() or np.abs(point).max(initial=0.0) > _SEPARATED:
        raise NoEstimate(SEPARATED)


def are_determined(covariance: Floats) -> Floats:
    """Returns the ``covariance`` of standardised coefficients unchanged. Raises NoEstimate where a
    standard error is above 1,000: the likelihood is flat there, and the estimate depends only on
    where the iterations stopped."""
    if not (np.diag(covariance) < _VAGUE**2).all():
        raise NoEstimate(SEPARATED)
    return covariance


def solved(information: Floats, gradient: Floats) -> Floats:
    """Returns Newton's step, information^-1 gradient, shape (p,) as the gradient. Raises
    NoEstimate for a singular information matrix."""
    try:
        return cast(Floats, np.linalg.solve(information, gradient))
    except np.linalg.LinAlgError:
        raise NoEstimate(SEPARATED) from None


def bends_down(information: Floats) -> bool:
    """Returns whether an information matrix is positive definite: whether the log-likelihood is
    concave at that point."""
    try:
        np.linalg.cholesky(information)
    except np.linalg.LinAlgError:
        return False
    return True


def inverse(information: Floats) -> Floats:
    """Returns the inverse of an information matrix. Raises NoEstimate where the matrix is not
    positive definite."""
    if not bends_down(information):
        raise NoEstimate(
            "the reports do not determine the coefficients: the information of the likelihood has"
            " no inverse at the estimate; leave columns out"
        )
    return cast(Floats, np.linalg.inv(information))


def sandwich(bread: Floats, scores: Floats, strata: Ints | None) -> Floats:
    """Returns the sandwich covariance bread @ meat @ bread of c coefficients, from the ``scores``
    (n, c) of n people.

    The meat is sum_h n_h / (n_h - 1) sum_i (s_hi - mean_h)(s_hi - mean_h)', where s_hi is the
    score of person i of the n_h people in stratum h, as in R's ``svyglm`` (Binder 1983, Int. Stat.
    Rev. 51:279). ``strata`` (n,) has each person's stratum, None for one stratum. Raises BadModel
    for a stratum of one person.
    """
    where = np.zeros(len(scores), np.int64) if strata is None else strata
    sizes, stretch = stretched(where)
    means = np.stack([np.bincount(where, s, len(sizes)) / sizes for s in scores.T], axis=1)
    apart = (scores - means[where]) * np.sqrt(stretch)[where, None]
    covariance: Floats = bread @ (apart.T @ apart) @ bread
    return covariance


def stretched(strata: Ints) -> tuple[Ints, Floats]:
    """Returns two arrays with an item for each stratum: its number n of rows, and n / (n - 1).
    ``strata`` has the stratum of each row. Raises BadModel for a stratum of one row."""
    sizes = np.bincount(strata)
    if (sizes == 1).any():
        raise BadModel("a stratum has only one row: merge it with another")
    # Numbers that no row has would divide 0 by 0 in means of strata.
    sizes = np.maximum(sizes, 2)
    return sizes, sizes / (sizes - 1)
