"""Writes estimates as sentences fit for publication, and says how many answers would help where
they are too uncertain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from statistics import NormalDist
from typing import cast

import numpy as np
import numpy.typing as npt
from msgspec import UNSET

from deniably.estimation.estimate import Estimate, Pure, supports
from deniably.estimation.figures import Shares, groups
from deniably.estimation.inversion import Mean
from deniably.estimation.question_shares import CONFIDENCE as USUAL
from deniably.estimation.question_shares import UNSCORED
from deniably.estimation.scores import of_choice
from deniably.estimation.tally import Tally
from deniably.mechanisms.law import Supporting
from deniably.results.document import (
    AreaResult,
    ChoiceResult,
    QuantileResult,
    QuestionResult,
)
from deniably.results.drawing import rounding
from deniably.results.drawing.rounding import Reading, exact, in_100, with_unit
from deniably.survey.questions import YES_NO, OfChoices, Question
from deniably.survey.readable import number_text, rounded

WIDEST_USEFUL = 0.15
"""The half-width of an interval (as a share) above which results say how many answers would
help."""
WANTED = 0.10
"""The half-width that the stated number of answers would bring."""

HIDDEN_MEAN = (
    "The mean cannot be told from these reports: the noise of this question hides its buckets."
)
UNDETERMINED = "These reports do not show the shape of the distribution."

_WIDEST_MEDIAN = 0.25  # of the range: if the interval of the median is wider, so is every place


def sentence(question: OfChoices, estimate: Estimate, out: Sequence[bool] | None) -> str:
    """Returns a sentence that states the main result of a question with choices. ``out`` has, for
    each choice, whether it stands out from the noise; None if that is not known."""
    labels = [choice.label for choice in question.choices]
    if asks_yes_or_no(question.names):
        return answered(labels[0], _reading(estimate, 0), estimate.confidence)
    return leading(labels, estimate, out)


def asks_yes_or_no(names: Sequence[str]) -> bool:
    """Returns whether the choices with these names are yes and no, possibly with others such as
    "Prefer not to say"."""
    # The first two are yes and no; all others must be answers that count as none.
    return tuple(names[:2]) == YES_NO and {*names[2:]} <= UNSCORED


def answered(label: str, reading: Reading, confidence: float) -> str:
    """Returns a sentence that states how many people gave the answer ``label``."""
    match reading.state:
        case "known":
            return f"About {in_100(reading)} answered “{label}” {_within(reading, confidence)}."
        case "below":
            return f"{unseen(label, reading)}."
        case "above":
            return f"At least {in_100(reading)} answered “{label}”."
        case "unknown":
            return f"These reports are too few to say anything about “{label}”."


def unseen(label: str, reading: Reading) -> str:
    """Returns a clause, without a full stop, that says an answer was not clearly seen, since its
    interval begins at 0."""
    return (
        f"“{label}” was not clearly seen: the reports are compatible with any share"
        f" {reading.value}, nobody included"
    )


def leading(
    labels: Sequence[str],
    estimate: Estimate,
    out: Sequence[bool] | None,
    what: str = "answer",
) -> str:
    """Returns a sentence that states which answer leads, or that no answer clearly does. ``what``
    is the noun for what is compared, such as "answer".

    An answer leads if its joint interval (one of those that hold for all answers at once) lies
    above all others. Joint intervals are needed because the leader was picked by looking at all
    answers.
    """
    first = leader(estimate.raw)
    label, share = labels[first], about(_reading(estimate, first), estimate.confidence)
    if not clear(first, estimate.joint_low, estimate.joint_high):
        if all(_reading(estimate, v).state == "unknown" for v in range(len(labels))):
            return "These reports are too few to say anything about the shares."
        if out is not None and sum(out) == 1:
            only = list(out).index(True)
            return (
                f"No {what} is clearly in front. Only “{labels[only]}” stands out, with"
                f" {_reading(estimate, only).bare} in 100."
            )
        return f"No {what} is clearly in front. The highest estimate is “{label}”, {share}."
    return f"“{label}” is the most frequent {what}: {share}."


def leader(estimates: npt.ArrayLike) -> int:
    """Returns the index of the highest estimate."""
    return int(np.argmax(np.asarray(estimates)))


def clear(first: int, low: npt.ArrayLike, high: npt.ArrayLike) -> bool:
    """Returns whether the joint interval of the answer with index ``first`` lies above those of
    all others. ``low`` and ``high`` are the low and high ends of the answers' joint intervals."""
    # The joint intervals hold at once, so no further correction for picking the leader is needed.
    others = np.delete(np.asarray(high), first)
    return bool(np.all(others < np.asarray(low)[first]))


