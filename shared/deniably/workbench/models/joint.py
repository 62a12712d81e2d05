"""Fits regressions on randomised columns by maximum likelihood, summed over the true answers.

The true answers to the randomised columns are cells x; people with equal other columns make groups
g. Every group has free shares P(x | g), without a model. The outcome given x and g has a logistic
or a linear model. The likelihood of a person's reports is the sum over x of P(x | g) P(reports |
x) f(outcome | x, g).

The maximum is found by steps of the EM gradient (Lange 1995, J. R. Stat. Soc. B 57:425) and, where
the likelihood is concave, of Newton. Errors are from the observed information of this marginal
likelihood (Louis 1982, J. R. Stat. Soc. B 44:226). With weights each person's log-likelihood
counts so many times, and the errors are a sandwich of the same information and the squared
gradients of people (Binder 1983, Int. Stat. Rev. 51:279).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log, pi, prod
from typing import Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import Floats
from deniably.core.errors import BadModel, NoEstimate
from deniably.workbench.models.effective_people import ONE_PERSON, degrees_left
from deniably.workbench.models.fit import (
    Ints,
    ModelFit,
    are_determined,
    bends_down,
    check_separation,
    inverse,
    solved,
    standardised,
    stretched,
)
from deniably.workbench.models.randomised import Randomised

MOST_CELLS = 4096
"""The most cells of all groups together."""
_AT_ONCE = 1 << 22  # numbers in memory
_MOST_STEPS = 2000
_SMALL_STEP = 1e-10
_NEAR = 2.0  # the longest step of Newton's in any parameter
_EMPTY = 1e-8
"""A share below this is taken as 0, if the likelihood does not fall by it."""
_ROUNDS = 20  # of letting shares of 0 in again
_EXACT = -12.0
"""The logarithm of a standardised sigma below which a line fits exactly."""
JointErrors = Literal["observed", "robust", "HC3"]
_Inside = npt.NDArray[np.bool_]
"""Marks (groups, cells) the shares that are not fixed at 0."""


class JointRows(NamedTuple):
    """The distinct combinations of reports and group: r rows, each with the number of people
    behind it.

    ``counts`` (r,) are numbers of people, or sums of their weights. ``group`` (r,) is the number
    of the group: people with equal covariates. ``chances`` (r, cells) has P(reports to the
    randomised columns | cell), where a cell is a combination of true answers to them. ``outcome``
    (r,) is the outcome itself, or the code of its report if the outcome is randomised.
    """

    counts: Floats
    group: Ints
    chances: Floats
    outcome: Floats


class Sample(NamedTuple):
    """The weights and strata of the people behind r distinct rows, for errors that do not rely on
    the model.

    ``stratum`` (r,) is the stratum of each distinct row. ``kind`` (people,) is the number of each
    person's distinct row, and ``weights`` (people,) the person's weight; only people with a weight
    above 0 are listed. ``sizes`` (strata,) is the number n of people in each stratum, and
    ``stretch`` (strata,) is n / (n - 1).
    """

    stratum: Ints
    kind: Ints
    weights: Floats
    sizes: Ints
    stretch: Floats

    def summed(self, leverage: Floats) -> tuple[Floats, Floats]:
        """Returns two arrays (r,) with an item for each distinct row: the sum of its people's
        weights, and the sum of the squares of these weights.

        Before, each weight is divided by 1 - weight x ``leverage`` of the row (r,). Raises
        NoEstimate where weight x leverage is 1.
        """
        left = 1 - self.weights * leverage[self.kind]
        # A leverage of 1: the model fits this person exactly, whatever their report.
        if (left < 1e-9).any():
            raise NoEstimate(ONE_PERSON)
        weights, n = self.weights / left, len(self.stratum)
        sums, squares = (np.bincount(self.kind, each, n) for each in (weights, weights**2))
        return sums.astype(np.float64), squares.astype(np.float64)


class Seen(NamedTuple):
    """The logarithm of the outcome's density for r rows in every cell, ``log_density`` (r, cells),
    and its gradient, ``scores`` (r, cells, coefficients)."""

    log_density: Floats
    scores: Floats


class OutcomeModel(Protocol):
    """A model of the outcome: its density f(outcome | x, g), given the true answers x to the
    randomised columns and the group g."""

    @property
    def coefficients(self) -> int:
        """Returns the number of coefficients."""
        ...

    @property
    def slopes(self) -> int:
        """Returns the number of coefficients, counted from the first, that can diverge under
        separation: where columns separate the answers completely."""
        ...

    def seen(self, b: Floats, people: JointRows) -> Seen:
        """Returns log f and its gradient for the rows ``people``, with the coefficients ``b``."""
        ...

    def information(self, b: Floats, people: JointRows, weight: Floats) -> Floats:
        """Returns the sum, over rows and cells, of ``weight`` (rows, cells) times minus the second
        derivative of log f, shape (coefficients, coefficients)."""
        ...

    def complete(self, b: Floats, people: JointRows, weight: Floats) -> Floats:
        """Returns the ``information`` to be expected if the true outcome were known, which is
        always positive definite."""
        ...


def cells(columns: Sequence[Randomised]) -> int:
    """Returns the number of combinations of true answers to these columns."""
    return prod(column.k for column in columns)


def cell_answers(columns: Sequence[Randomised]) -> list[Ints]:
    """Returns an array for each column: the number of its true answer in every cell. The answer of
    the last column changes fastest from cell to cell."""
    sizes = [column.k for column in columns]
    return [index.ravel() for index in np.indices(sizes)]


def people(
    columns: Sequence[Randomised],
    group: Ints,
    outcome: Floats,
    weights: Floats | None = None,
    strata: Ints | None = None,
) -> tuple[JointRows, Sample]:
    """Groups people with equal reports, group, outcome and stratum into distinct rows; returns
    these rows, and the weights and strata of the people.

    People of weight 0 count only towards the size of their stratum. Raises BadModel for a stratum
    of one person.
    """
    w = np.ones(len(outcome)) if weights is None else weights
    where = np.zeros(len(outcome), np.int64) if strata is None else strata
    rows = np.column_stack([outcome, group, where, *(column.codes for column in columns)])
    # Reports of small ranges repeat, and the likelihood depends on how often each comes.
    kinds, kind = np.unique(rows[w > 0], axis=0, return_inverse=True)
    counts: Floats = np.bincount(kind.ravel(), w[w > 0]).astype(np.float64)
    answers = cell_answers(columns)
    chances = np.ones((len(kinds), cells(columns)))
    for place, (column, answer) in enumerate(zip(columns, answers, strict=True), 3):
        # Coins of different questions are independent, so the probabilities of their reports
        # multiply.
        chances *= column.chances[kinds[:, place].astype(np.int64)][:, answer]
    groups, stratum = kinds[:, 1].astype(np.int64), kinds[:, 2].astype(np.int64)
    plain = weights is None and strata is None
    sizes, stretch = (np.array([len(w)]), np.ones(1)) if plain else stretched(where)
    kinds_of_people = JointRows(counts, groups, chances, kinds[:, 0].astype(np.float64))
    return kinds_of_people, Sample(stratum, kind.ravel().astype(np.int64), w[w > 0], sizes, stretch)


@dataclass(frozen=True, eq=False)
class Logistic:
    """A logistic model of a randomised outcome with k answers: P(answer a | cell) = exp(z b_a) /
    sum_j exp(z b_j), where b_0 = 0.

    ``chances`` (reports, k) has P(report | answer). ``z`` (groups, cells, c) has the c columns of
    the model for each group of people and each cell.
    """

    z: Floats
    chances: Floats

    @property
    def coefficients(self) -> int:
        """Returns the number of coefficients: c for each of the k - 1 logits."""
        return int((self.chances.shape[1] - 1) * self.z.shape[2])

    @property
    def slopes(self) -> int:
        """Returns the number of coefficients that can diverge under separation: all of them."""
        return self.coefficients

    def _shares(self, b: Floats) -> Floats:
        """Returns P(answer), shape (groups, cells, k)."""
        slopes = b.reshape(-1, self.z.shape[2])
        logits = np.concatenate([np.zeros((*self.z.shape[:2], 1)), self.z @ slopes.T], axis=2)
        shares = np.exp(logits - logits.max(axis=2, keepdims=True))
        normalised: Floats = shares / shares.sum(axis=2, keepdims=True)
        return normalised

    def _posterior(self, b: Floats, people: JointRows) -> tuple[Floats, Floats, Floats]:
        """Returns P(answer), P(answer | report) and P(report) for each row and cell."""
        share = self._shares(b)[people.group]
        both = share * self.chances[people.outcome.astype(np.int64)][:, None, :]
        chance = np.maximum(both.sum(axis=2), 1e-300)
        return share, both / chance[:, :, None], chance

    def seen(self, b: Floats, people: JointRows) -> Seen:
        """Returns the log-likelihood of the outcome's reports in every cell, and its gradient."""
        share, posterior, chance = self._posterior(b, people)
        # The gradient by a logit is P(answer | report) - P(answer).
        apart = (posterior - share)[:, :, 1:]
        scores = apart[..., None] * self.z[people.group][:, :, None, :]
        return Seen(np.log(chance), scores.reshape(*chance.shape, -1))

    def information(self, b: Floats, people: JointRows, weight: Floats) -> Floats:
        """Returns the sum, over rows and cells, of ``weight`` times (Cov(answer) - Cov(answer |
        report)), shape (coefficients, coefficients)."""
        share, posterior, _ = self._posterior(b, people)
        return self._bent(people, weight, share) - self._bent(people, weight, posterior)

    def complete(self, b: Floats, people: JointRows, weight: Floats) -> Floats:
        """Returns the information if the true answers were known: the sum, over rows and cells, of
        ``weight`` times Cov(answer)."""
        return self._bent(people, weight, self._shares(b)[people.group])

    def _bent(self, people: JointRows, weight: Floats, share: Floats) -> Floats:
        """Returns the sum of weight times (diag(P) - P P') times z z', for P the first argument's
        shares."""
        k, c = share.shape[2], self.z.shape[2]
        bent = np.zeros((k - 1, c, k - 1, c))
        z = self.z[people.group]
        for first in range(1, k):
            for two in range(1, k):
                bend = -share[..., first] * share[..., two]
                if first == two:
                    bend = bend + share[..., first]
                weighed = (weight * bend)[:, :, None] * z
                bent[first - 1, :, two - 1] = np.tensordot(weighed, z, axes=([0, 1], [0, 1]))
        return bent.reshape(self.coefficients, self.coefficients)


