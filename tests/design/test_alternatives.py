"""What the other mechanisms would cost is what a survey with them would be planned for."""

from __future__ import annotations

from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import deniably as dn
from deniably.design.alternatives import alternatives
from deniably.design.named_mechanisms import NAMES, VECTOR
from deniably.mechanisms import Vector
from deniably.survey.privacy import Privacy
from deniably.survey.survey import Survey
from deniably_server.commands.authoring import check
from support.every_type import survey_of_everything

CHOICES = {"choices": ["a", "b", "c", "d", "e"]}
QUESTIONS: dict[str, dict[str, Any]] = {
    "yes or no": {"type": "yes_no"},
    "one of five": {"type": "select_one", **CHOICES},
    "two of five": {"type": "select_multiple", "most": 2, **CHOICES},
    "any of five": {"type": "select_multiple", **CHOICES},
    "a scale for its mean": {"type": "scale", "aim": "mean", **CHOICES},
    "a number": {"type": "number", "minimum": 0, "maximum": 20},
    "a number that is resampled": {
        "type": "number", "minimum": 0, "maximum": 6, "mechanism": "bounded_laplace",
        "beyond": "resample",
    },
    "two numbers": {
        "type": "vector",
        "parts": [{"name": one, "label": one, "minimum": 0, "maximum": 10} for one in "ab"],
    },
}  # fmt: skip


def survey(question: dict[str, Any], **keys: Any) -> Survey:
    asked = {"name": "q", "label": "Q?", "epsilon": 1} | question
    return dn.load_survey({"name": "s", "title": "T", "questions": [asked], **keys})


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_an_alternative_costs_what_a_survey_with_it_is_planned_for(
    question: dict[str, Any],
) -> None:
    found = alternatives(survey(question).questions[0], 1000, 0.3)

    planned: dict[str, float] = {}
    for name in NAMES:
        delta = {"delta": 0.00001} if name == "gaussian" else {}
        beyond = question if name == "bounded_laplace" else {**question, "beyond": None}
        keys = {key: value for key, value in beyond.items() if value is not None}
        try:
            named = survey(keys | {"mechanism": name} | delta)
        except dn.BadSurvey:
            continue
        rows = dn.plan_survey(named, n=1000, share=0.3).rows
        planned[str(named.questions[0].mechanism)] = float(str(rows[-1]["margin"]))
    assert len(found) >= 2
    assert {str(one.mechanism): one.margin for one in found} == pytest.approx(planned)


@pytest.mark.parametrize(
    ("numbers", "laplace", "gaussian", "default"),
    [(6, 52.7, 56.7, None), (7, 61.4, 61.3, 18.3)],
)
def test_gaussian_noise_overtakes_laplace_at_seven_numbers_and_sampling_beats_both(
    numbers: int, laplace: float, gaussian: float, default: float | None
) -> None:
    parts = [{"name": one, "label": one, "minimum": 0, "maximum": 10} for one in "abcdefg"]
    question = survey({"type": "vector", "parts": parts[:numbers]}).questions[0]

    margins = {one.title: round(100 * one.margin, 1) for one in alternatives(question, 1000)}

    assert margins["Laplace"] == laplace
    assert margins["Gaussian with delta 0.00001"] == gaussian
    assert default in (None, margins["one part a person"])


def test_a_mechanism_that_cannot_tell_a_figure_has_no_margin_for_it() -> None:
    number = {"type": "number", "minimum": 0, "maximum": 100, "aim": "distribution"}

    found = {one.title: one.margin for one in alternatives(survey(number).questions[0], 1000)}

    assert found["Gaussian with delta 0.00001"] == inf
    assert found["square wave"] < 0.4


def test_a_question_that_some_devices_draw_has_the_wider_margins_of_fewer_people() -> None:
    question = survey({"type": "yes_no"}).questions[0]

    everybody = alternatives(question, 1000)
    half = alternatives(question, 2000, reports=0.5)

    assert [one.margin for one in half] == pytest.approx([one.margin for one in everybody])


def test_there_is_no_alternative_where_nothing_can_be_chosen() -> None:
    by_type = {one.type: one for one in survey_of_everything().questions}
    assert alternatives(by_type["point"], 1000) == []
    assert alternatives(by_type["product"], 1000) == []
    waves = survey({"type": "yes_no"}, waves={"panel": "p"})
    assert alternatives(waves.questions[0], 1000) == []


@pytest.mark.parametrize(("s", "title"), [(1, "one part a person"), (2, "2 parts a person")])
def test_sampling_says_how_many_parts_a_person_is_asked(s: int, title: str) -> None:
    one = VECTOR["sample"].build([11, 11, 11], Privacy(epsilon=Fraction(1)))
    assert isinstance(one, Vector)

    assert VECTOR["sample"].titled("sample", Vector(s, one.parts)) == title


def test_check_lists_the_alternatives_under_its_margins(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(
        "{name: s, title: T, questions: [{name: fares, type: yes_no, label: L, epsilon: 1},"
        " {name: home, type: point, label: H, epsilon: 1, grid: 4, parts: ["
        "{name: x, label: X, minimum: 0, maximum: 9}, {name: y, label: Y, minimum: 0, maximum: 9}"
        "]}]}"
    )

    shown = CliRunner().invoke(check, [str(file)]).output
    row, point = dn.check_survey(file).rows

    assert row["alternatives"] == "subset selection 6.6, OUE 12.7, RAPPOR 12.6"
    assert f"\nfares: {row['alternatives']}\n" in shown
    assert point["alternatives"] == ""
    assert "home: " not in shown.split("alternatives:")[1].split("\n\n")[0]
