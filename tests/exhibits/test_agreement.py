"""Sentence, table, picture and spreadsheet say the same of any results."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniably.authoring.compiling import compile_survey
from deniably.estimation.tally import Tally
from deniably.exhibits.cards import Card, cards, glance, precision
from deniably.results.document import SurveyResult
from deniably.results.result import result
from deniably.results.spreadsheet import spreadsheet
from deniably.survey.survey import Survey

ASKED: list[dict[str, Any]] = [
    {"name": "stolen", "type": "yes_no", "label": "Stolen?", "also": ["prefer_not_to_say"]},
    {"name": "often", "type": "select_one", "label": "Often?", "choices": ["Red", "Blue", "Green"]},
    {"name": "climate", "type": "scale", "label": "Act?", "choices": ["Bad", "So so", "Good"],
     "aim": "distribution"},
    {"name": "days", "type": "number", "label": "Days?", "minimum": 0, "maximum": 30,
     "unit": "days", "mechanism": "window"},
]  # fmt: skip


def survey() -> Survey:
    questions = [one | {"epsilon": 1} for one in ASKED]
    return compile_survey({"name": "s", "title": "T", "questions": questions})


SURVEY = survey()


@st.composite
def results(draw: st.DrawFn) -> SurveyResult:
    """Results of any counts, also of counts that no true answers explain."""
    n = draw(st.sampled_from([1, 7, 60, 500, 5000, 400_000]))
    tallies = {}
    for question in SURVEY.questions:
        cells = question.report_mechanism.law.cell_count
        size = getattr(question.mechanism, "omega", 1)
        shares = np.array(draw(st.lists(st.integers(0, 20), min_size=cells, max_size=cells)))
        shares = shares + (shares.sum() == 0)
        if size > 1:
            counts = np.minimum(n, shares * n // 20)
        else:
            counts = shares * n // shares.sum()
            counts[counts.argmax()] += n - counts.sum()
        tallies[question.name] = Tally(n, counts.astype(np.int64))
    return result(SURVEY, "closed", tallies)


def numbers(text: str) -> list[str]:
    return re.findall(r"\d[\d,]*(?:\.\d+)?(?<!,)", text)


def lines(card: Card) -> list[dict[str, Any]]:
    """The rows of the pictures of a card: the words, and the marks back on their scale."""
    found = []
    for picture in card.exhibit.unfolded:
        table = ElementTree.fromstring(picture.html().source)
        ticks = [
            (
                float(one.get("x", "").rstrip("%")),
                float(numbers(one.text or "")[0].replace(",", "")),
            )
            for one in table.findall("thead//text")
        ]
        (left, low), (right, high) = ticks[0], ticks[-1]

        def back(place: str, low: float = low, high: float = high) -> float:
            return low + (high - low) * float(place.rstrip("%")) / 100

        assert (left, right) == (0, 100)
        for row in table.findall("tbody/tr"):
            label, _, value, interval = row
            dot, line = row.find(".//circle"), row.find(".//rect[@class='w']")
            found.append(
                {
                    "label": label.text,
                    "value": value.text,
                    "interval": interval.text,
                    "open": dot is not None and dot.get("class") == "d o",
                    "dot": None if dot is None else back(dot.get("cx", "")),
                    "line": None if line is None else back(line.get("x", "")),
                    "wide": high - low,
                }
            )
    return found


@given(results())
def test_sentence_table_picture_and_spreadsheet_agree(found: SurveyResult) -> None:
    check_cards(found)
    check_glance(found)
    check_precision(found)


def check_cards(found: SurveyResult) -> None:
    sheet = list(csv.DictReader(io.StringIO(spreadsheet(found))))
    for card in cards(found):
        question = card.question
        drawn = lines(card)
        rows = [row for row in sheet if row["question"] == question.name]
        assert len(drawn) == len(rows)
        told = {numbers(one["value"])[0] for one in drawn if numbers(one["value"])}
        told |= {number for one in drawn for number in numbers(one["interval"])}
        assert set(numbers(question.sentence.replace("in 100", ""))) <= told, question.sentence
        for one, row in zip(drawn, rows, strict=True):
            assert one["value"] == row["reads"]
            assert one["interval"] == row["reads_interval"]
            assert one["value"] not in ("0\u202f%", "0.0\u202f%", "100\u202f%", "100.0\u202f%")
            assert "-" not in one["value"] + one["interval"]
            if one["value"] == "too few to say":
                assert one["dot"] is one["line"] is None
                continue
            # Shares are drawn on a scale of a hundred.
            times = 1 if row["figure"] == "mean" else 100
            low, high = float(row["low"]), float(row["high"])
            middle = min(max(float(row["estimate"]), low), high)
            near = one["wide"] * 2e-4
            assert one["dot"] == pytest.approx(times * middle, abs=near)
            assert one["line"] == pytest.approx(times * low, abs=near)
            assert one["open"] == one["value"].startswith(("below", "above"))
            if one["value"].startswith("below"):
                assert float(numbers(one["value"])[0]) >= times * high - 1e-6


def check_glance(found: SurveyResult) -> None:
    all_cards = cards(found)
    rows = [
        row
        for table in glance(all_cards, found.confidence)
        for row in ElementTree.fromstring(table.source).findall("tbody/tr")
    ]
    by_name = {card.question.name: card for card in all_cards}
    assert {(row.find("th/a")).get("href") for row in rows} == {  # type: ignore[union-attr]
        f"#{name}" for name in by_name
    }
    for row in rows:
        link = row.find("th/a")
        assert link is not None
        drawn = lines(by_name[link.get("href", "").lstrip("#")])
        assert row[2].text in [one["value"] for one in drawn]


def check_precision(found: SurveyResult) -> None:
    told = precision(found, cards(found), SURVEY)
    halves = [
        max(one.interval[1] - one.interval[0] for one in question.choices) / 2
        for question in found.questions
        if hasattr(question, "choices")
    ]

    assert told
    assert float(told.worst) == pytest.approx(100 * max(halves), abs=0.51)
    assert float(told.best) == pytest.approx(100 * min(halves), abs=0.51)
    assert float(told.typical) == pytest.approx(100 * sorted(halves)[1], abs=0.51)
    assert told.for_half == 4 * found.n
    assert told.grade == word_for(float(told.typical))


def word_for(points: float) -> str:
    """The word that the printed number deserves."""
    if points > 15:
        return "too coarse for single figures"
    words = {3: "precise", 5: "good", 10: "rough", 15: "coarse"}
    return words[min(most for most in words if points <= most)]


@pytest.mark.parametrize("exact", [0.0304, 0.0306, 0.0504, 0.1049, 0.1051, 0.1549, 0.1551, 0.0149])
def test_the_word_for_precision_is_that_of_the_number_printed_beside_it(exact: float) -> None:
    n = 500
    found = result(SURVEY, "closed", {
        question.name: Tally(n, n * np.eye(1, cells, dtype=np.int64)[0])
        for question in SURVEY.questions
        for cells in [question.report_mechanism.law.cell_count]
    })  # fmt: skip
    first = cards(found)[0]
    told = precision(found, [replace(first, half=exact)], SURVEY)

    assert told
    assert told.grade == word_for(float(told.typical)), f"±{told.typical} points"
