"""The view of a check says what the other commands, the form and devices say, to the digit."""

from __future__ import annotations

import json
from decimal import Decimal
from math import ceil
from time import process_time
from typing import Any

import pytest
from msgspec.structs import replace

from deniably.authoring.checking import check_survey, refusals
from deniably.authoring.compiling import compile_survey, load
from deniably.authoring.quick_check import LARGEST_N, MOST_SHOWN, QuickCheck, quick_check
from deniably.core.errors import BadSurvey
from deniably.design.plan_table import plan_survey
from deniably.design.planning import plan_figures
from deniably.design.power import plan_power
from deniably.design.stand_ins import standing_in
from deniably.survey.guessing_rates import guessing, rate_text
from deniably.survey.survey import Survey
from deniably.wording.first_page import first_page
from support.drafts import accepts, draft
from support.thorough import thorough

FEW, MANY = range(19), range(19, 200)
COSTLY = (5, 9, 11)
"""Drafts with several means."""
QUICK = [seed for seed in FEW if seed not in COSTLY]


def view_of(document: object, n: int = 600) -> QuickCheck:
    return quick_check(lambda: document, n)


def yes_no(name: str, **privacy: Any) -> dict[str, Any]:
    return {"name": name, "type": "yes_no", "label": f"{name}?"} | (privacy or {"odds": 3})


def survey_of(*questions: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"name": "s", "title": "S", "questions": list(questions)} | keys


FOUR = survey_of(*map(yes_no, ("accident", "alcohol", "drugs", "theft")))


# --- figures ------------------------------------------------------------------------------------


def assert_agrees(view: QuickCheck, survey: Survey, n: int) -> None:
    """With the plan, the guessing scale, the first page and the refusals of the survey."""
    assert view.problems == []
    assert view.digest == survey.digest
    planned = plan_figures(survey, n=n)
    assert {(q.name, f.figure): f.margin for q in view.questions for f in q.figures} == {
        (row.question, row.figure): row.plan.margin for row in planned
    }
    enough = plan_figures(survey, margin=0.05)
    for question in view.questions:
        own = [row.plan.n for row in enough if row.question == question.name]
        assert question.n_for_5 == max(own, default=None)
    rates = guessing(survey)
    assert [question.right for question in view.questions] == [rate_text(one) for one in rates.one]
    assert view.guessing
    assert view.guessing.one == (rate_text(rates.lowest), rate_text(rates.highest))
    assert view.guessing.all == rate_text(rates.together)
    assert view.guessing.worst == rate_text(rates.worst)
    assert view.first_page == first_page(survey).paragraphs
    assert view.refused == refusals(survey)
    assert view.asked == survey.asked
    assert view.used
    assert view.used.total == _of_100(survey.total.epsilon_text())
    assert view.used.each == {
        each.name: _of_100(each.mechanism.loss.epsilon_text()) for each in survey.questions
    }


def _of_100(epsilon: str) -> int:
    return ceil(Decimal(epsilon) * 20)


def assert_draft(seed: int) -> None:
    document = draft(seed)
    survey = compile_survey(document)
    view = view_of(document)
    assert_agrees(view, survey, 600)
    assert accepts(survey) == (not view.refused)