def is_in_front(first: int, joint: Sequence[Sequence[float]]) -> bool:
    """Returns whether the joint interval of the answer with index ``first`` lies above those of
    all others. ``joint`` has the interval [low, high] of each answer."""
    low, high = zip(*joint, strict=True)
    return clear(first, low, high)


def mean_sentence(subject: str, reading: Reading, confidence: float) -> str:
    """Returns a sentence that states a mean with its interval; ``subject`` says what the mean is
    of."""
    if reading.state == "unknown":
        return f"These reports are too few to say anything about {subject[0].lower()}{subject[1:]}."
    interval = f" {_within(reading, confidence)}" if reading.state == "known" else ""
    return f"{subject} is {reading.value}{interval}."


def median_sentence(
    quantiles: Sequence[QuantileResult], ends: tuple[str, str], unit: str, confidence: float
) -> str:
    """Returns a sentence that states the median with its interval.

    Where ``quantiles`` have no median, or one whose interval is wider than a quarter of the range,
    the sentence says that the reports do not show the shape of the distribution. ``ends`` are the
    ends of the range as text.
    """
    if not knows_shape(quantiles, ends):
        return UNDETERMINED
    median = next(each for each in quantiles if each.share == 0.5)
    low, high = map(exact, median.interval)
    return (
        f"Half of the numbers are at most about {with_unit(exact(median.high), unit)}"
        f" ({low} to {high}{_level(confidence)})."
    )


def knows_shape(quantiles: Sequence[QuantileResult], ends: tuple[str, str]) -> bool:
    """Returns whether the quantiles have a median whose interval is at most a quarter of the range
    from ``ends[0]`` to ``ends[1]``."""
    return any(
        quantile.share == 0.5 and width(quantile, ends) <= _WIDEST_MEDIAN for quantile in quantiles
    )


def width(quantile: QuantileResult, ends: tuple[str, str]) -> float:
    """Returns the width of a quantile's interval as a fraction of the range from ``ends[0]`` to
    ``ends[1]``."""
    low, high = map(float, quantile.interval)
    return (high - low) / (float(ends[1]) - float(ends[0]))


def too_wide(question: Question, estimate: Estimate, blanks: int = 0) -> list[str]:
    """Returns a list with one sentence that states how many answers would bring every share within
    10 points. The list is empty where intervals are narrow enough, or where reports do not name
    choices. ``blanks`` is the number of those among the reports."""
    half = float(np.max(estimate.high - estimate.low)) / 2
    law = question.mechanism.law
    if half <= WIDEST_USEFUL or not isinstance(law, Supporting):
        return []
    n = enough(law, WANTED, estimate.confidence, blanks)
    return [
        f"About {n:,} answers to this question would bring every share within"
        f" ±{100 * WANTED:.0f} points."
    ]


def mean_too_wide(
    mean: Mean, low: float, high: float, label: str = "", made_up: float = 0.0
) -> list[str]:
    """Returns a list with one sentence that states how many answers would bring a mean within a
    tenth of its range from ``low`` to ``high``. The list is empty where the interval is narrow
    enough. ``label`` names the number, in a question with several; ``made_up`` is the part of the
    mean's variance that a mixer's blanks add."""
    about = f"{label}: about" if label else "About"
    half = (mean.population_margin.high - mean.population_margin.low) / 2
    if half <= WIDEST_USEFUL * (high - low):
        return []
    z, wanted = NormalDist().inv_cdf((1 + mean.confidence) / 2), WANTED * (high - low)
    error = mean.population_margin.standard_error
    n = people_for(mean.n, z * error / wanted, made_up / error**2)
    return [
        f"{about} {rounded_up(n):,} answers to this question would bring the mean within"
        f" ±{number_text(wanted)}."
    ]


def support_counts(question: OfChoices, tally: Tally) -> list[int] | None:
    """Returns how many reports support each choice; None where reports do not name choices."""
    law = question.mechanism.law
    if isinstance(law, Supporting):
        return [int(count) for count in supports(tally, law).counts]
    return None


def rates(question: Question) -> tuple[float, float] | None:
    """Returns (p, q): the probability that a report supports the true choice, and the probability
    that it supports any other given choice.

    Returns None where reports do not name choices.
    """
    law = question.mechanism.law
    if isinstance(law, Supporting):
        return float(law.p), float(law.q)
    return None


