"""Every type of question as an author writes it, and what is published for it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from deniably.authoring.compiling import compile_survey, compile_with_notes, publish_text
from deniably.authoring.survey_files import load_survey
from deniably.core.errors import BadSurvey
from deniably.mechanisms import (
    BoundedLaplace,
    Channel,
    Gaussian,
    Laplace,
    SampledTicks,
    SetResponse,
    SubsetSelection,
    Unary,
    Vector,
    Window,
)
from deniably.survey.questions import Product, SelectOne, YesNo
from support.cases import for_each

PART = {"name": "a", "label": "A", "minimum": 0, "maximum": 10}
OTHER = PART | {"name": "b", "label": "B"}


def one(**question: Any) -> Any:
    """The one question of a survey, published."""
    base = {"name": "q", "label": "Q?", "epsilon": 1}
    asked = {key: value for key, value in (base | question).items() if value is not None}
    return compile_survey({"name": "s", "title": "T", "questions": [asked]}).questions[0]


def why(**question: Any) -> str:
    with pytest.raises(BadSurvey) as refused:
        one(**question)
    return str(refused.value)


@for_each(
    ("question", "kind"),
    [
        ({"type": "yes_no"}, SubsetSelection),
        ({"type": "yes_no", "mechanism": "warner"}, SubsetSelection),
        ({"type": "select_one", "choices": ["a", "b", "c"], "mechanism": "oue"}, Unary),
        ({"type": "yes_no", "epsilon": None, "coins": {"truth": 0.7, "yes": 0.1}}, Channel),
        ({"type": "select_multiple", "choices": list("abcdefgh"), "most": 2}, SetResponse),
        ({"type": "select_multiple", "choices": list("abcdefgh")}, SampledTicks),
        ({"type": "select_multiple", "choices": list("abc"), "mechanism": "rappor"}, Unary),
        ({"type": "scale", "choices": list("abcde")}, SubsetSelection),
        ({"type": "scale", "choices": list("abcde"), "aim": "mean"}, Channel),
        ({"type": "scale", "choices": list("abcde"), "aim": "mean", "mechanism": "window"}, Window),
        ({"type": "scale", "choices": list("abcde"), "mechanism": "exponential"}, BoundedLaplace),
        ({"type": "number", "minimum": 0, "maximum": 100}, Channel),
        ({"type": "number", "minimum": 0, "maximum": 100, "aim": "distribution"}, Window),
        ({"type": "number", "minimum": 0, "maximum": 100, "mechanism": "laplace"}, Laplace),
        (
            {"type": "number", "minimum": 0, "maximum": 9, "mechanism": "bounded_laplace"},
            BoundedLaplace,
        ),
        (
            {"type": "number", "minimum": 0, "maximum": 9, "mechanism": "gaussian",
             "delta": 0.00001},
            Gaussian,
        ),
        ({"type": "vector", "parts": [PART, OTHER]}, Vector),
        ({"type": "vector", "parts": [PART, OTHER], "mechanism": "laplace"}, Vector),
        (
            {"type": "vector", "parts": [PART, OTHER], "mechanism": "gaussian", "delta": 0.0001},
            Gaussian,
        ),
        ({"type": "point", "parts": [PART, OTHER]}, SubsetSelection),
        (
            {"type": "product", "parts": [
                {"name": "a", "label": "A", "choices": ["x", "y"]},
                {"name": "b", "label": "B", "choices": ["u", "v", "w"]}]},
            SubsetSelection,
        ),
    ],
)  # fmt: skip
def test_every_type_gets_a_mechanism_within_its_claim(question: dict[str, Any], kind: type) -> None:
    asked = one(**question)

    assert isinstance(asked.mechanism, kind)
    assert asked.claim.covers(asked.mechanism.loss)


def test_numbers_are_published_exactly() -> None:
    asked = one(type="number", minimum=-1.50, maximum=2, step=0.5, unit="°C")

    assert (asked.range.minimum, asked.range.maximum, asked.range.step) == ("-1.5", "2", "0.5")
    assert asked.range.unit == "°C"
    assert asked.mechanism.k == asked.range.positions == 8
    assert one(type="number", minimum=0, maximum=5, aim="distribution").mechanism.k == 6


def test_categories_are_added_by_name() -> None:
    asked = one(type="yes_no", also=["dont_know", "prefer_not_to_say"])

    assert isinstance(asked, SelectOne)
    assert asked.names == ["yes", "no", "dont_know", "prefer_not_to_say"]


def test_a_question_that_can_be_hidden_can_be_not_applicable() -> None:
    survey = publish_text(
        """