@pytest.mark.parametrize("seed", [*QUICK, *map(thorough, COSTLY)])
def test_a_draft_is_seen_as_it_would_be_published(seed: int) -> None:
    assert_draft(seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", MANY)
def test_many_drafts_are_seen_as_they_would_be_published(seed: int) -> None:
    assert_draft(seed)


@pytest.mark.thorough
def test_the_people_for_a_difference_are_about_those_of_an_exact_plan() -> None:
    mixed = survey_of(
        yes_no("theft"),
        yes_no("hours", odds=7) | {"type": "number", "minimum": 0, "maximum": 60},
        yes_no("who") | {"type": "select_multiple", "choices": list("abcd"), "most": 1},
    )
    view = view_of(mixed)

    exact = plan_power(compile_survey(mixed), difference=0.1, power=0.8).rows
    assert len(exact) == 3
    for question, row in zip(view.questions, exact, strict=True):
        assert question.n_for_difference == pytest.approx(row["n"], rel=0.04)
    assert view.n_openly == pytest.approx(max(row["direct"] for row in exact), rel=0.04)


def test_experts_read_what_check_prints() -> None:
    view = view_of(FOUR)

    checked = check_survey(FOUR)
    assert [(each.question, each.mechanism, each.epsilon) for each in view.experts[:-1]] == [
        (row["question"], row["mechanism"], row["epsilon"]) for row in checked.rows
    ]
    assert (view.experts[-1].question, view.experts[-1].odds) == (None, "81")


@pytest.mark.parametrize("seed", [*range(5), thorough(5)])
def test_without_a_comparison_all_else_is_the_same(seed: int) -> None:
    whole, alone = (quick_check(lambda: draft(seed), 600, compares=each) for each in (True, False))

    assert whole.ways
    assert alone == replace(whole, ways=[])


def test_it_says_what_check_and_plan_say() -> None:
    view = view_of(FOUR)

    assert view.used
    assert (view.used.total, view.used.limit, view.used.waves) == (88, 100, None)
    assert view.used.each == {"accident": 22, "alcohol": 22, "drugs": 22, "theft": 22}
    assert [row["epsilon"] for row in check_survey(FOUR).rows] == ["1.10"] * 4  # 22 / 20
    assert view.guessing
    assert view.guessing.one == (75, 75)
    assert view.guessing.all == 85
    assert view.guessing.worst == 99
    first, *_ = view.questions
    rows = plan_survey(compile_survey(FOUR), n=600).rows
    assert first.figures[0].margin == rows[0]["margin"]
    assert first.figures[0].unit == "share"
    assert first.n_for_5 == 1537


def test_a_further_answer_has_the_margin_that_it_would_have() -> None:
    view = view_of(FOUR)
    more = [one | {"also": ["prefer_not_to_say"]} for one in FOUR["questions"]]
    offered = view_of(FOUR | {"questions": more})

    for before, after in zip(view.questions, offered.questions, strict=True):
        assert before.also == {"prefer_not_to_say": after.figures[0].margin}
        assert after.also == {}


@pytest.mark.parametrize("budget", [{"epsilon": 2, "spend": "sample"}, None])
def test_a_further_answer_of_each_type_has_the_margin_that_it_would_have(budget: Any) -> None:
    privacy = {} if budget else {"odds": 3}
    choices = {"choices": ["one", "two", "three"]}
    questions = [
        {"name": "some", "type": "select_multiple", "label": "Some?", **choices, **privacy},
        {"name": "one", "type": "select_one", "label": "One?", **choices, **privacy},
        {"name": "scale", "type": "scale", "label": "Scale?", **choices, **privacy},
        {"name": "mean", "type": "scale", "label": "Mean?", "aim": "mean", **choices, **privacy},
    ]
    document = survey_of(*questions, **({"budget": budget | {"ask": 2}} if budget else {}))

    view = view_of(document)
    assert [bool(each.also) for each in view.questions] == [True, True, True, False]
    for index in range(3):
        more = [*questions]
        more[index] = more[index] | {"also": ["prefer_not_to_say"]}
        offered = view_of(document | {"questions": more}).questions[index]
        assert view.questions[index].also == {
            "prefer_not_to_say": max(each.margin for each in offered.figures)
        }


def test_a_panel_has_what_all_waves_spend() -> None:
    document = survey_of(yes_no("theft"), waves={"panel": "p", "count": 3})
    view, survey = view_of(document), compile_survey(document)

    assert view.used
    assert view.used.waves == _of_100(survey.history.epsilon_text()) == 66
    assert view.guessing
    assert view.guessing.waves == rate_text(guessing(survey).waves or 0)  # type: ignore[arg-type]


def test_a_survey_at_the_limit_spends_100_and_one_above_it_more() -> None:
    spent = [
        view_of(survey_of(yes_no("a", epsilon=Decimal(first)), yes_no("b", epsilon=Decimal("2.5"))))
        for first in ("2.49", "2.5", "2.500001")
    ]

    assert [view.used and view.used.total for view in spent] == [100, 100, 101]
    assert [bool(view.refused) for view in spent] == [False, False, True]


def test_numbers_of_its_json_are_those_of_the_values() -> None:
    heavy = survey_of(yes_no("a", odds=113))
    view = view_of(heavy)
    found = json.loads(view.json, parse_float=Decimal)

    assert found["questions"][0]["right"] == Decimal("99.2")
    assert found["guessing"]["one"] == [Decimal("99.2")] * 2
    margin = found["questions"][0]["figures"][0]["margin"]
    assert float(margin) == view.questions[0].figures[0].margin
    assert list(found) == [
        "digest", "problems", "more", "used", "refused", "guessing", "asked", "questions",
        "n_openly", "experts", "ways", "mends", "no_mixer", "designs", "notes", "first_page",
        "languages", "about",
    ]  # fmt: skip


@pytest.mark.parametrize("n", [0, -1, LARGEST_N + 1])
def test_no_other_number_of_respondents_is_taken(n: int) -> None:
    with pytest.raises(ValueError, match="give 1 to 1,000,000,000"):
        view_of(FOUR, n)


# --- drafts with mistakes -----------------------------------------------------------------------


def test_a_draft_with_mistakes_has_its_problems_and_nothing_else() -> None:
    wrong = survey_of(yes_no("a") | {"choices": ["x", "y"]}, yes_no("a", odds=3, epsilon=1))

    view = view_of(wrong)
    assert view.digest is None
    assert view.used is None
    assert [(each.path, each.code) for each in view.problems] == [
        ("$.questions[0].choices", "unknown-key"),
        ("$.questions[1]", "impossible"),
        ("$.questions[1].name", "impossible"),
    ]
    with pytest.raises(BadSurvey) as refused:
        compile_survey(wrong)
    assert [each.why for each in view.problems] == [each.why for each in refused.value.problems]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("[" * 40 + "]" * 40, "unreadable"),
        ('{"name": "a"', "unreadable"),
        ('{"name": "s", "title": "S", "questions": [], "colour": 1}', "unknown-key"),
        ('{"questions": [{"name": "a", "type": "riddle", "label": "A"}]}', "not-allowed"),
        ('{"name": "s", "title": "\\u202e", "questions": []}', "control-character"),
        ('{"questions": ' + "[" * 40 + "]" * 40 + "}", "not-allowed"),
        ('{"title": ' + "[" * 900 + "]" * 900 + "}", "not-allowed"),
    ],
)  # fmt: skip
def test_each_mistake_has_a_code_and_a_sentence(text: str, code: str) -> None:
    view = quick_check(lambda: load(text))

    assert code in [each.code for each in view.problems]
    assert all(each.why and "\n" not in each.why for each in view.problems)


