"""Other ways to ask a survey, and mends: each is compiled, and keeps what it promises."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from deniably.authoring.compiling import compile_survey
from deniably.authoring.quick_check import QuickCheck, quick_check
from deniably.authoring.ways import MOST_MENDS, Operation, changed, widest_margins
from deniably.survey.guessing_rates import guessing, rate_text
from deniably.survey.questions import Product
from deniably.survey.spending import privacy_spent
from deniably.survey.survey import Survey
from support.drafts import accepts, at_limit, draft
from support.modules import Modules
from support.soak import soak
from support.thorough import thorough

VERIFY = """
  const { digest } = await import("/core/canonical.js");
  const { verify } = await import("/survey/survey.js");
  const why = async (one) => verify(one, await digest(one))
    .then(() => "taken", (error) => `${error.name} ${error.message}`);
  return Promise.all(given.map(why));
"""


def yes_no(name: str, **privacy: Any) -> dict[str, Any]:
    return {"name": name, "type": "yes_no", "label": f"{name}?"} | (privacy or {"odds": 3})


def scale(name: str, **privacy: Any) -> dict[str, Any]:
    choices = {"choices": ["never", "at times", "often"]}
    return yes_no(name, **privacy) | {"type": "scale"} | choices


def without_odds(question: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in question.items() if key != "odds"}


def survey_of(*questions: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"name": "s", "title": "S", "questions": list(questions)} | keys


def view_of(document: dict[str, Any]) -> QuickCheck:
    return quick_check(lambda: document, 600)


def after(document: dict[str, Any], operations: list[Operation]) -> Survey:
    return compile_survey(changed(document, operations))


def test_questions_are_not_joined_where_the_others_spend_all() -> None:
    view = view_of(survey_of(*(yes_no(f"q{number}") for number in range(13))))

    assert view.refused
    assert "joint" not in [way.id for way in view.ways]


# --- operations ---------------------------------------------------------------------------------


def test_an_operation_sets_and_removes_a_key_and_removes_a_question() -> None:
    document = survey_of(yes_no("a"), yes_no("b"), intro="Hello")
    found = changed(
        document,
        [
            Operation(None, "intro"),
            Operation(None, "language", "de"),
            Operation("a", "odds"),
            Operation("a", "epsilon", Decimal(1)),
            Operation("b", None),
        ],
    )

    assert found == survey_of(yes_no("a", epsilon=Decimal(1)), language="de")
    assert document == survey_of(yes_no("a"), yes_no("b"), intro="Hello")


def test_an_operation_on_a_question_that_is_not_there_is_no_operation() -> None:
    with pytest.raises(ValueError, match="nobody"):
        changed(survey_of(yes_no("a")), [Operation("nobody", "odds")])


# --- ways ---------------------------------------------------------------------------------------


def test_four_ways_are_compared_at_about_the_same_price() -> None:
    document = survey_of(*map(yes_no, "abc"), scale("d"))

    own, everything, some, joint = view_of(document).ways
    assert [each.label for each in (own, everything, some, joint)] == [
        "Everybody answers all, each with its own protection",
        "Everybody answers all, with one protection for all",
        "Each device draws 2 of the 4",
        "Three questions on one page, as one report",
    ]
    assert [each.used for each in (own, everything, some, joint)] == [88] * 4
    assert [each.chosen for each in (own, everything, some, joint)] == [True, False, False, False]
    assert own.operations == []
    assert own.crosstabs
    assert own.crossed == "You can see how the answers to two questions go together."
    assert after(document, some.operations).asked == 2
    assert some.lost == "Each question is asked of 1 in 2 people, and each pair of 1 in 6."
    assert some.crossed == (
        "You can see how the answers to two questions go together, from those who are asked both."
    )
    product, rest = after(document, joint.operations).questions
    assert isinstance(product, Product)
    assert [part.name for part in product.parts] == ["a", "b", "c"]
    assert rest.name == "d"
    assert set(joint.margins) == {"a", "b", "c", "together", "d"}


def test_one_drawn_question_gives_no_cross_tables() -> None:
    document = survey_of(*map(without_odds, map(yes_no, "ab")), budget={"epsilon": 1})
    by_id = {each.id: each for each in view_of(document).ways}

    assert after(document, by_id["some"].operations).asked == 1
    assert not by_id["some"].crosstabs
    assert by_id["some"].lost == "Each question is asked of 1 in 2 people."
    assert by_id["joint"].crosstabs


def test_numbers_alone_give_no_cross_tables() -> None:
    number = {"type": "number", "minimum": 0, "maximum": 80}
    own, *_ = view_of(survey_of(yes_no("a"), yes_no("b") | number, yes_no("c") | number)).ways

    assert (own.crosstabs, own.crossed) == (
        False,
        "You cannot see how the answers to two questions go together.",
    )


def test_a_question_alone_is_asked_of_everybody() -> None:
    (way,) = view_of(survey_of(yes_no("a"))).ways

    assert (way.id, way.chosen, way.crosstabs) == ("own", True, False)
    assert way.label == "Everybody answers it, with its own protection"


def test_a_question_that_decides_whether_another_is_shown_is_not_joined() -> None:
    shown = scale("d") | {"show_if": {"question": "a", "is": "yes"}}
    by_id = {each.id: each for each in view_of(survey_of(*map(yes_no, "abc"), shown)).ways}

    # Who is asked only some may not see the first one.
    assert list(by_id) == ["own", "all", "joint"]
    assert set(by_id["joint"].margins) == {"a", "b", "c", "d", "together"}
    assert by_id["joint"].label.startswith("Two questions")


def test_a_way_that_is_taken_is_the_chosen_one_and_the_others_lead_on() -> None:
    document = survey_of(*map(yes_no, "abc"), scale("d"))
    for id_ in ("all", "some", "all", "own", "joint", "some", "joint", "all"):
        by_id = {each.id: each for each in view_of(document).ways}
        document = changed(document, by_id[id_].operations)

        assert [each.id for each in view_of(document).ways if each.chosen] == [id_]


def test_back_from_one_protection_for_all_each_question_is_at_a_stop_of_the_slider() -> None:
    document = survey_of(*(without_odds(yes_no(name)) for name in "ab"))
    document["budget"] = {"epsilon": Decimal("2.5"), "spend": "split"}
    own, *_ = view_of(document).ways

    mended = changed(document, own.operations)
    assert [each["odds"] for each in mended["questions"]] == [Decimal(3)] * 2
    assert "budget" not in mended
    assert own.used == 44 <= 50
    low = view_of(document | {"budget": {"epsilon": 1, "spend": "split"}}).ways[0]
    assert [each.value for each in low.operations[1:]] == [Decimal("0.5")] * 2


def test_a_survey_that_devices_refuse_is_shown_as_it_is_beside_ways_that_they_take() -> None:
    ways = view_of(survey_of(*(scale(name, odds=20) for name in "abc"))).ways

    assert [(each.id, each.used) for each in ways] == [("own", 180), ("all", 100), ("some", 100)]
    assert ways[0].chosen


# --- mends --------------------------------------------------------------------------------------


def assert_kept(document: dict[str, Any], view: QuickCheck) -> list[Survey]:
    """Each way and each mend has the figures that it promises; devices take what is mended."""
    assert [each.id for each in view.ways if each.chosen][1:] == []
    for way in view.ways:
        survey = after(document, way.operations)
        assert way.used == privacy_spent(survey.total)
        assert way.margins == widest_margins(survey, 600)
        assert accepts(survey) or (way.chosen and view.refused), way.label
        rates = guessing(survey)
        assert way.one == (rate_text(rates.lowest), rate_text(rates.highest))
        assert (way.all_answers, way.worst) == (
            rate_text(rates.together),
            rate_text(rates.worst),
        )
    mended = [after(document, mend.operations) for mend in view.mends]
    assert len(mended) <= MOST_MENDS
    for mend, survey in zip(view.mends, mended, strict=True):
        assert accepts(survey), mend.label
        assert mend.used == privacy_spent(survey.total) <= 100
        assert mend.margins == widest_margins(survey, 600)
        applied = view_of(changed(document, mend.operations))
        assert applied.used
        assert (applied.refused, applied.mends) == ([], [])
        assert applied.used.total == mend.used
    return mended


def test_a_survey_that_devices_take_needs_no_mend() -> None:
    assert view_of(survey_of(*map(yes_no, "abc"))).mends == []


def test_mends_come_in_order_and_say_what_they_do() -> None:
    document = survey_of(*(yes_no(name, odds=10) for name in "abc"), scale("d", odds=3))
    view = view_of(document)

    assert [each.label for each in view.mends] == [
        "Each device draws 2 of the 4",
        "Protect every answer more: a guess is right at most 75 of 100 times",
        "Three questions on one page, as one report",
    ]
    assert [each.used for each in view.mends] == [80, 88, 80]
    assert view.mends[1].operations == [Operation(name, "odds", Decimal(3)) for name in "abc"]


def test_the_dearest_question_can_be_left_out() -> None:
    document = survey_of(scale("a", odds=20), scale("b"), scale("c"))

    view = view_of(document)
    assert [each.label for each in view.mends][2:] == ["Leave out “a?”"]
    assert view.mends[2].operations == [Operation("a", None)]
    assert [each.name for each in after(document, view.mends[2].operations).questions] == ["b", "c"]


def test_privacy_that_is_written_as_epsilon_or_as_coins_is_mended_too() -> None:
    document = survey_of(
        scale("a", epsilon=Decimal(4)), yes_no("b", coins={"truth": Decimal("0.9")})
    )
    view = view_of(document)

    protect = next(each for each in view.mends if each.label.startswith("Protect"))
    assert [each.key for each in protect.operations] == ["epsilon", "coins", "odds"]
    assert_kept(document, view)


def test_a_budget_is_lowered_to_what_devices_accept() -> None:
    view = view_of(survey_of(scale("a"), scale("b")) | _budget_of(6))

    assert [each.used for each in view.mends] == [80, 100]
    assert view.mends[1].operations == [Operation(None, "budget", {"epsilon": 5, "spend": "split"})]


def _budget_of(epsilon: int) -> dict[str, Any]:
    questions = [without_odds(scale("a")), without_odds(scale("b"))]
    return {"questions": questions, "budget": {"epsilon": epsilon, "spend": "split"}}


def test_a_panel_whose_memos_cost_too_much_is_mended() -> None:
    document = survey_of(*(yes_no(name, odds=7) for name in "ab"), waves={"panel": "p", "waves": 3})
    view = view_of(document)

    assert view.refused
    assert view.mends
    assert_kept(document, view)


@pytest.mark.parametrize("index", [thorough(i) if i % 4 else i for i in range(60)])
def test_below_and_at_the_limit_devices_accept_and_above_it_they_are_mended(index: int) -> None:
    document = at_limit(index)
    view = view_of(document)

    assert accepts(compile_survey(document)) == (not view.refused)
    assert bool(view.refused) == ((index // 5) % 3 == 2)
    assert bool(view.mends) == bool(view.refused)
    assert_kept(document, view)


# Draft 5 has many means, and takes as long as all others.
@pytest.mark.parametrize("seed", [*range(5), soak(5), 6, 7, 8, thorough(9)])
def test_ways_and_mends_of_drafts_keep_what_they_promise(seed: int) -> None:
    assert_kept(draft(seed), view_of(draft(seed)))


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10, 200))
def test_ways_and_mends_of_many_drafts_keep_what_they_promise(seed: int) -> None:
    assert_kept(draft(seed), view_of(draft(seed)))


def test_a_browser_takes_every_mended_definition_and_every_way(modules: Modules) -> None:
    offered = [
        after(document, each.operations)
        for document in (*map(draft, range(10)), *map(at_limit, (10, 26, 42)))
        for view in [view_of(document)]
        for each in (*view.mends, *(way for way in view.ways if not way.chosen))
    ]

    assert len(offered) > 40
    assert set(modules.compute(VERIFY, [json.loads(each.canonical) for each in offered])) == {
        "taken"
    }
