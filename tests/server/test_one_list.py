"""Whatever a question is asked for is in every list of figures: results, plan, file, simulation."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from functools import cache
from itertools import combinations_with_replacement
from random import Random
from statistics import NormalDist
from typing import Any

import msgspec
import numpy as np
import pytest

from deniably.authoring.compiling import compile_survey, load
from deniably.design.planning import PlanRow, plan_figures
from deniably.estimation.figures import SingleMean, groups
from deniably.estimation.tally import Tally
from deniably.results.document import SurveyResult
from deniably.results.result import result
from deniably.results.spreadsheet import spreadsheet
from deniably.simulation.expected_tally import expected_tally
from deniably.simulation.people import Column, People, QuestionAnswers, read_people
from deniably.simulation.reports import simulate
from deniably.simulation.runs import estimates
from deniably.simulation.truth import truths
from deniably.survey.questions import Number, Question, Scale
from support.every_type import somebody, survey_of_everything
from support.same_bytes import drawn_once

Z = NormalDist().inv_cdf(0.975)

MORE = """
name: more
title: More ways to ask
questions:
  - {name: a, type: scale, label: A, choices: [A, B, C, D], mechanism: window, epsilon: 2}
  - {name: b, type: scale, label: B, choices: [A, B, C, D], aim: mean, epsilon: 2}
  - {name: c, type: scale, label: C, choices: [A, B, C, D], mechanism: oue, epsilon: 2}
  - {name: d, type: scale, label: D, choices: [A, B, C], also: [dont_know], epsilon: 3}
  - {name: e, type: number, label: E, minimum: 0, maximum: 40, aim: distribution, buckets: 8,
     mechanism: subset_selection, epsilon: 2}
  - {name: f, type: number, label: F, minimum: 0, maximum: 41, aim: distribution, buckets: 4,
     mechanism: laplace, epsilon: 2}
  - {name: g, type: number, label: G, minimum: 0, maximum: 40, epsilon: 2}
  - {name: h, type: select_multiple, label: H, choices: [A, B, C], mechanism: rappor, epsilon: 2}
  - {name: i, type: vector, label: I, epsilon: 2, delta: 0.00001, mechanism: gaussian,
     parts: [{name: x, label: X, minimum: 0, maximum: 5},
             {name: y, label: Y, minimum: 0, maximum: 5}]}
  - {name: j, type: number, label: J, minimum: 0, maximum: 40, aim: distribution, buckets: 8,
     mechanism: gaussian, epsilon: 4, delta: 0.00001}
"""


def answer(question: Any, random: Random) -> dict[str, str]:
    """The cells of one person's row."""
    name = question.name
    match question.type:
        case "number":
            return {name: str(random.randint(-3, 45))}
        case "vector":
            return {f"{name}.{part.name}": str(random.randint(0, 6)) for part in question.parts}
        case "select_multiple":
            return {name: random.choice(["a", "a;b", ""])}
        case _:
            return {name: random.choice(question.names)}