@dataclass(frozen=True, eq=False)
class Linear:
    """A linear model: outcome = z b + a normal error. The last coefficient is log sigma, the
    logarithm of the errors' standard deviation.

    ``z`` (groups, cells, c) has the c columns of the model for each group of people and each cell.
    """

    z: Floats

    @property
    def coefficients(self) -> int:
        """Returns the number of coefficients: c slopes and log sigma."""
        return int(self.z.shape[2]) + 1

    @property
    def slopes(self) -> int:
        """Returns 0: no slope of a linear model can diverge under separation."""
        return 0

    def _errors(self, b: Floats, people: JointRows) -> Floats:
        """Returns standardised residuals (r, cells). Raises NoEstimate where the line fits
        exactly."""
        if b[-1] < _EXACT:
            raise NoEstimate(
                "the numbers follow from the reports exactly: there is no spread around the line"
            )
        errors: Floats = (people.outcome[:, None] - (self.z @ b[:-1])[people.group]) / np.exp(b[-1])
        return errors

    def seen(self, b: Floats, people: JointRows) -> Seen:
        """Returns the normal log-likelihood of the outcome in every cell, and its gradient."""
        e = self._errors(b, people)
        scores = np.concatenate(
            [e[:, :, None] * self.z[people.group] / np.exp(b[-1]), (e**2 - 1)[:, :, None]], axis=2
        )
        return Seen(-(e**2) / 2 - b[-1] - log(2 * pi) / 2, scores)

    def information(self, b: Floats, people: JointRows, weight: Floats) -> Floats:
        """Returns the sum, over rows and cells, of ``weight`` times minus the second derivative of
        log f; the last row and column are those of log sigma."""
        e, z = self._errors(b, people), self.z[people.group]
        information = self.complete(b, people, weight)
        information[:-1, -1] = np.tensordot(2 * weight * e, z, axes=([0, 1], [0, 1])) / np.exp(
            b[-1]
        )
        information[-1, :-1], information[-1, -1] = (
            information[:-1, -1],
            float((2 * weight * e**2).sum()),
        )
        return information

    def complete(self, b: Floats, people: JointRows, weight: Floats) -> Floats:
        """Returns the expectation of ``information`` over normal errors."""
        z = self.z[people.group]
        information = np.zeros((self.coefficients, self.coefficients))
        weighed = weight[:, :, None] * z
        information[:-1, :-1] = np.tensordot(weighed, z, axes=([0, 1], [0, 1])) / np.exp(2 * b[-1])
        # E[2 e^2] = 2, and E[e] = 0 leaves no cross terms.
        information[-1, -1] = 2 * float(weight.sum())
        return information


