"""Estimates means and shares through any finite channel, by a score for each report.

A channel is a matrix Q of shape (inputs, outputs) with Q[x, y] = P(report y | answer x). If scores
v solve Q v = t, then v[report] is an unbiased estimate of t[answer]. For a mean, t holds positions
on a scale; for a share, zeros and ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache, partial
from statistics import NormalDist
from typing import cast

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import Floats
from deniably.estimation.blanks import (
    Blanks,
    Saved,
    blended_channel,
    blended_scores,
)


@dataclass(frozen=True)
class Margin:
    """The confidence interval ``low .. high`` of one mean, within the range of possible means.

    ``missed`` says that no possible mean is compatible with the reports: a sign of a bug or of fake
    reports. The interval is then that of an estimate at the nearer end of the range, so that odd
    reports do not look like certainty.
    """

    standard_error: float
    low: float
    high: float
    missed: bool

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """The ends ``low`` and ``high`` as arrays of shape ()."""
        return np.asarray(self.low), np.asarray(self.high)


@dataclass(frozen=True)
class Mean:
    """An unbiased estimate of a mean, which may lie outside the range of possible means.

    ``population_margin`` is its interval if the ``n`` respondents are a random sample of a
    population, ``sample_margin`` its interval for these respondents alone. Both hold with
    ``confidence``. ``margin_at(confidence)`` and ``sample_margin_at(confidence)`` return them at
    any other confidence.
    """

    n: int
    confidence: float
    estimate: float
    margin_at: Callable[[float], Margin] = field(repr=False, compare=False)
    sample_margin_at: Callable[[float], Margin] = field(repr=False, compare=False)

    # Margins are made when they are asked for: of many means nobody asks for them.

    @cached_property
    def population_margin(self) -> Margin:
        """The interval of the mean of the population, at ``confidence``."""
        return self.margin_at(self.confidence)

    @cached_property
    def sample_margin(self) -> Margin:
        """The interval of the mean of these respondents alone, at ``confidence``."""
        return self.sample_margin_at(self.confidence)


@dataclass(frozen=True, eq=False)
class Uncertain:
    """An estimated mean with all that its score interval needs.

    The true mean lies between ``ends``, and one report moves the ``estimate`` by at least ``step``.
    ``variance`` is the estimated variance of the estimate, ``variance_at`` the variance at any true
    mean, ``error`` the standard error to show.
    """

    estimate: float
    variance: float
    variance_at: Callable[[Floats], Floats]
    step: float
    ends: tuple[float, float]
    error: float

    def margin(self, confidence: float) -> Margin:
        """Returns the score interval of the mean at ``confidence``, as ``inversion.margin`` defines
        it."""
        interval = margin(
            self.estimate, self.variance, self.variance_at, self.step, self.ends, confidence
        )
        return replace(interval, standard_error=self.error)

    def deviate(self, value: float) -> float:
        """Returns how many standard deviations the estimate lies above ``value``, less the half
        step.

        ``margin`` contains the values for which the result is, in size, at most the normal
        quantile.
        """
        apart = self.estimate - value
        beyond = max(abs(apart) - half_step(self.step, self.variance), 0.0)
        variance = float(self.variance_at(np.array(value)))
        if beyond == 0:
            return 0.0
        return float(np.copysign(beyond / variance**0.5 if variance > 0 else np.inf, apart))


def scores(channel: npt.ArrayLike, target: npt.ArrayLike, reference: npt.ArrayLike = 1) -> Floats:
    """Returns the scores v, shape (outputs,), with channel @ v = target and the smallest variance.

    The mean score of reports then estimates the mean of ``target`` (inputs,) over the answers
    without bias. The variance is that for answers in proportion to ``reference`` (inputs,), which
    is positive and by default uniform. With Q = ``channel`` (inputs, outputs), t = ``target`` and
    the diagonal matrix D of the probabilities of the outputs, v = D^-1 Q' (Q D^-1 Q')^-1 t
    (Gauss-Markov; Aitken 1935). For m targets, shape (m, inputs), the scores have the shape (m,
    outputs).

    >>> scores([[0.75, 0.25], [0.25, 0.75]], [1, 0]).round(3)  # the share of the first answer
    array([ 1.5, -0.5])

    Raises ValueError if no such scores exist: the outputs do not tell the inputs apart.
    """
    solution, exact = _solve(np.asarray(channel, float), np.asarray(target, float), reference)
    if not exact.all():
        raise ValueError("no unbiased estimate exists: the reports do not tell the answers apart")
    return solution


def linear(
    counts: npt.ArrayLike,
    v: npt.ArrayLike,
    channel: npt.ArrayLike,
    confidence: float = 0.95,
    blanks: Blanks | None = None,
) -> Mean:
    """Estimates the mean of channel @ v over the answers, from the counts of each output.

    ``counts`` and ``v`` have shape (outputs,), ``channel`` (inputs, outputs). Standard errors
    divide by n, not n - 1, and are at least what the channel allows at the nearest possible mean.
    For a share, half a report is added to either side, as in ``estimate.standard_error``.
    ``sample_margin`` leaves out the variance among answers, which is estimated through the same
    channel; if the channel hides it, nothing is subtracted. The intervals are score intervals
    (``margin``). The variance at mean mu is that of the likeliest distribution of reports with this
    mean (``tilted``), clipped to what the channel allows there. If the scale is moved or stretched,
    the intervals are moved and stretched with it. For two answers they are those of ``intervals``.
    A mixer's ``blanks`` among the counts are taken out.

    Coverage at a nominal 0.95, simulated for k-ary response, windows and square waves, epsilon 0.5
    to 8, n 30 to 1000, flat, humped and one-sided answers: at least 0.92. Where all or nearly all
    have the same answer and epsilon is 8, coverage depends on the one report in n that noise moves
    far: 0.91 for k-ary response (n = 200), 0.88 for windows and 0.85 for square waves (n = 50).
    Raises ValueError where there is no report, shapes differ or confidence is not in (0, 1).
    """
    one = np.asarray(v, dtype=np.float64)[None]
    return linear_each(counts, one, channel, confidence, blanks)[0]


def linear_each(
    counts: npt.ArrayLike,
    v: npt.ArrayLike,
    channel: npt.ArrayLike,
    confidence: float = 0.95,
    blanks: Blanks | None = None,
) -> list[Mean]:
    """Estimates the means of several scores ``v`` (t, outputs) of the same reports, as ``linear``
    does.

    One matrix product serves all of them. Raises ValueError as ``linear`` does.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence:g}; use one between 0 and 1, such as 0.95")
    scored = _scored(counts, v, channel, blanks)
    n = int(np.sum(counts)) - (0 if blanks is None else round(blanks.number))
    return [
        _as_mean(n, mean, cache(partial(_uncertain, scored, index)), confidence)
        for index, mean in enumerate(scored.means.tolist())
    ]


