"""Simulations of a survey with a mixer: its blanks are among the reports, and estimates subtract
them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from deniably import estimate, randomise, tally
from deniably.estimation.figures import groups
from deniably.simulation.people import People, read_people
from deniably.simulation.reports import simulate_people, simulate_whole
from deniably.simulation.runs import compare
from deniably.survey.survey import as_survey
from spec.cases.mixers import EIGHT, mixed
from spec.cases.questions import LAPLACE, MULTIPLE, NUMBER, ONE, YES_NO, changed, condition

MANY = {"blanks": 2_000}
"""Far more than people: whoever takes them for people sees a share of one half."""


def three_in_ten(n: int = 500) -> People:
    survey = as_survey(mixed(EIGHT, mixer=MANY))
    return read_people(survey, [["e"], *([["yes"]] * (3 * n // 10)), *([["no"]] * (7 * n // 10))])


def test_a_server_counts_people_and_blanks() -> None:
    reports = randomise(three_in_ten())
    found = tally(reports)["e"]

    assert (found.n, found.blanks, found.reports) == (500, 2_000, 2_500)
    assert int(found.counts.sum()) == 2_500
    assert tally(reports)["e"] == found  # the blanks of these reports stay the same
    assert len(list(reports.rows())) == 500
    assert simulate_whole(three_in_ten()).tallies["e"].blanks == 2_000


def test_estimates_hold_as_often_as_they_say_and_are_about_people() -> None:
    people = three_in_ten()

    yes = compare(people, [simulate_whole(people) for _ in range(200)])[0]

    assert yes.truth.value == 0.3
    assert abs(yes.mean - 0.3) < 0.01  # 2,000 blanks as people would make it 0.46
    assert yes.coverage >= 0.92
    assert yes.predicted == pytest.approx(yes.rmse, rel=0.15)


@pytest.mark.parametrize(
    "question",
    [
        ONE, NUMBER, LAPLACE, changed(MULTIPLE, claim={"odds": "9"}),
        changed(ONE, name="z", show_if=condition("a", "yes")),
    ],
    ids=lambda question: f"{question['type']} {question['mechanism']['name']}",
)  # fmt: skip
def test_every_type_has_blanks_of_its_own(question: dict[str, object]) -> None:
    survey = as_survey(mixed(YES_NO, question))
    people = simulate_people(survey, 300)

    assert {each.blanks for each in tally(randomise(people)).values()} == {220}
    known = [one.predicted for one in compare(people, [simulate_whole(people)])]
    assert [one for one in known if one]
    assert estimate(survey, tally(randomise(people)))


@pytest.mark.parametrize(
    "question",
    [ONE, LAPLACE, changed(MULTIPLE, claim={"odds": "9"})],
    ids=lambda question: f"{question['type']} {question['mechanism']['name']}",
)
def test_the_predicted_error_is_that_of_the_scores(question: dict[str, object]) -> None:
    """What blanks add to the variance is their number times that of a blank's score."""
    n, blanks = 200, 500
    alone, mixer = as_survey(mixed(question)), {"blanks": 220 + blanks}
    few = simulate_people(alone, n)
    many = replace(few, survey=as_survey(mixed(question, mixer=mixer)))
    one, other = ({
        figure.truth.name: figure.predicted or 0.0
        for figure in compare(people, [simulate_whole(people)])
    } for people in (few, many))  # fmt: skip

    (asked,) = alone.questions
    figure: Any = groups(asked)[0].figures[0]
    per_blank: float = figure.score(asked.mechanism).blank_variance
    per_blank *= getattr(figure, "width", 1.0) ** 2
    first = next(iter(one))
    added = (other[first] ** 2 - one[first] ** 2) * n**2 / blanks
    assert added == pytest.approx(per_blank, rel=0.01)


def test_a_survey_without_a_mixer_has_none() -> None:
    survey = as_survey({k: v for k, v in mixed(EIGHT).items() if k != "mixer"})

    assert tally(randomise(simulate_people(survey, 100)))["e"].blanks == 0
