"""Is it a difference, or chance? Tests on the results of a survey, or of two."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import TypedDict

from flask import Blueprint, Response, request

from deniably.estimation import analysis
from deniably.estimation.difference import (
    Answers,
    Difference,
    Moments,
    against,
    between_choices,
    between_groups,
    between_means,
    holm,
)
from deniably.estimation.estimate import supports
from deniably.estimation.figures import One, groups
from deniably.estimation.inversion import Mean
from deniably.estimation.means import against_value, between_ratios, two_sided
from deniably.mechanisms.law import Supporting
from deniably.survey.questions import (
    Number,
    Question,
    Scale,
    SelectMultiple,
    SelectOne,
    VectorOfNumbers,
    YesNo,
)
from deniably.survey.readable import number_text
from deniably.survey.survey import Waves
from deniably_server.api.costly import costly
from deniably_server.api.visibility import RESULTS, seen
from deniably_server.errors import BadParameter
from deniably_server.guard.current import current_store
from deniably_server.web.answer import json_answer
from deniably_server.web.body import JSON
from deniably_server.web.operation import NAMED, Operation

blueprint = Blueprint("differences", __name__)

_Choices = YesNo | SelectOne | SelectMultiple | Scale
_HOW = (
    "compare a choice with a share (?question=q&choice=a&share=0.5), with another choice"
    " (&other=b) or with the same choice of another survey (&survey=name); or a mean with a value"
    " (?question=q&value=7) or with that of another survey (&survey=name), of several numbers that"
    " of one (&part=p)"
)
_KINDS = ("share", "other", "value", "survey")
_NO_MEAN = "the reports to this question give no mean"
_MOST_AT_ONCE = 20


class DifferenceResult(TypedDict):
    """An unbiased difference and how often chance alone makes one as large. ``note`` says what
    there is to it where the two are waves of one panel, else it is None."""

    compared: str
    estimate: float
    p_value: float
    sentence: str
    note: str | None


class AdjustedResult(DifferenceResult):
    """One of many: call all below 0.05 differences, and the risk of any false one is 0.05."""

    adjusted_p_value: float


class DifferencesResult(TypedDict):
    """Comparisons that were made at once, and how their p-values were adjusted for that."""

    question: str
    adjustment: str
    differences: list[AdjustedResult]


@blueprint.get("/api/surveys/<name>/difference")
@Operation(
    {200: {JSON: DifferenceResult}},
    RESULTS,
    query=dict.fromkeys(
        ("question!", "choice", "part", "share", "other", "value", "survey"), NAMED
    ),
)
@costly("tallies")
def difference(name: str) -> Response:
    """One test. For many at once see ``differences``."""
    given = {key: request.args[key] for key in _KINDS if key in request.args}
    if len(given) != 1:
        raise BadParameter(f"{_HOW}; exactly one of share, other, value and survey is given")
    ((kind, value),) = given.items()
    question, choice = _question(name), request.args.get("choice")
    if kind != "survey" and (choice is None) != (kind == "value"):
        raise BadParameter(_HOW)
    if choice is None:
        compared, found = _of_means(name, question, kind, value)
    else:
        compared, found = _of_choice(name, question, choice, kind, value)
    return json_answer(_shown(compared, found, found.p_value, _note(name, given.get("survey"))))


@blueprint.get("/api/surveys/<name>/differences")
@Operation({200: {JSON: DifferencesResult}}, RESULTS, query={"question!": NAMED, "survey": NAMED})
@costly("tallies")
def differences(name: str) -> Response:
    """Every two choices of a question; or each one here and in another ``survey``."""
    question, other = _question(name), request.args.get("survey")
    if not isinstance(question, _Choices) or len(question.names) > _MOST_AT_ONCE:
        raise BadParameter(f"many comparisons are for questions of up to {_MOST_AT_ONCE} choices")
    pairs = (
        [(one, "other", another) for one, another in combinations(question.names, 2)]
        if other is None
        else [(one, "survey", other) for one in question.names]
    )
    found = [_of_choice(name, question, *pair) for pair in pairs]
    adjusted = holm([one.p_value for _, one in found])
    note = _note(name, other)
    body: DifferencesResult = {
        "question": question.label,
        "adjustment": "Holm 1979",
        "differences": [
            {**_shown(compared, one, p_value, note), "adjusted_p_value": round(p_value, 9)}
            for (compared, one), p_value in zip(found, adjusted, strict=True)
        ],
    }
    return json_answer(body)


# --- choices ------------------------------------------------------------------------------------


def _of_choice(
    name: str, question: Question, choice: str, kind: str, value: str
) -> tuple[str, Difference]:
    """What is compared, and the outcome."""
    first = _answers(name, question, choice)
    label = f"“{choice}”"
    if kind == "share":
        return f"{label} and a share of {value}", against(first, _share(value))
    if kind == "survey":
        second = _answers(value, _there(name, value), choice)
        return f"{label} here and in {value}", between_groups(first, second)
    return f"{label} and “{value}”", _two_choices(name, question, first, value)


def _two_choices(name: str, question: Question, first: Answers, other: str) -> Difference:
    second = _answers(name, question, other)
    law = question.once.law
    pairs = law.joint.pairs if isinstance(law, Supporting) and law.single else None
    if pairs is None:
        raise BadParameter(
            "two choices can be compared where a person has one answer out of several"
        )
    own, rest = map(float, pairs)
    return between_choices(
        first.count, second.count, first.n, first.p, first.q, pair_own=own, pair_other=rest
    )


def _answers(name: str, question: Question, choice: str) -> Answers:
    law = question.once.law
    if not isinstance(question, _Choices) or not isinstance(law, Supporting):
        raise BadParameter("the question has no choices whose reports can be counted")
    if choice not in question.names:
        raise BadParameter("“choice” is one of " + ", ".join(question.names))
    counts, asked = supports(current_store().shown_tally(name)[question.name], law)
    v = question.names.index(choice)
    return Answers(int(counts[v]), int(asked[v]), float(law.p), float(law.q))


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise BadParameter("“share” is a number from 0 to 1, such as 0.5")
    return share


# --- means --------------------------------------------------------------------------------------


def _of_means(name: str, question: Question, kind: str, value: str) -> tuple[str, Difference]:
    """The same of means."""
    if kind == "value":
        wanted = _value(question, value)
        return f"the mean and {value}", _against(name, question, wanted)
    second = _there(name, value)
    compared = f"the mean here and in {value}"
    if _unit(question) != _unit(second):
        raise BadParameter("means can be compared where both questions have one type and one unit")
    if analysis.is_ratio(question) and analysis.is_ratio(second):
        one, other = _ratio(name, question), _ratio(value, second)
        apart = (one.estimate or 0.0) - (other.estimate or 0.0)
        return compared, between_ratios(one.deviate, other.deviate, one.ends, apart)
    here, there = _moments(name, question), _moments(value, second)
    try:
        return compared, between_means(here, there)
    except ValueError as error:
        raise BadParameter(f"{error}: they differ for certain") from None


def _against(name: str, question: Question, value: float) -> Difference:
    if not analysis.is_ratio(question):
        return against_value(_mean(name, question), value)
    ratio = _ratio(name, question)
    return Difference((ratio.estimate or 0.0) - value, two_sided(ratio.deviate(value)))


def _ratio(name: str, question: Scale) -> analysis.Ratio:
    """The mean of those who have a score, if anybody seems to."""
    found = analysis.mean_of_scored(question, current_store().shown_tally(name)[question.name])
    if found.estimate is None:
        raise BadParameter(_NO_MEAN)
    return found


def _mean(name: str, question: Question) -> Callable[[float], Mean]:
    """The mean with margins of any confidence, as the results have it."""
    tally = current_store().shown_tally(name)[question.name]

    group = _mean_of(question)

    def found(confidence: float) -> Mean:
        mean = group.estimate(tally, confidence)
        if mean is None:
            raise BadParameter(_NO_MEAN)
        return mean

    return found


def _moments(name: str, question: Question) -> Moments:
    """What the score test needs."""
    index = _mean_of(question).figure.index
    tally = current_store().shown_tally(name)[question.name]
    assert isinstance(question, Number | Scale | VectorOfNumbers)  # all that have a mean
    try:
        found = analysis.compared(question, tally, index)
    except ValueError:
        found = None
    if found is None:
        raise BadParameter(_NO_MEAN)
    return found


def _mean_of(question: Question) -> One:
    """The mean that is asked about; of several numbers that of ``part``."""
    means = [group for group in groups(question) if isinstance(group, One)]
    if not means:
        raise BadParameter(
            _NO_MEAN if isinstance(question, Scale) else f"the question has no mean; {_HOW}"
        )
    parts = {group.part.name: group for group in means if group.part}
    if not parts:
        return means[0]
    wanted = request.args.get("part", "")
    if wanted not in parts:
        raise BadParameter(
            f"“part” names one of the numbers of {question.name}: {', '.join(parts)}"
        )
    return parts[wanted]


def _unit(question: Question) -> tuple[object, ...]:
    """What makes two means the same kind of number."""
    scores = question.values if isinstance(question, Scale) else ()
    return type(question), _mean_of(question).figure.unit, *scores


def _value(question: Question, text: str) -> float:
    low, high = _mean_of(question).figure.ends
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise BadParameter(f"“value” is a number from {number_text(low)} to {number_text(high)}")
    return value


# --- below --------------------------------------------------------------------------------------


def _question(name: str) -> Question:
    """The question of this survey that the request names, if its results may be seen."""
    survey = seen(name).survey
    wanted = request.args.get("question", "")
    for question in survey.questions:
        if question.name == wanted:
            return question
    names = ", ".join(question.name for question in survey.questions)
    raise BadParameter(f"“question” names one of the questions of {name}: {names}")


def _there(name: str, other: str) -> Question:
    """The question of the same name in another survey."""
    if other == name:
        raise BadParameter("“survey” names another survey, of other people or another wave")
    return _question(other)


def _note(name: str, other: str | None) -> str | None:
    """What the test does not know: that the same people may be in two waves of one panel.

    Reports from one memo go together, and so do answers that stay as they were: the estimated
    difference then varies less than between other people, and the test has fewer false alarms than
    it says. Only where people swap their answers does it have more.
    """
    surveys = [current_store().survey(one) for one in {name, other or name}]
    panels = [survey.waves.panel if isinstance(survey.waves, Waves) else None for survey in surveys]
    if len(panels) < 2 or panels[0] is None or panels[0] != panels[1]:
        return None
    said = (
        f"Both are waves of the panel {panels[0]}. The test takes them as samples of different"
        " people; where the same people answer both and rather keep their answers than swap them,"
        " it is cautious and misses some differences."
    )
    if all(survey.count for survey in surveys):  # nothing is kept of an answer
        return said
    return (
        f"{said} Who does not say that an answer has changed is counted with the old one, so a"
        " change in the panel looks smaller than it is."
    )


def _shown(compared: str, found: Difference, p_value: float, note: str | None) -> DifferenceResult:
    """The sentence goes by ``p_value``, which of many comparisons is the adjusted one."""
    chance = "less than 0.001" if p_value < 0.001 else f"{p_value:.3f}"
    verdict = "differ" if p_value < 0.05 else "are not shown to differ"
    return {
        "compared": compared,
        "estimate": round(found.estimate, 6) + 0.0,
        "p_value": round(found.p_value, 9),
        "sentence": (
            f"{compared[:1].upper()}{compared[1:]} {verdict}: the estimated difference is"
            f" {found.estimate:.4g} (p = {chance})."
        ),
        "note": note,
    }
