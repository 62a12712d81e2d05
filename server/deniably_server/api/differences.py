"""Serves hypothesis tests of differences, within one survey or between two: JSON, CSV and a
page."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from flask import Response, render_template, request

from deniably.exhibits import difference_exhibit
from deniably.results import differences
from deniably.results.by_stratum import FEWEST
from deniably.results.differences import (
    NOT_OF_MEANS,
    DifferenceResult,
    DifferencesResult,
    Side,
    StatedDifference,
    has_pairs,
)
from deniably.survey.readable import listed_label, short_label
from deniably.survey.survey import Survey
from deniably_server.api.cached_views import cached_view
from deniably_server.api.comparisons import asked_question, comparable, side
from deniably_server.api.exhibits import Kind, Shown, blueprint_of, descriptions, who_answered
from deniably_server.api.fine_parameters import COMPARED, LEVEL, confidence, settle_number
from deniably_server.api.paper_files import WIDTH
from deniably_server.api.subgroups import (
    Respondents,
    respondents,
    respondents_beside,
    same_in_form,
    subgroup_links,
    subgroups_by,
)
from deniably_server.api.visibility import RESULTS
from deniably_server.errors import BadParameter, Hidden
from deniably_server.guard.app_state import current_store
from deniably_server.web.answer import json_answer
from deniably_server.web.body import JSON
from deniably_server.web.operation import NAMED, Operation, QueryParameters
from deniably_server.web.problems import sentence

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue

_HOW = (
    "compare a choice with a share (?question=q&choice=a&share=0.5), with another choice"
    " (&other=b), with the same choice of another survey (&survey=name) or of the other stratum"
    " (&by=key); or a mean with a value (?question=q&value=7), with that of another survey"
    " (&survey=name) or of the other stratum (&by=key), of several numbers that of one (&part=p)"
)
_QUESTION: QueryParameters = {"question!": NAMED, "survey": NAMED, **LEVEL}
_PAGE: QueryParameters = {"question": NAMED, "survey": NAMED, **LEVEL}
_KINDS = ("share", "other", "value", "survey", "by")
_APART = ("survey", "by")
"""Kinds that compare either a choice or a mean, of two groups of people."""


def _settle_numbers(name: str) -> None:
    """Writes the numbers of the request in one way. Raises BadParameter."""
    if "share" in request.args:
        settle_number("share", 0, 1)
    if "value" in request.args:
        question = asked_question(current_store().survey(name))
        with comparable(_with_ways):
            low, high = differences.ends_of_mean(question, request.args.get("part"))
        settle_number("value", low, high)


@Operation(
    {200: {JSON: DifferenceResult}},
    RESULTS,
    query={
        **dict.fromkeys(("question!", "choice", "part"), NAMED),
        **COMPARED,
        **dict.fromkeys(("other", "survey", "by"), NAMED),
        **LEVEL,
    },
    strata=True,
)
@cached_view("tallies", settle=_settle_numbers)
def difference(name: str) -> Response:
    """Returns one hypothesis test, of a share or a mean against a number, another choice, another
    survey or another stratum.

    ``differences`` tests many at once.
    """
    parameters = {key: request.args[key] for key in _KINDS if key in request.args}
    if len(parameters) != 1:
        raise BadParameter(f"{_HOW}; exactly one of {', '.join(_KINDS)} is given")
    ((kind, value),) = parameters.items()
    choice = request.args.get("choice")
    if kind not in _APART and (choice is None) != (kind == "value"):
        raise BadParameter(_HOW)
    sample, *others = _two(name, value) if kind == "by" else [respondents(name)]
    with comparable(_with_ways):
        compared = side(sample)
        if choice is not None:  # an error on this side comes before those of another survey
            compared.answers(choice)
        if kind == "survey":
            others = [_beside(sample, value)]
        test = _compared(compared, choice, kind, value, *map(side, others))
        return json_answer(test.result(confidence()))


def _choose(name: str) -> ResponseReturnValue | None:
    """Returns a page to choose a question; None where the request has chosen one."""
    sample = respondents(name)
    if "question" not in request.args:
        return _chooser(sample)
    try:
        question = asked_question(sample.survey)
    except BadParameter as error:
        return _chooser(sample, sentence(str(error))), 400
    if "survey" not in request.args and not has_pairs(question):
        why = f"The answers to “{question.label}” are not compared in pairs."
        return _chooser(sample, why), 400
    return None


def _show(name: str, result: DifferencesResult) -> Shown:
    sample = respondents(name)
    survey, other = sample.survey, result["other"]
    closed = current_store().closing_day(survey.name)
    exhibit = difference_exhibit.exhibit(result, survey, sample.visible.state, closed)
    return Shown(
        exhibits=[exhibit],
        heading=exhibit.heading,
        title=f"Which answers differ? {short_label(asked_question(survey))}",
        chip=sample.visible.state,
        who=who_answered(result["n"], result["strata"]),
        home=survey.title,
        subgroups=subgroup_links(sample, "question", "survey", "confidence"),
        surveys=[name, other or name],
    )


def _chooser(sample: Respondents, why: str = "") -> str:
    survey = sample.survey
    questions = [
        (question.name, listed_label(question))
        for question in survey.questions
        if has_pairs(question)
    ]
    kept_query = same_in_form(survey)
    return render_template(
        "differences_chooser.html",
        survey=survey,
        questions=questions,
        links=[
            (f"{request.path}?{urlencode({'question': name, **kept_query})}", label)
            for name, label in questions
        ],
        same=kept_query,
        subgroups=subgroup_links(sample, "confidence"),
        why=why,
    )


def difference_links(survey: Survey) -> list[tuple[str, str]]:
    """Returns the link to a page that chooses a question, as [(address, text)]; empty where no
    question has pairs of choices. The address is relative to the dashboard."""
    if any(map(has_pairs, survey.questions)):
        return [("differences", "Which answers of a question differ?")]
    return []


def _current(name: str) -> DifferencesResult:
    sample, other = respondents(name), request.args.get("survey")
    own = side(sample)
    with comparable(_with_ways):
        opposite = side(_beside(sample, other)) if own.choices and other is not None else None
        return differences.pairs(own, opposite, confidence())


def _compared(
    side: Side, choice: str | None, kind: str, value: str, *others: Side
) -> StatedDifference:
    for opposite in others:  # at most one
        if choice is None:
            return differences.mean_apart(side, opposite)
        return differences.choice_apart(side, opposite, choice)
    if choice is None:
        return differences.mean_and_value(side, value)
    if kind == "share":
        return differences.choice_and_share(side, choice, value)
    return differences.choices(side, choice, value)


def _two(name: str, by: str) -> list[Respondents]:
    """Returns the two subgroups that a key of the strata has. Raises BadParameter for more."""
    subgroups = subgroups_by(name, by)
    if len(subgroups) > FEWEST:
        raise BadParameter(
            f"{len(subgroups)} values of {by} have results: /api/surveys/{name}/strata?by={by}"
            " compares every two of them"
        )
    return list(subgroups.values())


def _beside(sample: Respondents, other: str) -> Respondents:
    """Returns the same subgroup in another survey. Raises BadParameter and Hidden."""
    if other == sample.survey.name:
        raise BadParameter("“survey” names another survey, of other people or another wave")
    try:
        return respondents_beside(sample, other)
    except Hidden as hidden:
        raise Hidden(f"of the other survey, {other}, {hidden.why}") from None


def _with_ways(why: str) -> str:
    """Returns why two figures are not compared; where one was a mean, with what can be asked."""
    return f"{why}; {_HOW}" if why == NOT_OF_MEANS else why


DIFFERENCES: Kind[DifferencesResult] = Kind(
    name="differences",
    about=descriptions(
        "The differences",
        "Test every pair of a question's choices, or each choice here and in another ``survey``.",
        records="each difference",
        chosen="without a question, a page to choose one",
    ),
    endpoints={"json": "differences"},
    document=DifferencesResult,
    query=_QUESTION,
    svg={**_QUESTION, **WIDTH},
    page=_PAGE,
    figure=_PAGE,
    read=_current,
    sheet=lambda _, found: (difference_exhibit.file_name(found), difference_exhibit.records(found)),
    show=_show,
    choose=_choose,
    choices="Other questions",
    back="The differences",
)
blueprint = blueprint_of(DIFFERENCES, "differences")
blueprint.add_url_rule("/api/surveys/<name>/difference", "difference", difference, methods=["GET"])