_Pair = tuple["Uncertain", "Uncertain"]


def as_mean(n: int, pair: tuple[Uncertain, Uncertain], confidence: float) -> Mean:
    """Returns the ``Mean`` of n reports with margins at ``confidence``.

    ``pair`` is the uncertain mean for the population, and that for these respondents alone.
    """
    return _as_mean(n, pair[0].estimate, lambda: pair, confidence)


def _as_mean(n: int, estimate: float, pair: Callable[[], _Pair], confidence: float) -> Mean:
    """A mean whose uncertainty is worked out when a margin is asked for."""
    return Mean(
        n,
        confidence,
        estimate,
        lambda confidence: pair()[0].margin(confidence),
        lambda confidence: pair()[1].margin(confidence),
    )


def uncertain(
    counts: npt.ArrayLike, v: npt.ArrayLike, channel: npt.ArrayLike, blanks: Blanks | None = None
) -> tuple[Uncertain, Uncertain]:
    """Returns the uncertain means for the population and for these respondents alone.

    ``linear`` makes its margins from them. ``counts`` and ``v`` have shape (m,) for m outputs, and
    ``channel`` (k, m) for k answers. Raises ValueError for other shapes, or where there is no
    report.
    """
    return _uncertain(_scored(counts, np.asarray(v, dtype=np.float64)[None], channel, blanks), 0)


def _uncertain(scored: _Scored, index: int) -> _Pair:
    return scored.possible.uncertain(index)


def _scored(
    counts: npt.ArrayLike, v: npt.ArrayLike, channel: npt.ArrayLike, blanks: Blanks | None
) -> _Scored:
    """Raises ValueError where shapes differ, or there is no report of a person."""
    q = np.asarray(channel, dtype=np.float64)
    tallied, score = np.asarray(counts, dtype=np.float64), np.asarray(v, dtype=np.float64)
    if not tallied.shape == score.shape[1:] == q.shape[1:]:
        raise ValueError(
            f"counts have the shape {tallied.shape} and scores {score.shape[1:]}; both have one"
            f" entry for each of the {q.shape[1]} outputs of the channel"
        )
    people = float(tallied.sum()) - (0.0 if blanks is None else blanks.number)
    if not people > 0:
        raise ValueError("an estimate needs at least one report")
    blended, saved = blended_scores(score, people, blanks)
    return _Scored(tallied, blended, blended_channel(q, people, blanks), saved)


