"""Power: n for a test and the power of an n, against closed forms and simulated surveys."""

from __future__ import annotations

import json
from contextlib import suppress
from fractions import Fraction
from math import exp, log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniably as dn
from deniably.design.exact_power import GroupsTest, ValueTest, least_n, window
from deniably.design.power import NormalTest, mean_test, plan_power, share_test, slope_test
from deniably.design.slope_power import SlopeTest
from deniably.estimation.difference import SupportCount, against, between_groups
from deniably.workbench.models.binary import logit
from support.commands import call
from support.soak import soak

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


def pair(epsilon: float) -> tuple[float, float]:
    """P(yes | yes) and P(yes | no) of Warner's design."""
    odds = exp(epsilon)
    return odds / (1 + odds), 1 / (1 + odds)


def chances(n: int, support: float) -> list[float]:
    """The binomial law of a count, by its ratios."""
    found = [(1 - support) ** n]
    for count in range(n):
        found.append(found[-1] * (n - count) / (count + 1) * support / (1 - support))
    return found


@pytest.mark.parametrize(
    ("epsilon", "n", "share", "difference"),
    [(4, 40, 0.02, 0.1), (6, 50, 0, 0.1), (1, 200, 0, 0.2), (1, 100, 0.6, -0.3)],
)
def test_power_against_a_value_is_that_of_the_test_itself(
    epsilon: float, n: int, share: float, difference: float
) -> None:
    """Every count is tested by ``against``; at epsilon 4 the normal law promised .760 for .634."""
    p, q = pair(epsilon)
    law = chances(n, q + (p - q) * (share + difference))
    seen = sum(
        chance
        for count, chance in enumerate(law)
        if against(SupportCount(count, n, p, q), share).p_value < 0.05
    )

    assert ValueTest(p, q, share, share + difference).power(n) == pytest.approx(seen, abs=1e-9)


@pytest.mark.parametrize(
    ("epsilon", "n", "first", "share", "difference"),
    [(8, 60, 0.2, 0, 0.3), (6, 40, 0.5, 0.05, 0.3), (4, 60, 0.1, 0.5, -0.4)],
)
def test_power_of_two_groups_is_that_of_the_test_itself(
    epsilon: float, n: int, first: float, share: float, difference: float
) -> None:
    """Every pair of counts is tested; of the first the normal law promised .672 for .357."""
    p, q = pair(epsilon)
    planned = GroupsTest(p, q, share, share + difference, first)
    n1, n2 = planned.sizes(n)
    one, other = (
        chances(size, q + (p - q) * at) for size, at in ((n1, share), (n2, share + difference))
    )
    seen = sum(
        one[i] * other[j]
        for i in range(n1 + 1)
        for j in range(n2 + 1)
        if one[i] * other[j] > 1e-7
        and between_groups(SupportCount(i, n1, p, q), SupportCount(j, n2, p, q)).p_value < 0.05
    )

    assert planned.power(n) == pytest.approx(seen, abs=1e-4)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("epsilon", "n", "first", "share", "difference"),
    [(log(3), 1000, 0.5, 0.1, 0.1), (1, 2000, 0.5, 0.2, 0.1), (2, 400, 0.5, 0.3, 0.15),
     (1, 2500, 0.8, 0.4, 0.1), (4, 200, 0.5, 0.1, 0.2), (6, 40, 0.5, 0.05, 0.3),
     (1, 1000, 0.1, 0.2, 0.2), (4, 100, 0.1, 0.05, 0.3), (8, 60, 0.2, 0, 0.3)],
)  # fmt: skip
def test_simulated_groups_differ_as_often_as_planned(
    epsilon: float, n: int, first: float, share: float, difference: float
) -> None:
    """20,000 surveys of each: a standard error of at most .0036."""
    p, q = pair(epsilon)
    planned = GroupsTest(p, q, share, share + difference, first)
    sizes, generator = planned.sizes(n), np.random.default_rng(9)
    counts = [
        generator.binomial(size, q + (p - q) * at, 20_000)
        for size, at in zip(sizes, (share, share + difference), strict=True)
    ]
    kinds, often = np.unique(np.stack(counts, axis=1), axis=0, return_counts=True)
    seen = [
        between_groups(
            SupportCount(int(i), sizes[0], p, q), SupportCount(int(j), sizes[1], p, q)
        ).p_value < 0.05
        for i, j in kinds
    ]  # fmt: skip

    assert planned.power(n) == pytest.approx(float(often @ np.array(seen)) / 20_000, abs=0.012)