def test_a_hundred_and_one_questions_are_one_sentence() -> None:
    view = view_of(survey_of(*(yes_no(f"q{i}") for i in range(101))))

    (problem,) = view.problems
    assert problem.why == "a list of 101; allowed is a list of 1 to 100 questions"
    assert view.more == 0


def test_of_thousands_of_broken_questions_50_are_shown_and_the_others_counted() -> None:
    began = process_time()
    view = view_of(survey_of(*[{"name": "9", "label": "What?", "type": "yes_no"}] * 5_000))

    assert process_time() - began < 2
    assert len(view.problems) == MOST_SHOWN == 50
    assert view.more == 1 + 5_000 - 50  # the list itself is too long, too
    assert view.problems[0].path == "$.questions"
    assert [each.path for each in view.problems[1:3]] == [
        "$.questions[0].name",
        "$.questions[1].name",
    ]


def test_a_hostile_draft_of_256_kb_is_read_in_bounded_time() -> None:
    began = process_time()
    view = view_of({"name": "s", "title": "S", "questions": [[]] * 120_000})

    assert process_time() - began < 4
    assert len(view.problems) == 50


# --- means --------------------------------------------------------------------------------------


def number(name: str, maximum: int, **privacy: Any) -> dict[str, Any]:
    return {
        "name": name, "type": "number", "label": f"{name}?", "minimum": 0, "maximum": maximum,
    } | (privacy or {"odds": 3})  # fmt: skip


def test_where_a_design_is_not_known_a_window_stands_in() -> None:
    document = survey_of(number("hours", 60), yes_no("theft"))
    exact = view_of(document)

    with standing_in(lambda _: None) as stand_ins:
        about = quick_check(lambda: document, 600, stand_ins)

    assert [key.positions for key in stand_ins.missing] == [61] * len(stand_ins.missing)
    assert about.about
    assert about.digest is None
    assert about.used == exact.used
    ratio = about.questions[0].figures[0].margin / exact.questions[0].figures[0].margin
    assert 0.93 < ratio < 1.1
    assert about.questions[1] == exact.questions[1]
    assert not exact.about


def test_with_the_designs_that_were_missing_it_is_exact() -> None:
    from deniably.design.mean_design import best_for_mean

    document = survey_of(number("hours", 60), yes_no("theft"))
    with standing_in(lambda _: None) as stand_ins:
        quick_check(lambda: document, 600, stand_ins)
    found = {key: best_for_mean(*key).mechanism for key in stand_ins.missing}
    with standing_in(found.get) as stand_ins:
        again = quick_check(lambda: document, 600, stand_ins)

    assert again == view_of(document)
    assert stand_ins.missing == []


def test_twenty_different_means_are_about_right_at_once() -> None:
    document = survey_of(*(number(f"n{i}", 10 + i, odds=2 + i) for i in range(20)))
    began = process_time()
    with standing_in(lambda _: None) as stand_ins:
        view = quick_check(lambda: document, 600, stand_ins)

    assert process_time() - began < 2
    assert view.about
    assert len(view.questions) == 20
