"""One finding of a survey, for lists of surveys: that of the first card of its results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from deniably.core.counting import people
from deniably.estimation.tally import Tally
from deniably.exhibits.cards import Card, cards
from deniably.results.result import result
from deniably.survey.survey import Survey


def finding(survey: Survey, tallies: Mapping[str, Tally], *, address: str) -> Card:
    """The card of the first question, with a line about the whole survey.

    The line's label is the survey's title and leads to ``address``; its note names question and
    answer, and counts the people.
    """
    first = survey.questions[0].name
    (card,) = cards(result(survey, "", tallies, only=first))
    question = card.question
    note = f"{question.short} · {card.line.note} · {people(question.n)}"
    line = replace(card.line, label=survey.title, note=note, address=address)
    return replace(card, line=line)
