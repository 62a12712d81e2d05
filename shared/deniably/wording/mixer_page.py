"""Writes what a form's first page says of a mixer: who gets the answers, and what each can guess.

Two pairs of rates are stated. The first is that of the survey's server alone, which the mixer's
blanks bound. The second is that of both parties together, which the mechanisms bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from deniably.core.loss import Loss
from deniably.survey.guessing_rates import Guessing, guessing, rate_text
from deniably.survey.mixer import Mixer
from deniably.survey.odds import surest
from deniably.survey.survey import Survey
from deniably.wording.words import Words


@dataclass(frozen=True)
class MixerRates:
    """The guessing rates of a survey with a mixer, as probabilities from 1/2 to 1.

    ``one`` has the highest rate of each question, and ``all`` that of all answers together, against
    the survey's server alone. ``together`` has the rates against both parties.
    """

    one: tuple[Fraction, ...]
    all: Fraction
    together: Guessing


def mixer_rates(survey: Survey, losses: Mapping[str, Loss]) -> MixerRates:
    """Returns the guessing rates of a survey with a mixer.

    ``losses`` has for questions the loss of one answer against the server alone. For other
    questions the claim stands, which bounds all answers and so each of them.
    """
    claim = _mixer(survey).claim.loss
    one = (losses.get(question.name, claim) for question in survey.questions)
    return MixerRates(
        tuple(surest(loss.odds_bound) for loss in one),
        surest(claim.odds_bound),
        guessing(survey),
    )


def mixer_cues(survey: Survey, who: str, words: Words) -> tuple[str, str]:
    """Returns what the mixer does once the survey is closed, and who runs the survey's server."""
    mixer = _mixer(survey)
    adds = words("mixer.adds", by=mixer.by, count=mixer.blanks)
    return adds, words("mixer.passes", who=who)


def mixer_promise(survey: Survey, words: Words) -> tuple[str, str]:
    """Returns the two sentences that promise protection."""
    return words("mixer.promise"), words("mixer.doubt", by=_mixer(survey).by)


def mixer_visible(survey: Survey, words: Words) -> str:
    """Returns what others can see: that somebody takes part."""
    return words("mixer.visible", by=_mixer(survey).by)


def visible_from_terminal(survey: Survey, words: Words) -> str:
    """Returns the same for a terminal, where no page is shown."""
    return words("terminal.visible", by=_mixer(survey).by)


def mixer_meaning(survey: Survey, rates: MixerRates, words: Words) -> tuple[str, str]:
    """Returns what the rates of the survey's server mean, and what those of both together mean."""
    mixer, count = _mixer(survey), len(survey.questions)
    together = rates.together
    alone = [words("mixer.say_one", by=mixer.by, rate=rate_text(max(rates.one)))]
    both = [words("mixer.say_both", by=mixer.by, rate=rate_text(together.highest))]
    if count > 1:
        alone.append(words("mixer.say_all", count=count, rate=rate_text(rates.all)))
        both.append(words("mixer.say_both_all", count=count, rate=rate_text(together.together)))
    alone.append(words("mixer.say_fails", count=int(1 / mixer.claim.loss.delta)))
    return " ".join(alone), " ".join(both)


def mixer_guess(survey: Survey, rates: MixerRates, number: int, words: Words) -> str:
    """Returns how often both parties guess the answer to question ``number`` right, from 0 on."""
    alone, both = rates.one[number], rates.together.one[number]
    return words("mixer.guess", by=_mixer(survey).by, alone=rate_text(alone), both=rate_text(both))


def _mixer(survey: Survey) -> Mixer:
    assert isinstance(survey.mixer, Mixer)
    return survey.mixer
