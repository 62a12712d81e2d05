"""Writes estimates as sentences fit for publication, and warns where they say too little."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from deniably.estimation.estimate import Estimate, Pure, supports
from deniably.estimation.inversion import Mean
from deniably.estimation.scores import of_choice
from deniably.estimation.tally import Tally
from deniably.mechanisms.law import Supporting
from deniably.results.document import QuantileResult
from deniably.survey.questions import OfChoices, Question, SelectMultiple, SelectOne, YesNo
from deniably.survey.readable import number_text, rounded

CHOICES = (YesNo, SelectOne, SelectMultiple)

WIDEST_USEFUL = 0.10
"""An interval is too wide to use if half its width is more than this."""

UNDETERMINED = (
    "The noise hides the shape: the reports do not determine which share of the numbers is at most"
    " a given one, so there are no quantiles, and the bars are no more than a guess."
)

_MOST_NAMED = 3
_LEAST = 0.001  # a share that is printed as 0.1 %


def sentence(question: OfChoices, found: Estimate) -> str:
    """The estimate of one question as one plain sentence."""
    if isinstance(question, YesNo):
        share = _estimated(found, 0)
        return (
            f"{share[0].upper()}{share[1:]} answered “{question.choices[0].label}”"
            f" ({_interval(found, 0)})."
        )
    return leading([choice.label for choice in question.choices], found)


def leading(labels: Sequence[str], found: Estimate) -> str:
    """Says which answer leads, and whether the lead is significant.

    That takes the joint intervals, because the leader was picked by looking at all answers.
    """
    first, *others = map(int, np.argsort(-found.raw, kind="stable"))
    start = (
        f"The most frequent answer is “{labels[first]}”, {_estimated(found, first)}"
        f" ({_interval(found, first)})"
    )
    rivals = [
        labels[other] for other in others if found.joint_high[other] >= found.joint_low[first]
    ]
    if rivals:
        return f"{start}, but the lead over {_some(rivals)} is within the margin of error."
    second = others[0]
    return f"{start}, ahead of “{labels[second]}” with {_estimate(found, second)}."


def mean_sentence(subject: str, mean: Mean, unit: str) -> str:
    """A mean with its interval as one plain sentence."""
    margin = mean.population_margin
    low, high = (figure_text(end, margin.standard_error) for end in (margin.low, margin.high))
    shown = figure_text(inside(mean.estimate, (margin.low, margin.high)), margin.standard_error)
    return (
        f"{subject} is an estimated {shown}{_with(unit)}"
        f" ({level_text(mean.confidence)} interval {low} to {high})."
    )


def inside(estimate: float, interval: Sequence[float]) -> float:
    """An estimate that left its scale, moved to the nearer end of its interval."""
    return min(max(estimate, interval[0]), interval[1])


def figure_text(value: float, error: float) -> str:
    """A number as text, with the decimals that its standard error justifies."""
    return _unsigned(f"{rounded(value):.{decimals(rounded(error))}f}")


def percent(share: float) -> str:
    """A share as text: 0.3217 becomes 32.2 %."""
    return f"{_unsigned(f'{100 * rounded(share):.1f}')} %"


def estimate_text(estimate: float, interval: Sequence[float]) -> str:
    """An unbiased estimate of a share as text.

    An estimate of 0 or less, or of 1 or more, reads as the end of its interval: "below 4.1 %" or
    "above 95.9 %". Reports never prove a share to be 0 or 1.
    """
    if percent(max(estimate, 0.0)) == percent(0):
        return _below(interval[1])
    return _above(interval[0]) if percent(min(estimate, 1.0)) == percent(1) else percent(estimate)


def display_text(share: float, interval: Sequence[float]) -> str:
    """A share for display, as text.

    If its interval reaches 0 or 1, it reads as the other end: "below 4.1 %" or "above 95.9 %".
    """
    if percent(interval[0]) == percent(0):
        return _below(interval[1])
    return _above(interval[0]) if percent(interval[1]) == percent(1) else percent(share)


def _below(high: float) -> str:
    return f"below {percent(max(high, _LEAST))}"


def _above(low: float) -> str:
    return f"above {percent(min(low, 1 - _LEAST))}"


def _unsigned(number: str) -> str:
    """Without the sign of a zero."""
    return number.removeprefix("-") if not float(number) else number


def untold_sentence(low: float, high: float) -> str:
    """Replaces the mean score where the reports leave nearly the whole scale open."""
    return (
        "The mean score cannot be told from these reports: too few have a score, or too few"
        f" answered. It may be anything from {number_text(low)} to {number_text(high)}."
    )


def hidden_mean_sentence(low: float, high: float) -> str:
    """Replaces the mean of a number where noise hides the buckets."""
    return (
        "The mean cannot be told from these reports: the noise of this question hides its buckets."
        f" It may be anything from {number_text(low)} to {number_text(high)}."
    )


def decimals(error: float) -> int:
    """How many decimals to print: as many as give the standard error two digits."""
    return max(0, 1 - math.floor(math.log10(error))) if error > 0 else 0


def median_sentence(quantiles: Sequence[QuantileResult], unit: str, confidence: float) -> str:
    """The median with its interval, as in the table; empty where that is not known."""
    for quantile in quantiles:
        if quantile.share == 0.5:
            low, high = quantile.interval
            return (
                f"Half of the numbers are at most {quantile.high}{_with(unit)}"
                f" ({level_text(confidence)} interval {low} to {high})."
            )
    return ""


def too_wide(question: Question, found: Estimate) -> list[str]:
    """A warning if the intervals are too wide to use, with the number of answers that mends it."""
    half = float(np.max(found.high - found.low)) / 2
    if half <= WIDEST_USEFUL:
        return []
    mend, law = "", question.mechanism.law
    if isinstance(law, Supporting):
        n = enough(law, WIDEST_USEFUL, found.confidence)
        mend = (
            f"; about {n:,} answers to this question would bring them"
            f" within {_points(WIDEST_USEFUL)} points"
        )
    return [f"The intervals are too wide to use (up to {_points(half)} points either way){mend}."]


def mean_too_wide(mean: Mean, low: float, high: float, label: str = "") -> list[str]:
    """A warning if the interval of a mean on a range from ``low`` to ``high`` is too wide."""
    about = f"{label}: the" if label else "The"
    half = (mean.population_margin.high - mean.population_margin.low) / 2
    wanted = WIDEST_USEFUL * (high - low)
    if half <= wanted:
        return []
    z = NormalDist().inv_cdf((1 + mean.confidence) / 2)
    n = mean.n * (z * mean.population_margin.standard_error / wanted) ** 2
    return [
        f"{about} interval is too wide to use; about {_rounded_up(n):,} answers to this"
        f" question would bring it within {number_text(wanted)} either way."
    ]


def support_counts(question: OfChoices, tally: Tally) -> list[int] | None:
    """How many reports support each choice; None where outputs are no choices."""
    law = question.mechanism.law
    if isinstance(law, Supporting):
        return [int(count) for count in supports(tally, law)[0]]
    return None


def rates(question: Question) -> tuple[float, float] | None:
    """p and q: the probability that a report supports the true choice, and any other choice.

    None where reports do not support choices.
    """
    law = question.mechanism.law
    if isinstance(law, Supporting):
        return float(law.p), float(law.q)
    return None


def level_text(confidence: float) -> str:
    """A level of confidence as text: 0.95 is 95 %."""
    return f"{100 * confidence:g} %"


def delta_text(delta: Fraction) -> str:
    """A delta as a decimal, rounded up."""
    digits = max(0, 1 - math.floor(math.log10(delta)))
    return f"{math.ceil(delta * 10**digits) / 10**digits:.{digits}f}".rstrip("0")


def enough(mechanism: Pure, half: float, confidence: float = 0.95) -> int:
    """How many reports bring every interval within ``half`` either way, whatever the shares.

    Rounded up to two digits.
    """
    score = of_choice(mechanism)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    return _rounded_up(z * z * score.at(score.peak) / (half * half))


def _rounded_up(exact: float) -> int:
    unit = int(10 ** max(0, math.floor(math.log10(max(exact, 1.0))) - 1))
    return math.ceil(exact / unit) * unit


def _estimate(found: Estimate, choice: int) -> str:
    interval = float(found.low[choice]), float(found.high[choice])
    return estimate_text(float(found.raw[choice]), interval)


def _estimated(found: Estimate, choice: int) -> str:
    """The estimate as it reads after "is"."""
    share = _estimate(found, choice)
    return f"an estimated {share}" if share[0].isdigit() else share


def _interval(found: Estimate, choice: int) -> str:
    low, high = percent(found.low[choice]), percent(found.high[choice])
    return f"{level_text(found.confidence)} interval {low} to {high}"


def _some(labels: list[str]) -> str:
    return quoted(labels) if len(labels) <= _MOST_NAMED else f"{len(labels)} others"


def quoted(labels: list[str]) -> str:
    """“A”, “B” and “C”."""
    *most, last = [f"“{label}”" for label in labels]
    return f"{', '.join(most)} and {last}" if most else last


def _points(share: float) -> str:
    """Points of a hundred; with a decimal where without one it would read as the useful width."""
    whole = f"{100 * share:.0f}"
    near = share > WIDEST_USEFUL and whole == f"{100 * WIDEST_USEFUL:.0f}"
    return f"{math.ceil(1000 * share) / 10:.1f}" if near else whole


def _with(unit: str) -> str:
    return f" {unit}" if unit else ""
