"""Regression on randomised columns by the corrected score, without a law of errors or covariates.

With a person's true answers a the score of a model is s(a). A report gives weights u(a), a row of
the inverse channel, of which E[u(a) | true answer t] = 1 if a = t, else 0. So sum_a u(a) s(a) has
the expectation of the score of the true answers, and its root is that of the model fitted to these,
whatever their law given the other columns, and whether the model holds or not (Nakamura 1990,
Biometrika 77:127; Akazawa, Kinukawa and Nakamura 1998, J. Jpn. Stat. Soc. 28:115; Buonaccorsi 2010,
Measurement Error, 7.3). True answers are discrete, so this holds exactly, for logits too. A
randomised outcome stands in the score by its own unbiased scores, as the score is linear in it.

There are no groups and no free shares, so a column that is not randomised may have any number of
values. Errors are those of the sandwich. Time grows as people x cells x coefficients^2; memory does
not grow with people but for the columns themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from deniably.core.binomial import Floats
from deniably.core.errors import BadModel, NoEstimate
from deniably.workbench.models.effective_people import ONE_PERSON, degrees_left, effective
from deniably.workbench.models.fit import (
    SEPARATED,
    Ints,
    ModelFit,
    Scaling,
    are_determined,
    bends_down,
    check_separation,
    scaling,
    solved,
    stretched,
)
from deniably.workbench.models.joint import cell_answers
from deniably.workbench.models.randomised import Randomised
from deniably.workbench.models.student import Inversion

_AT_ONCE = 1 << 20  # numbers in memory, of each of some arrays
_STEPS, _LONGEST, _SMALL_STEP = 60, 1.5, 1e-9
_SINGULAR = 1e-12
_SLIGHT, _TOO_FAR = 0.1, 2.0
"""Biases in standard errors: below the first they are not corrected, and above the second not
trusted."""


class CellColumns(Protocol):
    """The values of a model's columns, for each person and each cell. A cell is a combination of
    true answers to the randomised columns."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Returns the numbers of people, cells and columns."""
        ...

    def of(self, some: slice) -> Floats:
        """Returns the columns of the people in the slice ``some``, shape (people in it, cells,
        columns)."""
        ...

    def distinct(self) -> Iterator[Floats]:
        """Yields every distinct row of values in blocks, shape (..., columns); a row may come
        several times."""
        ...


@dataclass(frozen=True, eq=False)
class CellTable:
    """The values of a model's columns, computed once for each group of people with the same
    covariates.

    ``table`` (groups, cells, columns) has the values, and ``group`` (people,) the group of each
    person.
    """

    table: Floats
    group: Ints

    @property
    def shape(self) -> tuple[int, int, int]:
        """Returns the numbers of people, cells and columns."""
        return (len(self.group), *self.table.shape[1:])

    def of(self, some: slice) -> Floats:
        """Returns the columns of the people in the slice ``some``, shape (people in it, cells,
        columns)."""
        return self.table[self.group[some]]

    def distinct(self) -> Iterator[Floats]:
        """Yields the whole table as a single block, as it contains every row that occurs."""
        yield self.table


class Unbounded(NoEstimate):
    """Some coefficients have intervals without an end: the reports fit any value, however large.
    ``columns`` has the numbers of these coefficients."""

    def __init__(self, columns: Sequence[int]) -> None:
        self.columns = columns
        super().__init__("the reports do not bound a coefficient")


class _Some(NamedTuple):
    """A block of people: which ones, their weights (n,), their unbiased scores u (n, cells), and
    scaled columns z (n, cells, c)."""

    at: slice
    w: Floats
    u: Floats
    z: Floats


