"""The result of a survey: what its tallies say, in plain numbers and sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypedDict, cast

import msgspec

from deniably.core.binomial import Floats
from deniably.estimation import analysis, smoothing
from deniably.estimation.display import within
from deniably.estimation.estimate import Estimate
from deniably.estimation.inversion import Margin, Mean
from deniably.estimation.tally import Tally
from deniably.mechanisms import SampledTicks, SetResponse, SubsetSelection, Unary
from deniably.robustness import poisoning
from deniably.robustness.plausibility import RISK
from deniably.survey.parts import Choice, Range
from deniably.survey.questions import (
    Number,
    Point,
    Product,
    Question,
    Scale,
    SelectMultiple,
    VectorOfNumbers,
)
from deniably.survey.readable import area_text, number_text
from deniably.survey.survey import Survey
from deniably.wording import explain
from deniably_server.results import crafted, finding
from deniably_server.results.crafted import CraftedResult
from deniably_server.results.odds import odds_text

CONFIDENCE = 0.95

Fit = Literal["em", "ems", "projection"]
"""How shares for display were made: EM on whole reports, EM with smoothing, or the nearest
distribution to the unbiased estimates."""


class ChoiceResult(TypedDict):
    """One choice: how many reports support it (None where it is asked about through others), and
    what share of people that means.

    ``interval`` and ``joint_interval`` are for the population that the respondents are a random
    sample of, ``respondents_interval`` for these respondents alone. ``stands_out`` says whether
    it stands out from the noise of choices that nobody has (None where choices are asked about
    through others).
    """

    name: str
    label: str
    count: int | None
    estimate: float
    standard_error: float
    interval: list[float]
    joint_interval: list[float]
    respondents_interval: list[float]
    consistent: float
    stands_out: bool | None


class MeanResult(TypedDict):
    """A mean in the question's unit, with its margins for the population and for these people.

    A mean score that cannot be told has no estimate and no standard error, and its interval is
    the whole scale.
    """

    n: int
    unit: str
    estimate: float | None
    standard_error: float | None
    interval: list[float]
    respondents_standard_error: float | None
    respondents_interval: list[float]


class BucketResult(TypedDict):
    """Numbers from ``low`` to ``high``: their share for display, and the share of numbers up to
    ``high`` (None for the last bucket, and where the reports do not determine it)."""

    low: str
    high: str
    consistent: float
    at_most: float | None
    at_most_interval: list[float] | None


class QuantileResult(TypedDict):
    """The bucket in which a share of the numbers is first reached, and where it may lie."""

    share: float
    low: str
    high: str
    interval: list[str]


class PartResult(TypedDict):
    """One number of several, or one of the small questions of a product."""

    name: str
    label: str
    mean: MeanResult | None
    choices: list[ChoiceResult]
    crafted: CraftedResult | None


class CellResult(TypedDict):
    """One combination of a product or one area of a map: what it is, and its share."""

    names: list[str]
    estimate: float
    standard_error: float
    interval: list[float]
    consistent: float


class AreaResult(CellResult):
    """The same, and whether it stands out from the noise of all that nobody is in."""

    stands_out: bool


class QuestionResult(TypedDict):
    """One question with its protection, its estimates and how to read them.

    What its type does not have is empty or None. A report supports the true choice with probability
    ``p`` and any other with ``q`` (None where reports support no choices): of n reports a count
    gives the estimate (count / n - q) / (p - q). ``crafted`` is about the shares, or where the
    question is about a mean, about that; of several numbers each part has its own. ``fit`` says
    how the shares of a distribution were made, ``can_smooth`` whether asking for smoothing makes a
    difference.
    """

    name: str
    label: str
    type: str
    n: int
    mechanism: dict[str, object]
    method: str
    claim: dict[str, object]
    odds: str
    epsilon: str
    delta: str | None
    p: float | None
    q: float | None
    design_effect: float | None
    effective_n: float | None
    sentence: str
    flags: list[str]
    choices: list[ChoiceResult]
    mean: MeanResult | None
    distribution: list[BucketResult]
    fit: Fit | None
    can_smooth: bool
    quantiles: list[QuantileResult]
    parts: list[PartResult]
    cells: list[AreaResult]
    crafted: CraftedResult | None


class SurveyResult(TypedDict):
    """A survey's results; every number is finite.

    ``total`` has odds and epsilon, a delta where there is one, and in a survey with waves
    ``history``, the epsilon of all of them. ``invited`` is how many invitations stand, whether they
    were used or not, and ``response_rate`` what share of them brought a report; None where anybody
    may answer.
    """

    survey: str
    title: str
    digest: str
    state: str
    n: int
    invited: int | None
    response_rate: float | None
    confidence: float
    total: dict[str, str]
    questions: list[QuestionResult]


def result(
    survey: Survey,
    state: str,
    tallies: Mapping[str, Tally],
    *,
    smooth: bool = False,
    confidence: float = CONFIDENCE,
    invited: int | None = None,
) -> SurveyResult:
    """The result from the tally of every question, each of at least one report.

    ``invited`` is that of ``SurveyResult``. ``smooth`` is for an analyst who knows the
    distributions to be smooth: see ``smoothing``. ``confidence`` is that of every interval.
    """
    heard = survey.asked / len(survey.questions)
    risk = RISK / len(survey.questions)
    questions = [
        _question(one, tallies[one.name], heard, risk, confidence, smooth)
        for one in survey.questions
    ]
    total = survey.total
    # Every report answers the same number of questions.
    n = sum(question["n"] for question in questions) // survey.asked
    return {
        "survey": survey.name,
        "title": survey.title,
        "digest": survey.digest,
        "state": state,
        "n": n,
        "invited": invited,
        "response_rate": _round(n / invited) if invited else None,
        "confidence": confidence,
        "total": {"odds": odds_text(total.bound), "epsilon": total.epsilon_text()}
        | ({"delta": finding.delta_text(total.delta)} if total.delta else {})
        | ({"history": survey.history.epsilon_text()} if survey.waves else {})
        | ({"waves": str(survey.count)} if survey.count else {}),
        "questions": questions,
    }


def _question(
    question: Question, tally: Tally, heard: float, risk: float, confidence: float, smooth: bool
) -> QuestionResult:
    loss = question.once.loss
    p, q = finding.rates(question) or (None, None)
    shown: QuestionResult = {
        "name": question.name,
        "label": question.label,
        "type": question.type,
        "n": tally.n,
        "mechanism": cast(dict[str, object], msgspec.to_builtins(question.mechanism)),
        "method": explain.describe(question.mechanism),
        "claim": cast(dict[str, object], msgspec.to_builtins(question.claim)),
        "odds": odds_text(loss.bound),
        "epsilon": loss.epsilon_text(),
        "delta": finding.delta_text(loss.delta) if loss.delta else None,
        "p": p,
        "q": q,
        "design_effect": None,
        "effective_n": None,
        "sentence": "",
        "flags": [],
        "choices": [],
        "mean": None,
        "distribution": [],
        "fit": None,
        "can_smooth": False,
        "quantiles": [],
        "parts": [],
        "cells": [],
        "crafted": None,
    }
    if isinstance(question, Number):
        _fill_number(shown, question, tally, risk, confidence, smooth)
    else:
        _FILL[type(question)](shown, question, tally, risk, confidence)
    _fill_crafted(shown, question, heard)
    if heard < 1:
        _widen(shown, heard)
    return shown


def _fill_crafted(shown: QuestionResult, question: Question, heard: float) -> None:
    """What crafted reports could do to the figures that the question is about."""
    if isinstance(question, VectorOfNumbers):
        for index, (part, one) in enumerate(zip(question.parts, shown["parts"], strict=True)):
            own = poisoning.of_part(question, index)
            one["crafted"] = crafted.crafted(own, heard, _length(part.range))
        return
    leverage = poisoning.of_question(question)
    if isinstance(question, Number):
        middles = analysis.bucket_middles(question)  # the mean of numbers in buckets is of these
        shown["crafted"] = crafted.crafted(leverage, heard, float(middles[-1] - middles[0]))
    elif isinstance(question, Scale) and question.aim == "mean":
        length = question.values[-1] - question.values[0]
        shown["crafted"] = crafted.crafted(leverage, heard, abs(length))
    else:
        first, second = sorted(one["estimate"] for one in shown["choices"] or shown["cells"])[
            :-3:-1
        ]
        shown["crafted"] = crafted.crafted(leverage, heard, gap=first - second)


def _length(grid: Range) -> float:
    return float(grid.maximum) - float(grid.minimum)


def _widen(shown: QuestionResult, heard: float) -> None:
    """Where devices draw which questions they report, those who reported this one are a random
    sample of these respondents, so that the margins are those for a population; and it takes
    more respondents, of whom only the part ``heard`` reports it."""
    if shown["design_effect"]:
        shown["design_effect"] = _round(shown["design_effect"] / heard)
    parts = shown["parts"]
    for mean in (shown["mean"], *(part["mean"] for part in parts)):
        if mean:
            mean["respondents_standard_error"] = mean["standard_error"]
            mean["respondents_interval"] = mean["interval"]
    for choices in (shown["choices"], *(part["choices"] for part in parts)):
        for choice in choices:
            choice["respondents_interval"] = choice["interval"]


# --- one function a type ----------------------------------------------------------------------


def _fill_choices(
    shown: QuestionResult, question: Any, tally: Tally, risk: float, confidence: float
) -> None:
    found = analysis.shares(question, tally, confidence)
    _effect(shown, found)
    counts, out = finding.support_counts(question, tally), _out(question, tally)
    labels = [choice.label for choice in question.choices]
    odd = crafted.odd_choices(question, tally, found, labels, risk)
    found = _displayed(question, tally, found)
    shown["choices"] = _choices(question.choices, found, counts, out)
    shown["sentence"] = finding.sentence(question, found)
    shown["flags"] = [*finding.too_wide(question, found), *odd]


def _fill_scale(
    shown: QuestionResult, question: Scale, tally: Tally, risk: float, confidence: float
) -> None:
    if question.aim == "distribution":
        _fill_choices(shown, question, tally, risk, confidence)
    mean = analysis.mean(question, tally, confidence)
    if mean is None:
        if analysis.is_ratio(question):
            low, high = analysis.scored_range(question)
            shown["mean"] = _untold(tally.n, low, high)
            shown["sentence"] += " " + finding.untold_sentence(low, high)
        return
    shown["mean"] = _mean(mean, "")
    if question.aim == "mean":
        shown["sentence"] = finding.mean_sentence("The mean score", mean, "")
        ends = question.values[0], question.values[-1]
        shown["flags"] = [
            *finding.mean_too_wide(mean, *ends),
            *crafted.odd_mean(question, tally, mean, ends, risk),
        ]
    else:
        shown["sentence"] += " " + finding.mean_sentence("The mean score", mean, "")


def _fill_number(
    shown: QuestionResult,
    question: Number,
    tally: Tally,
    risk: float,
    confidence: float,
    smooth: bool,
) -> None:
    grid = question.range
    mean = analysis.mean(question, tally, confidence)
    assert mean is not None
    shown["mean"] = _mean(mean, _unit(grid))
    shown["sentence"] = finding.mean_sentence("The mean", mean, _unit(grid))
    shown["flags"] = [
        *finding.mean_too_wide(mean, float(grid.minimum), float(grid.maximum)),
        *crafted.odd_number(question, tally, mean, risk),
    ]
    if question.aim == "mean":
        return
    found = analysis.number_distribution(question, tally, confidence)
    shown["fit"] = "projection" if isinstance(question.once, SubsetSelection) else "em"
    shown["can_smooth"] = smoothing.helps(question, tally.n)
    if smooth and shown["can_smooth"]:
        shown["fit"], found = "ems", smoothing.smoothed(question, tally, found)
    if not found.at_most:
        shown["flags"].append(finding.UNDETERMINED)
    ends = [(number_text(low), number_text(high)) for low, high in analysis.bucket_ends(question)]
    at_most = [*found.at_most, None] if found.at_most else [None] * len(ends)
    shown["distribution"] = [
        {
            "low": low,
            "high": high,
            "consistent": _round(share),
            "at_most": None if mean is None else _round(mean.estimate),
            "at_most_interval": None if mean is None else _ends(mean.population),
        }
        for (low, high), share, mean in zip(ends, found.shares, at_most, strict=True)
    ]
    shown["quantiles"] = [
        {
            "share": quantile.share,
            "low": ends[quantile.bucket][0],
            "high": ends[quantile.bucket][1],
            "interval": [ends[quantile.low][0], ends[quantile.high][1]],
        }
        for quantile in found.quantiles
    ]
    shown["sentence"] += finding.median_sentence(shown["quantiles"], _unit(grid), confidence)


def _fill_vector(
    shown: QuestionResult, question: VectorOfNumbers, tally: Tally, risk: float, confidence: float
) -> None:
    means = analysis.means(question, tally, confidence)
    each = risk / len(question.parts)
    for index, (part, mean) in enumerate(zip(question.parts, means, strict=True)):
        unit = _unit(part.range)
        shown["parts"].append(
            {
                "name": part.name,
                "label": part.label,
                "mean": None if mean is None else _mean(mean, unit),
                "choices": [],
                "crafted": None,
            }
        )
        if mean is None:
            shown["flags"].append(f"No report has “{part.label}” yet.")
            continue
        shown["sentence"] += (" " if shown["sentence"] else "") + finding.mean_sentence(
            f"{part.label}: the mean", mean, unit
        )
        ends = float(part.range.minimum), float(part.range.maximum)
        shown["flags"] += finding.mean_too_wide(mean, *ends, part.label)
        shown["flags"] += crafted.odd_part(question, index, tally, mean, each)


def _fill_point(
    shown: QuestionResult, question: Point, tally: Tally, risk: float, confidence: float
) -> None:
    found = analysis.joint(question, tally, confidence)
    _effect(shown, found)
    areas = [
        [area_text(part.range, cell, question.grid) for cell in range(question.grid)]
        for part in question.parts
    ]
    names = [[one, other] for one in areas[0] for other in areas[1]]
    labels = [", ".join(name) for name in names]
    odd = crafted.odd_choices(question, tally, found, labels, risk)
    out = _out(question, tally)
    found = _displayed(question, tally, found)
    shown["cells"] = _cells(names, found, out)
    shown["sentence"] = finding.leading_cell(names, found)
    shown["flags"] = [*finding.too_wide(question, found), *odd]


def _fill_product(
    shown: QuestionResult, question: Product, tally: Tally, risk: float, confidence: float
) -> None:
    found = analysis.joint(question, tally, confidence)
    _effect(shown, found)
    names: list[list[str]] = [[]]
    for part in question.parts:
        names = [[*name, choice.label] for name in names for choice in part.choices]
    labels = [", ".join(name) for name in names]
    odd = crafted.odd_choices(question, tally, found, labels, risk)
    out = _out(question, tally)
    found = _displayed(question, tally, found)
    shown["cells"] = _cells(names, found, out)
    for part, shares in zip(
        question.parts, analysis.marginals(question, tally, confidence), strict=True
    ):
        shown["parts"].append(
            {
                "name": part.name,
                "label": part.label,
                "mean": None,
                "choices": _choices(part.choices, _inside(shares), None, None),
                "crafted": None,
            }
        )
    shown["sentence"] = finding.leading_cell(names, found)
    shown["flags"] = [*finding.too_wide(question, found), *odd]


_FILL: dict[type, Any] = {
    Scale: _fill_scale,
    VectorOfNumbers: _fill_vector,
    Point: _fill_point,
    Product: _fill_product,
} | dict.fromkeys(finding.CHOICES, _fill_choices)


# --- below ------------------------------------------------------------------------------------


def _effect(shown: QuestionResult, found: Estimate) -> None:
    shown["design_effect"] = None if found.design_effect is None else _round(found.design_effect)
    shown["effective_n"] = None if found.effective_n is None else _round(found.effective_n)


def _out(question: Question, tally: Tally) -> list[bool] | None:
    mechanism = question.once
    if not isinstance(mechanism, SubsetSelection | SetResponse | SampledTicks | Unary):
        return None
    single = not isinstance(question, SelectMultiple)
    return [bool(out) for out in analysis.standing_out(mechanism, tally, single=single)]


def _displayed(question: Any, tally: Tally, found: Estimate) -> Estimate:
    """With the shares for display."""
    return replace(found, consistent=analysis.shown_shares(question, tally, found))


def _inside(found: Estimate) -> Estimate:
    """With shares for display that are each within their interval."""
    return replace(found, consistent=within(found.consistent, found.low, found.high))


def _choices(
    choices: Sequence[Choice],
    found: Estimate,
    counts: Sequence[int] | None,
    out: Sequence[bool] | None,
) -> list[ChoiceResult]:
    return [
        {
            "name": choice.name,
            "label": choice.label,
            "count": None if counts is None else counts[v],
            "estimate": _round(found.raw[v]),
            "standard_error": _round(found.standard_error[v]),
            "interval": _pair(found.low, found.high, v),
            "joint_interval": _pair(found.joint_low, found.joint_high, v),
            "respondents_interval": _pair(found.respondents_low, found.respondents_high, v),
            "consistent": _round(found.consistent[v]),
            "stands_out": None if out is None else out[v],
        }
        for v, choice in enumerate(choices)
    ]


def _cells(
    names: Sequence[list[str]], found: Estimate, out: Sequence[bool] | None
) -> list[AreaResult]:
    assert out is not None  # joint reports support their cells
    return [
        {
            "names": name,
            "estimate": _round(found.raw[v]),
            "standard_error": _round(found.standard_error[v]),
            "interval": _pair(found.low, found.high, v),
            "consistent": _round(found.consistent[v]),
            "stands_out": out[v],
        }
        for v, name in enumerate(names)
    ]


def _mean(mean: Mean, unit: str) -> MeanResult:
    return {
        "n": mean.n,
        "unit": unit,
        "estimate": _round(mean.estimate),
        "standard_error": _round(mean.population.standard_error),
        "interval": _ends(mean.population),
        "respondents_standard_error": _round(mean.respondents.standard_error),
        "respondents_interval": _ends(mean.respondents),
    }


def _untold(n: int, low: float, high: float) -> MeanResult:
    """A mean that cannot be told."""
    return {
        "n": n,
        "unit": "",
        "estimate": None,
        "standard_error": None,
        "interval": [low, high],
        "respondents_standard_error": None,
        "respondents_interval": [low, high],
    }


def _unit(grid: Range) -> str:
    return grid.unit if isinstance(grid.unit, str) else ""


def _ends(margin: Margin) -> list[float]:
    return [_round(margin.low), _round(margin.high)]


def _pair(low: Floats, high: Floats, v: int) -> list[float]:
    return [_round(low[v]), _round(high[v])]


def _round(value: float) -> float:
    return round(float(value), finding.DIGITS) + 0.0  # never -0.0
