"""Strata side by side: each as it is alone, and a difference only where a test shows it."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import combinations, combinations_with_replacement, permutations
from math import comb, prod
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniably.authoring.compiling import compile_survey
from deniably.core.errors import Incomparable
from deniably.estimation.difference import holm
from deniably.estimation.tally import Tally, from_cells, tally
from deniably.exhibits.stratum_exhibit import apart_rows, differences, finding, pictures
from deniably.results.by_stratum import (
    COLUMNS,
    ApartResult,
    ByStratumResult,
    by_stratum,
    by_stratum_rows,
)
from deniably.results.differences import Side, choice_apart, mean_apart
from deniably.results.document import VectorResult
from deniably.results.drawing import rounding
from deniably.results.result import result
from deniably.survey.report import randomise_answers
from deniably.survey.survey import Survey
from support.seeded import seeded_coins

SITES = ("east", "north", "south")
QUESTIONS: list[dict[str, Any]] = [
    {"name": "hit", "type": "yes_no", "label": "Hit?", "odds": 9},
    {"name": "sleep", "type": "scale", "label": "Sleep?", "choices": ["Badly", "So so", "Well"],
     "odds": 9},
    {"name": "hours", "type": "number", "label": "Hours?", "minimum": 0, "maximum": 10,
     "unit": "h", "epsilon": 2},
    {"name": "two", "type": "vector", "label": "Two?", "epsilon": 3, "parts": [
        {"name": "work", "label": "Work", "minimum": 0, "maximum": 8},
        {"name": "rest", "label": "Rest", "minimum": 0, "maximum": 8}]},
    {"name": "place", "type": "point", "label": "Where?", "epsilon": 2, "grid": 2, "parts": [
        {"name": "x", "label": "X", "minimum": 0, "maximum": 2},
        {"name": "y", "label": "Y", "minimum": 0, "maximum": 2}]},
]  # fmt: skip


def survey_of(*questions: dict[str, Any], sites: tuple[str, ...] = SITES) -> Survey:
    head = {"name": "s", "title": "Sites", "strata": {"site": list(sites)}}
    return compile_survey({**head, "questions": list(questions)})


def asked(survey: Survey, yes: float, seed: int, people: int = 300) -> dict[str, Tally]:
    """The tallies of a site in which this share says yes, sleeps well and works long."""
    coins = seeded_coins(seed)
    reports = [
        randomise_answers(
            survey,
            {
                "hit": "yes" if index < yes * people else "no",
                "sleep": "well" if index < yes * people else "badly",
                "hours": 9 if index < yes * people else 1,
                "two": {"work": 8 if index < yes * people else 0, "rest": index % 9},
                "place": {"x": index % 2, "y": 1},
            },
            coins,
            strata={"site": "east"},
        ).values
        for index in range(people)
    ]
    return {
        one.name: tally([made[one.name] for made in reports], one.mechanism.law.cell_count)
        for one in survey.questions
    }


@cache
def everything() -> Survey:
    return survey_of(*QUESTIONS)


@cache
def tallies() -> dict[str, dict[str, Tally]]:
    """Of each site."""
    return {site: asked(everything(), yes, seed) for seed, (site, yes) in enumerate(
        zip(SITES, (0.2, 0.2, 0.7), strict=True), 5)}  # fmt: skip


@cache
def of(name: str, sites: tuple[str, ...] = SITES, confidence: float = 0.95) -> ByStratumResult:
    question = next(one for one in everything().questions if one.name == name)
    shown = {site: tallies()[site] for site in sites}
    return by_stratum(everything(), question, "site", shown, confidence=confidence)


@pytest.mark.parametrize("name", ["hit", "sleep", "hours", "two"])
def test_every_figure_is_that_of_its_stratum_alone_and_every_test_that_of_two_groups(
    name: str,
) -> None:
    found = of(name, confidence=0.9)
    question = next(one for one in everything().questions if one.name == name)
    alone = {
        site: result(everything(), "closed", tallies()[site], confidence=0.9, only=name).questions[
            0
        ]
        for site in SITES
    }
    means = [figure for figure in found["figures"] if figure["name"] is None]
    if isinstance(alone["east"], VectorResult):
        assert [one["label"] for one in means] == ["Work", "Rest"]
    for figure in found["figures"]:
        for place in figure["places"]:
            own: Any = alone[place["value"]]
            if figure["name"] is not None:
                shown = next(one for one in own.choices if one.name == figure["name"])
            elif isinstance(own, VectorResult):
                shown = next(one.mean for one in own.parts if one.label == figure["label"])
            else:
                shown = own.mean
            assert (place["estimate"], place["interval"]) == (shown.estimate, shown.interval)
        pairs = [(one["first"], one["second"]) for one in figure["differences"]]
        assert pairs == list(combinations(SITES, 2))
        part = {"Work": "work", "Rest": "rest"}.get(figure["label"])
        for one in figure["differences"]:
            first, second = (
                Side(everything(), question, tallies()[one[side]][name], part)
                for side in ("first", "second")
            )
            name_ = figure["name"]
            tested = (
                mean_apart(first, second) if name_ is None else choice_apart(first, second, name_)
            ).result(0.9)
            assert (one["estimate"], one["interval"]) == (tested["estimate"], tested["interval"])
            assert one["p_value"] == tested["p_value"]

    every = [one for figure in found["figures"] for one in figure["differences"]]
    assert found["tests"] == len(every)
    adjusted = [one["adjusted_p_value"] for one in every]
    assert adjusted == pytest.approx(holm([one["p_value"] for one in every]), abs=1e-8)


def test_what_differs_is_said_and_what_is_alike_is_not() -> None:
    (figure,) = of("hit")["figures"]

    assert figure["label"] == "Yes", "the share of no follows"
    east_north, east_south, _ = figure["differences"]
    assert "“Yes” in site east and in site south differ" in east_south["sentence"]
    assert "adjusted for 3 tests" in east_south["sentence"]
    assert "are not shown to differ" in east_north["sentence"]
    low, high = east_south["interval"]
    assert low < -0.5 < high < 0


def test_what_is_hidden_is_named_and_nothing_of_it_is_used() -> None:
    found = of("sleep", ("east", "south"))

    assert found["hidden"] == ["north"]
    assert [one["value"] for one in found["subgroups"]] == ["east", "south"]
    assert "north" not in str({**found, "hidden": []})


@pytest.mark.parametrize(
    ("name", "sites", "why"),
    [("hit", ("east",), "fewer than two"), ("place", SITES, "neither")],
)
def test_what_cannot_be_compared_is_refused(name: str, sites: tuple[str, ...], why: str) -> None:
    with pytest.raises(Incomparable, match=why):
        of(name, sites)


def test_more_tests_than_a_reader_waits_for_are_refused() -> None:
    eight = tuple(f"y{i}" for i in range(8))
    many = {
        "name": "q",
        "type": "select_one",
        "label": "Q?",
        "odds": 9,
        "choices": list("abcdefghijkl"),
    }
    survey = survey_of(many, sites=eight)
    tallies = {site: {"q": tally([[0]], 12)} for site in eight}

    with pytest.raises(Incomparable, match=r"at most 300 .* need 336"):
        by_stratum(survey, survey.questions[0], "site", tallies)


def test_the_spreadsheet_has_a_line_for_each_figure_and_each_difference() -> None:
    found = of("sleep")
    rows = list(by_stratum_rows(found))

    assert all(set(row) <= set(COLUMNS) for row in rows)
    assert Counter(row["figure"] for row in rows) == {"mean": 3, "share": 9, "difference": 12}
    apart = [row for row in rows if row["figure"] == "difference"]
    every = [one for figure in found["figures"] for one in figure["differences"]]
    for row, one in zip(apart, every, strict=True):
        assert (row["first"], row["second"]) == (one["first"], one["second"])
        assert (row["estimate"], row["adjusted_p_value"]) == (
            one["estimate"],
            one["adjusted_p_value"],
        )


@pytest.mark.parametrize(("odds", "share"), [(99, 0.5), (99, 0.1), (9, 0.5)])
def test_three_alike_sites_are_told_apart_once_in_twenty_at_most(odds: int, share: float) -> None:
    """By enumeration of all tallies of six people at each site: the level is over all tests."""
    p = odds / (1 + odds)
    support = share * p + (1 - share) * (1 - p)
    chance = [comb(FEW, x) * support**x * (1 - support) ** (FEW - x) for x in range(FEW + 1)]
    apart = told_apart(odds)

    assert apart, "so few people can show a difference"
    wrong = (len(set(permutations(one))) * prod(chance[x] for x in one) for one in apart)
    assert sum(wrong) <= 0.05


FEW = 6


@cache
def told_apart(odds: int) -> list[tuple[int, ...]]:
    """Those of all counts of ones at three sites that show a difference."""
    survey = survey_of({"name": "a", "type": "yes_no", "label": "A?", "odds": odds})
    shown: list[tuple[int, ...]] = []
    for counts in combinations_with_replacement(range(FEW + 1), 3):
        cells = {
            site: {"a": from_cells(FEW, {0: x, 1: FEW - x}, 2)}
            for site, x in zip(SITES, counts, strict=True)
        }
        found = by_stratum(survey, survey.questions[0], "site", cells, confidence=0.5)
        (figure,) = found["figures"]
        if any(one["adjusted_p_value"] < 0.05 for one in figure["differences"]):
            shown.append(counts)
    return shown


@given(st.lists(st.tuples(st.floats(-0.9, 0.9), st.floats(0, 1)), min_size=3, max_size=3))
def test_only_what_the_tests_show_is_called_different(drawn: list[tuple[float, float]]) -> None:
    found = of("hit")
    (figure,) = found["figures"]
    changed: list[ApartResult] = [
        {**one, "estimate": estimate, "interval": [estimate - 0.05, estimate + 0.05],
         "adjusted_p_value": p_value, "p_value": p_value / 3}
        for one, (estimate, p_value) in zip(figure["differences"], drawn, strict=True)
    ]  # fmt: skip
    found = {**found, "figures": [{**figure, "differences": changed}]}

    said = finding(found)
    shown = [one for one in changed if one["adjusted_p_value"] < 0.05]
    assert said.count("more frequent") == (len(shown) if len(shown) <= 2 else 1)
    if not shown:
        assert said == "No difference by site is shown."
    rows = apart_rows(found["figures"][0])
    assert [row.muted for row in rows] == [one not in shown for one in changed]
    for one in shown:
        larger, smaller = (one["first"], one["second"])[:: 1 if one["estimate"] >= 0 else -1]
        if len(shown) <= 2:
            assert f"in {larger} than in {smaller}, by" in said
    for line, one in zip(differences(found), changed, strict=True):
        printed = float(line[1].replace(rounding.MINUS, "-"))
        assert abs(printed - 100 * one["estimate"]) <= 0.051


def test_means_are_compared_in_their_unit() -> None:
    found = of("hours")
    _, apart = pictures(found)

    assert "The mean is higher in south than in east" in finding(found)
    assert f"{rounding.NARROW}h" in finding(found)
    assert "points" not in apart.html().source