def test_bisection_of_many_counts_finds_what_all_pairs_are(monkeypatch: pytest.MonkeyPatch) -> None:
    from deniably.design import exact_power

    tests = [GroupsTest(*pair(e), f, f + 0.2, part) for e in (0.5, 2, 8) for f in (0, 0.4)
             for part in (0.1, 0.5, None)]  # fmt: skip
    every = [test.power(n) for test in tests for n in (9, 40, 150)]
    monkeypatch.setattr(exact_power, "_ALL_PAIRS", 0)

    assert [test.power(n) for test in tests for n in (9, 40, 150)] == pytest.approx(every, abs=1e-9)


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (ValueTest(*pair(4), 0.2, 0.3), 172),
        (ValueTest(*pair(1), 0.2, 0.3), 901),
        (GroupsTest(*pair(4), 0, 0.3, None), 25),
        (GroupsTest(*pair(2), 0.2, 0.3, None), 589),
    ],
)
def test_a_planned_number_has_the_power_and_so_have_the_next(
    test: ValueTest | GroupsTest, expected: int
) -> None:
    """Power is a saw-tooth: the first n that reaches it would lose it again."""
    n = least_n(test.power, 0.8, 100)

    assert n == expected
    assert min(test.power(more) for more in range(n, n + window(n) + 1)) >= 0.8
    assert test.power(n - 1) < 0.8


@pytest.mark.parametrize(
    ("epsilon", "n", "slope", "share", "by_fits"),
    [
        (1, 300, 0.8, 0.2, 0.365),
        soak(1, 4000, 0.5, 0.1, 0.852),
        soak(2, 500, 0.8, 0.05, 0.531),
    ],
)
def test_the_power_of_a_slope_is_that_of_the_fit(
    epsilon: float, n: int, slope: float, share: float, by_fits: float
) -> None:
    """Against 1,500 surveys through ``logit`` each; the formula says .559, .819 and .416."""
    assert SlopeTest(*pair(epsilon), share, slope).power(n) == pytest.approx(by_fits, abs=0.025)


@pytest.mark.soak
def test_logit_finds_a_slope_as_often_as_simulated() -> None:
    """1,500 surveys of 300 people, refused fits among them: a standard error of .012."""
    (p, q), generator, seen = pair(1), np.random.default_rng(5), 0
    for _ in range(1_500):
        x = generator.normal(size=300)
        yes = generator.random(300) < 1 / (1 + np.exp(-(np.log(0.25) + 0.8 * x)))
        reports = generator.random(300) < np.where(yes, p, q)
        with suppress(dn.BadModel):
            fit = logit(reports, np.column_stack([np.ones(300), x]), p, q)
            seen += abs(fit.coefficients[1]) > 1.96 * fit.covariance[1, 1] ** 0.5

    assert SlopeTest(p, q, 0.2, 0.8).power(300) == pytest.approx(seen / 1_500, abs=0.04)


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
    assert n == pytest.approx(share_test(through, 0.45, 0.1, "groups").respondents(0.8), rel=0.03)
    back = plan_power(survey, difference=0.1, n=n, question="stolen").rows[0]
    assert 0.8 <= float(back["power"] or 0) < 0.81
    assert back["direct"] == pytest.approx(n / float(back["design_effect"] or 0), abs=1)
    slope = plan_power(survey, difference=0.5, power=0.8, test="slope", share=0.3)
    assert [row["question"] for row in slope.rows] == ["stolen"]
    assert [row["method"] for row in (*found.rows, *slope.rows)] == [
        "numeric", "normal", "simulated",
    ]  # fmt: skip
    assert any("2,000 surveys" in note for note in slope.notes)
    assert float(slope.rows[0]["power"] or 0) == pytest.approx(0.8, abs=0.012)


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
    test = GroupsTest(0.75, 0.25, 0.45, 0.55)
    n = least_n(test.power, 0.8, 3_000)
    assert f"{n:,}" in done.stdout
    assert "a sum over all counts of both groups" in done.stdout
    assert "two halves" in done.stdout
    assert "drinks" not in done.stdout
    uneven = call("plan", str(file), "--difference", ".1", "--power", ".8", "--first", ".1")
    assert "two groups of 10 and 90 % of the respondents" in uneven.stdout
    rows = json.loads(
        call(
            "plan", str(file), "--difference", ".1", "--n", "900", "--test", "waves", "--json"
        ).stdout
    )
    assert rows[0]["power"] == pytest.approx(GroupsTest(0.75, 0.25, 0.45, 0.55, None).power(900))


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
