"""The lines of results.csv say by name what they are of."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from itertools import pairwise
from typing import Any

import pytest

import deniably as dn
from deniably.results.spreadsheet import spreadsheet
from deniably.survey.questions import Product
from support.every_type import survey_of_everything

SURVEY = survey_of_everything()
BY_NAME: dict[str, Any] = {one.name: one for one in SURVEY.questions}


@pytest.fixture(scope="module")
def lines() -> list[dict[str, str]]:
    people = dn.simulate_people(SURVEY, 300)
    found = dn.estimate(SURVEY, dn.tally(dn.randomise(people))).document
    return list(csv.DictReader(io.StringIO(spreadsheet(found))))


def test_a_combination_has_the_names_of_its_choices_in_the_order_of_the_parts(
    lines: list[dict[str, str]],
) -> None:
    """The shares of the combinations with a choice sum to its own, so no name is of another."""
    vote = BY_NAME["vote"]
    assert isinstance(vote, Product)
    sums: dict[tuple[str, str], float] = defaultdict(float)
    joint = [one for one in lines if (one["question"], one["figure"]) == ("vote", "joint share")]
    for one in joint:
        for part, name in zip(vote.parts, one["part_choice"].split("; "), strict=True):
            sums[part.name, name] += float(one["estimate"])
    own = {
        (one["part"], one["choice"]): float(one["estimate"])
        for one in lines
        if one["question"] == "vote" and one["part"]
    }

    assert len(joint) == 6
    assert sums == pytest.approx(own, abs=1e-5)


def test_an_area_has_the_ends_of_its_sides(lines: list[dict[str, str]]) -> None:
    areas = [one for one in lines if one["question"] == "home"]

    assert len({one["part_choice"] for one in areas}) == len(areas) == 64
    first = areas[0]["part_choice"]
    assert first.replace("'", "") == "-20 to -15; -20 to -15", "which no spreadsheet reads as sums"


def test_a_range_of_numbers_has_its_ends_as_numbers(lines: list[dict[str, str]]) -> None:
    ranges = [one for one in lines if one["bucket_low"]]
    shares = [one for one in ranges if one["figure"] == "share"]
    at_most = [one for one in ranges if one["figure"] == "share at most"]

    assert {one["question"] for one in ranges} == {"income"}
    assert (float(shares[0]["bucket_low"]), float(shares[-1]["bucket_high"])) == (0, 8000)
    for one, after in pairwise(shares):
        assert float(one["bucket_low"]) <= float(one["bucket_high"]) < float(after["bucket_low"])
        assert one["choice_label"] == f"{one['bucket_low']} to {one['bucket_high']}"
    assert [one["bucket_high"] for one in at_most] == [one["bucket_high"] for one in shares[:-1]]
    assert {one["bucket_low"] for one in at_most} == {"0"}


def test_shares_up_to_a_number_never_fall_and_lie_in_their_intervals(
    lines: list[dict[str, str]],
) -> None:
    """The unbiased ones of these reports do fall; they stand beside."""
    upto = [one for one in lines if one["figure"] == "share at most"]
    shown, unbiased, low, high = (
        [float(one[key]) for one in upto] for key in ("estimate", "unbiased", "low", "high")
    )

    assert any(one > after for one, after in pairwise(unbiased))
    assert all(one <= after for one, after in pairwise(shown))
    assert all(least <= one <= most for one, least, most in zip(shown, low, high, strict=True))


def test_every_line_has_its_level_and_where_reports_name_answers_p_and_q(
    lines: list[dict[str, str]],
) -> None:
    for one in lines:
        law = BY_NAME[one["question"]].mechanism.law
        assert one["confidence"] == "0.95"
        assert bool(one["p"]) == bool(one["q"]) == hasattr(law, "p")
        if one["count"] and one["question"] not in ("worries", "drugs"):
            share = (int(one["count"]) / int(one["n"]) - float(one["q"])) / (
                float(one["p"]) - float(one["q"])
            )
            assert share == pytest.approx(float(one["estimate"]), abs=1e-5)