@dataclass(frozen=True, eq=False)
class _Scored:
    """Several ``scores`` (t, m) of the same reports: ``counts`` (m,) through a ``channel`` (k, m).

    Where blanks are among the reports, scores and channel are blended. What one product of matrices
    gives for all scores is worked out together.
    """

    counts: Floats
    scores: Floats
    channel: Floats
    saved: Saved

    @cached_property
    def n(self) -> float:
        return float(self.counts.sum())

    @cached_property
    def means(self) -> Floats:
        means: Floats = self.scores @ self.counts / self.n
        return means

    @cached_property
    def possible(self) -> _Scored:
        """The same reports without the outputs that no answer causes and no report has."""
        # An output that no answer causes has probability 0, by which scores are divided.
        seen = (self.counts > 0) | (self.channel > 0).any(axis=0)
        return replace(
            self,
            counts=self.counts[seen],
            scores=self.scores[:, seen],
            channel=self.channel[:, seen],
        )

    @cached_property
    def _of_answers(self) -> tuple[Floats, Floats, Floats, Floats, npt.NDArray[np.bool_]]:
        """By answer, (t, k): the mean score, its mean square about the mean of all, and its noise.
        Scores of the noise of each answer (t, m), and which are known."""
        means = self.means[:, None]
        target = self.scores @ self.channel.T
        moment = (self.scores - means) ** 2 @ self.channel.T
        saved = Saved(self.saved.weight, self.saved.middle[:, None])
        noise = moment - (target - means) ** 2 - self.n * saved.at(target)
        return target, moment, noise, *_solve(self.channel, noise, 1)

    def uncertain(self, index: int) -> tuple[Uncertain, Uncertain]:
        """Returns the uncertain means of one score, for population and sample."""
        n, mean, score = self.n, float(self.means[index]), self.scores[index]
        target, moment, noise, noise_scores, known = (part[index] for part in self._of_answers)
        saved = Saved(self.saved.weight, self.saved.middle[index])
        # Squares about the mean: about 0, large scores would cancel to rounding errors.
        apart = score - mean
        # values[0] are mean squares of the score, values[1] the noise in them, which is all that is
        # uncertain of the sample's own mean.
        likeliest = tilted(self.counts, score, np.stack([apart**2, noise_scores]))
        spread, hidden = allowed(target, moment), allowed(target, noise)

        def here(mu: npt.ArrayLike) -> Floats:
            return hidden(mu, likeliest(mu, 1) if known else np.inf)

        ends = float(target.min()), float(target.max())
        step = least_step(score) / n

        def variance_at(mu: Floats) -> Floats:
            return (spread(mu, likeliest(mu, 0)) - (mu - mean) ** 2) / n - saved.at(mu)

        shown = np.array(mean)
        if is_share(target):
            # Half a report on either side: where all reports agree the error would be 0.
            shown = (n * mean + (score.min() + score.max()) / 2) / (n + 1)
        error = float(np.sqrt(variance_at(np.clip(shown, *ends))))
        seems = float(self.counts @ apart**2) / n**2 - float(saved.at(np.array(mean)))
        within = float(here(np.clip(mean, *ends))) / n
        return (
            Uncertain(mean, max(seems, 0.0), variance_at, step, ends, error),
            Uncertain(mean, within, lambda mu: here(mu) / n, step, ends, within**0.5),
        )


