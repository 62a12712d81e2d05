"""Keys that do not go together are refused, with the place and the mend; nothing is ignored."""

from __future__ import annotations

from typing import Any

import pytest

from deniably.authoring.compiling import compile_survey, publish_text
from deniably.core.errors import BadSurvey
from support.cases import for_each

NUMBER: dict[str, Any] = {"type": "number", "minimum": 0, "maximum": 10}
SCALE: dict[str, Any] = {"type": "scale", "choices": list("abcde")}
PART = {"name": "a", "label": "A", "minimum": 0, "maximum": 10}
PARTS = [PART, PART | {"name": "b", "label": "B"}]


def survey(*questions: dict[str, Any]) -> dict[str, Any]:
    asked = [{"name": f"q{i}", "label": "Q?", "epsilon": 1} | q for i, q in enumerate(questions)]
    kept = [{key: value for key, value in q.items() if value is not None} for q in asked]
    return {"name": "s", "title": "T", "questions": kept}


def problems(*questions: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(BadSurvey) as refused:
        compile_survey(survey(*questions))
    return [(problem.path, problem.why) for problem in refused.value.problems]


@for_each(
    ("question", "path", "mend"),
    [
        (NUMBER | {"delta": 0.00001}, ".delta", ": gaussian"),
        (NUMBER | {"delta": 0.00001, "mechanism": "laplace"}, ".delta", ": gaussian"),
        (
            {"type": "vector", "parts": PARTS, "mechanism": "sample", "delta": 0.00001},
            ".delta", ": gaussian",
        ),
        (NUMBER | {"mechanism": "gaussian"}, ".mechanism", "delta: 0.00001"),
        ({"type": "vector", "parts": PARTS, "mechanism": "gaussian"}, ".mechanism", "a delta"),
        (NUMBER | {"beyond": "clamp"}, ".beyond", ": bounded_laplace"),
        (NUMBER | {"beyond": "clamp", "mechanism": "laplace"}, ".beyond", ": bounded_laplace"),
        (
            {"type": "yes_no", "epsilon": None, "coins": {"truth": 0.7}, "mechanism": "oue"},
            ".mechanism", "leave one of the two out",
        ),
        (
            {"type": "yes_no", "epsilon": None, "coins": {"truth": 0.7, "yes": 0.1},
             "mechanism": "warner"},
            ".mechanism", "leave one of the two out",
        ),
        (
            {"type": "yes_no", "epsilon": None,
             "coins": {"truth": "123456789/123456791", "yes": "1/123456797"}},
            ".coins.truth", "fewer digits",
        ),
        (SCALE | {"aim": "mean", "also": ["dont_know"]}, ".also", "aim: distribution"),
        (SCALE | {"aim": "mean", "choices": ["a", "b", "Dont know"]}, ".choices", "be placed on"),
        (SCALE | {"also": ["dont_know"], "mechanism": "window"}, ".mechanism", "subset_selection"),
        (
            SCALE | {"also": ["dont_know"], "mechanism": "exponential"},
            ".mechanism", "subset_selection",
        ),
        (SCALE | {"scores": [1, 2, 3]}, ".scores", "3 integers for 5 choices"),
        ({"type": "point", "parts": [*PARTS, PART | {"name": "c"}]}, ".parts", "2 parts"),
        (
            {"type": "product", "parts": [
                {"name": f"p{i}", "label": f"P{i}", "choices": ["x", "y"]} for i in range(9)]},
            ".parts", "2 to 8 parts",
        ),
        (NUMBER | {"aim": "distribution", "mechanism": "channel"}, "", "allowed are window"),
        (
            {"type": "number", "minimum": 0, "maximum": 5000, "mechanism": "bounded_laplace"},
            "", "take a coarser step",
        ),
        (
            {"type": "number", "minimum": 0, "maximum": 100000, "mechanism": "gaussian",
             "delta": 0.00001},
            "", "take a coarser step",
        ),
        ({"type": "point", "parts": PARTS, "grid": 12}, "", "grid is at most 11 here"),
        (
            {"type": "vector", "parts": [PART, PARTS[1] | {"maximum": 20}], "delta": 0.00001},
            "", "leave delta out",
        ),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(
    question: dict[str, Any], path: str, mend: str
) -> None:
    found = problems(question)

    assert any(p == f"$.questions[0]{path}" and mend in why for p, why in found), found


def test_a_question_that_can_be_hidden_is_no_mean() -> None:
    hidden = SCALE | {"aim": "mean", "show_if": {"question": "q0", "is": "yes"}}

    ((path, why),) = problems({"type": "yes_no"}, hidden)

    assert path == "$.questions[1].show_if"
    assert "aim: distribution" in why


def test_a_condition_names_a_choice_of_an_earlier_question() -> None:
    asked = {"type": "yes_no", "show_if": {"question": "q1", "is": ["yes", "perhaps"]}}

    assert problems(asked, {"type": "yes_no"}) == [
        (
            "$.questions[0].show_if.question",
            "q1 names no earlier yes_no, select_one or scale question",
        )
    ]
    assert (
        problems(NUMBER | {"name": "q1"}, asked | {"name": "q2"})[0][0]
        == "$.questions[1].show_if.question"
    )
    assert problems({"type": "yes_no", "name": "q1"}, asked | {"name": "q2"}) == [
        ("$.questions[1].show_if.is", "perhaps is no choice of q1: yes, no")
    ]


def test_problems_come_in_the_order_of_the_questions() -> None:
    found = problems({"type": "yes_no", "odds": 3}, NUMBER | {"grid": 4})

    assert [path for path, _ in found] == ["$.questions[0]", "$.questions[1].grid"]


def test_problems_of_several_questions_come_together() -> None:
    found = problems(NUMBER | {"mechanism": "oue"}, {"type": "yes_no", "mechanism": "laplace"})

    assert [path for path, _ in found] == ["$.questions[0]", "$.questions[1]"]


def test_the_categories_that_also_adds_need_no_scores() -> None:
    scored = SCALE | {"scores": [0, 10, 20, 30, 40], "also": ["dont_know", "prefer_not_to_say"]}

    (asked,) = compile_survey(survey(scored)).questions

    assert asked.values[:5] == [0, 10, 20, 30, 40]  # type: ignore[union-attr]
    assert len(asked.names) == 7  # type: ignore[union-attr]


def test_a_map_is_no_finer_than_its_parts() -> None:
    coarse = [part | {"maximum": 5} for part in PARTS]

    assert compile_survey(survey({"type": "point", "parts": coarse})).questions[0].grid == 6  # type: ignore[union-attr]
    for epsilon, grid in ((1, 8), (1.5, 10), (4, 16)):
        fine = {"type": "point", "epsilon": epsilon, "parts": [p | {"maximum": 99} for p in PARTS]}
        assert compile_survey(survey(fine)).questions[0].grid == grid  # type: ignore[union-attr]


@pytest.mark.parametrize("epsilon", ["0.01", "10", "0.010", "1e-2"])
def test_the_bounds_themselves_are_allowed(epsilon: str) -> None:
    """The double next to 0.01 is above one hundredth, so they are compared as they are written."""
    text = f"""
name: s
title: T
questions:
  - {{name: q, type: yes_no, label: Q, epsilon: {epsilon}}}
"""
    claim = publish_text(text).questions[0].claim
    assert claim.epsilon in ("0.01", "10")


@pytest.mark.parametrize("epsilon", ["0.0099999", "10.00001", "-1"])
def test_what_is_just_beyond_the_bounds_is_not(epsilon: str) -> None:
    with pytest.raises(BadSurvey, match=r"from 0\.01 to 10"):
        publish_text(
            "name: s\ntitle: T\nquestions:\n"
            f"  - {{name: q, type: yes_no, label: Q, epsilon: {epsilon}}}\n"
        )


# --- what has no place among numbers -----------------------------------------------------------


@pytest.mark.parametrize(
    "key", [{"also": ["prefer_not_to_say"]}, {"show_if": {"question": "first", "is": "yes"}}]
)
@pytest.mark.parametrize(
    ("question", "mend"),
    [
        ({"type": "number", "minimum": 0, "maximum": 9}, "ask it as select_one with ranges"),
        ({"type": "vector", "parts": PARTS}, "ask each part as select_one with ranges"),
        ({"type": "point", "parts": PARTS}, "ask it as select_one with areas"),
        (
            {
                "type": "product",
                "parts": [
                    {"name": "a", "label": "A", "choices": ["x", "y"]},
                    {"name": "b", "label": "B", "choices": ["u", "v"]},
                ],
            },
            "give the parts that need it a choice of their own",
        ),
    ],
)
def test_what_is_no_list_of_choices_says_why_it_has_no_more_of_them(
    question: dict[str, Any], mend: str, key: dict[str, Any]
) -> None:
    first = {"name": "first", "type": "yes_no"}
    ((path, why),) = problems(first, question | key)

    (name,) = key
    assert path == f"$.questions[1].{name}"
    assert why.startswith(f"{question['type']} has no {name}: ")
    assert mend in why
