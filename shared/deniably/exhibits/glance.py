"""Makes the one finding of a survey that lists of surveys show: that of its first question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from deniably.core.counting import people
from deniably.estimation.tally import Tally
from deniably.exhibits.cards import Card, cards
from deniably.results.result import result
from deniably.survey.survey import Survey


def finding(survey: Survey, tallies: Mapping[str, Tally], *, address: str) -> Card:
    """Returns the card of the first question, with a line that represents the whole survey in a
    list of surveys.

    The line's label is the survey's title and links to ``address``. Its note has the first
    question, the answer whose share is drawn, and the number of people. ``tallies`` has the tally
    of each question by name.
    """
    first = survey.questions[0].name
    (card,) = cards(result(survey, "", tallies, only=first))
    question = card.question
    note = f"{question.short} · {card.line.note} · {people(question.n)}"
    line = replace(card.line, label=survey.title, note=note, address=address)
    return replace(card, line=line)