class _Point(NamedTuple):
    """Coefficients ``b`` and shares (groups, cells), with their log-likelihood ``value``."""

    b: Floats
    shares: Floats
    value: float


class _Bend(NamedTuple):
    """The gradient by b and log shares, the observed information of both, and the complete one,
    which is always positive definite."""

    gradient: Floats
    observed: Floats
    complete: Floats


def fit(
    outcome: OutcomeModel,
    people: JointRows,
    start: Floats,
    sample: Sample | None = None,
    *,
    left_out: bool = False,
) -> ModelFit:
    """Maximises the likelihood of ``people`` over the coefficients of the ``outcome`` model, from
    ``start``, and over the shares of the true answers in each group.

    Returns the coefficients with errors from the observed information. With a ``sample``, errors
    are those of the sandwich; ``left_out`` then takes each person's score at the estimate without
    that person (HC3). Shares that are estimated to be 0 are treated as known. Raises NoEstimate on
    separation and without convergence.
    """
    groups = int(people.group.max()) + 1
    shares = np.full((groups, people.chances.shape[1]), 1 / people.chances.shape[1])
    inside = np.ones(shares.shape, dtype=bool)
    point = _Point(start, shares, _value(outcome, people, start, shares))
    for _ in range(_ROUNDS):
        point, inside, bend = _climbed(outcome, people, point, inside)
        # A share of 0 cannot grow by factors. It is let in again where the likelihood would rise.
        missed = ~inside & (_pull(outcome, people, point) > 1 + 1e-6)
        if not missed.any():
            c = outcome.coefficients
            covariance = inverse(bend.observed)
            are_determined(covariance[: outcome.slopes, : outcome.slopes])
            if sample:
                bread = covariance if left_out else np.zeros_like(covariance)
                covariance = (
                    covariance @ _meat(outcome, people, point, inside, sample, bread) @ covariance
                )
            edge = int((~inside).sum())
            return ModelFit(point.b, covariance[:c, :c], point.value, at_the_edge=edge)
        # Large enough to grow, small enough to keep the rest.
        shares = np.where(missed, 1e-3, point.shares)
        shares /= shares.sum(axis=1, keepdims=True)
        inside = inside | missed
        point = _Point(point.b, shares, _value(outcome, people, point.b, shares))
    raise NoEstimate(_ENDLESS)


