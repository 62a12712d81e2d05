"""Seals the report to one question: a person's, or a blank that a mixer makes up (SPEC 13).

Both are sealed by the same function, so that nothing tells one from the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deniably.core.coins import Coins
from deniably.mechanisms.random_answer import random_answer
from deniably.survey.report import Report
from deniably.trust.envelope import seal_inner
from deniably.trust.mixed_survey import MixedQuestion, MixedSurvey


def seal_value(survey: MixedSurvey, question: str, value: Sequence[int], coins: Coins) -> bytes:
    """Returns the envelope of the report that one question's mechanism made, ``value``.

    The report has an id of its own, drawn by ``coins``; two reports of one person have nothing in
    common. Raises BadEnvelope if the report does not fit into the survey's envelopes.
    """
    report = Report(id=coins.draw_id(), survey=survey.digest, values={question: list(value)})
    return seal_inner(survey.open, survey.digest, report.canonical, survey.length)


def make_blank(survey: MixedSurvey, question: MixedQuestion) -> bytes:
    """Returns the envelope of a blank: the report of a uniformly random answer to a question.

    Nobody can make it again: its randomness is the operating system's, and is kept nowhere.
    """
    coins = Coins()
    mechanism: Any = question.mechanism
    answer = random_answer(mechanism.law.domain, coins)
    return seal_value(survey, question.name, mechanism.randomise(answer, coins), coins)
