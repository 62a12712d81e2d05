"""Power: n for a test and the power of an n, against closed forms and simulated surveys."""

from __future__ import annotations

import json
from fractions import Fraction
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniably as dn
from deniably.design.power import NormalTest, mean_test, plan_power, share_test, slope_test
from deniably.estimation.difference import SupportCount, against, between_groups
from deniably.workbench.models.binary import logit
from support.commands import call

SURVEY = """
name: work
title: Honesty at work
questions:
  - {name: stolen, type: yes_no, label: Have you ever stolen from work?, odds: 3}
  - {name: drinks, type: number, label: Drinks last week?, minimum: 0, maximum: 20, epsilon: 1}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "work.yaml"
    path.write_text(SURVEY)
    return path


def direct(share: float) -> float:
    return share * (1 - share)


def through(share: float) -> float:
    support = 0.25 + share / 2
    return support * (1 - support) / 0.25


def test_direct_questions_need_the_textbooks_respondents() -> None:
    """Fleiss, Levin and Paik 2003, table A.4: 2 x 199 for 20 % against 32 % (no correction)."""
    found = share_test(direct, 0.2, 0.12, "groups")
    by_hand = (
        1.959964 * sqrt(4 * 0.26 * 0.74) + 0.841621 * sqrt(2 * 0.16 + 2 * 0.32 * 0.68)
    ) ** 2 / 0.12**2

    assert found.respondents(0.8) == pytest.approx(by_hand, abs=1)
    assert share_test(direct, 0.2, 0.12, "waves").respondents(0.8) == pytest.approx(
        by_hand / 2, abs=1
    )
    assert mean_test(1.0, 0.5, "value").respondents(0.9) == 43  # (1.96 + 1.28)^2 / .25 = 42.03


def test_no_fewer_respondents_have_the_power() -> None:
    for test in (
        share_test(through, 0.3, 0.1, "groups"),
        share_test(through, 0.3, -0.1, "value"),
        mean_test(4.0, 0.2, "waves"),
        slope_test(0.75, 0.25, 0.3, 0.5),
        NormalTest(0.5, 1.0, 1.0),
    ):
        for power in (0.2, 0.5, 0.8, 0.99):
            n = test.respondents(power)
            assert test.power(n) >= power
            assert n == 1 or test.power(n - 1) < power


@pytest.mark.parametrize(
    ("of", "share", "first"), [("value", 0.3, 0.5), ("groups", 0.1, 0.2), ("waves", 0.1, 0.5)]
)
def test_simulated_surveys_find_the_difference_as_often_as_planned(
    of: Any, share: float, first: float
) -> None:
    """4,000 surveys at a planned power of .8: further than .04 off has a chance below 1e-9, and the
    tests in use are a little more cautious, which takes off at most .03 more."""
    planned = share_test(through, share, 0.1, of, first)
    n = planned.respondents(0.8)
    generator = np.random.default_rng(4)
    sizes = [round(n * first), round(n * (1 - first))] if of == "groups" else [n] * 2
    ones = [
        generator.binomial(size, 0.25 + one / 2, 4_000)
        for size, one in zip(sizes, (share, share + 0.1), strict=True)
    ]
    if of == "value":
        cache = {int(c): against(SupportCount(int(c), n, 0.75, 0.25), share).p_value
                 for c in set(ones[1].tolist())}  # fmt: skip
        p_values = [cache[int(c)] for c in ones[1]]
    else:
        groups = [
            [SupportCount(int(c), size, 0.75, 0.25) for c in counts[:1_500]]
            for counts, size in zip(ones, sizes, strict=True)
        ]
        p_values = [between_groups(*pair).p_value for pair in zip(*groups, strict=True)]
    found = np.mean(np.array(p_values) < 0.05)

    assert 0.8 - 0.07 < found < 0.8 + 0.06


def test_simulated_regressions_find_the_slope_as_often_as_planned() -> None:
    """400 regressions at a planned power of .8: further than .13 off has a chance below 1e-9."""
    n = slope_test(0.75, 0.25, 0.3, 0.5).respondents(0.8)
    generator, seen = np.random.default_rng(6), 0
    for _ in range(400):
        x = generator.normal(size=n)
        yes = generator.random(n) < 1 / (1 + np.exp(-(np.log(0.3 / 0.7) + 0.5 * x)))
        reports = generator.random(n) < np.where(yes, 0.75, 0.25)
        fit = logit(reports, np.column_stack([np.ones(n), x]), 0.75, 0.25)
        seen += abs(fit.coefficients[1]) > 1.96 * fit.covariance[1, 1] ** 0.5

    assert abs(seen / 400 - 0.8) < 0.13


def test_uneven_groups_take_more_people_than_halves_and_the_more_the_smaller_one_is() -> None:
    """A mean: n grows as 1 / (4 first (1 - first)), whichever group is the smaller one."""
    halves = mean_test(4.0, 0.02, "groups").respondents(0.8)
    for first in (0.1, 0.3, 0.9):
        found = mean_test(4.0, 0.02, "groups", first).respondents(0.8)
        assert found == pytest.approx(halves / (4 * first * (1 - first)), rel=1e-4)
    one, other = (
        share_test(through, *figures)
        for figures in ((0.3, 0.1, "groups", 0.2), (0.4, -0.1, "groups", 0.8))
    )
    assert one.respondents(0.8) == other.respondents(0.8)


def test_without_noise_the_slope_is_the_known_formula() -> None:
    """At no slope, n = (z + z)^2 / (b^2 f (1 - f)) (Hsieh, Bloch and Larsen 1998, eq. 1)."""
    found = slope_test(1, 0, 0.5, 0.01)

    assert found.null == pytest.approx(2, rel=1e-9)
    assert found.alternative == pytest.approx(2, rel=1e-3)


def test_a_survey_is_planned_for_a_power_and_for_a_number(file: Path) -> None:
    survey = dn.load_survey(file)
    found = plan_power(survey, difference=0.1, power=0.8)

    assert [row["question"] for row in found.rows] == ["stolen", "drinks"]
    n = int(found.rows[0]["n"] or 0)
    assert n == share_test(through, 0.45, 0.1, "groups").respondents(0.8)
    back = plan_power(survey, difference=0.1, n=n, question="stolen").rows[0]
    assert float(back["power"] or 0) == pytest.approx(0.8, abs=1e-3)
    assert back["direct"] == pytest.approx(n / float(back["design_effect"] or 0), abs=1)
    slope = plan_power(survey, difference=0.5, power=0.8, test="slope", share=0.3)
    assert [row["question"] for row in slope.rows] == ["stolen"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"difference": 0.1}, "give one"),
        ({"difference": 0.1, "power": 0.8, "n": 9}, "give one"),
        ({"difference": 0.0, "power": 0.8}, "difference is 0"),
        ({"difference": 1.5, "power": 0.8}, "difference is 1.5"),
        ({"difference": 0.1, "power": 0.01}, "power is 0.01"),
        ({"difference": 0.1, "n": 1}, "n is 1 respondents"),
        ({"difference": 0.1, "power": 0.8, "question": "x"}, "no question x; there are stolen"),
        ({"difference": 0.1, "power": 0.8, "test": "t"}, "test is one of value, groups"),
        ({"difference": 0.1, "power": 0.8, "share": 0.95}, "between 0 and 1"),
        ({"difference": 0.1, "power": 0.8, "level": 1}, "level is 1"),
        ({"difference": 0.1, "power": 0.8, "first": 1}, "first is 1; give the part"),
        ({"difference": 0.1, "power": 0.8, "first": 0.3, "test": "waves"}, "only a test of groups"),
        ({"difference": 0.5, "power": 0.8, "test": "slope", "question": "drinks"}, "no figure"),
        ({"difference": 1e-9, "power": 0.8}, "no number of respondents"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(
    file: Path, options: dict[str, Any], why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        plan_power(dn.load_survey(file), **options)


# --- on the command line -------------------------------------------------------------------------


def test_the_command_plans_a_test(file: Path) -> None:
    done = call("plan", str(file), "--difference", ".1", "--power", ".8", "--question", "stolen")

    assert done.returncode == 0, done.stderr
    n = share_test(through, 0.45, 0.1, "groups").respondents(0.8)
    assert f"{n:,}" in done.stdout
    assert "two halves" in done.stdout
    assert "drinks" not in done.stdout
    uneven = call("plan", str(file), "--difference", ".1", "--power", ".8", "--first", ".1")
    assert "two groups of 10 and 90 % of the respondents" in uneven.stdout
    rows = json.loads(
        call(
            "plan", str(file), "--difference", ".1", "--n", "900", "--test", "waves", "--json"
        ).stdout
    )
    assert rows[0]["power"] == pytest.approx(share_test(through, 0.45, 0.1, "waves").power(900))


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--difference", ".1", "--power", ".8"], "survey FILE"),
        (["FILE", "--power", ".8"], "--difference"),
        (["FILE", "--difference", ".1"], "--power or --n"),
        (["FILE", "--difference", ".1", "--power", ".8", "--margin", ".1"], "--margin"),
        (["FILE", "--difference", ".1", "--power", ".8", "--question", "x"], "no question x"),
    ],
)
def test_the_command_refuses_what_it_cannot_plan(file: Path, words: list[str], why: str) -> None:
    done = call("plan", *(str(file) if word == "FILE" else word for word in words))

    assert done.returncode != 0
    assert why in done.stderr
    assert "Traceback" not in done.stderr


def test_fractions_of_the_law_are_those_of_the_plan(file: Path) -> None:
    law = dn.load_survey(file).questions[0].mechanism.law
    assert (law.p, law.q) == (Fraction(3, 4), Fraction(1, 4))  # type: ignore[union-attr]
