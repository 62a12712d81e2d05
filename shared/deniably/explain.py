"""The protection of a question in natural frequencies, for people who never heard of epsilon.

Counts are out of 100 people (out of more where 100 would read as never or always).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from deniably.loss import Loss
from deniably.mechanisms import (
    BoundedLaplace,
    Channel,
    Gaussian,
    Laplace,
    Mechanism,
    Memoised,
    SampledTicks,
    SetResponse,
    SubsetSelection,
    Unary,
    Vector,
    Window,
)
from deniably.mechanisms.noise import ratio
from deniably.questions import (
    Number,
    Point,
    Product,
    Question,
    Scale,
    SelectOne,
    VectorOfNumbers,
    YesNo,
)
from deniably.survey import EPSILON_LIMIT, Survey


@dataclass(frozen=True)
class Frequencies:
    """Of ``out_of`` people, how often a thing is sent: if it is theirs, if it is not."""

    own: int
    other: int
    out_of: int


def natural_frequencies(mechanism: SubsetSelection | SetResponse | Unary) -> Frequencies:
    """How often the true choice, and how often a given other one, is in what is sent."""
    return _frequencies(mechanism.p, mechanism.q)


def _frequencies(p: Fraction, q: Fraction) -> Frequencies:
    own = other = 0
    out_of = 100
    for out_of in (100, 1_000, 10_000, 100_000, 1_000_000):
        own, other = round(p * out_of), round(q * out_of)
        if 0 < other < own < out_of:
            break
    return Frequencies(own, other, out_of)


WEAK = 20
"""Odds above which one report says more about an answer than "cannot know" admits."""

_MUCH = "That is much: whoever sees everything that is sent may guess well about you."


def forward(question: Question) -> str:
    """What is sent for an answer, as one or two sentences."""
    mechanism = question.once
    match mechanism:
        case SubsetSelection() if isinstance(question, Number | Point | Product):
            return _subset(mechanism, _THINGS[type(question)])
        case SubsetSelection():
            assert isinstance(question, YesNo | SelectOne | Scale)
            return _choice(mechanism, [choice.label for choice in question.choices])
        case SetResponse():
            return _set(mechanism, f"What is sent names {mechanism.size} of the options or blanks.")
        case Unary():
            return _set(mechanism, "What is sent names some of the options.")
        case SampledTicks():
            return _sampled(mechanism)
        case Window():
            return _window(mechanism)
        case Channel():
            return (
                f"What is sent is one of {len(mechanism.weights[0])} signals, drawn by chance:"
                " every answer can send every signal, only how often differs."
            )
        case Laplace() | BoundedLaplace() | Gaussian():
            return _noise(question, mechanism)
        case Vector():
            return _vector(question, mechanism)


def reverse(question: Question) -> str:
    """What somebody who sees the report can conclude, as one sentence."""
    loss = question.once.loss
    if loss.bound > WEAK:
        return (
            "This question protects weakly: whoever sees what was sent can guess your answer and"
            " will often be right, though other answers can send the same. One answer makes it up"
            f" to {times(loss.bound)} as likely as another{exception(loss)}."
        )
    return (
        "Whoever sees what was sent cannot know your answer: people with every other answer send"
        f" the same, and one answer makes it at most {times(loss.bound)} as likely"
        f" as another{exception(loss)}."
    )


def clipped(question: Question) -> str | None:
    """What happens to numbers outside the bounds, to be read before answering; None without any."""
    match question:
        case Number():
            low, high = question.range.minimum, question.range.maximum
            return f"Numbers below {low} count as {low}, numbers above {high} as {high}."
        case VectorOfNumbers() | Point():
            bounds = "; ".join(
                f"{part.label}: {part.range.minimum} to {part.range.maximum}"
                for part in question.parts
            )
            return f"Numbers outside these bounds count as the nearest bound. {bounds}."
        case _:
            return None


def total(survey: Survey) -> str:
    """The protection of all answers of one person together, as one sentence."""
    count = survey.asked
    together = "the one answer" if count == 1 else f"all {count} answers together"
    loss = survey.total
    return (
        f"Over {together}, what is sent makes any guess about you at most"
        f" {times(loss.bound)} as likely, compared with any other guess{exception(loss)}."
        + ("" if loss.within(Fraction(EPSILON_LIMIT)) else f" {_MUCH}")
    )


@lru_cache(maxsize=256)
def times(odds: Fraction) -> str:
    """Odds as 'N times', rounded up to a tenth, a whole number from 10 on."""
    if odds >= 10:
        return f"{-(-odds.numerator // odds.denominator):,} times"
    tenths = -(-odds.numerator * 10 // odds.denominator)
    return f"{tenths / 10:g} times"


def describe(mechanism: Mechanism | Memoised[Any]) -> str:
    """The mechanism and its numbers, for researchers, in a few words."""
    match mechanism:
        case Memoised():
            kept = 100 * Fraction(mechanism.keep, mechanism.keep + mechanism.fresh)
            return f"{describe(mechanism.once)}, memo {float(kept):.0f} % kept"
        case SubsetSelection():
            return f"subset selection, {mechanism.omega} of {mechanism.k}"
        case Window():
            return f"window, {mechanism.w} of {mechanism.m}"
        case Channel():
            return f"channel, {len(mechanism.weights)} rows of {len(mechanism.weights[0])} outputs"
        case SetResponse():
            return f"set response, {mechanism.size} of {mechanism.k} and {mechanism.most} blanks"
        case SampledTicks():
            return f"sampled ticks, {mechanism.s} of {mechanism.k}"
        case Unary():
            return f"unary encoding of {mechanism.k}"
        case Laplace():
            return f"discrete Laplace, scale {mechanism.scale} steps"
        case BoundedLaplace():
            how = {"clamp": "clamped", "resample": "resampled"}[mechanism.beyond]
            return f"bounded Laplace, {how}, scale {mechanism.scale} steps"
        case Gaussian():
            return f"discrete Gaussian, variance {mechanism.sigma2} steps², delta {mechanism.delta}"
        case Vector():
            return (
                f"{mechanism.s} of {len(mechanism.parts)} numbers: {describe(mechanism.parts[0])}"
            )


# --- one sentence a mechanism -----------------------------------------------------------------

_THINGS: dict[type, str] = {Number: "ranges", Point: "areas of the map", Product: "combinations"}


def _choice(mechanism: SubsetSelection, labels: list[str]) -> str:
    seen = natural_frequencies(mechanism)
    example = labels[0]
    if mechanism.omega == 1:
        rest = (
            f"“{labels[1]}”" if mechanism.k == 2 else "one of the other answers, picked at random,"
        )
        return (
            f"If you choose “{example}”, then “{example}” is sent {seen.own} of {seen.out_of}"
            f" times, and {rest} {seen.out_of - seen.own} of {seen.out_of} times."
        )
    return (
        f"What is sent names {mechanism.omega} of the {mechanism.k} answers. If you choose"
        f" “{example}”, it is among them {seen.own} of {seen.out_of} times; if you do not, it is"
        f" still among them {seen.other} of {seen.out_of} times."
    )


def _subset(mechanism: SubsetSelection, things: str) -> str:
    seen = natural_frequencies(mechanism)
    return (
        f"What is sent names {mechanism.omega} of {mechanism.k} {things}. Yours is among them"
        f" {seen.own} of {seen.out_of} times; any other one is among them {seen.other} of"
        f" {seen.out_of} times."
    )


def _set(mechanism: SetResponse | Unary, start: str) -> str:
    seen = natural_frequencies(mechanism)
    return (
        f"{start} An option that you tick is among them {seen.own} of {seen.out_of} times; one that"
        f" you do not tick is still among them {seen.other} of {seen.out_of} times."
    )


def _sampled(mechanism: SampledTicks) -> str:
    seen = _frequencies(mechanism.p, mechanism.q)
    these = "1 option" if mechanism.s == 1 else f"{mechanism.s} options"
    return (
        f"Your device picks {these} of the {mechanism.k} at random and says nothing about the"
        f" others. Ticked or not is sent as it is {seen.own} of {seen.out_of} times, and turned"
        f" round {seen.out_of - seen.own} of {seen.out_of} times."
    )


def _window(mechanism: Window) -> str:
    inside = Fraction(mechanism.w * mechanism.own, mechanism.total)
    out_of = next(n for n in (100, 1_000, 10_000, 100_000) if 0 < round(inside * n) < n)
    near = round(inside * out_of)
    if mechanism.m == 2:
        return (
            "What is sent is only “low” or “high”, drawn by chance: the higher your answer, the"
            f" more often “high”, but never more than {near} of {out_of} times."
        )
    these = (
        "the one nearest to your answer"
        if mechanism.w == 1
        else (f"one of the {mechanism.w} nearest to your answer")
    )
    return (
        f"What is sent is one of {mechanism.m} places along the scale: {near} of {out_of} times"
        f" {these}, {out_of - near} of {out_of} times any other."
    )


def _noise(question: Question, mechanism: Laplace | BoundedLaplace | Gaussian) -> str:
    if isinstance(question, VectorOfNumbers):
        usual = "; ".join(
            f"{part.label}: {_usual(mechanism) * float(Fraction(part.range.step)):.3g}"
            for part in question.parts
        )
        return (
            "Your device adds a random number to each of yours before it is sent. Half of the time"
            f" it is larger than this, up or down: {usual}."
        )
    if isinstance(question, Scale):
        return (
            "Your device moves your answer along the scale by a random number of steps before it is"
            " sent; every answer can come out."
        )
    assert isinstance(question, Number)
    step = float(Fraction(question.range.step))
    unit = f" {question.range.unit}" if isinstance(question.range.unit, str) else ""
    return (
        "Your device adds a random number to yours before it is sent. Half of the time it is larger"
        f" than {_usual(mechanism) * step:.3g}{unit}, up or down."
    )


def _usual(mechanism: Laplace | BoundedLaplace | Gaussian) -> float:
    """The median magnitude of the noise, in steps."""
    if isinstance(mechanism, Gaussian):
        return 0.6745 * math.sqrt(ratio(mechanism.sigma2, "sigma2"))
    return math.log(2) * float(ratio(mechanism.scale, "scale"))


def _vector(question: Question, mechanism: Vector) -> str:
    count = len(mechanism.parts)
    these = "all your numbers" if mechanism.s == count else f"{mechanism.s} of your {count} numbers"
    picks = "takes" if mechanism.s == count else "picks at random"
    first = mechanism.parts[0]
    how = (
        "adds a random number to each"
        if isinstance(first, Laplace | BoundedLaplace)
        else "sends a signal for each that any number can send, only how often differs"
    )
    return f"Your device {picks} {these} and {how}."


def exception(loss: Loss) -> str:
    """The chance with which the promise of Gaussian noise may fail."""
    if not loss.delta:
        return ""
    return f", except with a chance of at most 1 in {math.floor(1 / loss.delta):,}"