_ENDLESS = (
    "the estimate did not converge: the reports tell too little of so many coefficients and cells;"
    " merge categories, leave columns out or collect more reports"
)


def _climbed(
    outcome: OutcomeModel, people: JointRows, point: _Point, inside: _Inside
) -> tuple[_Point, _Inside, _Bend]:
    """Returns a maximum with these shares inside, the shares that are above 0 there, and the
    curvature."""
    c = outcome.coefficients
    for _ in range(_MOST_STEPS):
        bend = _bend(outcome, people, point, inside)
        step = _step(bend)
        for _ in range(40):
            there = _moved(outcome, people, point, inside, step)
            # Near the top the gain of a step is below the rounding of a sum of so many logarithms.
            if there.value >= point.value - 1e-12 * (1 + abs(point.value)):
                break
            step = step / 2
        else:
            raise NoEstimate(_ENDLESS)
        point = there
        check_separation(point.b[: outcome.slopes])
        empty = inside & (point.shares < _EMPTY)
        if empty.any():
            inside = inside & ~empty
            shares = np.where(inside, point.shares, 0.0)
            shares /= shares.sum(axis=1, keepdims=True)
            point = _Point(point.b, shares, _value(outcome, people, point.b, shares))
        elif np.abs(step[:c]).max(initial=0.0) < _SMALL_STEP and np.abs(step).max() < 1e-8:
            return point, inside, _bend(outcome, people, point, inside)
    raise NoEstimate(_ENDLESS)


def _step(bend: _Bend) -> Floats:
    """Returns Newton's step where the likelihood is concave and the maximum near; else that of the
    EM gradient, which goes up from anywhere."""
    if bends_down(bend.observed):
        step = solved(bend.observed, bend.gradient)
        # Far from the top a quadratic fits badly, and its step could lead down.
        if np.abs(step).max() <= _NEAR:
            return step
    return solved(bend.complete, bend.gradient)