def margin(
    mean: float,
    variance: float,
    variance_at: Callable[[Floats], Floats],
    step: float,
    ends: tuple[float, float],
    confidence: float,
) -> Margin:
    """Returns the score interval around a ``mean`` that one report moves by at least ``step``.

    It contains all mu in ``ends`` with |mean - mu| <= h + z sqrt(variance_at(mu)), where z is the
    normal quantile. h is half a step (Yates 1934) if the standard deviation is below a step; for
    larger standard deviations it falls. So h matters where one report more or less decides, and
    hardly widens any other interval.
    """
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    half = half_step(step, variance)
    nearest = float(np.clip(mean, *ends))
    # An interval may lie between two points of the grid; the estimate is always within it.
    # The grid finds the ends to within a step, ``_last_accepted`` then to the last digits.
    grid = np.sort(np.append(np.linspace(*ends, 257), nearest))

    def beyond(mu: Floats) -> Floats:
        """How far mu is from being accepted; not above 0 where it is."""
        apart: Floats = np.maximum(abs(mean - mu) - half, 0)
        return apart**2 - z**2 * variance_at(mu)

    outside = beyond(grid)
    missed = not (outside <= 0).any()
    if missed:  # no mean explains the reports: take those of the nearest that one does
        mean = nearest
        outside = beyond(grid)
    kept = np.flatnonzero(outside <= 0)
    there = np.array([kept[0], kept[-1]])
    next_to_it = np.clip(there + _OUTWARDS, 0, len(grid) - 1)
    low, high = _last_accepted(
        beyond, grid[there], outside[there], grid[next_to_it], outside[next_to_it]
    )
    return Margin(float(np.sqrt(variance)), low, high, missed)


def _last_accepted(
    beyond: Callable[[Floats], Floats],
    inner: Floats,
    inside: Floats,
    outer: Floats,
    outside: Floats,
) -> list[float]:
    """The points between ``inner`` and ``outer``, each of shape (2,), at which ``beyond`` rises
    above 0: from ``inside``, its values at inner, to ``outside``.

    Where a line between the two values says so, points lie ever closer, and what is accepted
    furthest out is the next inner one. A smooth ``beyond`` takes four rounds, and any other is
    halved in each, down to the spacing of floats.
    """
    near_enough = np.spacing(np.abs(inner) + np.abs(outer)) + np.abs(outer - inner) * _SPACING
    for _ in range(_ROUNDS):
        width = outer - inner
        if (np.abs(width) <= near_enough).all():
            break
        rise = outside - inside
        part = np.divide(-inside, rise, out=np.zeros(2), where=rise > 0)
        points = inner + width * np.clip(part + _CLOSER, 0, 1)
        values = beyond(points)
        values[0] = inside  # the inner end itself, which is accepted
        last = len(points) - 1 - (values[::-1] <= 0).argmax(axis=0)
        after = np.minimum(last + 1, len(points) - 1)
        inner, inside = points[last, _ENDS], values[last, _ENDS]
        outer, outside = points[after, _ENDS], values[after, _ENDS]
    accepted: list[float] = inner.tolist()
    return accepted


_ENDS = np.arange(2)
_OUTWARDS = np.array([-1, 1])
_CLOSER = np.array([*-(0.5 ** np.arange(33)), 0, *(0.5 ** np.arange(33)[::-1])])[:, None]
"""From a whole width to nothing, and back."""
_SPACING = 2.0**-46
"""That of floats at an end of the range, in steps of the grid."""
_ROUNDS = 60


def half_step(step: float, variance: float) -> float:
    """Returns the continuity correction of an estimate that moves in steps of ``step``.

    It is half a step if the standard deviation is below a step, and less for larger ones.
    """
    return step / 2 * min(1.0, step**2 / variance) if variance > 0 else step / 2


def is_share(values: Floats) -> bool:
    """Returns whether all values are 0 or 1, up to rounding, so that their mean is a share."""
    return bool((np.abs(values * (1 - values)) <= _ROUNDING).all())


_ROUNDING = 1e-8  # scores solve channel @ v = target only up to this


def least_step(values: Floats) -> float:
    """Returns the smallest gap between two different values, 0 where all are the same."""
    gaps = np.diff(np.sort(values))
    apart = gaps[gaps > 1e-9 * np.ptp(values)]
    return float(apart.min()) if len(apart) else 0.0


