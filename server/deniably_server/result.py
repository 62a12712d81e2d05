"""The result of a survey: what its tallies say, in plain numbers and sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict, cast

import msgspec

from deniably.estimate import Estimate, estimate
from deniably.survey import Question, Survey, epsilon_text
from deniably.tally import Tally
from deniably_server.finding import flags, sentence
from deniably_server.odds import odds_text

CONFIDENCE = 0.95
_DIGITS = 6


class ChoiceResult(TypedDict):
    """One choice: how many reports support it, and what share of people that means."""

    name: str
    label: str
    count: int
    estimate: float
    standard_error: float
    interval: list[float]
    joint_interval: list[float]
    consistent: float


class QuestionResult(TypedDict):
    """One question with its protection, its estimates and how to read them."""

    name: str
    label: str
    type: str
    n: int
    mechanism: dict[str, object]
    claim: dict[str, str]
    odds: str
    epsilon: str
    design_effect: float | None
    effective_n: float | None
    sentence: str
    flags: list[str]
    choices: list[ChoiceResult]


class SurveyResult(TypedDict):
    """A survey's results; every number is finite."""

    survey: str
    title: str
    digest: str
    state: str
    n: int
    confidence: float
    total: dict[str, str]
    questions: list[QuestionResult]


def result(survey: Survey, state: str, tallies: Mapping[str, Tally]) -> SurveyResult:
    """The result from the tally of every question, each of at least one report."""
    questions = [_question(question, tallies[question.name]) for question in survey.questions]
    return {
        "survey": survey.name,
        "title": survey.title,
        "digest": survey.digest,
        "state": state,
        "n": questions[0]["n"],
        "confidence": CONFIDENCE,
        "total": {
            "odds": odds_text(survey.total_odds),
            "epsilon": epsilon_text(survey.total_odds),
        },
        "questions": questions,
    }


def _question(question: Question, tally: Tally) -> QuestionResult:
    found = estimate(tally, question.mechanism, CONFIDENCE)
    odds = question.mechanism.odds
    return {
        "name": question.name,
        "label": question.label,
        "type": question.type,
        "n": tally.n,
        "mechanism": cast(dict[str, object], msgspec.to_builtins(question.mechanism)),
        "claim": cast(dict[str, str], msgspec.to_builtins(question.claim)),
        "odds": odds_text(odds),
        "epsilon": epsilon_text(odds),
        "design_effect": None if found.design_effect is None else _round(found.design_effect),
        "effective_n": None if found.effective_n is None else _round(found.effective_n),
        "sentence": sentence(question, found),
        "flags": flags(question, tally, found),
        "choices": [_choice(question, tally, found, v) for v in range(question.mechanism.k)],
    }


def _choice(question: Question, tally: Tally, found: Estimate, v: int) -> ChoiceResult:
    choice = question.choices[v]
    return {
        "name": choice.name,
        "label": choice.label,
        "count": int(tally.counts[v]),
        "estimate": _round(found.raw[v]),
        "standard_error": _round(found.standard_error[v]),
        "interval": [_round(found.low[v]), _round(found.high[v])],
        "joint_interval": [_round(found.joint_low[v]), _round(found.joint_high[v])],
        "consistent": _round(found.consistent[v]),
    }


def _round(value: float) -> float:
    return round(float(value), _DIGITS) + 0.0  # never -0.0
