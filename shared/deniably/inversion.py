"""Means and shares through any finite channel: every report gets a score, unbiased for its answer.

A channel is a matrix Q of shape (inputs, outputs) with Q[x, y] = P(report y | answer x). Scores v
with Q v = t make v[report] an unbiased estimate of t[answer], whoever answers; t holds positions
on a scale for a mean, zeros and ones for a share.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import cast

import numpy as np
import numpy.typing as npt

from deniably.binomial import Floats


@dataclass(frozen=True)
class Margin:
    """What is known about one mean: ``low .. high`` covers it, within the range of the target.

    ``missed`` says that no mean in that range is compatible with the reports; low = high = the
    nearer end then: a sign of a bug or of crafted reports.
    """

    standard_error: float
    low: float
    high: float
    missed: bool


@dataclass(frozen=True)
class Mean:
    """An unbiased mean, which may leave the scale, in the unit of the target.

    ``population`` is the margin if the ``n`` respondents are a random sample of those meant,
    ``respondents`` if they are all that is meant; both hold with ``confidence``.
    """

    n: int
    confidence: float
    estimate: float
    population: Margin
    respondents: Margin


def scores(channel: npt.ArrayLike, target: npt.ArrayLike, reference: npt.ArrayLike = 1) -> Floats:
    """The scores v, shape (outputs,), with channel @ v = target and the smallest variance.

    The variance is taken where answers are distributed in proportion to ``reference``, shape
    (inputs,) and positive, by default uniform: v = D^-1 Q' (Q D^-1 Q')^-1 t, where D holds the
    probabilities of the outputs (Gauss-Markov; Aitken 1935).
    Raises ValueError where no such scores exist: the outputs do not tell the inputs apart.
    """
    found, exact = _solve(np.asarray(channel, float), np.asarray(target, float), reference)
    if not exact:
        raise ValueError("no unbiased estimate exists: the reports do not tell the answers apart")
    return found


def linear(
    counts: npt.ArrayLike, v: npt.ArrayLike, channel: npt.ArrayLike, confidence: float = 0.95
) -> Mean:
    """The mean of channel @ v over the answers, from the number ``counts`` of reports of each kind.

    ``counts`` and ``v`` have shape (outputs,). Standard errors are plug-in (over n, not n - 1); for
    these respondents the variance among answers is taken off, estimated through the same channel,
    or where the channel hides it, not at all. The intervals are score intervals: all means mu with
    (estimate - mu)^2 <= z^2 var(mu) / n, with the estimated variance drawn into the range that the
    channel allows at mean mu. For two answers they are those of ``intervals``. Exact coverage at a
    nominal 0.95, for three outputs, n 20 and 40, epsilon 0.5 to 4: population at least 0.93,
    respondents 0.92 for means and 0.89 for shares (at epsilon 4, where the noise moves a count
    by about one).
    Raises ValueError where there is no report, shapes differ or confidence is not in (0, 1).
    """
    q = np.asarray(channel, dtype=np.float64)
    tallied, score = np.asarray(counts, dtype=np.float64), np.asarray(v, dtype=np.float64)
    if not tallied.shape == score.shape == q.shape[1:]:
        raise ValueError("counts and scores have one entry for each output of the channel")
    n = int(tallied.sum())
    if n < 1:
        raise ValueError("an estimate needs at least one report")
    if not 0 < confidence < 1:
        raise ValueError("confidence is between 0 and 1, such as 0.95")
    target, moment = q @ score, q @ score**2
    noise = moment - target**2
    mean, square = float(tallied @ score / n), float(tallied @ score**2 / n)
    spread = allowed(target, moment, square)
    noise_scores, known = _solve(q, noise, 1)
    answer_free = allowed(target, noise, float(tallied @ noise_scores / n) if known else np.inf)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    ends = float(target.min()), float(target.max())
    inside = np.clip(mean, *ends)
    return Mean(
        n=n,
        confidence=confidence,
        estimate=mean,
        population=_margin(
            mean, max(square - mean**2, 0) / n, z, ends, lambda mu: (spread(mu) - mu**2) / n
        ),
        respondents=_margin(
            mean, float(answer_free(inside)) / n, z, ends, lambda mu: answer_free(mu) / n
        ),
    )


def allowed(target: Floats, values: Floats, estimate: float) -> Callable[[npt.ArrayLike], Floats]:
    """mu -> ``estimate``, drawn into what mixtures of the points (target, values) allow at mean mu.

    ``values`` are what each answer contributes; an average over answers with mean mu lies between
    the lower and the upper hull of the points there.
    """
    lower, upper = _hull(target, values, 1), _hull(target, values, -1)

    def at(mu: npt.ArrayLike) -> Floats:
        mu = np.asarray(mu, dtype=np.float64)
        drawn: Floats = np.clip(estimate, np.interp(mu, *lower), np.interp(mu, *upper))
        return drawn

    return at


def _solve(channel: Floats, target: Floats, reference: npt.ArrayLike) -> tuple[Floats, bool]:
    weights = np.broadcast_to(np.asarray(reference, dtype=np.float64), channel.shape[:1])
    if not (weights > 0).all():
        raise ValueError("the reference distribution gives every answer a positive probability")
    likely = np.sqrt(weights / weights.sum() @ channel)
    root = np.divide(1, likely, out=np.zeros_like(likely), where=likely > 0)
    inverse = cast(Floats, np.linalg.pinv(channel * root))  # numpy's stub leaves it untyped
    found: Floats = root * (inverse @ target)
    size = 1 + np.abs(target).max()
    return found, bool(np.abs(channel @ found - target).max() <= 1e-8 * size)


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


def _margin(
    mean: float,
    variance: float,
    z: float,
    ends: tuple[float, float],
    variance_of: Callable[[Floats], Floats],
) -> Margin:
    nearest = float(np.clip(mean, *ends))
    grid = np.sort(np.append(np.linspace(*ends, 257), nearest))

    def accepted(mu: Floats) -> npt.NDArray[np.bool_]:
        return (mean - mu) ** 2 <= z**2 * variance_of(mu)

    error = float(np.sqrt(variance))
    kept = np.flatnonzero(accepted(grid))
    if not len(kept):
        return Margin(error, nearest, nearest, missed=True)
    inner = grid[[kept[0], kept[-1]]]
    outer = grid[[max(kept[0] - 1, 0), min(kept[-1] + 1, len(grid) - 1)]]
    for _ in range(50):
        middle = (inner + outer) / 2
        fits = accepted(middle)
        inner, outer = np.where(fits, middle, inner), np.where(fits, outer, middle)
    return Margin(error, float(inner[0]), float(inner[1]), missed=False)