def tilted(
    weights: npt.ArrayLike, position: npt.ArrayLike, values: npt.ArrayLike
) -> Callable[[npt.ArrayLike, int], Floats]:
    """Returns a function (mu, i): the mean of ``values[i]`` under the likeliest distribution with
    mean mu.

    ``position`` (points,) are the numbers whose mean is mu, seen with ``weights`` (points,);
    ``values`` has shape (i, points). The distribution is that of empirical likelihood (Owen 1988,
    Biometrika 75:237): its probabilities are in proportion to weights / (1 + s (position - mean)).
    If no s gives the mean mu, the rest of the probability is put on the last point at that end,
    even if its weight is 0. The function is tabulated in s and linear in between, which is exact
    for two positions.
    """
    weight, x = np.asarray(weights, dtype=np.float64), np.asarray(position, dtype=np.float64)
    value = np.asarray(values, dtype=np.float64)
    apart = x - weight @ x / weight.sum()
    wanted = np.stack([np.ones_like(x), x, *value])
    seen, first, last = weight > 0, x.argmin(), x.argmax()
    weight, away, at_seen = weight[seen], apart[seen], wanted[:, seen]
    # The table goes from all of P at the lower end, over tilts down and up, to all of it at the
    # upper end, so that its means rise and can be interpolated.
    parts: list[Floats] = [wanted[:, first, None]]
    for end, rest in ((apart[first], _RESTS), (apart[last], _RESTS[::-1])):
        if end:  # else the mean is at this end, and no tilt leads further
            parts.append(at_seen @ (weight / (1 - rest * (away / end))).T)
    parts.append(wanted[:, last, None])
    total, means, *sums = np.concatenate(parts, axis=1)
    at, known = means / total, sums / total

    def likeliest(mu: npt.ArrayLike, kind: int) -> Floats:
        where = np.asarray(mu, dtype=np.float64)
        return cast(Floats, np.interp(where, at, known[kind]))

    return likeliest


_RESTS = (1 - 1 / (1 + np.exp(np.linspace(14, -14, 141))))[:, None]
"""1 less what 1 + s (position - mean) is at the end of the scale: from nearly 1 to nearly 0."""


def allowed(target: Floats, values: Floats) -> Callable[[npt.ArrayLike, npt.ArrayLike], Floats]:
    """Returns a function (mu, estimate) that clips an estimated average to the possible ones.

    ``values`` has a number for each answer. Where the mean of ``target`` over the answers is mu,
    the average of ``values`` lies between the lower and the upper hull of the points (target,
    values) at mu.
    """
    # Equal but for rounding is equal: at an end of the range several answers may have one target.
    start, span = float(target.min()), float(np.ptp(target)) or 1.0
    place: Floats = start + span * np.round((target - start) / span, 12)
    lower, upper = _hull(place, values, 1), _hull(place, values, -1)

    def at(mu: npt.ArrayLike, estimate: npt.ArrayLike) -> Floats:
        mu = np.asarray(mu, dtype=np.float64)
        drawn: Floats = np.minimum(
            np.maximum(estimate, np.interp(mu, *lower)), np.interp(mu, *upper)
        )
        return drawn

    return at


def _solve(
    channel: Floats, target: Floats, reference: npt.ArrayLike
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """The scores of one target (k,) or of several (t, k), and whether they are exact."""
    weights = np.broadcast_to(np.asarray(reference, dtype=np.float64), channel.shape[:1])
    if not (weights > 0).all():
        raise ValueError("the reference distribution gives every answer a positive probability")
    inverse = _inverse(channel.shape, channel.tobytes(), weights.tobytes())
    solution: Floats = target @ inverse.T
    size = 1 + np.abs(target).max(axis=-1)
    return solution, np.abs(solution @ channel.T - target).max(axis=-1) <= 1e-8 * size


@lru_cache(maxsize=4)  # a distribution solves for every bucket through the same channel
def _inverse(shape: tuple[int, int], channel: bytes, weights: bytes) -> Floats:
    """The matrix that takes targets to scores, shape (outputs, inputs)."""
    q, weight = np.frombuffer(channel).reshape(shape), np.frombuffer(weights)
    likely = np.sqrt(weight / weight.sum() @ q)
    root = np.divide(1, likely, out=np.zeros_like(likely), where=likely > 0)
    # Q D^-1 Q' itself would have the square of this condition number.
    inverse = cast(Floats, np.linalg.pinv(q * root))  # numpy's stub leaves it untyped
    inverse_scores: Floats = root[:, None] * inverse
    return inverse_scores


def _hull(x: Floats, y: Floats, side: int) -> tuple[Floats, Floats]:
    """The corners of the lower (side 1) or upper (-1) hull; monotone chain, Andrew 1979."""
    chain: list[tuple[float, float]] = []
    for point in sorted(zip(x.tolist(), (side * y).tolist(), strict=True)):
        if chain and chain[-1][0] == point[0]:
            continue  # a lower point stands there already
        while len(chain) > 1 and _turns_right(chain[-2], chain[-1], point):
            chain.pop()
        chain.append(point)
    corners = np.array(chain).T
    return corners[0], side * corners[1]


def _turns_right(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (b[0] - a[0]) * (c[1] - a[1]) <= (b[1] - a[1]) * (c[0] - a[0])
