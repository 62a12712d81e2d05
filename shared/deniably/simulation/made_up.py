"""Makes up people and their answers, for rehearsals and simulations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from deniably.core.coins import Coins
from deniably.survey.parts import Choice, Range
from deniably.survey.questions import (
    NOT_APPLICABLE,
    Number,
    Point,
    Product,
    Question,
    SelectMultiple,
    VectorOfNumbers,
)
from deniably.survey.report import is_shown
from deniably.survey.survey import Survey

Answer = str | list[str] | dict[str, str]
"""The name of a choice, a number as decimal text, the names of ticked options, or a value for each
part."""
Answers = dict[str, Answer]
"""One person's answers, by the name of the question."""
Weights = Mapping[str, Sequence[int]]

# Choices are up to nine times as popular as others: uneven enough to look like a survey.
_LARGEST_WEIGHT = 9


def make_up(survey: Survey, people: int, coins: Coins | None = None) -> list[Answers]:
    """Makes up ``people`` persons and returns a dict for each: the answers to the questions that
    the person sees, by the name of the question.

    Nobody answers "not applicable". The popularity of each choice is drawn once for all people.
    Numbers have one peak.
    """
    coins = coins or Coins()
    weights = {
        name: [1 + coins.below(_LARGEST_WEIGHT) for _ in choices]
        for question in survey.questions
        for name, choices in choices_of(question)
    }
    return [_person(survey, weights, coins) for _ in range(people)]


def _person(survey: Survey, weights: Weights, coins: Coins) -> Answers:
    answers: Answers = {}
    hidden: set[str] = set()
    for question in survey.questions:
        if is_shown(question, answers, hidden):
            answers[question.name] = _answer(question, weights, coins)
        else:
            hidden.add(question.name)
    return answers


def _answer(question: Question, weights: Weights, coins: Coins) -> Answer:
    picked = {
        name: choices[coins.choose(weights[name])].name for name, choices in choices_of(question)
    }
    match question:
        case SelectMultiple():
            return _ticks(question, weights[question.name], coins)
        case Number():
            return _number(question.range, coins)
        case VectorOfNumbers() | Point():
            return {part.name: _number(part.range, coins) for part in question.parts}
        case Product():
            return {part.name: picked[f"{question.name}.{part.name}"] for part in question.parts}
        case _:
            return picked[question.name]


def choices_of(question: Question) -> list[tuple[str, list[Choice]]]:
    """Returns the choices of a question as a list of pairs (name, choices), without "not
    applicable".

    There is one pair with the name of the question; if the question has parts with choices, one
    pair for each part, named ``question.part``. The list is empty for numbers.
    """
    match question:
        case Number() | VectorOfNumbers() | Point():
            return []
        case Product():
            return [(f"{question.name}.{part.name}", part.choices) for part in question.parts]
        case _:
            shown = [choice for choice in question.choices if choice.name != NOT_APPLICABLE]
            return [(question.name, shown)]


def _ticks(question: SelectMultiple, weights: Sequence[int], coins: Coins) -> list[str]:
    ((_, choices),) = choices_of(question)
    ticked = [
        choice.name
        for choice, weight in zip(choices, weights, strict=True)
        if coins.below(2 * _LARGEST_WEIGHT) < weight
    ]
    return [ticked[place] for place in coins.pick(len(ticked), min(len(ticked), question.most))]


def _number(grid: Range, coins: Coins) -> str:
    # The mean of three uniform positions has one peak, in the middle.
    position = sum(coins.below(grid.positions) for _ in range(3)) // 3
    value = grid.value(position)
    return f"{Decimal(value.numerator) / value.denominator:f}"