@dataclass(frozen=True, eq=False)
class _People:
    """Everybody whom a model is fitted to: randomised columns, design matrix and its scaling,
    weights and strata."""

    columns: Sequence[Randomised]
    z: CellColumns
    scale: Scaling
    w: Floats
    strata: Ints | None

    def blocks(self, width: int = 1) -> Iterator[_Some]:
        """Yields blocks of people, small enough for arrays of ``width`` numbers per cell besides
        the columns."""
        n, cells, c = self.z.shape
        rows = max(1, _AT_ONCE // (cells * max(c, width)))
        answers = cell_answers(self.columns)
        for start in range(0, n, rows):
            at = slice(start, min(start + rows, n))
            u = np.ones((at.stop - at.start, cells))
            for column, answer in zip(self.columns, answers, strict=True):
                # Reports to different questions have independent coins, so their weights multiply.
                u *= column.scores[column.codes[at]][:, answer]
            yield _Some(at, self.w[at], u, self.scale(self.z.of(at)))


def _people(
    columns: Sequence[Randomised], z: CellColumns, weights: Floats | None, strata: Ints | None
) -> _People:
    n, _, c = z.shape
    w = np.ones(n) if weights is None else weights
    scale = scaling(lambda: (x.reshape(-1, c) for x in z.distinct()))
    # Only ratios of weights count; with a largest one of 1 no sum of squares overflows.
    return _People(columns, z, scale, w / w.max(), strata)


class _Sums:
    """Sums of products of people's scores, centred within strata as R's ``svyglm`` does."""

    def __init__(self, strata: Ints | None, factor: float) -> None:
        self._strata, self._factor = strata, factor
        if strata is not None:
            self.sizes, self._stretch = stretched(strata)
        self._totals: Floats | None = None
        self._products = np.zeros(())

    def add(self, at: slice, scores: Floats) -> None:
        """Adds the scores of some people, shape (some, m)."""
        where = np.zeros(len(scores), np.int64) if self._strata is None else self._strata[at]
        groups = 1 if self._strata is None else len(self.sizes)
        if self._totals is None:
            m = scores.shape[1]
            self._totals, self._products = np.zeros((groups, m)), np.zeros((m, m))
        # `+=` with an index counts a stratum that comes twice in a block once.
        np.add.at(self._totals, where, scores)
        stretch = 1.0 if self._strata is None else self._stretch[where][:, None]
        self._products = self._products + (scores * stretch).T @ scores

    def covariance(self) -> Floats:
        """Returns the covariance (m, m) of the sums."""
        assert self._totals is not None
        products = self._products
        if self._strata is not None:
            # Centring without the scores at hand: sum (s - mean)(s - mean)' = sum s s' - total
            # total' / n.
            products = (
                products - (self._totals * (self._stretch / self.sizes)[:, None]).T @ self._totals
            )
        return self._factor * products


# --- linear ---------------------------------------------------------------------------------------


def linear(
    outcome: Floats,
    columns: Sequence[Randomised],
    z: CellColumns,
    *,
    confidence: float = 0.95,
    weights: Floats | None = None,
    strata: Ints | None = None,
) -> ModelFit:
    """Fits a linear model whose ``outcome`` is a number that is not randomised, on randomised
    ``columns``. The coefficients estimate those of least squares on the true answers.

    Let person i have the outcome y_i and weight w_i. For each combination a of true answers,
    u_i(a) is the unbiased score of the person's reports and z_i(a) has the c columns of the model.
    With A = sum_i w_i sum_a u_i(a) z_i(a) z_i(a)' the coefficients are b = A^-1 sum_i w_i sum_a
    u_i(a) z_i(a) y_i. Each interval is the inversion of the score test of its coefficient, by a t
    with n - c degrees of freedom. With weights, Kish's effective sample size stands for n; with
    strata, their number but one is subtracted, too.

    Raises BadModel where the outcome is the same in every row or there is no constant column,
    NoEstimate where A is singular or too few people are left, and Unbounded where an interval has
    no end.
    """
    people = _people(columns, z, weights, strata)
    c = z.shape[2]
    degrees = degrees_left(people.w, c, strata)
    if people.scale.constant is None:
        raise BadModel("a linear model needs a constant column: write the formula without 0 or -1")
    # A shift and a unit of the outcome: without them 1e9 + noise would lose the noise to rounding.
    middle = float(outcome[people.w > 0].mean())
    size = float(np.abs(outcome - middle)[people.w > 0].max())
    if not size > 1e-14 * abs(middle):
        raise BadModel("the outcome is the same in every row")
    y = (outcome - middle) / size
    a, of_y = np.zeros((c, c)), np.zeros(c)
    for some in people.blocks():
        uz = (some.w[:, None] * some.u)[:, :, None] * some.z
        a += uz.reshape(-1, c).T @ some.z.reshape(-1, c)
        of_y += np.tensordot(uz.sum(axis=1), y[some.at], axes=(0, 0))
    if not np.linalg.cond(a) < 1 / _SINGULAR:  # a nan is singular, too
        raise NoEstimate(_SINGULAR_TEXT)
    inverse, back = np.linalg.inv(a), people.scale.back
    g = inverse @ of_y
    spread = np.einsum("ic,cd,id->i", back, inverse, back)
    # With noise taken out, A need not be positive: a variance of 0 or below bounds nothing.
    if (vague := np.flatnonzero(~(spread > 0))).size:
        raise Unbounded(vague.tolist())
    along = (back @ inverse).T / spread  # moves one coefficient by 1, and keeps the score of others
    whole = effective(people.w)
    # As HC1, and as svyglm within strata: residuals are smaller than errors by about c / n.
    sums = _Sums(strata, (whole if strata is None else whole - 1) / (whole - c))
    # A second pass over the people, as residuals need the estimate.
    slope, drift = 1 / spread, np.zeros(c)
    for some in people.blocks():
        pulled, wu = some.z @ along, some.w[:, None] * some.u
        error = y[some.at, None] - some.z @ g
        residual = np.einsum("na,naj->nj", wu * error, pulled)
        slopes = np.einsum("na,naj,naj->nj", wu, pulled, pulled)
        sums.add(some.at, np.hstack([residual, slopes]))
        step = np.einsum("na,nac->nc", wu * error, some.z) @ inverse
        drift += np.einsum("na,nac->c", wu * np.einsum("nac,nc->na", some.z, step), some.z)
    covariance_of_sums = sums.covariance()
    b, shift = back @ g, back @ people.scale.constant * middle
    tests = tuple(
        Inversion(
            b[j],
            slope[j],
            covariance_of_sums[j, j],
            covariance_of_sums[j, c + j],
            covariance_of_sums[c + j, c + j],
            degrees,
        ).moved(size, shift[j])
        for j in range(c)
    )
    widest = max(confidence, 0.8)  # coefficients keep an interval of 80 %, too
    if unbounded := [j for j, test in enumerate(tests) if not test.bounded(widest)]:
        raise Unbounded(unbounded)
    own = covariance_of_sums[:c, :c] * np.outer(spread, spread)
    bias = size * _bias(back @ inverse @ drift, own)
    covariance = size**2 * own
    return ModelFit(
        size * b + shift - bias,
        covariance,
        None,
        degrees=np.full(c, degrees),
        inversions=tuple(test.moved(1, -off) for test, off in zip(tests, bias, strict=True)),
    )


def _bias(drift: Floats, covariance: Floats) -> Floats:
    """Returns what to take off the estimates: 0 where the bias is below a tenth of every standard
    error.

    The root b of a score with the random information A is on average off by -``drift``, the sum of
    A^-1 A_i A^-1 s_i over people, to first order. The bias grows with the number of columns per
    person: with 60 sites and 1,200 reports at p = 3/4 a slope came out 15 % too large. Raises
    NoEstimate where the bias is above two standard errors, as the second order then counts, too.
    """
    # 0 / 0 would be nan, and pass.
    parts = np.abs(drift) / np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    if (parts > _TOO_FAR).any():
        raise NoEstimate(
            "there are too many columns for so few reports: the noise of each adds up, and the"
            " estimates would be off; merge categories, leave columns out, or collect more reports"
        )
    bias: Floats = -drift if (parts > _SLIGHT).any() else np.zeros_like(drift)
    return bias


_SINGULAR_TEXT = (
    "the reports do not determine the coefficients: with the noise taken out, their columns follow"
    " from each other; leave a column out, merge answers or collect more reports"
)


# --- logistic and multinomial ---------------------------------------------------------------------


def logistic(
    outcome: Randomised,
    columns: Sequence[Randomised],
    z: CellColumns,
    *,
    weights: Floats | None = None,
    strata: Ints | None = None,
    left_out: bool = False,
) -> ModelFit:
    """Fits a logistic model of a randomised ``outcome`` on randomised ``columns``; a multinomial
    one if the outcome has more than two answers.

    The estimate is the root of sum_i w_i sum_a u_i(a) z_i(a) (y_i - P(answer | z_i(a))), found by
    Newton's steps from 0. The notation is that of ``linear``, but y_i are the unbiased scores of
    person i's report of the outcome. The coefficients are those of answer 1, then of answer 2, and
    so on. Errors are those of the sandwich; with ``left_out`` each person's score is taken at the
    estimate without that person, as in HC3. Intervals take a t with Kish's effective sample size -
    c degrees of freedom, less the number of strata but one.

    Raises NoEstimate where fewer than 3 degrees are left, the steps do not converge, a
    standardised logit is beyond 15, or the information is not positive definite at the root.
    """
    people = _people(columns, z, weights, strata)
    c, logits = z.shape[2], outcome.k - 1
    degrees = degrees_left(people.w, c, strata)
    b = np.zeros((logits, c))
    for _ in range(_STEPS):
        score, information = _slope(people, outcome, b)
        step = solved(information, score).reshape(logits, c)
        # Newton overshoots where shares are near 0 or 1; columns have size 1, so 1.5 is far.
        step *= min(1.0, _LONGEST / max(float(np.abs(step).max()), 1e-300))
        b = b + step
        check_separation(b)
        if np.abs(step).max() < _SMALL_STEP:
            break
    else:
        raise NoEstimate(_ENDLESS)
    _, information = _slope(people, outcome, b)
    # A root of the score where it does not bend down is no estimate, but a saddle.
    if not bends_down(information):
        raise NoEstimate(SEPARATED)
    inverse: Floats = np.linalg.inv(information).astype(np.float64)
    meat = _meat(people, outcome, b, inverse if left_out else None)
    back = np.kron(np.eye(logits), people.scale.back)
    covariance = are_determined(inverse @ meat @ inverse)
    b = b.ravel() - _bias(inverse @ _drift(people, outcome, b, inverse), covariance)
    return ModelFit(
        back @ b, back @ covariance @ back.T, None, degrees=np.full(logits * c, degrees)
    )


_ENDLESS = (
    "the estimate did not converge: the reports tell too little of so many coefficients; leave"
    " columns out, merge answers or collect more reports"
)


def _shares(z: Floats, b: Floats) -> Floats:
    """Returns P(answer) of every answer but the first, shape (n, cells, k - 1)."""
    logits = z @ b.T
    # exp overflows beyond 709; the logit of the first answer is 0, so it is part of the maximum.
    top = np.maximum(logits.max(axis=2, keepdims=True), 0)
    weights = np.exp(logits - top)
    shares: Floats = weights / (np.exp(-top) + weights.sum(axis=2, keepdims=True))
    return shares


def _scores(some: _Some, outcome: Randomised, share: Floats) -> Floats:
    """Returns the score of each person, shape (n, (k - 1) c)."""
    y = outcome.scores[outcome.codes[some.at]][:, None, 1:]
    pull = (some.w[:, None] * some.u)[:, :, None] * (y - share)
    scores: Floats = (pull.transpose(0, 2, 1) @ some.z).reshape(len(some.w), -1)
    return scores


def _slope(people: _People, outcome: Randomised, b: Floats) -> tuple[Floats, Floats]:
    """Returns the summed score and its information, at ``b`` (k - 1, c)."""
    logits, c = b.shape
    score, slope = np.zeros(logits * c), np.zeros((logits, c, logits, c))
    for some in people.blocks(logits):
        share = _shares(some.z, b)
        score += _scores(some, outcome, share).sum(axis=0)
        weight, z = some.w[:, None] * some.u, some.z.reshape(-1, c)
        for i in range(logits):
            for j in range(i + 1):  # the information is symmetric: half of it, and its mirror below
                bend = weight * share[..., i] * ((i == j) - share[..., j])
                slope[i, :, j] += z.T @ (bend.reshape(-1, 1) * z)
    for i in range(logits):
        for j in range(i):
            slope[j, :, i] = slope[i, :, j].T
    return score, slope.reshape(logits * c, logits * c)


def _meat(people: _People, outcome: Randomised, b: Floats, inverse: Floats | None) -> Floats:
    """Returns the covariance of the summed score.

    With the ``inverse`` of the information, each person's score is that at the estimate without
    them.
    """
    logits, c = b.shape
    sums = _Sums(people.strata, 1.0)
    for some in people.blocks(1 if inverse is None else logits * logits * c):
        share = _shares(some.z, b)
        scores = _scores(some, outcome, share)
        if inverse is not None:
            scores = _left_out(some, share, scores, inverse)
        sums.add(some.at, scores)
    return sums.covariance()


def _drift(people: _People, outcome: Randomised, b: Floats, inverse: Floats) -> Floats:
    """Returns the sum of A_i A^-1 s_i over people, shape ((k - 1) c,)."""
    logits, c = b.shape
    drift = np.zeros((logits, c))
    for some in people.blocks(logits):
        share = _shares(some.z, b)
        step = (_scores(some, outcome, share) @ inverse).reshape(-1, logits, c)
        along = np.einsum("nac,njc->naj", some.z, step)
        # A_i is not formed: its product with a vector is that of diag(P) - P P', cell by cell.
        bent = share * (along - (share * along).sum(axis=2, keepdims=True))
        drift += np.einsum("naj,nac->jc", (some.w[:, None] * some.u)[:, :, None] * bent, some.z)
    return drift.ravel()


def _left_out(some: _Some, share: Floats, scores: Floats, inverse: Floats) -> Floats:
    """Returns (I - A_i A^-1)^-1 s_i for each person, which is s_i / (1 - h_i) where nothing is
    randomised: HC3 (MacKinnon and White 1985, J. Econometrics 29:305)."""
    n, c = len(some.w), some.z.shape[2]
    logits = share.shape[2]
    own = np.zeros((n, logits, c, logits, c))
    for i in range(logits):
        for j in range(logits):
            bend = some.w[:, None] * some.u * share[..., i] * ((i == j) - share[..., j])
            own[:, i, :, j] = (some.z * bend[..., None]).transpose(0, 2, 1) @ some.z
    size = logits * c
    left = np.eye(size) - own.reshape(n, size, size) @ inverse
    try:
        solved_scores = np.linalg.solve(left, scores[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:
        raise NoEstimate(ONE_PERSON) from None
    return solved_scores.astype(np.float64)
