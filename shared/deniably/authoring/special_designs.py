"""What a survey has besides its questions: waves, groups that links carry, invitations.

Each is named with what it costs people and results, in the figures of the ways to ask (``ways``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from deniably.authoring.ways import Margins, widest_margins
from deniably.survey.guessing_rates import Guessing, Rate, rate_text
from deniably.survey.spending import privacy_spent
from deniably.survey.strata import stratum_text
from deniably.survey.survey import Survey, Waves

DesignId = Literal["waves", "strata", "invited"]


class SpecialDesign(msgspec.Struct, frozen=True):
    """A design, by its ``label``. ``note`` says what happens, ``cost`` what it costs.

    ``used`` is how much of 100 all waves spend together, ``guess`` how many of 100 guesses from all
    of them are right; None where there is one wave. ``margins`` has the widest margin of each
    question within one group of equally large ones; it is empty without groups.
    """

    id: DesignId
    label: str
    note: str
    cost: str
    used: int | None = None
    guess: Rate | None = None
    margins: Margins = {}


def special_designs(survey: Survey, rates: Guessing, n: int) -> list[SpecialDesign]:
    """Returns the special designs of a survey; ``rates`` are its guessing rates. Margins are those
    of ``n`` respondents in all."""
    return list(_special_designs(survey, rates, n))


def _special_designs(survey: Survey, rates: Guessing, n: int) -> Iterator[SpecialDesign]:
    if isinstance(survey.waves, Waves):
        yield _waves(survey, survey.waves, rates)
    if survey.strata:
        yield _strata(survey, n)
    if survey.invited:
        yield SpecialDesign(
            "invited",
            "By invitation",
            "Each code is good for one report.",
            "Nothing: nobody can tell which report came by which code.",
        )


def _waves(survey: Survey, waves: Waves, rates: Guessing) -> SpecialDesign:
    people = survey.recognised_of_100
    return SpecialDesign(
        "waves",
        f"One of {survey.count} waves of “{waves.panel}”"
        if survey.count
        else f"A wave of “{waves.panel}”, in which people are asked again and again",
        "The die is rolled anew in each wave, so that each spends as much again."
        if survey.count
        else "Devices keep what the die made of an answer, and roll it once more in each wave.",
        "Reports of one person resemble each other."
        if people is None
        else f"About {people} of 100 people can be recognised from wave to wave.",
        used=privacy_spent(survey.history),
        guess=None if rates.waves is None else rate_text(rates.waves),
    )


def _strata(survey: Survey, n: int) -> SpecialDesign:
    groups = survey.every_stratum
    return SpecialDesign(
        "strata",
        f"{len(groups)} groups: {'; '.join(map(stratum_text, groups))}",
        "Each group has a link of its own. The margin is for groups of one size.",
        "Which group somebody is in is sent as it is, and no die hides it.",
        margins=widest_margins(survey, max(1, n // len(groups))),
    )
