"""Respondents at every epsilon, where any number of people is enough."""

from __future__ import annotations

from math import inf

import pytest

from deniably.authoring.curve_drawing import curve_svg
from deniably.core.counting import EVERYBODY
from deniably.design.curve import EPSILONS, curve_of, curve_table
from deniably.design.planning import Goal, respondents_for, share_goal


def hidden(epsilon: float) -> float:
    """n times a variance that noise makes infinite, then vast, and then small."""
    return inf if epsilon < 0.5 else 1e12 if epsilon < 2 else 1.0


def test_every_point_is_a_plan() -> None:
    goal = share_goal(4, 0.2)

    assert curve_of(goal, 0.04) == [respondents_for(goal, one, 0.04) for one in EPSILONS]


def test_an_epsilon_at_which_nobody_is_enough_has_no_respondents() -> None:
    goal = Goal(hidden, 0.25)

    found = curve_of(goal, 0.05)

    assert [plan.epsilon for plan in found] == [2, 3, 4, 5]
    assert all(plan.n < EVERYBODY for plan in found)
    table = curve_table([("income", found), ("stolen", curve_of(share_goal(2), 0.05))], 0.05)
    by_epsilon = {line[0]: line[3:5] for line in table.lines}
    assert by_epsilon["1"] == ["none", "1,799"]
    assert by_epsilon["2"] == [f"{found[0].n:,}", "663"]


def test_a_curve_without_any_respondents_is_shown_and_not_drawn() -> None:
    table = curve_table([("income", curve_of(Goal(lambda _: inf, 0.25), 0.05))], 0.05)

    assert [line[3:] for line in table.lines[1:]] == [["none", "", ""]] * len(EPSILONS)
    with pytest.raises(ValueError, match="nothing to draw"):
        curve_svg(table)
