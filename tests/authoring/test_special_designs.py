"""Waves, groups and invitations are named with what they cost, in the figures of a check."""

from __future__ import annotations

from typing import Any

import pytest

from deniably.authoring.compiling import compile_survey
from deniably.authoring.quick_check import QuickCheck, quick_check
from deniably.authoring.special_designs import SpecialDesign
from deniably.design.planning import plan_figures
from deniably.survey.guessing_rates import guessing, rate_text
from deniably.survey.spending import privacy_spent

PLAIN: dict[str, Any] = {
    "name": "spring-26",
    "title": "Work",
    "questions": [
        {"name": "hid", "type": "yes_no", "label": "Hid an accident?", "odds": 2},
        {"name": "pay", "type": "yes_no", "label": "Worked without pay?", "odds": 2},
    ],
}


def checked(**keys: Any) -> QuickCheck:
    return quick_check(lambda: PLAIN | keys, 600)


def the_design(**keys: Any) -> SpecialDesign:
    (design,) = checked(**keys).designs
    return design


def test_a_plain_survey_has_none() -> None:
    assert checked().designs == []


@pytest.mark.parametrize(
    ("waves", "label"),
    [
        ({"panel": "home", "count": 3}, "One of 3 waves of “home”"),
        ({"panel": "home", "history": 2}, "A wave of “home”, in which people are asked again"),
    ],
)
def test_waves_cost_what_all_of_them_spend(waves: dict[str, Any], label: str) -> None:
    survey = compile_survey(PLAIN | {"waves": waves})
    view, design = checked(waves=waves), the_design(waves=waves)

    assert design.id == "waves"
    assert design.label.startswith(label)
    assert design.used == privacy_spent(survey.history) > privacy_spent(survey.total)
    assert view.used
    assert design.used == view.used.waves
    assert design.guess == rate_text(guessing(survey).everything)
    assert design.margins == {}


def test_waves_of_few_people_say_how_many_can_be_recognised() -> None:
    waves = {"panel": "home", "history": 2, "people": 30, "waves": 8, "recognisable": True}
    survey = compile_survey(PLAIN | {"waves": waves})

    assert survey.recognised_of_100
    assert f"About {survey.recognised_of_100} of 100 people" in the_design(waves=waves).cost


def test_of_groups_each_has_the_margins_of_its_own_people() -> None:
    strata = {"site": ["north", "south"], "shift": ["day", "night"]}
    design = the_design(strata=strata)
    alone = plan_figures(compile_survey(PLAIN), n=150)

    assert design.label == (
        "4 groups: shift day, site north; shift day, site south; shift night, site north;"
        " shift night, site south"
    )
    assert design.margins == {row.question: row.plan.margin for row in alone}
    assert (design.used, design.guess) == (None, None)


def test_invitations_cost_no_privacy() -> None:
    design = the_design(invited=True)

    assert design.cost == "Nothing: nobody can tell which report came by which code."
    assert (design.used, design.guess, design.margins) == (None, None, {})


def test_a_survey_may_have_all_three() -> None:
    waves, strata = {"panel": "home", "count": 3}, {"site": ["north", "south"]}

    designs = checked(waves=waves, strata=strata, invited=True).designs

    assert [each.id for each in designs] == ["waves", "strata", "invited"]
