"""Comparisons of results, as somebody asks for them who has tallies and no server."""

from __future__ import annotations

from random import Random

import pytest

from deniably.core.coins import Coins
from deniably.core.errors import Incomparable
from deniably.estimation.difference import Difference
from deniably.estimation.tally import tally
from deniably.results.differences import (
    Side,
    StatedDifference,
    choice_and_share,
    choice_apart,
    choices,
    mean_and_value,
    mean_apart,
    pairs,
)
from deniably.survey.report import randomise_answers
from support.every_type import somebody, survey_of_everything

PEOPLE = 300


@pytest.fixture(scope="module")
def sides() -> dict[str, Side]:
    """The answers of the same made-up people to each question."""
    survey, random = survey_of_everything(), Random(3)
    coins = Coins(random.randbytes)
    reports = [randomise_answers(survey, somebody(random), coins) for _ in range(PEOPLE)]
    return {
        one.name: Side(
            survey,
            one,
            tally([made.values[one.name] for made in reports], one.mechanism.law.cell_count),
        )
        for one in survey.questions
    }


def test_a_share_is_compared_with_a_number_and_read_as_it_was_written(
    sides: dict[str, Side],
) -> None:
    found = choice_and_share(sides["stolen"], "yes", "0.30").result()

    assert found["compared"] == "“Yes” and a share of 0.30"
    assert found["sentence"].startswith("“Yes” and a share of 0.30 are not shown to differ")
    assert found == choice_and_share(sides["stolen"], "yes", 0.3).result() | {
        "compared": found["compared"],
        "sentence": found["sentence"],
    }


def test_all_choices_are_compared_with_each_other(sides: dict[str, Side]) -> None:
    found = pairs(sides["what"])

    assert len(found["differences"]) == 6
    alone = choices(sides["what"], "money", "goods").result()
    assert found["differences"][0]["p_value"] == alone["p_value"]
    assert found["differences"][0]["adjusted_p_value"] >= alone["p_value"]


def test_of_many_comparisons_a_sentence_prints_both_p_values_and_the_adjusted_one_decides(
    sides: dict[str, Side],
) -> None:
    found = pairs(sides["what"])["differences"]

    for one in found:
        assert "adjusted for 6 tests at once; alone, p" in one["sentence"]
        assert ("are not shown to differ" not in one["sentence"]) == (
            one["adjusted_p_value"] < 0.05
        )
        low, high = one["interval"]
        assert (low <= 0 <= high) == (one["p_value"] > 0.05), "the interval is for one alone"


def test_what_is_below_the_level_alone_and_not_with_the_others_is_not_called_different() -> None:
    found = Difference(0.1, 0.03, 0.045, lambda _: (0.01, 0.19))

    said = StatedDifference("“A” and “B”", found).adjusted(0.09, 3, 0.95)["sentence"]

    assert "are not shown to differ" in said
    assert "(p\u00a0=\u00a00.090, adjusted for 3 tests at once; alone, p\u00a0=\u00a00.030)" in said
    assert "are not shown" not in StatedDifference("“A” and “B”", found).result()["sentence"]


def test_labels_and_names_stand_beside_each_other(sides: dict[str, Side]) -> None:
    one = choices(sides["what"], "money", "goods").result()

    assert one["names"] == ["money", "goods"]
    assert one["compared"] == " and ".join(f"“{label}”" for label in one["labels"])
    assert mean_apart(sides["drinks"], sides["drinks"]).result()["labels"] == []


def test_intervals_of_less_confidence_lie_within(sides: dict[str, Side]) -> None:
    one = choices(sides["what"], "money", "goods")
    found = one.result(0.9)
    nested = [found["interval"], found["interval_80"], found["interval_50"]]

    for outer, inner in zip(nested, nested[1:], strict=False):  # noqa: RUF007  # three lists
        assert outer
        assert inner
        assert outer[0] <= inner[0] <= found["estimate"] <= inner[1] <= outer[1]
    assert one.result(0.7)["interval_80"] is None
    assert one.result(0.5)["interval_50"] is None


@pytest.mark.parametrize("question", ["drinks", "happy"])
def test_a_mean_and_its_interval_agree_with_the_test_of_a_value(
    sides: dict[str, Side], question: str
) -> None:
    """Just inside and just outside of both ends."""
    side = sides[question]
    low, high = mean_and_value(side, 3).result()["interval"]
    for end, out in ((3 + low, -1), (3 + high, 1)):
        inside, outside = (mean_and_value(side, end + way * out * 0.01).result() for way in (-1, 1))
        assert inside["p_value"] > 0.05 > outside["p_value"]
        assert inside["interval"][0] < 0 < inside["interval"][1]
        assert not outside["interval"][0] <= 0 <= outside["interval"][1]


def test_a_side_does_not_differ_from_itself(sides: dict[str, Side]) -> None:
    drinks, stolen = sides["drinks"], sides["stolen"]

    assert mean_apart(drinks, drinks).difference.p_value == 1
    assert choice_apart(stolen, stolen, "yes").difference.p_value == 1


@pytest.mark.parametrize(
    ("question", "why"),
    [("stolen", "no mean"), ("hours", "names one of the numbers of hours: work, care")],
)
def test_what_has_no_mean_is_reported(sides: dict[str, Side], question: str, why: str) -> None:
    with pytest.raises(Incomparable, match=why):
        mean_and_value(sides[question], 1)
