"""Is it a difference, or chance? Tests on the results of a survey, or of two."""

from __future__ import annotations

from typing import TypedDict

from flask import Blueprint, Response, request

from deniably.channels import position_scores, some_positions
from deniably.difference import (
    Answers,
    Difference,
    Scores,
    against,
    between_choices,
    between_groups,
    between_means,
    pair_support,
)
from deniably.estimate import supports
from deniably.mechanisms import (
    BoundedLaplace,
    Channel,
    SampledTicks,
    SetResponse,
    SubsetSelection,
    Unary,
    Window,
)
from deniably.questions import Number, Question, Scale, SelectMultiple, SelectOne, YesNo
from deniably_server.answer import json_answer
from deniably_server.current import current_store
from deniably_server.errors import Malformed
from deniably_server.results import current_results

blueprint = Blueprint("differences", __name__)

_Choices = YesNo | SelectOne | SelectMultiple | Scale
_HOW = (
    "compare a choice with a share (?question=q&choice=a&share=0.5), with another choice"
    " (&other=b) or with the same choice of another survey (&survey=name), or a mean with that of"
    " another survey (?question=q&survey=name)"
)


class DifferenceResult(TypedDict):
    """An unbiased difference and how often chance alone makes one as large."""

    compared: str
    estimate: float
    p_value: float
    sentence: str


@blueprint.get("/api/surveys/<name>/difference")
def difference(name: str) -> Response:
    """One test. Where many are made, adjust: ``deniably.difference.holm``."""
    given = {key: request.args[key] for key in ("share", "other", "survey") if key in request.args}
    if len(given) != 1:
        raise Malformed(f"{_HOW}; exactly one of share, other and survey is given")
    ((kind, value),) = given.items()
    question = _question(name)
    choice = request.args.get("choice")
    if choice is None:
        if kind != "survey":
            raise Malformed(_HOW)
        found = between_means(_scores(name, question), _scores(value, _question(value)))
        return _shown(f"the mean here and in {value}", found)
    first = _answers(name, question, choice)
    label = f"“{choice}”"
    if kind == "share":
        return _shown(f"{label} and a share of {value}", against(first, _share(value)))
    if kind == "survey":
        second = _answers(value, _question(value), choice)
        return _shown(f"{label} here and in {value}", between_groups(first, second))
    return _shown(f"{label} and “{value}”", _two_choices(name, question, first, value))


def _two_choices(name: str, question: Question, first: Answers, other: str) -> Difference:
    second = _answers(name, question, other)
    mechanism = question.mechanism
    if not isinstance(mechanism, SubsetSelection):
        raise Malformed("two choices can be compared where a person has one answer out of several")
    own, rest = pair_support(mechanism.k, mechanism.omega, first.p)
    return between_choices(
        first.count, second.count, first.n, first.p, first.q, pair_own=own, pair_other=rest
    )


def _question(name: str) -> Question:
    """The question of this survey that the request names, if its results may be seen."""
    current_results(name)
    survey = current_store().survey(name)
    wanted = request.args.get("question", "")
    for question in survey.questions:
        if question.name == wanted:
            return question
    names = ", ".join(question.name for question in survey.questions)
    raise Malformed(f"question names one of the questions of {name}: {names}")


def _answers(name: str, question: Question, choice: str) -> Answers:
    mechanism = question.mechanism
    if not isinstance(question, _Choices) or not isinstance(
        mechanism, SubsetSelection | SetResponse | SampledTicks | Unary
    ):
        raise Malformed("the question has no choices whose reports can be counted")
    if choice not in question.names:
        raise Malformed("a choice is one of " + ", ".join(question.names))
    counts, asked = supports(current_store().tally(name)[question.name], mechanism)
    v = question.names.index(choice)
    return Answers(int(counts[v]), int(asked[v]), float(mechanism.p), float(mechanism.q))


def _scores(name: str, question: Question) -> Scores:
    mechanism = question.mechanism
    if not isinstance(question, Number | Scale) or not isinstance(
        mechanism, Window | Channel | BoundedLaplace
    ):
        raise Malformed("means can be compared of numbers and scales whose aim is the mean")
    if isinstance(question, Number):
        if mechanism.k != question.range.positions:
            raise Malformed("means can be compared of numbers whose aim is the mean")
        unit, start = float(question.range.step), float(question.range.minimum)
    else:
        unit, start = float(question.values[1] - question.values[0]), float(question.values[0])
    _, channel = some_positions(mechanism)
    tally = current_store().tally(name)[question.name]
    return Scores(tally.counts, start + unit * position_scores(mechanism), channel)


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise Malformed("a share is a number from 0 to 1, such as 0.5")
    return share


def _shown(compared: str, found: Difference) -> Response:
    chance = "less than 0.001" if found.p_value < 0.001 else f"{found.p_value:.3f}"
    verdict = "differ" if found.p_value < 0.05 else "are not shown to differ"
    body: DifferenceResult = {
        "compared": compared,
        "estimate": round(found.estimate, 6) + 0.0,
        "p_value": round(found.p_value, 9),
        "sentence": (
            f"{compared[:1].upper()}{compared[1:]} {verdict}: the estimated difference is"
            f" {found.estimate:.4g} (p = {chance})."
        ),
    }
    return json_answer(body)
