"""Makes up the blanks that a mixer adds to the reports of each question (SPEC 13)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from deniably.core.coins import Coins
from deniably.estimation.tally import Tally
from deniably.mechanisms.law import Domain, Ticks
from deniably.mechanisms.random_answer import random_answer
from deniably.simulation import bulk
from deniably.survey.mixer import Mixer
from deniably.survey.survey import Survey


def blanks_for(survey: Survey) -> dict[str, Tally]:
    """Returns the tally of new blanks of each question, by its name; empty without a mixer."""
    if not isinstance(survey.mixer, Mixer):
        return {}
    made: dict[str, Tally] = {}
    for question in survey.questions:
        mechanism = question.report_mechanism
        answers = _random_answers(mechanism.law.domain, survey.mixer.blanks)
        made[question.name] = bulk.tally_many(mechanism, bulk.randomise_many(mechanism, answers))
    return made


def with_blanks(people: Mapping[str, Tally], blanks: Mapping[str, Tally]) -> dict[str, Tally]:
    """Returns the tallies of people's reports with the ``blanks`` among them, as a server counts
    them."""
    return {
        name: (tally + blanks[name]).with_blanks(blanks[name].n) if name in blanks else tally
        for name, tally in people.items()
    }


def _random_answers(domain: Domain, count: int) -> npt.NDArray[Any]:
    """So many uniformly random answers, as ``bulk.randomise_many`` takes them."""
    coins = Coins()
    drawn = [random_answer(domain, coins) for _ in range(count)]
    if not isinstance(domain, Ticks):
        return np.array(drawn)
    ticks = np.zeros((count, domain.k), bool)
    for row, ticked in zip(ticks, drawn, strict=True):
        row[list(cast(tuple[int, ...], ticked))] = True
    return ticks
