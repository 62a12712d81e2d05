"""How many lines of a public list are alone of their kind: the figure, and who is told."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from deniably.authoring.checking import check_survey
from deniably.authoring.compiling import compile_survey
from deniably.core.canonical import canonical
from deniably.core.coins import Coins
from deniably.core.errors import BadSurvey
from deniably.survey.report import make_report
from deniably.survey.survey import Survey
from deniably.survey.unique_reports import lone_share
from deniably.wording.first_page import first_page
from deniably.wording.words import LANGUAGES, Words


def yes_no(count: int) -> list[dict[str, Any]]:
    return [{"name": f"q{i}", "type": "yes_no", "label": f"{i}?", "odds": 3} for i in range(count)]


def choices(count: int, **more: Any) -> list[dict[str, Any]]:
    names = [f"c{i}" for i in range(8)]
    kind = {"type": "select_one", "choices": names, "odds": 3} | more
    return [{"name": f"q{i}", "label": f"{i}?"} | kind for i in range(count)]


def document(questions: list[dict[str, Any]], **results: Any) -> dict[str, Any]:
    return {"name": "s", "title": "T", "questions": questions, "results": results}


def compiled(questions: list[dict[str, Any]], **results: Any) -> Survey:
    return compile_survey(document(questions, **results))


@pytest.mark.parametrize(
    ("questions", "lines", "alone"),
    [(choices(20), 60, 60), (choices(20), 1000, 1000), (yes_no(10), 60, 57),
     (yes_no(10), 1000, 377), (yes_no(5), 60, 9), (yes_no(5), 1000, 0)],
)  # fmt: skip
def test_so_many_lines_are_alone(questions: list[dict[str, Any]], lines: int, alone: int) -> None:
    assert round(lines * lone_share(compiled(questions), lines)) == alone


KINDS: list[list[dict[str, Any]]] = [
    yes_no(4),
    choices(1, type="select_multiple", most=2),
    choices(1, type="select_multiple", most=8),
    choices(1, mechanism="oue", odds=20),
    choices(1, mechanism="rappor", odds=20),
    [{"name": "h", "type": "number", "label": "H?", "minimum": 0, "maximum": 40, "odds": 3,
      "aim": "distribution"}],
    [{"name": "h", "type": "number", "label": "H?", "minimum": 0, "maximum": 9,
      "epsilon": 1, "mechanism": "laplace"}],
]  # fmt: skip


@pytest.mark.parametrize("questions", KINDS, ids=lambda asked: asked[0].get("mechanism", "best"))
def test_of_real_reports_about_as_many_are_alone(questions: list[dict[str, Any]]) -> None:
    """Answers spread evenly. (The same draws in every run.) It is a figure for a sentence. Where
    some reports are more frequent than others, as of RAPPOR, more lines are alone than it says."""
    survey, random = compiled(questions), Random("lines")
    coins, lines = Coins(random.randbytes), 200

    def answer() -> dict[str, Any]:
        (question, *_), names = questions, [f"c{i}" for i in range(8)]
        if question["type"] == "number":
            return {"h": random.randint(0, int(question["maximum"]))}
        if question["type"] == "select_multiple":
            return {"q0": random.sample(names, 2 if question["most"] == 2 else 4)}
        if question["type"] == "select_one":
            return {"q0": random.choice(names)}
        return {each["name"]: random.choice(["yes", "no"]) for each in questions}

    reports = [make_report(survey, answer(), coins).report.values for _ in range(lines)]
    kinds = Counter(canonical(values) for values in reports)
    alone = sum(count == 1 for count in kinds.values()) / lines

    assert alone - 0.2 < lone_share(survey, lines) < alone + 0.05


def test_questions_that_are_drawn_and_strata_tell_more_lines_apart() -> None:
    plain = document(yes_no(6), minimum=50)
    split = plain | {"strata": {"site": ["a", "b", "c", "d"]}}
    drawn = document([question | {"odds": None} for question in yes_no(6)], minimum=50)
    for question in drawn["questions"]:
        del question["odds"]
    drawn["budget"] = {"epsilon": 2, "spend": "sample", "ask": 3}

    shares = [lone_share(compile_survey(written), 200) for written in (plain, split, drawn)]

    assert shares[0] < 0.1 < shares[1] < 0.6
    assert shares[2] > 0.1


def test_a_public_list_with_many_lone_lines_has_to_be_asked_for() -> None:
    with pytest.raises(
        BadSurvey, match="about 100 of 100 lines would be alone of their kind"
    ) as no:
        compiled(choices(20), reports="public")
    assert "write reports: analysts; or linkable: true" in str(no.value)
    assert no.value.problems[0].path == "$.results.reports"

    asked_for = compiled(choices(20), reports="public", linkable=True)
    assert asked_for.results.reports_to == "public"
    assert compiled(yes_no(5), reports="public").results.reports_to == "public"
    with pytest.raises(BadSurvey, match="about 8 of 10 lines"):
        compiled(yes_no(5), reports="public", minimum=1)


@pytest.mark.parametrize("linkable", [True, False])
def test_waves_have_no_public_list(linkable: bool) -> None:
    wave = document(yes_no(2), reports="public", linkable=linkable)
    wave["waves"] = {"panel": "p", "recognisable": True}

    with pytest.raises(BadSurvey, match="in waves everybody could join public lines"):
        compile_survey(wave)


@pytest.mark.parametrize("language", LANGUAGES)
def test_respondents_are_told_how_many_lines_are_alone(language: str) -> None:
    words = Words(language)
    public = compiled(yes_no(10), reports="public", linkable=True)

    assert words("start.lone_lines", alone=91, lines=100) in first_page(public, words).meaning
    few = compiled(yes_no(2), reports="public")
    said = words("start.lone_lines", alone="|", lines="|").partition("|")[0]
    assert not any(text.startswith(said) for text in first_page(few, words).meaning)


def test_authors_are_told_of_the_lines_that_analysts_get() -> None:
    said = str(check_survey(document(choices(20))))
    assert "of 100 exported reports about 100 are alone of their kind" in said
    assert "finds its line. Keep exports to yourself" in said
    wave = document(choices(20)) | {"waves": {"panel": "p", "recognisable": True}}
    assert "finds its line, and in waves what it sent in the others." in str(check_survey(wave))
    for results, questions in (({"reports": "never"}, choices(20)), ({}, yes_no(2))):
        assert "alone of their kind" not in str(check_survey(document(questions, **results)))