def level_text(confidence: float) -> str:
    """Returns a confidence level as text: "95 %" for 0.95."""
    return f"{100 * confidence:g}{rounding.NARROW}%"


def delta_text(delta: Fraction) -> str:
    """Returns a delta as a decimal number, rounded up to two significant digits."""
    # Rounded up, so that the text never promises more than is kept.
    digits = max(0, 1 - math.floor(math.log10(delta)))
    return f"{math.ceil(delta * 10**digits) / 10**digits:.{digits}f}".rstrip("0")


def enough(mechanism: Pure, half: float, confidence: float = 0.95, blanks: int = 0) -> int:
    """Returns how many people bring the interval of every share within ``half`` on either side,
    whatever the true shares and with so many ``blanks``; rounded up to two significant digits."""
    score = of_choice(mechanism)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    # z * sqrt(variance / n) <= half, solved for n, at the share with the largest variance.
    n = z * z * score.at(score.peak) / (half * half)
    if blanks:  # z * sqrt(variance / n + blanks * their variance / n^2) <= half
        made_up = z * z * blanks * score.blank_variance / (half * half)
        n = (n + math.sqrt(n**2 + 4 * made_up)) / 2
    return rounded_up(n)


def people_for(n: int, times: float, of_blanks: float = 0.0) -> float:
    """Returns how many people have a standard error that is so many ``times`` smaller than that of
    n people. A mixer's blanks, whose number stays the same, add the part ``of_blanks`` of the
    variance, from 0 to 1.

    >>> people_for(50, 2), people_for(50, 2, of_blanks=1)
    (200, 100.0)
    """
    if not of_blanks:
        return n * times**2
    # What people add falls with n, what blanks add with n^2: of_blanks x^2 + (1 - of_blanks) x
    # = 1/times^2, where x is n divided by the number of people that is sought.
    own, made_up = 1 - min(of_blanks, 1.0), min(of_blanks, 1.0)
    return n * 2 * made_up / (math.sqrt(own**2 + 4 * made_up / times**2) - own)


def part_of_blanks(asked: Question, question: QuestionResult) -> float:
    """Returns the part of the variance of a question's least certain share that a mixer's blanks
    add, by the law of the question that was ``asked``. 0 without blanks and without shares."""
    shares = [
        share
        for share in (*_shares(question, "choices"), *_shares(question, "cells"))
        if share.standard_error
    ]
    if not question.blanks or not shares:
        return 0.0
    each = question.blanks / question.n  # for each person
    added = [
        group.variance(asked.mechanism, blanks=each) - group.variance(asked.mechanism)
        for group in groups(asked)
        if isinstance(group, Shares) and math.isfinite(group.variance(asked.mechanism))
    ]
    made_up = max(added, default=0.0) / question.n
    return min(made_up / max(share.standard_error for share in shares) ** 2, 1.0)


def _shares(question: QuestionResult, key: str) -> Sequence[ChoiceResult | AreaResult]:
    return cast(Sequence[ChoiceResult | AreaResult], getattr(question, key, UNSET) or ())


def rounded_up(exact: float) -> int:
    """Returns ``exact``, a number of people, rounded up to two significant digits."""
    unit = int(10 ** max(0, math.floor(math.log10(max(exact, 1.0))) - 1))
    return math.ceil(exact / unit) * unit


def _reading(estimate: Estimate, choice: int) -> Reading:
    interval = rounded(estimate.low[choice]), rounded(estimate.high[choice])
    return rounding.share(rounded(estimate.raw[choice]), interval)


def _within(reading: Reading, confidence: float) -> str:
    return f"({reading.bare}{_level(confidence)})"


def _level(confidence: float) -> str:
    """What brackets say of an interval that is not the usual one."""
    return "" if confidence == USUAL else f", {level_text(confidence)} interval"


def about(reading: Reading, confidence: float) -> str:
    """Returns a share as part of a sentence, such as "about 29 in 100 (21 to 38)"."""
    match reading.state:
        case "known":
            return f"about {in_100(reading)} {_within(reading, confidence)}"
        case "above":
            return f"at least {in_100(reading)}"
        case "below":
            return f"{reading.value}"
        case "unknown":
            return f"anything from {reading.bare} in 100"


def quoted(labels: list[str]) -> str:
    """Returns labels in quotation marks as a list in words: “A”, “B” and “C”."""
    *rest, last = [f"“{label}”" for label in labels]
    return f"{', '.join(rest)} and {last}" if rest else last