def _moved(
    outcome: OutcomeModel, people: JointRows, point: _Point, inside: _Inside, step: Floats
) -> _Point:
    c = outcome.coefficients
    logs = np.zeros(inside.shape)
    logs[inside] = step[c:]
    # Steps of logarithms: shares stay above 0 without a bound to watch.
    shares = point.shares * np.exp(logs)
    shares /= shares.sum(axis=1, keepdims=True)
    b = point.b + step[:c]
    return _Point(b, shares, _value(outcome, people, b, shares))


def _blocks(people: JointRows, width: int) -> Iterator[JointRows]:
    rows = max(1, _AT_ONCE // (people.chances.shape[1] * width))
    for start in range(0, len(people.counts), rows):
        at = slice(start, start + rows)
        yield JointRows(people.counts[at], people.group[at], people.chances[at], people.outcome[at])


def _value(outcome: OutcomeModel, people: JointRows, b: Floats, shares: Floats) -> float:
    total = 0.0
    for some in _blocks(people, outcome.coefficients):
        whole, top = _whole(outcome.seen(b, some).log_density, some, shares)
        # Products over many questions underflow; a logarithm of 0 would make the sum infinite.
        total += float(some.counts @ (np.log(np.maximum(whole.sum(axis=1), 1e-300)) + top))
    return total if np.isfinite(total) else -np.inf


def _whole(log_density: Floats, some: JointRows, shares: Floats) -> tuple[Floats, Floats]:
    """Returns the likelihood of rows and cells, divided by exp(top) of each row, and top (r,)."""
    top = log_density.max(axis=1)
    return shares[some.group] * some.chances * np.exp(log_density - top[:, None]), top


def _pull(outcome: OutcomeModel, people: JointRows, point: _Point) -> Floats:
    """Returns how much the likelihood grows with a share, relative to its growth on average. Above
    1, a share of 0 should be larger."""
    pull = np.zeros(point.shares.shape)
    for some in _blocks(people, outcome.coefficients):
        log_density = outcome.seen(point.b, some).log_density
        whole, top = _whole(log_density, some, point.shares)
        each = some.chances * np.exp(log_density - top[:, None])
        # Groups come more than once, which += would count once.
        np.add.at(pull, some.group, each * (some.counts / whole.sum(axis=1))[:, None])
    sizes = np.bincount(people.group, people.counts, len(pull))
    return pull / sizes[:, None]


def _bend(outcome: OutcomeModel, people: JointRows, point: _Point, inside: _Inside) -> _Bend:
    """Returns the gradient and both information matrices at a point, by Louis's identity: the
    observed information is the complete one less the variance of its gradient, given the reports.

    Of the log shares of a group only the differences count; what is added for their sum changes
    nothing else.
    """
    c = outcome.coefficients
    groups, k = point.shares.shape
    gradient, complete, bent = np.zeros(c), np.zeros((c, c)), np.zeros((c, c))
    answers = np.zeros((groups, k))
    across = np.zeros((c, groups, k))
    pairs = np.zeros((groups, k, k))
    for some in _blocks(people, c):
        seen = outcome.seen(point.b, some)
        whole, _ = _whole(seen.log_density, some, point.shares)
        posterior = whole / whole.sum(axis=1, keepdims=True)
        weight = some.counts[:, None] * posterior
        mean = np.einsum("rx,rxi->ri", posterior, seen.scores)
        gradient += some.counts @ mean
        complete += outcome.complete(point.b, some, weight)
        weighed = weight[:, :, None] * seen.scores
        bent += outcome.information(point.b, some, weight)
        # E[s s'] - E[s] E[s]' by cell: what reports leave open of the score of the true answers.
        bent -= np.tensordot(weighed, seen.scores, axes=([0, 1], [0, 1]))
        bent += mean.T @ (some.counts[:, None] * mean)
        apart = (seen.scores - mean[:, None, :]) * weight[..., None]
        # The posterior of a row's cells: what EM fills in for the true answers.
        for group in np.unique(some.group):
            here = some.group == group
            answers[group] += weight[here].sum(axis=0)
            across[:, group] += apart[here].sum(axis=0).T
            pairs[group] += posterior[here].T @ weight[here]
    sizes = answers.sum(axis=1)
    places = np.flatnonzero(inside)
    owner: Ints = places // k
    shares = point.shares.ravel()[places]
    same = owner[:, None] == owner[None, :]
    n = sizes[owner]
    fixed = np.where(same, n[:, None], 0.0)
    # The last term fills the direction in which all log shares of a group grow together: it is
    # flat, and a matrix with it could not be inverted.
    whole_shares = np.diag(n * shares) - fixed * np.outer(shares, shares) + fixed / k**2
    counted = answers.ravel()[places]
    block = np.zeros((groups, k, groups, k))
    block[np.arange(groups), :, np.arange(groups), :] = pairs
    hidden = np.diag(counted) - block.reshape(groups * k, -1)[np.ix_(places, places)]
    size = c + len(places)
    full, observed = np.zeros((size, size)), np.zeros((size, size))
    full[:c, :c], full[c:, c:] = complete, whole_shares
    observed[:c, :c], observed[c:, c:] = bent, whole_shares - hidden
    crossed = across.reshape(c, -1)[:, places]
    # Only what reports leave open ties coefficients and shares, so the complete information has no
    # such block.
    observed[:c, c:], observed[c:, :c] = -crossed, -crossed.T
    return _Bend(np.concatenate([gradient, counted - n * shares]), observed, full)


def _meat(
    outcome: OutcomeModel,
    people: JointRows,
    point: _Point,
    inside: _Inside,
    sample: Sample,
    bread: Floats,
) -> Floats:
    """Returns the covariance of the summed gradients of b and log shares, as ``fit.sandwich``
    does.

    People in one distinct row have the same gradient s. Its leverage is that of a report's own
    information, taken as s s': weight times s' ``bread`` s. Gradients are divided by 1 - leverage,
    as in HC3; a bread of 0 leaves them unchanged.
    """
    meat = np.zeros_like(bread)
    totals = np.zeros((len(sample.sizes), len(meat)))
    leverage = np.zeros(len(people.counts))
    if bread.any():
        for at, each in _gradients(outcome, people, point, inside):
            leverage[at] = np.einsum("ri,ij,rj->r", each, bread, each)
    counts, squares = sample.summed(leverage)
    for at, each in _gradients(outcome, people, point, inside):
        stratum = sample.stratum[at]
        np.add.at(totals, stratum, counts[at, None] * each)
        meat += (each * (squares[at] * sample.stretch[stratum])[:, None]).T @ each
    # Strata are sampled apart, so that differences between them are no errors.
    meat -= (totals * (sample.stretch / sample.sizes)[:, None]).T @ totals
    return meat


def _gradients(
    outcome: OutcomeModel, people: JointRows, point: _Point, inside: _Inside
) -> Iterator[tuple[slice, Floats]]:
    """Yields the gradients by b and log shares of each distinct row, some rows at a time."""
    c, (groups, k), places = outcome.coefficients, point.shares.shape, np.flatnonzero(inside)
    start = 0
    for some in _blocks(people, c + groups):
        rows = np.arange(len(some.counts))
        at = slice(start, start + len(rows))
        start += len(rows)
        seen = outcome.seen(point.b, some)
        whole, _ = _whole(seen.log_density, some, point.shares)
        posterior = whole / whole.sum(axis=1, keepdims=True)
        pull = np.zeros((len(rows), groups, k))
        pull[rows, some.group] = posterior - point.shares[some.group]
        mean = np.einsum("rx,rxi->ri", posterior, seen.scores)
        yield at, np.hstack([mean, pull.reshape(len(rows), -1)[:, places]])


def logistic(
    outcome: Randomised,
    columns: Sequence[Randomised],
    group: Ints,
    z: Floats,
    *,
    weights: Floats | None = None,
    strata: Ints | None = None,
    errors: JointErrors = "observed",
) -> ModelFit:
    """Fits a logistic model of a randomised ``outcome`` on randomised ``columns`` and on the
    covariates of each person's ``group``, shape (n,).

    ``z`` (groups, cells, c) has the c columns of the model for every group and cell. The
    coefficients are those of answer 1, then of answer 2, and so on. ``weights`` and ``strata``,
    both (n,), need "robust" or "HC3" ``errors``. Raises NoEstimate on separation, without
    convergence and, for "HC3", where fewer than 3 degrees of freedom are left. Raises BadModel for
    more than 4,096 cells in all groups together.
    """
    _check(z)
    group, z = _weighing(group, z, weights)
    scaled = standardised(z.reshape(-1, z.shape[2]))
    model = Logistic(scaled.z.reshape(z.shape), outcome.chances)
    rows, sample = people(columns, group, outcome.codes.astype(np.float64), weights, strata)
    start = np.zeros(model.coefficients)  # all answers equally likely: nowhere flat
    fitted, degrees = _sampled(model, rows, start, sample, errors, weights, strata, group)
    back = np.kron(np.eye(outcome.k - 1), scaled.back)
    covariance = back @ fitted.covariance @ back.T
    return ModelFit(
        back @ fitted.coefficients, covariance, fitted.log_likelihood, None, fitted.at_the_edge,
        None if degrees is None else np.full(len(back), degrees),
    )  # fmt: skip


def linear(
    outcome: Floats,
    columns: Sequence[Randomised],
    group: Ints,
    z: Floats,
    *,
    weights: Floats | None = None,
    strata: Ints | None = None,
    errors: JointErrors = "observed",
) -> ModelFit:
    """Fits a linear model with normal errors. Its ``outcome`` is a number that is not randomised,
    shape (n,); it depends on randomised ``columns`` and on the covariates of each person's
    ``group`` (n,).

    The other parameters are those of ``logistic``. Raises BadModel where the outcome is the same
    in every row, there is no constant column, or there are more than 4,096 cells. Raises
    NoEstimate under the same conditions as ``logistic``, and where the numbers follow from the
    reports exactly.
    """
    _check(z)
    # A unit of the outcome's own: the steps of log sigma start at 0.
    middle, size = outcome.mean(), outcome.std()
    if not size:
        raise BadModel("the outcome is the same in every row")
    group, z = _weighing(group, z, weights)
    scaled = standardised(z.reshape(-1, z.shape[2]))
    model = Linear(scaled.z.reshape(z.shape))
    rows, sample = people(columns, group, (outcome - middle) / size, weights, strata)
    start = np.zeros(model.coefficients)
    fitted, degrees = _sampled(model, rows, start, sample, errors, weights, strata, group)
    back = scaled.back * size
    slopes = back @ fitted.coefficients[:-1]
    slopes += middle * _constant(scaled.z, scaled.back)
    covariance = back @ fitted.covariance[:-1, :-1] @ back.T
    sigma = float(np.exp(fitted.coefficients[-1]) * size)
    assert fitted.log_likelihood is not None
    # The density per unit of the outcome as it was given.
    value = fitted.log_likelihood - float(rows.counts.sum()) * log(size)
    of_t = None if degrees is None else np.full(len(back), degrees)
    return ModelFit(slopes, covariance, value, sigma, fitted.at_the_edge, of_t)


def _sampled(
    model: Logistic | Linear,
    rows: JointRows,
    start: Floats,
    sample: Sample,
    errors: JointErrors,
    weights: Floats | None,
    strata: Ints | None,
    group: Ints,
) -> tuple[ModelFit, float | None]:
    """Returns the fit with these errors, and for HC3 the degrees of freedom of a t, else None."""
    if errors != "HC3":
        return fit(model, rows, start, sample if errors == "robust" else None), None
    w = np.ones(len(group)) if weights is None else weights
    degrees = degrees_left(w, model.z.shape[2], strata)
    return fit(model, rows, start, sample, left_out=True), degrees


def _weighing(group: Ints, z: Floats, weights: Floats | None) -> tuple[Ints, Floats]:
    """Returns the groups that have somebody with a weight, numbered again, and their z. Others
    have no shares to estimate."""
    if weights is None:
        return group, z
    strata_of_rows = np.zeros(len(group), np.int64)
    used, strata_of_rows[weights > 0] = np.unique(group[weights > 0], return_inverse=True)
    return strata_of_rows, z[used]


def _constant(z: Floats, back: Floats) -> Floats:
    """Returns the coefficients whose column is the constant 1. Raises BadModel without any."""
    solution, *_ = np.linalg.lstsq(z, np.ones(len(z)), rcond=None)
    if np.abs(z @ solution - 1).max() > 1e-9:
        raise BadModel("a linear model needs a constant column: write the formula without 0 or -1")
    slopes: Floats = back @ solution
    return slopes


def _check(z: Floats) -> None:
    if z.shape[0] * z.shape[1] > MOST_CELLS:
        raise BadModel(
            f"the true answers and the groups make {z.shape[0] * z.shape[1]:,} cells, and at most"
            f" {MOST_CELLS:,} can be estimated: leave a column out, or merge categories"
        )
