"""Hypothesis tests of differences, within one survey or between two, as JSON."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from flask import Blueprint, Response, request

from deniably.core.errors import Incomparable
from deniably.results import comparison
from deniably.results.comparison import (
    NOT_OF_MEANS,
    Comparison,
    DifferenceResult,
    DifferencesResult,
    Side,
)
from deniably_server.api.costly import costly
from deniably_server.api.results import LEVEL, confidence
from deniably_server.api.visibility import RESULTS, visible_survey
from deniably_server.errors import BadParameter
from deniably_server.guard.app_state import current_store
from deniably_server.web.answer import json_answer
from deniably_server.web.body import JSON
from deniably_server.web.operation import NAMED, Operation, Parameters

blueprint = Blueprint("differences", __name__)

_HOW = (
    "compare a choice with a share (?question=q&choice=a&share=0.5), with another choice"
    " (&other=b) or with the same choice of another survey (&survey=name); or a mean with a value"
    " (?question=q&value=7) or with that of another survey (&survey=name), of several numbers that"
    " of one (&part=p)"
)
_QUESTION: Parameters = {"question!": NAMED, "survey": NAMED, **LEVEL}
_KINDS = ("share", "other", "value", "survey")


@blueprint.get("/api/surveys/<name>/difference")
@Operation(
    {200: {JSON: DifferenceResult}},
    RESULTS,
    query={
        **dict.fromkeys(
            ("question!", "choice", "part", "share", "other", "value", "survey"), NAMED
        ),
        **LEVEL,
    },
)
@costly("tallies")
def difference(name: str) -> Response:
    """One hypothesis test. For many at once see ``differences``."""
    given = {key: request.args[key] for key in _KINDS if key in request.args}
    if len(given) != 1:
        raise BadParameter(f"{_HOW}; exactly one of share, other, value and survey is given")
    ((kind, value),) = given.items()
    side, choice = _side(name), request.args.get("choice")
    if kind != "survey" and (choice is None) != (kind == "value"):
        raise BadParameter(_HOW)
    with _comparable():
        return json_answer(_compared(side, choice, kind, value).result(confidence()))


@blueprint.get("/api/surveys/<name>/differences")
@Operation({200: {JSON: DifferencesResult}}, RESULTS, query=_QUESTION)
@costly("tallies")
def differences(name: str) -> Response:
    """Test every pair of a question's choices, or each choice here and in another ``survey``."""
    here, other = _side(name), request.args.get("survey")
    with _comparable():
        there = _there(here, other) if here.choices and other is not None else None
        return json_answer(comparison.pairs(here, there, confidence()))


def _compared(side: Side, choice: str | None, kind: str, value: str) -> Comparison:
    if choice is None:
        if kind == "value":
            return comparison.mean_and_value(side, value)
        return comparison.mean_apart(side, _there(side, value))
    side.answers(choice)  # an error on this side is reported before the other survey is read
    match kind:
        case "share":
            return comparison.choice_and_share(side, choice, value)
        case "other":
            return comparison.choices(side, choice, value)
        case _:
            return comparison.choice_apart(side, _there(side, value), choice)


def _side(name: str) -> Side:
    """The question that the request names, in a survey whose results the caller may see."""
    survey = visible_survey(name).survey
    wanted = request.args.get("question", "")
    for question in survey.questions:
        if question.name == wanted:
            tally = current_store().shown_tally(name)[wanted]
            return Side(survey, question, tally, request.args.get("part"))
    names = ", ".join(question.name for question in survey.questions)
    raise BadParameter(f"“question” names one of the questions of {name}: {names}")


def _there(here: Side, other: str) -> Side:
    """The question of this name in another survey."""
    if other == here.survey.name:
        raise BadParameter("“survey” names another survey, of other people or another wave")
    return _side(other)


@contextmanager
def _comparable() -> Generator[None]:
    try:
        yield
    except Incomparable as error:
        why = str(error)
        raise BadParameter(f"{why}; {_HOW}" if why == NOT_OF_MEANS else why) from None
