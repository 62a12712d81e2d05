"""Makes a card for each question of a result: its exhibit, and its line in the overview of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from deniably.core.languages.html import Html
from deniably.exhibits.exhibit import Exhibit
from deniably.exhibits.question_exhibit import exhibit_of
from deniably.exhibits.question_pictures import draw, heads_at
from deniably.results import narrative, shown
from deniably.results.document import (
    OfChoicesResult,
    QuestionResult,
    ScaleResult,
    SurveyResult,
)
from deniably.results.drawing import axes, rounding, strip
from deniably.results.drawing.axes import Axis
from deniably.results.drawing.row import Row
from deniably.survey.questions import Question
from deniably.survey.survey import Survey


@dataclass(frozen=True)
class Card:
    """One question on the results page: its exhibit, and its ``line`` in the overview at the top
    of the page.

    ``own`` is the axis of a line that shows a mean; it is None for a share, as all shares have a
    common axis. ``half`` is half the width of the widest interval among the question's shares;
    None without shares.
    """

    exhibit: Exhibit
    line: Row
    own: Axis | None
    half: float | None

    @property
    def question(self) -> QuestionResult:
        """Returns the figures of the question."""
        return cast(QuestionResult, self.exhibit.document)

    @property
    def flagged(self) -> bool:
        """Returns whether the question has signs of fake reports."""
        return bool(self.question.flags)


def cards(result: SurveyResult) -> list[Card]:
    """Returns the card of each question, in the order of the result."""
    return [_card(result, question) for question in result.questions]


def _card(result: SurveyResult, question: QuestionResult) -> Card:
    drawn = draw(question, heads_at(result.confidence))
    line = replace(drawn.line, label=question.short, address=f"#{question.name}")
    return Card(exhibit_of(result, question, drawn), line, drawn.own, drawn.half)


def glance(
    all_cards: Sequence[Card],
    confidence: float,
    *,
    about: str = "One line a question",
    heading: str = "Question",
) -> list[Html]:
    """Returns the overview at the top of the page as tables with one line per card: a table of
    shares on a common axis, and a table of means, each line on its own axis.

    ``about`` is the caption and ``heading`` the heading of the labels; both are for screen
    readers.
    """
    heads = heads_at(confidence)
    of_shares = [card.line for card in all_cards if card.own is None]
    of_means = [(card.line, card.own) for card in all_cards if card.own is not None]
    drawn: list[Html] = []
    if of_shares:
        axis = axes.of_shares(of_shares)
        drawn.append(strip.table(about, of_shares, axis, heads=heads.shares, heading=heading))
    if of_means:
        rows, scales = [row for row, _ in of_means], [own for _, own in of_means]
        caption = "Means" if of_shares else about
        drawn.append(strip.table(caption, rows, scales, heads=heads.means, heading=heading))
    return drawn


@dataclass(frozen=True)
class Precision:
    """The precision of the shares of a result. Widths are half-widths of intervals, as texts in
    percentage points.

    For each question the widest interval is taken. ``typical`` is the median of the questions'
    widths, ``best`` the smallest and ``worst`` the largest; ``of_worst`` is the label of the
    question with the largest. ``grade`` is a word for the typical width, such as "good".
    ``for_half`` is the number of respondents that would halve the widths. ``below`` is True if
    some share is printed as "below" a number.
    """

    grade: str
    typical: str
    best: str
    worst: str
    of_worst: str
    for_half: int
    below: bool


_GRADES = (
    (3, "precise"),
    (5, "good"),
    (10, "rough"),
    (15, "coarse"),
)
"""The largest half-width, in points, that a word still fits."""


def precision(result: SurveyResult, all_cards: Sequence[Card], survey: Survey) -> Precision | None:
    """Returns the precision of all shares of the page; None where there are no shares."""
    asked = {question.name: question for question in survey.questions}
    halves = sorted((card.half, card.line.label) for card in all_cards if card.half is not None)
    if not halves:
        return None
    # The lower median, so that "typical" is a width that some question really has.
    typical = halves[(len(halves) - 1) // 2][0]
    return Precision(
        grade=_grade(rounding.half_points(typical)),
        typical=rounding.half(typical),
        best=rounding.half(halves[0][0]),
        worst=rounding.half(halves[-1][0]),
        of_worst=halves[-1][1],
        for_half=max(
            _for_half(result.n, card, asked[card.question.name])
            for card in all_cards
            if card.half is not None
        ),
        below=any(_reads_below(card.question) for card in all_cards),
    )


def _for_half(n: int, card: Card, asked: Question) -> int:
    """How many people would halve the widths of a question's shares."""
    # Widths fall with the square root of n, and faster among blanks, whose number stays.
    question = card.question
    many = narrative.people_for(n, 2, narrative.part_of_blanks(asked, question))
    return 4 * n if not question.blanks else narrative.rounded_up(many)


def _reads_below(question: QuestionResult) -> bool:
    match question:
        case OfChoicesResult() | ScaleResult():
            choices = question.choices or ()
            return any(shown.of_choice(choice).reading.state == "below" for choice in choices)
        case _:
            return False


def _grade(points: float) -> str:
    """The word for a typical half-width, by the points that are printed beside it."""
    return next(
        (word for limit, word in _GRADES if points <= limit), "too coarse for single figures"
    )
