"""What an estimate says, as a sentence that can be published, and what to beware of."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from deniably.estimate import Estimate, estimate, variance
from deniably.mechanism import SubsetSelection
from deniably.survey import Question
from deniably.tally import Tally

WIDEST_USEFUL = 0.10
"""Half the width of an interval from which on it is too wide to use."""

_SURE = 0.9999
_MOST_NAMED = 3


def sentence(question: Question, found: Estimate) -> str:
    """The estimate of one question as one plain sentence."""
    if question.type == "yes_no":
        return (
            f"An estimated {_percent(found.consistent[0])} answered"
            f" “{question.choices[0].label}” ({_interval(found, 0)})."
        )
    return _leader(question, found)


def flags(question: Question, tally: Tally, found: Estimate) -> list[str]:
    """Sentences on what stands against using this estimate; usually none."""
    flags: list[str] = []
    half = float(np.max(found.high - found.low)) / 2
    if half > WIDEST_USEFUL:
        flags.append(
            f"The intervals are too wide to use (up to {_points(half)} points either way); about"
            f" {enough(question.mechanism, WIDEST_USEFUL):,} reports would bring them within"
            f" {_points(WIDEST_USEFUL)} points."
        )
    # Of honest counts, one choice in 40 whose true share is 0 misses a 95 % interval. A flag
    # accuses somebody, so it needs more than that.
    suspicious = estimate(tally, question.mechanism, _SURE).suspicious
    labels = [choice.label for choice, odd in zip(question.choices, suspicious, strict=True) if odd]
    if labels:
        flags.append(
            f"No true answers explain how often {_quoted(labels)} was reported: suspect a faulty"
            " device or crafted reports."
        )
    return flags


def enough(mechanism: SubsetSelection, half: float, confidence: float = 0.95) -> int:
    """A number of reports that brings every interval within ``half`` either way, whatever the
    shares; rounded up to two digits."""
    p, q = float(mechanism.p), float(mechanism.q)
    # A report's variance is largest where the choice is supported as often as not.
    worst = (min(max(0.5, q), p) - q) / (p - q)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    exact = z * z * float(variance(mechanism, worst)) / (half * half)
    unit = int(10 ** max(0, math.floor(math.log10(exact)) - 1))
    return math.ceil(exact / unit) * unit


def _leader(question: Question, found: Estimate) -> str:
    """The choice in front, and whether it really is: by the joint intervals, because the
    leader was picked by looking at all of them."""
    first, *others = map(int, np.argsort(-found.consistent, kind="stable"))
    labels = [choice.label for choice in question.choices]
    start = (
        f"The most frequent answer is “{labels[first]}”, an estimated"
        f" {_percent(found.consistent[first])} ({_interval(found, first)})"
    )
    rivals = [
        labels[other] for other in others if found.joint_high[other] >= found.joint_low[first]
    ]
    if rivals:
        return f"{start}, but the lead over {_some(rivals)} is within the margin of error."
    second = others[0]
    return f"{start}, ahead of “{labels[second]}” with {_percent(found.consistent[second])}."


def _interval(found: Estimate, choice: int) -> str:
    low, high = _percent(found.low[choice]), _percent(found.high[choice])
    return f"{found.confidence * 100:g} % interval {low} to {high}"


def _some(labels: list[str]) -> str:
    return _quoted(labels) if len(labels) <= _MOST_NAMED else f"{len(labels)} others"


def _quoted(labels: list[str]) -> str:
    *most, last = [f"“{label}”" for label in labels]
    return f"{', '.join(most)} and {last}" if most else last


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _points(share: float) -> str:
    return f"{100 * share:.0f}"
