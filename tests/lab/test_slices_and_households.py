"""Slices of the people, with the planner's margins, and households, by every set of reports."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import log, sqrt
from statistics import NormalDist

import pytest

from deniably import lab
from deniably.design.best_mechanisms import warner
from deniably.design.planning import margin_for, plan_figures, share_goal
from deniably.lab.catalogue import entries
from deniably.lab.experiment import Experiment
from deniably.lab.picture import DrawnRow, value
from deniably.mechanisms.subset_selection import SubsetSelection
from deniably.survey.privacy import Privacy
from support.every_type import QUESTIONS, survey_of_everything
from support.experiments import as_it_comes


@pytest.fixture(scope="module")
def default() -> Experiment:
    return as_it_comes("slices-and-households")


def rows(found: Experiment, what: str) -> Iterator[DrawnRow]:
    return (row for row in found.rows if row["what"] == what)


def margins(found: Experiment) -> dict[int, float]:
    return {int(value(row, "people")): value(row, "exact") for row in rows(found, "slice")}


def test_1000_people_are_known_to_6_points_and_a_tenth_of_them_to_20(default: Experiment) -> None:
    assert f"{100 * margins(default)[1000]:.1f}" == "6.2"
    assert f"{100 * margins(default)[100]:.1f}" == "19.6"
    assert "±6.2 points" in default.answer
    assert "±19.6 points" in default.answer


def test_margins_are_the_planners() -> None:
    for epsilon, at in (("1", 1.0), ("ln 3", log(3)), ("4", 4.0)):
        for people, margin in margins(lab.slices_and_households(epsilon=epsilon, n=200)).items():
            assert margin == pytest.approx(margin_for(share_goal(2), at, people).margin, rel=1e-4)


def test_without_protection_half_the_people_are_known_as_textbooks_say(default: Experiment) -> None:
    z = NormalDist().inv_cdf(0.975)

    for row in rows(default, "slice"):
        assert value(row, "direct") == pytest.approx(z / sqrt(4 * value(row, "people")))


def test_the_odds_of_one_two_and_three_people_are_3_9_and_27(default: Experiment) -> None:
    assert [value(row, "odds") for row in rows(default, "household")] == [3, 9, 27]
    assert [value(row, "exact") for row in rows(default, "household")] == [
        3 / 4, 9 / 10, pytest.approx(27 / 28)
    ]  # fmt: skip


@pytest.mark.parametrize("epsilon", [Privacy(odds=Fraction(3)), Privacy(epsilon=Fraction(1, 2))])
def test_a_households_odds_are_the_largest_of_all_its_reports(epsilon: Privacy) -> None:
    law = warner(2, epsilon).law

    for row in rows(lab.slices_and_households(epsilon=epsilon, household=4), "household"):
        ratios = []
        for reports in product((0, 1), repeat=int(value(row, "household"))):
            chance = [Fraction(1), Fraction(1)]
            for report in reports:
                chance = [one * law.probability(answer, (report,))
                          for answer, one in enumerate(chance)]  # fmt: skip
            ratios.append(chance[0] / chance[1])
        assert value(row, "odds") == float(max(ratios))


def test_a_survey_shows_the_margins_of_its_own_plan() -> None:
    """For the figure of each question that is known least, also where not all are asked."""
    always = [{"claim": {"epsilon": "2"}} | one for one in QUESTIONS if "show_if" not in one]
    for survey in (survey_of_everything(), survey_of_everything(questions=always, ask=4)):
        planned: dict[str, float] = {}
        for row in plan_figures(survey, n=1000):
            planned[row.question] = max(planned.get(row.question, 0.0), row.plan.margin)
        labels = {question.label: question.name for question in survey.questions}
        cases = list(entries()["slices-and-households"].cases(survey))

        assert len(cases) >= 10
        for case in cases:
            found = lab.slices_and_households(**case.given)
            assert margins(found)[1000] == pytest.approx(planned[labels[case.about]]), case.about


def test_a_fault_in_the_shipped_mechanism_moves_the_dots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SubsetSelection, "randomise", lambda *_: (0,))
    found = lab.slices_and_households(n=500)

    for what in ("slice", "household"):
        far = [row for row in rows(found, what) if "drawn" in row]
        assert far
        assert any(
            abs(value(row, "drawn") - value(row, "exact")) > 4 * value(row, "standard_error")
            for row in far
        )