name: s
title: T
questions:
  - {name: a, type: yes_no, label: A, epsilon: 1}
  - {name: b, type: yes_no, label: B, epsilon: 1, show_if: {question: a, is: yes}}
  - {name: c, type: select_multiple, label: C, choices: [x, y], epsilon: 1,
     show_if: {question: b, is: [yes, no]}}
"""
    )

    a, b, c = survey.questions
    assert isinstance(a, YesNo)
    assert isinstance(b, SelectOne)
    assert b.names == ["yes", "no", "not_applicable"]
    assert "not_applicable" in c.names  # type: ignore[union-attr]


@for_each(
    ("question", "sentence"),
    [
        ({"type": "number", "minimum": 0}, "number needs a maximum"),
        ({"type": "number", "minimum": 0, "maximum": 1, "step": 0.3}, "may be 0.9 instead of 1"),
        ({"type": "number", "minimum": 1, "maximum": 0}, "0, has to be above the minimum, 1"),
        ({"type": "number", "minimum": 0, "maximum": 9, "step": 0.000001}, "raise the step"),
        ({"type": "number", "minimum": 0, "maximum": 9, "choices": ["a", "b"]}, "number has no"),
        ({"type": "number", "minimum": 0, "maximum": 9, "buckets": 4}, "aim: distribution"),
        ({"type": "number", "minimum": 0, "maximum": 9, "mechanism": "oue"}, "no mechanism for a"),
        (
            {"type": "number", "minimum": 0, "maximum": 9, "mechanism": "gaussian"},
            "needs a delta",
        ),
        (
            {"type": "number", "minimum": 0, "maximum": 9, "mechanism": "laplace",
             "epsilon": None, "odds": 3},
            "state epsilon instead of odds",
        ),
        ({"type": "yes_no", "mechanism": "laplace"}, "no mechanism for one answer"),
        ({"type": "select_one", "choices": [*"abc"], "mechanism": "warner"}, "two answers"),
        ({"type": "select_multiple", "choices": ["a", "b"], "most": 3}, "has 2 choices"),
        ({"type": "scale", "choices": [*"ab"], "aim": "mean", "also": ["dont_know"]}, "be placed"),
        ({"type": "scale", "choices": ["a", "b"], "scores": [2, 1]}, "ascending"),
        ({"type": "vector"}, "vector needs parts"),
        ({"type": "vector", "parts": [PART, PART]}, "the same name"),
        ({"type": "vector", "parts": [PART, {"name": "b", "label": "B"}]}, "minimum is missing"),
        (
            {"type": "vector", "parts": [PART, OTHER | {"maximum": 20}], "mechanism": "gaussian",
             "delta": 0.0001},
            "same number of steps",
        ),
        ({"type": "point", "parts": [PART, OTHER], "grid": 12}, "finer than the steps"),
        ({"type": "point", "parts": [PART, OTHER, OTHER | {"name": "c"}]}, "has 2 parts"),
        (
            {"type": "product", "parts": [
                {"name": n, "label": n, "choices": [f"c{i}" for i in range(40)]} for n in "ab"]},
            "1600 combinations",
        ),
        ({"type": "yes_no", "epsilon": None, "coins": {"truth": 0.5, "yes": 0}}, "strictly betw"),
        ({"type": "yes_no", "show_if": {"question": "x", "is": "yes"}}, "earlier"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_explained(question: dict[str, Any], sentence: str) -> None:
    assert sentence in why(**question)


# --- budgets ------------------------------------------------------------------------------------


def budgeted(spend: dict[str, Any], *questions: dict[str, Any]) -> Any:
    asked = [{"name": f"q{i}", "label": "Q?"} | q for i, q in enumerate(questions)]
    return {"name": "s", "title": "T", "budget": spend, "questions": asked}


YES_NO: dict[str, Any] = {"type": "yes_no"}
NUMBER: dict[str, Any] = {"type": "number", "minimum": 0, "maximum": 10}


def test_a_small_budget_asks_each_person_one_question() -> None:
    survey, notes = compile_with_notes(budgeted({"epsilon": 1}, YES_NO, NUMBER, YES_NO))

    assert survey.ask == 1
    assert survey.total.at_most_epsilon(Fraction(1))
    assert "Everybody answers 1 of the 3 questions" in notes[0]
    assert "against" in notes[0]


def test_a_large_budget_asks_small_questions_together() -> None:
    survey, notes = compile_with_notes(budgeted({"epsilon": 4}, YES_NO, YES_NO, YES_NO))

    (asked,) = survey.questions
    assert isinstance(asked, Product)
    assert [part.name for part in asked.parts] == ["q0", "q1", "q2"]
    assert "joint report" in notes[0]


def test_what_is_wanted_is_done() -> None:
    assert (
        compile_survey(budgeted({"epsilon": 1, "spend": "split"}, YES_NO, NUMBER))
        .questions[0]
        .claim.epsilon
        == "0.5"
    )
    sampled = compile_survey(budgeted({"epsilon": 2, "spend": "sample", "ask": 2}, *[YES_NO] * 4))
    assert (sampled.ask, sampled.questions[0].claim.epsilon) == (2, "1")


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        (budgeted({"epsilon": 1}, YES_NO | {"epsilon": 1}), "the survey has a budget"),
        (budgeted({"epsilon": 0.05, "spend": "split"}, *[YES_NO] * 9), "0.01 is the least"),
        (budgeted({"epsilon": 1, "spend": "sample"}, YES_NO), "two or more questions"),
        (budgeted({"epsilon": 1, "spend": "sample", "ask": 2}, YES_NO, YES_NO), "ask is less"),
        (
            budgeted({"epsilon": 1, "spend": "sample"}, YES_NO,
                     YES_NO | {"show_if": {"question": "q0", "is": "yes"}}),
            "no show_if",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_spent_is_explained(document: Any, sentence: str) -> None:
    with pytest.raises(BadSurvey, match=sentence):
        compile_survey(document)


QUESTIONS = st.lists(
    st.sampled_from(
        [
            YES_NO,
            {"type": "select_one", "choices": ["a", "b", "c"]},
            {"type": "select_multiple", "choices": ["a", "b", "c", "d"], "most": 2},
            {"type": "scale", "choices": ["a", "b", "c"]},
            NUMBER,
        ]
    ),
    min_size=1,
    max_size=5,
)


@settings(deadline=None, max_examples=20)
@given(QUESTIONS, st.sampled_from([0.5, 1, 2.7, 6]), st.sampled_from(["auto", "split"]))
def test_no_budget_is_ever_overspent(
    questions: list[dict[str, Any]], epsilon: float, spend: str
) -> None:
    survey = compile_survey(budgeted({"epsilon": epsilon, "spend": spend}, *questions))

    assert survey.total.at_most_epsilon(Fraction(str(epsilon)))


# --- delta --------------------------------------------------------------------------------------


TWO_NUMBERS: dict[str, Any] = {"type": "vector", "parts": [PART, OTHER], "delta": 0.00001}


@pytest.mark.parametrize(
    ("question", "kind", "delta"),
    [
        (TWO_NUMBERS, Vector, None),
        (TWO_NUMBERS | {"mechanism": "gaussian"}, Gaussian, "0.00001"),
        (
            {"type": "number", "minimum": 0, "maximum": 9, "mechanism": "gaussian",
             "delta": 0.0001},
            Gaussian, "0.0001",
        ),
    ],
)  # fmt: skip
def test_a_delta_is_claimed_where_the_mechanism_needs_it_and_nowhere_else(
    question: dict[str, Any], kind: type, delta: str | None
) -> None:
    """A vector that allows a delta takes Gaussian noise only where that is the best."""
    asked = one(**question)

    assert isinstance(asked.mechanism, kind)
    assert asked.claim.epsilon == "1"
    assert (asked.claim.delta if delta else asked.claim.delta is UNSET) == (delta or True)
    assert bool(asked.mechanism.loss.delta) == bool(delta)


NAMED = [
    ({"type": "yes_no"}, ("warner", "k_ary", "oue", "rappor", "subset_selection")),
    ({"type": "select_multiple", "choices": [*"abc"]},
     ("set_response", "sampled_ticks", "oue", "rappor")),
    ({"type": "scale", "choices": [*"abcde"]}, ("window", "exponential", "k_ary", "oue")),
    ({"type": "number", "minimum": 0, "maximum": 9},
     ("window", "channel", "laplace", "bounded_laplace")),
    ({"type": "vector", "parts": [PART, OTHER]}, ("laplace", "sample")),
]  # fmt: skip


@for_each(("question", "name"), [(question, name) for question, names in NAMED for name in names])
def test_a_mechanism_by_name_promises_no_delta(question: dict[str, Any], name: str) -> None:
    asked = one(**question, mechanism=name)

    assert asked.claim.delta is UNSET
    assert asked.claim.covers(asked.mechanism.loss)


@pytest.mark.parametrize(
    ("written", "published", "who"),
    [
        ({}, None, "analysts"),
        ({"reports": "analysts"}, None, "analysts"),
        ({"reports": "public"}, "public", "public"),
        ({"reports": "never"}, "never", "never"),
    ],
)
def test_the_default_rule_of_reports_is_not_written_down_so_that_digests_stay(
    written: dict[str, str], published: str | None, who: str
) -> None:
    question = {"name": "q", "label": "Q?", "type": "yes_no", "odds": 3}
    survey = compile_survey(
        {"name": "s", "title": "T", "results": written, "questions": [question]}
    )

    assert survey.results.reports_to == who
    assert msgspec.to_builtins(survey)["results"].get("reports") == published


def test_public_reports_of_results_for_analysts_are_refused() -> None:
    question = {"name": "q", "label": "Q?", "type": "yes_no", "odds": 3}
    results = {"to": "analysts", "reports": "public"}

    with pytest.raises(BadSurvey, match="anybody can work out the results; leave out to"):
        compile_survey({"name": "s", "title": "T", "results": results, "questions": [question]})


FACTS = {
    "controller": "Institute for Work",
    "legal_basis": "consent",
    "retention": "until 2028",
    "consent": "by sending",
}


def test_what_an_author_says_about_the_study_is_a_part_of_what_is_signed() -> None:
    """Respondents read it below the intro, in the survey's language."""
    question = {"name": "q", "type": "yes_no", "label": "Q", "odds": 3}
    plain = {"name": "s", "title": "T", "questions": [question]}

    said = load_survey(plain | FACTS | {"intro": "Welcome.\n"})
    alone = load_survey(plain | {"retention": "bis 2028", "language": "de"})

    assert said.intro == (
        "Welcome.\n\nResponsible for the data: Institute for Work\n\nLegal basis: consent"
        "\n\nHow long it is kept: until 2028\n\nConsent: by sending"
    )
    assert alone.intro == "Wie lange aufbewahrt wird: bis 2028"
    assert load_survey(plain).digest != said.digest
    assert load_survey(plain | {"intro": "Welcome.\n"}).intro == "Welcome.\n"
    with pytest.raises(BadSurvey, match="retention"):
        load_survey(plain | {"retention": " "})
