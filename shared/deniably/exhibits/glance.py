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
    """Returns the card of the first question, with its line changed to stand for the whole survey.

    The line's label is the survey's title and links to ``address``. Its note names the first
    question and the answer that the line shows, and counts the people. ``tallies`` has the tally
    of each question by name.
    """
    first = survey.questions[0].name
    (card,) = cards(result(survey, "", tallies, only=first))
    question = card.question
    note = f"{question.short} · {card.line.note} · {people(question.n)}"
    line = replace(card.line, label=survey.title, note=note, address=address)
    return replace(card, line=line)