def flat(person: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, given in person.items():
        if isinstance(given, dict):
            found |= {f"{name}.{part}": str(one) for part, one in given.items()}
        else:
            found[name] = ";".join(given) if isinstance(given, list) else str(given)
    return found


@drawn_once
def asked(which: str) -> tuple[People, dict[str, Tally]]:
    """People, and what their devices reported."""
    random = Random(8)
    if which == "everything":
        survey = survey_of_everything()
        rows = [flat(somebody(random)) for _ in range(400)]
    else:
        survey = compile_survey(load(MORE.encode()))
        rows = [
            dict(cell for one in survey.questions for cell in answer(one, random).items())
            for _ in range(400)
        ]
    people = read_people(survey, [list(rows[0]), *(list(row.values()) for row in rows)])
    return people, simulate(people)


@cache
def results(which: str) -> SurveyResult:
    people, tallies = asked(which)
    return result(people.survey, "closed", tallies)


@cache
def planned(which: str) -> list[PlanRow]:
    return plan_figures(asked(which)[0].survey, n=100_000)


EVERY = [
    *(("everything", question.name) for question in survey_of_everything().questions),
    *(("more", name) for name in "abcdefghij"),
]
every_question = pytest.mark.parametrize(("which", "name"), EVERY)

Shown = tuple[str, str, str]
"""A figure: its kind, the part it belongs to, and what it is called."""


def shown(which: str, name: str) -> list[Shown]:
    """The figures of a question in the JSON document."""
    document = json.loads(msgspec.json.encode(results(which)))
    (question,) = [one for one in document["questions"] if one["name"] == name]
    return list(_shown(question))


def _shown(question: dict[str, Any]) -> Iterator[Shown]:
    yield from (("share", "", one["name"]) for one in question.get("choices", []))
    if question.get("mean"):
        yield "mean", "", ""
    for part in question.get("parts", []):
        if part.get("mean"):
            yield "mean", part["name"], ""
        yield from (("share", part["name"], one["name"]) for one in part.get("choices", []))
    yield from (("joint share", "", ", ".join(one["names"])) for one in question.get("cells", []))
    for bucket in question.get("distribution", []):
        if bucket["at_most_interval"]:
            yield "share at most", "", bucket["high"]


@every_question
def test_every_figure_that_results_show_is_planned_and_no_other(which: str, name: str) -> None:
    survey = asked(which)[0].survey
    rows = [row.figure for row in planned(which) if row.question == name]

    area = {question.name: question.type for question in survey.questions}[name] == "point"
    called = {
        "share": "share",
        "mean": "mean",
        "joint share": "share of an area" if area else "share of a combination",
        "share at most": "share up to a number",
    }
    seen = [
        f"{called[kind]} of {part}" if part else called[kind]
        for kind, part, _ in shown(which, name)
    ]
    assert rows
    assert sorted(rows) == sorted(set(seen))


@every_question
def test_every_figure_that_results_show_is_in_the_spreadsheet(which: str, name: str) -> None:
    rows = csv.DictReader(io.StringIO(spreadsheet(results(which))))

    figures = [
        (
            row["figure"],
            row["part"],
            row["choice"] or row["choice_label"].replace("; ", ", ").replace("'", ""),
        )
        for row in rows
        if row["question"] == name and row["estimate"] + row["low"]
    ]
    assert figures == [*shown_of_those_asked(which, name), *shown(which, name)]


def shown_of_those_asked(which: str, name: str) -> list[Shown]:
    """Those of a question with ``show_if`` that are ratios: they are not planned."""
    document = json.loads(msgspec.json.encode(results(which)))
    (question,) = [one for one in document["questions"] if one["name"] == name]
    if (among := question.get("among_asked")) is None:
        return []
    each = [("share of those asked", "", choice["name"]) for choice in among["choices"]]
    return [*each, ("share asked", "", "")]


@every_question
def test_every_figure_that_results_show_is_simulated(which: str, name: str) -> None:
    people, tallies = asked(which)
    (answers,) = [one for one in people.answers if one.question.name == name]

    names = [one.name for one in truths(answers) if one]
    told = estimates(answers.question, tallies[name])

    expected = [_name(answers.question, *figure) for figure in shown(which, name)]
    assert [one for one in names if not one.startswith("quantile")] == expected
    assert len(told) == len(truths(answers))
    assert None not in told


def _name(question: Any, kind: str, part: str, called: str) -> str:
    match kind:
        case "share":
            return f"{part}.{called}" if part else called
        case "mean":
            score = "mean score" if question.type == "scale" else "mean"
            return f"{part} mean" if part else score
        case "share at most":
            return f"at most {called}"
        case _:
            return called


MEANS = [
    *(("everything", name) for name in ("happy", "trust", "drinks", "income", "sick", "fines")),
    *(("more", name) for name in "abdefg"),
]


@pytest.mark.parametrize(("which", "name"), MEANS)
def test_a_mean_is_planned_as_wide_as_the_results_show_it(which: str, name: str) -> None:
    """By the same numbers, such as the middles of buckets: among people at one place or at two,
    and reports as expected, the widest margin is the planned one."""
    survey = asked(which)[0].survey
    (question,) = [one for one in survey.questions if one.name == name]
    (group,) = [one for one in groups(question) if isinstance(one, SingleMean)]
    (margin,) = [
        row.plan.margin for row in planned(which) if (row.question, row.figure) == (name, "mean")
    ]
    places = scored(question)

    widest = 0.0
    for low, high in combinations_with_replacement(places, 2):
        mean = group.estimate(expected_tally(people_of(question, [low, high])), 0.95)
        assert mean is not None
        error = mean.population_margin.standard_error * (mean.n / 100_000) ** 0.5
        widest = max(widest, Z * error / group.figure.width)

    assert margin * 0.97 < widest < margin * 1.001


@pytest.mark.parametrize(("which", "name"), [("everything", "happy"), ("more", "d")])
def test_a_mean_score_that_half_of_all_have_is_at_most_half_as_precise(
    which: str, name: str
) -> None:
    (question,) = [one for one in asked(which)[0].survey.questions if one.name == name]
    (group,) = [one for one in groups(question) if isinstance(one, SingleMean)]
    (row,) = [one for one in planned(which) if (one.question, one.figure) == (name, "mean")]
    assert "up to twice as wide" in row.note

    widest = 0.0
    for low, high in combinations_with_replacement(scored(question), 2):
        some = people_of(question, [low, high, "dont_know", "dont_know"])
        mean = group.estimate(expected_tally(some), 0.95)
        assert mean is not None
        error = mean.population_margin.standard_error * (mean.n / 100_000) ** 0.5
        widest = max(widest, Z * error / group.figure.width)

    assert row.plan.margin * 1.3 < widest < row.plan.margin * 2.001


def scored(question: Question) -> list[str]:
    """Answers from one end of the scale to the other."""
    if isinstance(question, Scale):
        return [name for name in question.names if name != "dont_know"]
    assert isinstance(question, Number)
    last = question.range.positions - 1
    return [question.range.written(last * step // 8) for step in range(9)]


def people_of(question: Question, answers: list[str]) -> QuestionAnswers:
    """Somebody with each of the answers."""
    encoded = np.array([question.encode(one) for one in answers])
    column = Column(answers, np.arange(len(answers), dtype=np.int32))
    return QuestionAnswers(question, [column], [encoded])
