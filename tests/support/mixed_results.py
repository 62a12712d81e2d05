"""Results of surveys with a mixer: definitions, and what such a mixer passes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from deniably.estimation.tally import Tally
from deniably.simulation.bulk import randomise_many, tally_many
from deniably.simulation.reports import simulate_people
from deniably.survey.mixer import Mixer, usual_length
from deniably.survey.survey import Survey, as_survey
from deniably.workbench.engines.tallying import Counts, TalliedSet
from spec.cases.mixers import CLOSED, MIXER
from support.blanks import made_up, mixed
from support.every_type import survey_of_everything

BLANKS = 220


def through_mixer(mixer: Mapping[str, Any] = MIXER, /, **changes: Any) -> Survey:
    """A survey with a mixer, and with every type of question that goes through one."""
    survey = survey_of_everything()
    document = msgspec.to_builtins(survey)
    asked = [each for each in survey.questions if not each.mechanism.loss.delta]
    names = {each.name for each in asked}
    document["questions"] = [each for each in document["questions"] if each["name"] in names]
    terms = {"blanks": BLANKS, "length": usual_length(asked)}
    document |= {"results": CLOSED, "mixer": MIXER | dict(mixer) | terms}
    return as_survey(document | changes)


def passed_on(survey: Survey, people: int) -> TalliedSet:
    """The counts of a batch of so many simulated people, and of blanks."""
    tallies = dict[str, Tally]()
    assert isinstance(survey.mixer, Mixer)
    for number, answers in enumerate(simulate_people(survey, people).answers):
        name, mechanism = answers.question.name, answers.question.report_mechanism
        (block,) = answers.blocks()
        sent = tally_many(mechanism, randomise_many(mechanism, block))
        tallies[name] = mixed(sent, made_up(mechanism, survey.mixer.blanks, number))
    return TalliedSet(survey, (Counts(people, tallies),))
