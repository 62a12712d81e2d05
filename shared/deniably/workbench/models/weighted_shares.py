"""Estimates weighted shares of randomised answers, and their design effects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np

from deniably.core.binomial import Floats
from deniably.core.errors import BadModel, NoEstimate
from deniably.core.table import Table
from deniably.estimation.estimate import standard_error
from deniably.estimation.intervals import population_interval
from deniably.estimation.inversion import Margin, linear
from deniably.estimation.weighted_tally import Weighing, WeightedTally
from deniably.workbench.models.model_columns import groups_of, read_columns, weights_of
from deniably.workbench.models.randomised import Design, Pair, Randomised
from deniably.workbench.models.regress import design_of

_EXACT = 1e-8
"""The largest error of the expectation of unbiased scores that rounding explains."""
_ALIKE = 1e-12
"""A standard error below this means that all reports are alike."""


def weighted_shares(
    question: str,
    frame: object,
    *,
    design: Pair | Design,
    weights: str | Sequence[float] | None = None,
    strata: str | None = None,
    confidence: float = 0.95,
) -> Table:
    """Returns a table of the weighted shares of all true answers to a ``question``, and of their
    weighted mean.

    **Estimator.** The weighted mean of the unbiased score of each report, as R's svymean computes
    it (Binder 1983, Int. Stat. Rev. 51:279); ``strata`` is the name of a column, and errors are
    then those within strata. Intervals are those of as many unweighted people as would give an
    equal variance (Korn and Graubard 1998, Survey Methodology 24:193). **Assumption.** Weights
    depend only on columns that are not randomised.

    ``frame`` holds the reports, ``weights`` are the name of a column or numbers, and ``design``
    says how the reports were randomised: a pair (p, q) or a ``Design``, as in
    ``deniably.regress``. Each row of the table has an ``estimate``, ``standard_error``, ``low``,
    ``high`` and ``design_effect``: how many times as many people are needed as for an equally
    precise direct question. ``weights_effect`` is the factor that the weights cause, n sum w^2 /
    (sum w)^2 (Kish 1965, Survey Sampling, 11.7), and ``privacy_effect`` the factor that the noise
    causes. There is a mean if answers have values. If all reports are the same, the standard error
    is that of the channel. Raises BadModel for a column, design or weights that do not fit, and
    NoEstimate where the reports determine no share.

    >>> found = weighted_shares("a", {"a": [1] * 45 + [0] * 55}, design=("3/4", "1/4"))
    >>> [round(row["estimate"], 3) for row in found.rows[:2]]
    [0.6, 0.4]
    """
    names = [question, *(name for name in (weights, strata) if isinstance(name, str))]
    table = read_columns(frame, names)
    reports = design_of(design).of(question, table[question].to_numpy())
    w = np.ones(len(table))
    if weights is not None:
        w = weights_of("weights", table[weights] if isinstance(weights, str) else weights)
        if w.shape != (len(table),):
            raise BadModel(f"{w.size} weights for {len(table)} rows")
    return shares_of(
        reports, Weighing(w, None if strata is None else groups_of(table[strata])), confidence
    )


def shares_of(reports: Randomised, weighing: Weighing, confidence: float) -> Table:
    """Returns the weighted shares of the true answers to a randomised column, and their mean, as
    the table of ``weighted_shares``. Raises BadModel for a ``confidence`` out of range, and
    NoEstimate where the reports determine no share."""
    check_confidence(confidence)
    inverse = np.linalg.pinv(reports.chances.T).astype(np.float64)
    tally = weighing.tally(reports.codes, len(reports.chances))

    def margin(figure: WeightedFigure, estimate: float) -> Margin:
        if reports.is_pair and reports.p > reports.q:
            return _of_pair(reports, tally, figure, confidence)
        known = np.isfinite(reports.values).astype(np.float64)
        ratio = figure.among is not None
        score = inverse @ (figure.target - estimate * known if ratio else figure.target)
        mean = linear(tally.counts(score), score, reports.chances.T, confidence).population_margin
        if not ratio and figure.figure == "share":  # an end at 0 may lie beside it by rounding
            return replace(mean, low=max(mean.low, 0.0), high=min(mean.high, 1.0))
        if not ratio:
            return mean
        # A mean among those with a value is a ratio of two estimates: its margin is that of score
        # - ratio * known, over the share of those people (delta method).
        having = float(tally.mean(inverse @ known))
        least, highest = np.nanmin(reports.values), np.nanmax(reports.values)
        low, high = np.clip([estimate + end / having for end in mean.ends], least, highest).tolist()
        return Margin(mean.standard_error / having, low, high, mean.missed)

    figures = share_figures(reports, weighing)
    return weighted_table(reports.name, figures, weighing, margin, confidence)


def _of_pair(
    reports: Randomised, tally: WeightedTally, figure: WeightedFigure, confidence: float
) -> Margin:
    """Returns the margin of a share as in the results of a survey, also where the estimate is
    below 0."""
    yes_or_no = np.array([0.0, 1.0])
    people, count = float(tally.effective(yes_or_no)), float(tally.counts(yes_or_no)[1])
    interval = population_interval(count, people, reports.p, reports.q, 1 - confidence)
    low, high = float(interval.low), float(interval.high)
    if figure.target[0]:  # the share of no
        low, high = 1 - high, 1 - low
    error = float(standard_error(count, people, reports.p, reports.q))
    return Margin(error, low, high, bool(interval.missed))


def check_confidence(confidence: float) -> None:
    """Raises BadModel unless ``confidence`` is above 0 and below 1."""
    if not 0 < confidence < 1:
        raise BadModel(f"the confidence is {confidence:g}; it is above 0 and below 1, as 0.95")


def share_figures(
    reports: Randomised, weighing: Weighing, scores: Floats | None = None
) -> list[WeightedFigure]:
    """Returns the figures to estimate from a randomised column: the share of each answer, and the
    mean if answers have values.

    ``scores`` (n, answers) are unbiased scores of each report; if None, they come from the
    channel's inverse. Figures that the reports do not determine are left out. If some answers have
    no value, the mean is a ratio: that of the people with the other answers.
    """
    k, known = len(reports.choices), np.isfinite(reports.values)
    each, expected = scores, np.eye(k)  # the expected scores, by the true answer
    if each is None:
        inverse = np.linalg.pinv(reports.chances.T).astype(np.float64)
        each, expected = inverse[reports.codes], reports.chances.T @ inverse
    determined = np.abs(expected - np.eye(k)).max(axis=0) < _EXACT
    figures = [
        WeightedFigure("share", str(choice), column, target)
        for choice, column, target, determined in zip(
            reports.choices, each.T, np.eye(k), determined, strict=True
        )
        if determined
    ]
    if reports.is_pair or not known.any():  # the mean of 0 and 1 is the share
        return figures
    values = np.where(known, reports.values, 0.0)
    if np.allclose(expected @ values, values, atol=_EXACT) and np.allclose(expected @ known, known):
        plain = _spread(weighing.people @ each, reports.values) if determined.all() else None
        among = None if known.all() else each @ known
        figures.append(WeightedFigure("mean", "", each @ values, values, among, plain))
    return figures


@dataclass(frozen=True, eq=False)
class WeightedFigure:
    """A share or mean to be estimated as the weighted mean of ``scores`` (n,), the unbiased scores
    of n reports.

    ``target`` (k,) has the value that each of the k true answers contributes. If ``among`` (n,) is
    given, the estimate is a ratio: the mean of ``scores`` over the mean of ``among``. For a mean,
    ``plain`` is the variance of one person's true value; None where it is not known, and for a
    share.
    """

    figure: str
    answer: str
    scores: Floats
    target: Floats
    among: Floats | None = None
    plain: float | None = None


def weighted_table(
    name: str,
    figures: Sequence[WeightedFigure],
    weighing: Weighing,
    margin: Callable[[WeightedFigure, float], Margin | None],
    confidence: float,
) -> Table:
    """Returns the table of the weighted ``figures`` of the question ``name``.

    ``margin(figure, estimate)`` returns the interval of a figure as of unweighted people; None for
    a figure that the question does not have, such as a mean of choices without an order. Raises
    BadModel where all weights are 0, and NoEstimate where there are no figures.
    """
    if not figures:
        raise NoEstimate(f"{name}: these reports determine no share")
    rows = [row for figure in figures if (row := _row(name, figure, weighing, margin))]
    n = len(weighing.weights)
    return Table(
        f"{name}, {n:,} reports, weighted",
        rows,
        [
            ["figure", "answer", "estimate", "std. error", "from", "to", "design effect"],
            *(
                [r["figure"], r["answer"], *(f"{r[c]:.4f}" for c in _SHOWN), _effect(r)]
                for r in rows
            ),
        ],
        2,
        [
            f"Intervals of {100 * confidence:g} %. Weights cost {n / weighing.kish:.2f} times the"
            " respondents (Kish); the design effect has that of the noise, too."
        ],
    )


def _row(
    name: str,
    figure: WeightedFigure,
    weighing: Weighing,
    margin: Callable[[WeightedFigure, float], Margin | None],
) -> dict[str, Any] | None:
    """Returns the row of one figure; None without a margin, and if nobody seems to have a value."""
    parts = weighing.people / weighing.kish
    estimate, scores, having = float(parts @ figure.scores), figure.scores, 1.0
    if figure.among is not None:
        having = float(parts @ figure.among)
        if not having > 0:
            return None
        estimate /= having
        scores = (scores - estimate * figure.among) / having
    tally, values = weighing.scored(scores)
    error = sqrt(max(float(tally.variance(values)), 0.0))
    interval = margin(figure, estimate)
    if interval is None:
        return None
    if error < _ALIKE:
        error = interval.standard_error
    n = len(scores)
    plain = max(estimate * (1 - estimate), 0.0) if figure.figure == "share" else figure.plain
    plain = None if plain is None else plain / having  # of one person who is asked
    spread = float(tally.mean((values - tally.mean(values)) ** 2))
    return {
        "question": name,
        "figure": figure.figure,
        "answer": figure.answer,
        "n": n,
        "estimate": estimate,
        "standard_error": error,
        "low": interval.low,
        "high": interval.high,
        "weights_effect": n / weighing.kish,
        "privacy_effect": spread / plain if plain else None,
        "design_effect": error**2 * n / plain if plain else None,
    }


_SHOWN = ("estimate", "standard_error", "low", "high")


def _effect(row: Mapping[str, Any]) -> str:
    return "" if row["design_effect"] is None else f"{row['design_effect']:.2f}"


def _spread(shares: Floats, values: Floats) -> float:
    """Returns the variance of one direct answer that has a value, at the estimated shares."""
    known = np.isfinite(values)
    within = np.clip(shares[known], 0, None)
    if not within.sum() > 0:
        return 0.0
    within = within / within.sum()
    return float(within @ values[known] ** 2 - (within @ values[known]) ** 2)
