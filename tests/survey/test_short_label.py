"""What tables, figures and titles call a question."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniably.authoring.compiling import compile_survey
from deniably.core.errors import BadSurvey
from deniably.survey.readable import cut, short_label
from deniably.survey.survey import Survey, read_survey


def asked(**more: Any) -> Survey:
    question = {"name": "q", "type": "yes_no", "label": "Ever?", "epsilon": 1}
    return compile_survey({"name": "s", "title": "T", "questions": [question | more]})


def test_the_author_names_a_question_for_tables_and_figures() -> None:
    survey = asked(label="Have you ever taken anything home from work?", short="Theft at work")

    assert short_label(survey.questions[0]) == "Theft at work"
    assert read_survey(survey.canonical) == survey
    assert survey.digest != asked(label="Have you ever taken anything home from work?").digest


def test_without_it_the_label_is_cut_at_a_word() -> None:
    survey = asked(label="Have you ever taken anything, however small, home from work?")

    assert short_label(survey.questions[0]) == "Have you ever taken anything…"
    assert b"short" not in survey.canonical


@pytest.mark.parametrize(
    ("short", "why"),
    [
        ("x" * 33, "what tables, figures and titles call the question: a text of 1 to 32"),
        ("", "a text of 1 to 32"),
        ("  ", "a text of 1 to 32"),
        (5, "a text of 1 to 32"),
    ],
)
def test_the_author_is_told_what_a_short_label_may_be(short: object, why: str) -> None:
    with pytest.raises(BadSurvey) as refused:
        asked(short=short)

    (problem,) = refused.value.problems
    assert problem.path == "$.questions[0].short"
    assert why in problem.why


@given(st.text(max_size=120))
def test_a_label_is_never_cut_to_more_than_fits_nor_to_words_it_has_not(label: str) -> None:
    text = " ".join(label.split())

    found = cut(label)

    assert len(found) <= 32
    assert found == text if len(text) <= 32 else found.endswith("…")
    assert text.startswith(found.removesuffix("…"))


@pytest.mark.parametrize(
    ("label", "short"),
    [
        ("Donaudampfschifffahrtsgesellschaftskapitän?", "Donaudampfschifffahrtsgesellsch…"),
        ("在过去的十二个月里，您有没有拿过单位的任何东西回家呢？请如实回答，谢谢。", None),
        ("A " + "b" * 60, "A bbbbbbbbbbbbbbbbbbbbbbbbbbbbb…"),
    ],
)
def test_a_label_without_spaces_is_cut_where_it_is_full(label: str, short: str | None) -> None:
    assert cut(label) == (short or f"{label[:31]}…")
