"""Explains a question's protection in natural frequencies, for people who do not know epsilon.

Counts are out of 100 people, or out of more where 100 would read as never or always.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import assert_never

from deniably.core.loss import Loss
from deniably.mechanisms.law import (
    Finite,
    HasLaw,
    Noise,
    Randomiser,
    Several,
    Supporting,
    TwoLevel,
)
from deniably.mechanisms.subset_selection import subset_selection
from deniably.survey.parts import Range
from deniably.survey.questions import (
    Number,
    OfOneChoice,
    Point,
    Product,
    Question,
    Scale,
    VectorOfNumbers,
)
from deniably.survey.survey import Survey, Waves
from deniably.wording.words import ENGLISH, Words


@dataclass(frozen=True)
class Frequencies:
    """How many of ``out_of`` people report a given choice: ``own`` of those whose true answer it
    is, and ``other`` of those with another answer."""

    own: int
    other: int
    out_of: int


def natural_frequencies(mechanism: HasLaw[Supporting]) -> Frequencies:
    """Returns how many of 100 people, or of more where 100 are too few, report their true choice,
    and how many report a given other choice.

    >>> natural_frequencies(subset_selection(k=2, own=3, other=1))
    Frequencies(own=75, other=25, out_of=100)
    """
    return _frequencies(mechanism.law.p, mechanism.law.q)


def _frequencies(p: Fraction, q: Fraction) -> Frequencies:
    own = other = 0
    out_of = 100
    for out_of in (100, 1_000, 10_000, 100_000, 1_000_000):
        own, other = round(p * out_of), round(q * out_of)
        # Rounded numbers must not read as "never", "always" or "no difference".
        if 0 < other < own < out_of:
            break
    return Frequencies(own, other, out_of)


@dataclass(frozen=True)
class IconArray:
    """A picture of 100 dots; ``own`` of them are filled.

    If a question has two pictures, ``caption`` tells them apart; a single picture has no caption,
    since the sentence beside it says everything.
    """

    own: int
    caption: str = ""


WEAK = 20
"""The odds above which the texts no longer say that nobody can know the answer."""


def describe_sending(question: Question, words: Words = ENGLISH) -> str:
    """Returns one or two sentences that describe what a device sends for an answer to the
    question."""
    law = question.mechanism.law
    match law:
        case Supporting(single=True) if law.size and isinstance(question, Number | Point | Product):
            return _subset(law, _NAMED[type(question)], words)
        case Supporting(single=True) if law.size:
            assert isinstance(question, OfOneChoice)
            return _choice(law, [choice.label for choice in question.choices], words)
        case Supporting(both=True):
            return _sampled(law, words)
        case Supporting():
            blanks = words("explain.blanks", count=law.most) if law.padding else ""
            return _set(law, blanks or words("explain.options"), words)
        case Finite(evenly=True):
            return _window(law, words)
        case Finite(usual=None):
            return words("explain.signals", count=law.outputs)
        case Finite() | Noise():
            return _noise(question, law.usual or 0.0, words)
        case Several(jointly=True):  # all numbers have the same noise
            return _noise(question, law.parts[0].usual or 0.0, words)
        case Several():
            return _several(law, words)
        case _:
            assert_never(law)


def describe_inference(question: Question, words: Words = ENGLISH) -> str:
    """Returns a sentence that states what somebody who sees the report can conclude about the
    answer."""
    loss = question.mechanism.loss
    return words.graded("explain.reverse", weak=weak(loss), **_odds(loss, words))


def icon_arrays(question: Question, words: Words = ENGLISH) -> list[IconArray]:
    """Returns pictures of 100 dots that show how a question's answers are protected, for
    mechanisms that two probabilities describe.

    The list is empty for reports that are signals or noisy numbers, and where 100 dots are too
    few.
    """
    law = question.mechanism.law
    match law:
        case Supporting(both=True):
            return _icon_arrays(words, natural_frequencies(law))
        case Supporting(single=True, size=1) if not isinstance(question, Number | Point | Product):
            return _icon_arrays(words, natural_frequencies(law))
        case Supporting():
            return _icon_arrays(words, natural_frequencies(law), "grid.chosen", "grid.other")
        case Finite(evenly=True) if law.outputs > 2:
            return _icon_arrays(words, _inside(law))
        case _:
            return []


def _icon_arrays(words: Words, seen: Frequencies, *captions: str) -> list[IconArray]:
    if seen.out_of != 100:  # dots that stand for rarer reports would be misread
        return []
    if not captions:
        return [IconArray(seen.own)]
    counts = zip(captions, (seen.own, seen.other), strict=True)
    return [IconArray(count, words(caption, own=count)) for caption, count in counts]


def practice(survey: Survey) -> Randomiser[Supporting]:
    """Returns the mechanism of the practice question, which has two answers and is never sent.

    It has the odds of the survey's first question with subset selection, or odds of 3 if there is
    none.
    """
    for question in survey.questions:
        law = question.mechanism.law
        if isinstance(law, Supporting) and law.single and isinstance(law.joint, TwoLevel):
            return subset_selection(k=2, own=law.joint.own, other=law.joint.other)
    return subset_selection(k=2, own=3, other=1)


def weak(loss: Loss) -> bool:
    """Returns whether a loss is so large that texts cannot say that nobody can know the answer:
    whether the odds are above 20."""
    return loss.odds_bound > WEAK


def at_most(loss: Loss, key: str, words: Words = ENGLISH, **values: object) -> str:
    """Returns the text of ``key``, filled in with the odds of a loss and, if the loss has a delta,
    with how rarely the promise may fail."""
    return words(key, **_odds(loss, words), **values)


def odds_text(loss: Loss) -> str:
    """Returns the odds of a loss as an English text. If the loss has a delta, the text also states
    how rarely the promise may fail.

    >>> odds_text(Loss(Fraction(11, 5)))
    'at most 2.2 times'
    """
    odds = _odds(loss, ENGLISH)
    return f"at most {ENGLISH.number(factor(loss.odds_bound))} times{odds['exception']}"


def clipped(question: Question, words: Words = ENGLISH) -> str | None:
    """Returns a sentence that states what happens to numbers outside the bounds; None for a
    question without bounds."""
    match question:
        case Number():
            return words("explain.clipped", **_bounds(question.range, words))
        case VectorOfNumbers() | Point():
            bounds = [
                words("explain.bound", name=part.label, **_bounds(part.range, words))
                for part in question.parts
            ]
            return words("explain.bounds", bounds=words("fields.semicolon").join(bounds))
        case _:
            return None


def describe_total(survey: Survey, words: Words = ENGLISH) -> str:
    """Returns sentences on the protection of all answers of one person together and, in a panel,
    over all waves."""
    total = words("explain.total", count=survey.asked, **_odds(survey.total, words))
    much = [words("explain.much")] if weak(survey.history) else []
    return " ".join([total, *_again(survey, words), *much, *_recognised(survey, words)])


def describe_waves(survey: Survey, words: Words = ENGLISH) -> list[str]:
    """Returns sentences that state the effects of waves: the questions are asked again, and some
    people can be recognised. The list is empty for a survey without waves."""
    return [*_again(survey, words), *_recognised(survey, words)]


def _again(survey: Survey, words: Words) -> list[str]:
    if not isinstance(survey.waves, Waves):
        return []
    key = "explain.count" if survey.count else "explain.waves"
    return [words(key, count=survey.count, **_odds(survey.history, words))]


def _recognised(survey: Survey, words: Words) -> list[str]:
    if not survey.recognised:
        return []
    return [words("explain.recognised", count=survey.recognised_of_100)]


@lru_cache(maxsize=256)
def factor(odds: Fraction) -> int | Decimal:
    """Returns odds as a number for a text such as "N times": rounded up to tenths, and from 10 on
    to whole numbers.

    >>> factor(Fraction(13, 7))
    Decimal('1.9')
    """
    # Rounded up: what a text promises must not be better than what holds.
    if odds >= 10:
        return -(-odds.numerator // odds.denominator)
    tenths = -(-odds.numerator * 10 // odds.denominator)
    return tenths // 10 if tenths % 10 == 0 else Decimal(tenths) / 10


# --- one sentence a mechanism -----------------------------------------------------------------

_NAMED: dict[type, str] = {
    Number: "explain.ranges",
    Point: "explain.areas",
    Product: "explain.combinations",
}


def _choice(law: Supporting, labels: list[str], words: Words) -> str:
    seen = natural_frequencies(law)
    if law.most > 1:
        named = {"count": law.most, "k": law.k, "one": labels[0]}
        return words("explain.names", **named, own=seen.own, other=seen.other, all=seen.out_of)
    sent = {"one": labels[0], "own": seen.own, "rest": seen.out_of - seen.own, "all": seen.out_of}
    if law.k == 2:
        return words("explain.two", two=labels[1], **sent)
    return words("explain.others", **sent)


def _subset(law: Supporting, key: str, words: Words) -> str:
    seen = natural_frequencies(law)
    named = {"count": law.most, "k": law.k}
    return words(key, **named, own=seen.own, other=seen.other, all=seen.out_of)


def _set(law: Supporting, start: str, words: Words) -> str:
    seen = natural_frequencies(law)
    ticks = words("explain.ticks", own=seen.own, other=seen.other, all=seen.out_of)
    return f"{start} {ticks}"


def _sampled(law: Supporting, words: Words) -> str:
    seen = natural_frequencies(law)
    sent = {"own": seen.own, "rest": seen.out_of - seen.own, "all": seen.out_of}
    return words("explain.sampled", count=law.most, k=law.k, **sent)


def _window(law: Finite, words: Words) -> str:
    seen = _inside(law)
    if law.outputs == 2:
        return words("explain.halves", own=seen.own, all=seen.out_of)
    sent = {"own": seen.own, "rest": seen.other, "all": seen.out_of}
    return words("explain.places", count=_width(law), m=law.outputs, **sent)


def _width(law: Finite) -> int:
    """The number of outputs in the window."""
    return law.outputs - law.rows + 1


def _inside(law: Finite) -> Frequencies:
    """How often a report is inside the window, and how often outside."""
    inside = sum((law.output(0, y) for y in range(_width(law))), Fraction(0))
    # The first that shows neither none nor all: rounded, 0 of 100 would be a lie.
    out_of = next(n for n in (100, 1_000, 10_000, 100_000) if 0 < round(inside * n) < n)
    own = round(inside * out_of)
    return Frequencies(own, out_of - own, out_of)


def _noise(question: Question, steps: float, words: Words) -> str:
    if isinstance(question, VectorOfNumbers):
        usual = [
            words("script.pair", name=part.label, text=_usual(steps, part.range, words))
            for part in question.parts
        ]
        return words("explain.added_each", usual=words("fields.semicolon").join(usual))
    if isinstance(question, Scale):
        return words("explain.moved")
    assert isinstance(question, Number)
    usual_one = _usual(steps, question.range, words)
    unit = question.range.unit
    return words(
        "explain.added", usual=f"{usual_one} {unit}" if isinstance(unit, str) else usual_one
    )


def _usual(steps: float, grid: Range, words: Words) -> str:
    """The median magnitude of the noise in the question's unit, with three digits."""
    return words.number(Decimal(f"{steps * float(Fraction(grid.step)):.3g}"))


def _several(law: Several, words: Words) -> str:
    count, some = len(law.parts), law.s
    added = law.parts[0].usual is not None
    if some == count:
        return words("explain.all_added" if added else "explain.all_signals")
    key = "explain.some_added" if added else "explain.some_signals"
    return words(key, count=some, all=count)


# --- figures ----------------------------------------------------------------------------------


def _odds(loss: Loss, words: Words) -> dict[str, object]:
    """The odds of a loss, and how rarely the promise of Gaussian noise may fail."""
    exception = ""
    if loss.delta:
        # Down, so that it is not promised to be rarer.
        exception = words("explain.exception", count=math.floor(1 / loss.delta))
    return {"odds": factor(loss.odds_bound), "exception": exception}


def _bounds(grid: Range, words: Words) -> dict[str, str]:
    return {"low": words.decimal(grid.minimum), "high": words.decimal(grid.maximum)}
