"""The protection of a question in natural frequencies, for people who never heard of epsilon.

Counts are out of 100 people (out of more where 100 would read as never or always).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from deniably.mechanism import SubsetSelection
from deniably.survey import Question, Survey


@dataclass(frozen=True)
class Frequencies:
    """Of ``out_of`` people, how often a choice is sent: if it is theirs, if it is not."""

    own: int
    other: int
    out_of: int


def natural_frequencies(mechanism: SubsetSelection) -> Frequencies:
    """How often the true choice, and how often a given other one, is in what is sent."""
    for out_of in (100, 1_000, 10_000, 100_000, 1_000_000):
        own, other = round(mechanism.p * out_of), round(mechanism.q * out_of)
        if 0 < other < own < out_of:
            break
    return Frequencies(own, other, out_of)


def forward(question: Question) -> str:
    """What is sent for an answer, as one sentence."""
    mechanism = question.mechanism
    seen = natural_frequencies(mechanism)
    example = question.choices[0].label
    if mechanism.omega == 1:
        rest = (
            f"“{question.choices[1].label}”"
            if mechanism.k == 2
            else "one of the other answers, picked at random,"
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


def reverse(question: Question) -> str:
    """What somebody who sees the report can conclude, as one sentence."""
    return (
        "Whoever sees what was sent cannot know your answer: people with every other answer send"
        f" the same, and one answer makes it at most {times(question.mechanism.odds)} as likely"
        " as another."
    )


def total(survey: Survey) -> str:
    """The protection of all answers of one person together, as one sentence."""
    count = len(survey.questions)
    together = "the one answer" if count == 1 else f"all {count} answers together"
    return (
        f"Over {together}, what is sent makes any guess about you at most"
        f" {times(survey.total_odds)} as likely, compared with any other guess."
    )


def times(odds: Fraction) -> str:
    """Odds as 'N times', rounded up to a tenth, a whole number from 10 on."""
    if odds >= 10:
        return f"{-(-odds.numerator // odds.denominator):,} times"
    tenths = -(-odds.numerator * 10 // odds.denominator)
    return f"{tenths / 10:g} times"
