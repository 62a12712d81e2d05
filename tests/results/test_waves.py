"""Waves side by side: every wave as it is alone, and no word of a trend that no test shows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import deepcopy
from random import Random
from typing import Any

import numpy as np
import pytest

from deniably.authoring.compiling import compile_survey
from deniably.core.errors import Incomparable
from deniably.estimation.difference import holm, trend_of_shares
from deniably.estimation.tally import tally
from deniably.exhibits.wave_exhibit import (
    change_text,
    finding,
    numbers,
    pictures,
    visible_change,
)
from deniably.results.differences import Side, choice_apart, mean_apart
from deniably.results.result import result
from deniably.results.waves import Wave, WaveQuestion, WavesResult, wave_rows, waves_result
from deniably.simulation.bulk import randomise_many, tally_many
from deniably.simulation.bulk.uniform import drawn_from

TREND = re.compile(r"\b(rise|rises|rose|fall|falls|fell|grow|grows|increase|decrease|trend)", re.I)
QUESTIONS: list[dict[str, Any]] = [
    {"name": "hit", "type": "yes_no", "label": "Hit?", "odds": 9},
    {"name": "sleep", "type": "scale", "label": "Sleep?", "choices": ["Badly", "So so", "Well"],
     "odds": 9},
    {"name": "help", "type": "select_one", "label": "Help?", "choices": ["A", "B", "C"], "odds": 9},
    {"name": "hours", "type": "number", "label": "Hours?", "minimum": 0, "maximum": 10,
     "unit": "h", "epsilon": 2},
]  # fmt: skip


def wave(number: int, yes: float, seed: int, people: int = 400) -> Wave:
    """A wave in which this share says yes; all else is as in every wave."""
    head = {"name": f"w{number}", "title": "Home", "waves": {"panel": "home", "recognisable": True}}
    survey = compile_survey(head | {"questions": QUESTIONS})
    index = np.arange(people)
    answers = [np.where(index < yes * people, 0, 1), index % 3, index % 3, index % 11]  # yes is 0
    with drawn_from(Random(seed).randbytes):
        tallies = {
            one.name: tally_many(one.report_mechanism, randomise_many(one.report_mechanism, given))
            for one, given in zip(survey.questions, answers, strict=True)
        }
    return Wave(number, survey, "closed", tallies)


def found_of(shares: Sequence[float], seed: int = 1) -> tuple[list[Wave], WavesResult]:
    waves = [wave(number, yes, seed + number) for number, yes in enumerate(shares, 1)]
    return waves, waves_result("w1", waves, 0, 0.95)


@pytest.fixture(scope="module")
def steady() -> tuple[list[Wave], WavesResult]:
    return found_of([0.3, 0.3, 0.3])


@pytest.fixture(scope="module")
def rising() -> tuple[list[Wave], WavesResult]:
    return found_of([0.1, 0.4, 0.7])


def question(found: WavesResult, name: str) -> WaveQuestion:
    return next(one for one in found["questions"] if one["name"] == name)


def test_each_wave_has_the_figures_of_its_own_results(
    steady: tuple[list[Wave], WavesResult],
) -> None:
    waves, found = steady

    assert [one["n"] for one in found["waves"]] == [400, 400, 400]
    for place, one in enumerate(waves):
        alone = result(one.survey, "closed", one.tallies)
        yes, mean = alone.questions[0].choices[0], alone.questions[1].mean  # type: ignore[union-attr]
        shown = question(found, "hit")["choices"][0]["places"][place]
        assert (shown["estimate"], shown["interval"]) == (yes.estimate, yes.interval)  # type: ignore[union-attr]
        assert shown["interval_80"] == yes.interval_80  # type: ignore[union-attr]
        series = question(found, "sleep")["mean"]
        assert series
        assert series["places"][place]["estimate"] == mean.estimate  # type: ignore[union-attr]
        assert series["ends"] == ["Badly", "Well"]


def test_the_change_is_the_last_wave_less_the_first_and_all_tests_are_adjusted_together(
    steady: tuple[list[Wave], WavesResult],
) -> None:
    waves, found = steady
    last, first = (
        {one.name: Side(w.survey, one, w.tallies[one.name]) for one in w.survey.questions}
        for w in (waves[-1], waves[0])
    )
    yes, sleep = question(found, "hit")["choices"][0]["change"], question(found, "sleep")["mean"]

    assert yes
    assert sleep
    assert sleep["change"]
    assert yes["p_value"] == choice_apart(last["hit"], first["hit"], "yes").result()["p_value"]
    alone = mean_apart(last["sleep"], first["sleep"]).result()
    assert sleep["change"]["interval"] == alone["interval"]
    tests = [
        p
        for one in found["questions"]
        for series in [*([one["mean"]] if one["mean"] else []), *one["choices"]]
        if (change := series["change"])
        for p in (change["p_value"], change["trend_p_value"])
        if p is not None
    ]
    assert found["tests"] == len(tests) == 2 * (1 + 1 + 3 + 3 + 1)
    adjusted = holm(tests)
    assert yes["adjusted_p_value"] == pytest.approx(min(adjusted[:2]), abs=1e-6)


def test_a_change_that_is_shown_has_its_direction(
    rising: tuple[list[Wave], WavesResult],
) -> None:
    said = finding(question(rising[1], "hit"))

    assert re.match(
        r"“Yes” rises from \d+\u202f% in wave 1 to \d+\u202f% in wave 3 \(p\u00a0<\u00a00.001", said
    )
    down = found_of([0.7, 0.4, 0.1])[1]
    assert "“Yes” falls from" in finding(question(down, "hit"))


def test_there_and_back_is_neither_a_rise_nor_a_fall() -> None:
    _, found = found_of([0.2, 0.7, 0.2])

    change = question(found, "hit")["choices"][0]["change"]
    assert change
    assert change["direction"] is None
    assert not TREND.search(finding(question(found, "hit")))


@pytest.mark.parametrize("seed", range(10, 16))
def test_no_word_of_a_trend_unless_an_adjusted_test_shows_one(seed: int) -> None:
    """Whatever chance brings where nothing changes; and the picture and the change say none."""
    _, found = found_of([0.3, 0.3, 0.3], seed=7 * seed)

    for one in found["questions"]:
        series = [*([one["mean"]] if one["mean"] else []), *one["choices"]]
        shown = [each["change"]["adjusted_p_value"] < 0.05 for each in series if each["change"]]
        drawn = list(pictures(one))
        texts = [finding(one), *(note for picture in drawn for note in picture.notes)]
        texts += [picture.html().source for picture in drawn]
        words = TREND.search(re.sub(r'class="[^"]*"', "", " ".join(texts)))
        assert bool(words) == any(shown)
        if not any(shown):
            assert "no change is shown" in finding(one).lower()


def test_the_picture_the_sentence_and_the_table_give_the_same_figures(
    steady: tuple[list[Wave], WavesResult],
) -> None:
    asked = question(steady[1], "hit")
    (picture,) = pictures(asked)
    drawn = picture.html().source

    values = re.findall(r'class="val"[^>]*>([^<]+)<', drawn)
    spoken = re.findall(r"wave \d (\d+\u202f%) \(", drawn)
    assert values == spoken
    assert len(values) == 3
    for line, value in zip(numbers(asked), values, strict=True):
        assert abs(float(line[1]) - float(value.removesuffix("\u202f%"))) <= 0.5
    assert "p\u00a0=\u00a0" in change_text(asked["choices"][0])
    assert drawn.count("<rect") == 3 * 4, "three bands and a line for each wave"
    assert "style=" not in drawn
    assert "viewBox" not in drawn


def test_answers_of_a_scale_have_small_pictures_on_one_scale(
    steady: tuple[list[Wave], WavesResult],
) -> None:
    *_, small = pictures(question(steady[1], "sleep"))
    labels, *answers = zip(
        *re.findall(r"<h4>(.*?)</h4>(.*?)</div>", small.html().source, re.S), strict=True
    )

    assert labels == ("Badly", "So so", "Well")
    ticks = [re.findall(r'<text x="0"[^>]*>([^<]+)<', picture) for picture in answers[0]]
    assert ticks[0] == ticks[1] == ticks[2]
    assert ticks[0][0] == "0\u202f%", "from nought"


def test_the_csv_has_a_row_for_each_figure_in_each_wave(
    steady: tuple[list[Wave], WavesResult],
) -> None:
    rows = list(wave_rows(steady[1]))

    assert len(rows) == 3 * (1 + 1 + 3 + 3 + 1)
    assert sum("change_p_value" in row for row in rows) == 9
    yes = [row for row in rows if row["question"] == "hit"]
    places = question(steady[1], "hit")["choices"][0]["places"]
    assert [row["estimate"] for row in yes] == [place["estimate"] for place in places]


def test_a_question_that_was_asked_otherwise_in_one_wave_is_left_out() -> None:
    waves = [wave(1, 0.3, 1), wave(2, 0.3, 2)]
    others = [
        one | {"choices": ["Badly", "Well"]} if one["name"] == "sleep" else one for one in QUESTIONS
    ]
    head = {
        "name": "w3",
        "title": "Home",
        "waves": {"panel": "home", "recognisable": True},
        "questions": others,
    }
    changed = compile_survey(head)
    tallies = dict(waves[1].tallies)
    tallies["sleep"] = tally([[0], [1]] * 200, 2)
    found = waves_result("w1", [*waves, Wave(3, changed, "closed", tallies)], 0, 0.95)

    assert [one["name"] for one in found["questions"]] == ["hit", "help", "hours"]


def test_the_note_says_that_the_test_allows_for_slow_changes_of_the_same_people(
    steady: tuple[list[Wave], WavesResult],
) -> None:
    four = waves_result("w1", [*steady[0], wave(4, 0.3, 9)], 0, 0.95)
    weak = "allows for people who answer all waves and change their answers bit by bit"
    assert weak in (four["note"] or "")
    assert weak not in (steady[1]["note"] or "")


def test_the_change_that_can_be_seen_is_half_the_middle_interval_of_all_shares(
    steady: tuple[list[Wave], WavesResult],
) -> None:
    """Of seven tested shares, the fourth; means have other units and do not count."""
    found = deepcopy(steady[1])
    shares = [one for asked in found["questions"] for one in asked["choices"] if one["change"]]
    assert len(shares) == 7
    for one, half in zip(shares, [0.02, 0.2, 0.04, 0.3, 0.09, 0.11, 0.05], strict=True):
        assert one["change"]
        one["change"]["interval"] = [-half, half]

    assert visible_change(found) == "9"
    for one in shares:
        one["change"] = None
    assert visible_change(found) == ""


def test_a_trend_is_linear_in_the_numbers_of_the_waves() -> None:
    """The third wave is not shown. What rises by a step a wave has risen by two to the fourth."""
    shown = [wave(1, 0.30, 1), wave(2, 0.35, 2), wave(4, 0.45, 4)]
    found = waves_result("w1", shown, 1, 0.95)
    sides = [
        Side(one.survey, one.survey.questions[0], one.tallies["hit"]).answers("yes")
        for one in shown
    ]

    change = question(found, "hit")["choices"][0]["change"]
    assert change
    assert change["trend_p_value"] == pytest.approx(trend_of_shares(sides, [1, 2, 4]), abs=1e-9)
    assert change["trend_p_value"] != pytest.approx(trend_of_shares(sides, [1, 2, 3]), abs=1e-4)


def test_one_wave_has_nothing_beside_it() -> None:
    with pytest.raises(Incomparable, match="only one wave"):
        waves_result("w1", [wave(1, 0.3, 1)], 0, 0.95)
