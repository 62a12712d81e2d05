"""Surveys in waves, as authors write them, and as devices answer them."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniably.authoring.compiling import compile_survey, compile_with_notes
from deniably.core.coins import Coins
from deniably.core.errors import BadAnswer, BadReport, BadSurvey
from deniably.core.loss import Loss
from deniably.estimation.question_shares import shares
from deniably.estimation.tally import Tally
from deniably.mechanisms import Memoised, SetResponse, SubsetSelection, Window
from deniably.survey.questions import YesNo
from deniably.survey.report import make_report, randomise_answers
from deniably.survey.survey import Survey, Waves, read_survey
from deniably.wording.explain import describe_total
from support.cases import for_each
from support.exact_laws import distribution
from support.waves import ANSWERS, EVERY, STOLEN


def panel(*questions: dict[str, Any], history: object = None, **more: Any) -> dict[str, Any]:
    waves: dict[str, object] = {"panel": "workplace", "recognisable": True}
    if history is not None:
        waves["history"] = history
    head = {"name": "workplace-1", "title": "T", "waves": waves}
    return head | {"questions": list(questions)} | more


def problems(document: object) -> list[tuple[str, str]]:
    with pytest.raises(BadSurvey) as refused:
        compile_survey(document)
    return [(problem.path, problem.why) for problem in refused.value.problems]


def mechanism(survey: Survey, index: int = 0) -> Memoised[Any]:
    found = survey.questions[index].mechanism
    assert isinstance(found, Memoised)
    return found


# --- what is published ----------------------------------------------------------------------------


def test_two_lines_make_a_survey_one_wave_of_a_panel() -> None:
    survey = compile_survey(panel(STOLEN))

    assert isinstance(survey.waves, Waves)
    assert survey.waves.panel == "workplace"
    assert mechanism(survey) == Memoised(SubsetSelection(2, 1, 3, 1), 9, 1)
    assert survey.questions[0].report_mechanism == SubsetSelection(2, 1, 3, 1)
    assert survey.total == Loss(Fraction(3))
    assert survey.history == Loss(Fraction(9)), "twice the epsilon, unless another is stated"
    assert read_survey(survey.canonical) == survey


def test_every_type_of_question_but_a_vector_goes_with_waves() -> None:
    """One report promises the same as without waves, and is as accurate for subset selection."""
    survey = compile_survey(panel(*EVERY))
    alone = compile_survey({"name": "s", "title": "T", "questions": EVERY})

    for question, other in zip(survey.questions, alone.questions, strict=True):
        assert question.claim.covers(question.mechanism.loss)
        assert isinstance(question.mechanism, Memoised)
        assert question.claim.covers_history(question.mechanism.history)
        assert question.mechanism.loss.epsilon == pytest.approx(
            other.mechanism.loss.epsilon, rel=1e-5
        )
        if isinstance(other.mechanism, SubsetSelection) and question.name != "home":
            assert question.report_mechanism == other.mechanism
        assert question.mechanism.history.epsilon == pytest.approx(
            3 * question.mechanism.loss.epsilon, rel=1e-4
        )
    assert survey.history.epsilon == pytest.approx(3 * survey.total.epsilon, rel=1e-4)


def test_the_history_is_twice_the_epsilon_or_three_times_where_reports_name_several_choices() -> (
    None
):
    for asked, times in ((EVERY[:1], 2), (EVERY[1:3], 2), (EVERY[:5], 3), (EVERY[7:8], 3)):
        survey, notes = compile_with_notes(panel(*asked))
        assert survey.history.epsilon == pytest.approx(times * survey.total.epsilon, rel=1e-4)
        assert any(f"(history: {times})" in note for note in notes)
    assert not any("history:" in note for note in compile_with_notes(panel(STOLEN, history=2))[1])
    loud = EVERY[7] | {"epsilon": 3.5}  # three times that is more than a question may give away
    assert compile_survey(panel(loud)).history.epsilon == pytest.approx(7, rel=1e-3)


def test_the_author_reads_what_waves_cost_in_accuracy() -> None:
    """Nothing for most questions; a sixth for a mean whose best channel cannot be kept, half for
    two of twenty ticks, and what narrower windows and fewer choices take."""
    many = EVERY[2] | {"choices": [f"c{i}" for i in range(20)]}
    small = EVERY[4] | {"epsilon": 0.5}

    def cost(*asked: dict[str, Any], **waves: object) -> str:
        stated = {"panel": "p", "recognisable": True} | waves
        _, notes = compile_with_notes(panel(*asked, waves=stated))
        return " ".join(note for note in notes if note.startswith("For the same accuracy"))

    assert not cost(*EVERY[:3], *EVERY[4:6])
    assert "income 1.17 times" in cost(EVERY[3])
    assert "took 1.5" in cost(many)
    assert "hours 1.30 times" in cost(small)
    assert "hours 2.3" in cost(small, history=2)
    assert "home 1.17 times" in cost(EVERY[7])
    assert not cost(many, small, EVERY[7], count=3)


def test_a_report_names_as_many_choices_as_the_history_allows() -> None:
    """omega < (H - 1) / (F - 1): what a short history costs in accuracy, a longer one returns."""
    home = EVERY[7]  # 64 areas, of which the best report at epsilon 1 names 17
    once = [
        compile_survey(panel(home, history=history)).questions[0].report_mechanism
        for history in (2, 3, 4)
    ]

    assert [one.omega for one in once if isinstance(one, SubsetSelection)] == [3, 11, 17]
    ticks = EVERY[2] | {"choices": [*"abcdefghijklmnopqrst"], "epsilon": 0.5}
    (asked,) = compile_survey(panel(ticks)).questions
    assert isinstance(asked.report_mechanism, SetResponse)
    assert asked.report_mechanism.size == 1, "of ticks one number is kept, and one is sent"


def test_mechanisms_are_chosen_that_a_kept_answer_can_stand_before() -> None:
    survey = compile_survey(panel(*EVERY))

    kinds = {question.name: type(question.report_mechanism) for question in survey.questions}
    assert kinds["took"] is SetResponse
    assert kinds["income"] is kinds["trust"] is Window


@pytest.mark.parametrize("history", [1.1, 1.5, 2, 3, 10])
def test_the_author_says_how_much_all_waves_may_give_away(history: float) -> None:
    asked = STOLEN | {"epsilon": 1, "odds": None}
    asked = {key: value for key, value in asked.items() if value is not None}
    survey = compile_survey(panel(asked, history=history))

    assert survey.total.epsilon == pytest.approx(1, abs=1e-8)
    assert survey.history.epsilon == pytest.approx(history, rel=1e-5)
    assert survey.history.epsilon <= history


def test_a_budget_is_split_over_a_survey_with_waves() -> None:
    asked = [
        {key: value for key, value in one.items() if key not in ("epsilon", "odds")}
        for one in EVERY[:3]
    ]
    survey, notes = compile_with_notes(panel(*asked, budget={"epsilon": 3}))

    assert survey.asked == 3
    assert survey.total.epsilon == pytest.approx(3, abs=1e-5)
    assert any("Everybody answers all 3 questions" in note for note in notes)


@pytest.mark.parametrize("more", [{}, {"count": 2}])
def test_a_budget_of_small_questions_is_spent_on_one_report_in_waves_too(
    more: dict[str, Any],
) -> None:
    bare = {"name": "stolen", "type": "yes_no", "label": "Have you stolen?"}
    asked = [bare, bare | {"name": "lied", "label": "Have you lied?"}]
    survey, notes = compile_with_notes(
        panel(*asked, budget={"epsilon": 2}, waves={"panel": "workplace"} | more)
    )

    (together,) = survey.questions
    assert together.type == "product"
    assert survey.total.epsilon == pytest.approx(2, abs=1e-5)
    assert any("in one joint report" in note for note in notes)


@for_each(
    ("document", "path", "why"),
    [
        (panel(STOLEN, waves={"history": 2}), "$.waves", "panel is missing"),
        (panel(STOLEN, waves={"panel": "A b"}), "$.waves.panel", "lower-case letters"),
        (panel(STOLEN, waves="workplace"), "$.waves", "one wave of a panel"),
        (panel(STOLEN, history=1), "$.waves.history", "from 1.1 to 100"),
        (panel(STOLEN, history=1.5), "$.waves.history", "a whole number; or state epsilon"),
        (panel(STOLEN, history=20), "$.questions[0]", "10 is the most"),
        (panel(EVERY[1], history=11), "$.questions[0]", "write a smaller history"),
        (panel(EVERY[1] | {"mechanism": "oue"}), "$.questions[0].mechanism", "leave mechanism out"),
        (
            panel(EVERY[2] | {"mechanism": "sampled_ticks"}),
            "$.questions[0].mechanism",
            "no memo is kept with sampled_ticks",
        ),
        (
            panel(EVERY[3] | {"mechanism": "laplace"}),
            "$.questions[0].mechanism",
            "no memo is kept with laplace",
        ),
        (
            panel({
                "name": "v", "type": "vector", "label": "V?", "epsilon": 1,
                "parts": EVERY[7]["parts"],
            }),
            "$.questions[0].type",
            "ask its numbers as separate questions",
        ),
        (
            panel(STOLEN, EVERY[1] | {"show_if": {"question": "stolen", "is": "yes"}}),
            "$.questions[1].show_if",
            "leave show_if out",
        ),
        (
            panel(
                *({key: one[key] for key in ("name", "type", "label")} for one in
                  (STOLEN, STOLEN | {"name": "b", "label": "B?"})),
                budget={"epsilon": 1, "spend": "sample"},
            ),
            "$.budget.spend",
            "write spend: split",
        ),
    ],
)  # fmt: skip
def test_what_does_not_go_with_waves_is_refused_with_the_mend(
    document: dict[str, Any], path: str, why: str
) -> None:
    found = problems(document)

    assert [(at, sentence) for at, sentence in found if at == path and why in sentence], found


def test_what_is_published_without_waves_stays_as_it_was() -> None:
    survey = compile_survey({"name": "s", "title": "T", "questions": [STOLEN]})

    assert b"waves" not in survey.canonical
    assert b"history" not in survey.canonical
    assert survey.history == survey.total


# --- being recognised, and few waves --------------------------------------------------------------


def questions(count: int, choices: int) -> list[dict[str, Any]]:
    names = [f"c{i}" for i in range(choices)]
    return [
        {"name": f"q{i}", "type": "select_one", "label": f"{i}?", "choices": names, "epsilon": 1}
        for i in range(count)
    ]


def of(people: int, waves: int, **more: Any) -> dict[str, Any]:
    return {"panel": "p", "history": 2, "people": people, "waves": waves} | more


def test_a_definition_says_how_many_people_can_be_recognised_where_it_is_worth_saying() -> None:
    quiet, notes = compile_with_notes(panel(*questions(2, 10), waves=of(1000, 2)))
    assert isinstance(quiet.waves, Waves)
    assert quiet.recognised is None
    assert b"recognised" not in quiet.canonical
    assert any(re.search(r"About 0\.\d of 100 people can be recognised", note) for note in notes)
    assert not any("Form and receipt say so" in note for note in notes)

    told, notes = compile_with_notes(panel(*questions(7, 10), waves=of(1000, 2)))
    assert told.recognised is not None
    assert 30 <= told.recognised <= 99
    assert b'"recognised":' in told.canonical
    assert any("Form and receipt say so. Separate invitations" in note for note in notes)
    assert read_survey(told.canonical) == told
    said = f"About {round(told.recognised / 10)} of 100 people in this study can be recognised"
    assert said in describe_total(told)
    assert "Recognised does not mean that an answer is known" in describe_total(told)
    assert "recognised" not in describe_total(quiet)


def test_the_figure_is_of_this_study() -> None:
    """Of ten questions alike: few people, many waves and small strata make more recognisable."""

    def figure(**waves: Any) -> int:
        stated = of(1000, 2, recognisable=True) | waves
        return compile_survey(panel(*questions(10, 2), waves=stated)).recognised or 0

    assert figure() < 50 < figure(people=100) < figure(people=100, waves=5) < figure(people=20)


def test_what_the_author_does_not_say_is_assumed_and_said() -> None:
    survey, notes = compile_with_notes(panel(*questions(5, 2), history=2))
    assert isinstance(survey.waves, Waves)
    assert (survey.waves.smallest_group, survey.waves.number) == (100, 5)
    assumed = "100 people in the panel and 5 waves are assumed: write people and waves under waves."
    assert any(assumed in note for note in notes)

    stated = of(60, 4, recognisable=True)
    _, notes = compile_with_notes(panel(*questions(5, 2), waves=stated))
    assert not any("assumed" in note for note in notes)
    del stated["people"]
    split = panel(*questions(5, 2), waves=stated, strata={"s": ["a", "b"]})
    _, notes = compile_with_notes(split)
    assert any("100 people in the smallest stratum are assumed" in note for note in notes)


def test_known_answers_are_said_to_make_it_worse() -> None:
    stated = of(100, 2, recognisable=True)
    _, notes = compile_with_notes(panel(*questions(10, 10), waves=stated))

    (note,) = [note for note in notes if "can be recognised over 2 waves" in note]
    alone = re.search(r"if all 10 true answers are known, ([\d.]+) of 100 in a single wave", note)
    assert alone
    assert 5 < float(alone[1]) < 40


def test_from_one_in_ten_on_the_author_has_to_ask_for_it() -> None:
    document = panel(*questions(10, 20), waves=of(1000, 2))

    (problem,) = problems(document)
    assert problem[0] == "$.waves"
    people = re.search(r"About (\d+) of 100 people can be recognised over 2 waves", problem[1])
    assert people
    assert 30 <= int(people[1]) <= 50
    assert "write recognisable: true" in problem[1]

    document["waves"]["recognisable"] = True
    assert 300 <= (compile_survey(document).recognised or 0) <= 500
    document["waves"]["recognisable"] = False
    assert problems(document) == [problem]


def at(epsilon: float) -> list[dict[str, Any]]:
    return [question | {"epsilon": epsilon} for question in questions(6, 2)]


def test_two_or_three_waves_are_drawn_afresh_where_memos_would_show_many_people() -> None:
    stated = {"panel": "p", "people": 40, "waves": 3, "recognisable": True}
    few, notes = compile_with_notes(panel(*at(0.5), waves=stated))
    assert few.count == 3
    (note,) = [note for note in notes if note.startswith("Two ways to ask 3 waves.")]
    assert "Taken: fresh chance. Write history or count to choose yourself." in note
    assert "all waves together are epsilon 6.00." in note
    assert "and epsilon 9.00; within 6.00, a wave's standard error would be 1.49 times" in note

    quiet, notes = compile_with_notes(panel(*at(0.5), waves=stated | {"people": 1000}))
    assert quiet.count is None
    assert any("Taken: kept answers" in note for note in notes)
    assert compile_survey(panel(*at(0.5), waves=stated | {"waves": 4})).count is None
    dear = compile_survey(panel(*at(0.6), waves=stated))
    assert dear.count is None, "fresh chance in three waves is 10.8, and devices allow an author 10"


@pytest.mark.parametrize(
    ("waves", "count"),
    [({"waves": 3, "history": 2}, None), ({"count": 3}, 3), ({"count": 3, "history": 2}, None)],
)
def test_an_author_who_chooses_between_memos_and_fresh_chance_is_not_overruled(
    waves: dict[str, Any], count: int | None
) -> None:
    stated = {"panel": "p", "people": 100, "recognisable": True} | waves
    survey, notes = compile_with_notes(panel(*questions(10, 2), waves=stated))

    assert survey.count == count
    assert isinstance(survey.waves, Waves)
    assert survey.waves.number == 3
    assert not any("Two ways" in note for note in notes)


def test_a_number_of_waves_is_said_once() -> None:
    ((path, why),) = problems(panel(STOLEN, waves={"panel": "p", "count": 3, "waves": 3}))

    assert path == "$.waves.waves"
    assert "count says how many waves there are; leave out waves" in why


def test_few_waves_are_drawn_afresh_and_nothing_is_kept() -> None:
    survey = compile_survey(
        panel(*questions(10, 20), waves={"panel": "p", "count": 3, "people": 1000})
    )
    alone = compile_survey({"name": "s", "title": "T", "questions": questions(10, 20)})

    assert survey.count == 3
    assert survey.questions == alone.questions, "and each wave is as accurate as a survey"
    assert survey.history.odds == survey.total.odds**3
    assert survey.recognised is None, "few are alike where nothing is kept"
    assert read_survey(survey.canonical) == survey
    assert "You may be asked the same again, 3 times at most" in describe_total(survey)
    assert "over all times together" in describe_total(survey)


@pytest.mark.parametrize(
    ("waves", "count", "keeps"),
    [
        ({"count": 3}, 3, False), ({"count": 3, "history": 3}, 3, False),
        ({"count": 3, "history": 4}, 3, False), ({"count": 3, "history": 2}, None, True),
        ({"history": 2}, None, True), ({}, None, True),
    ],
)  # fmt: skip
def test_a_memo_is_kept_where_there_are_more_waves_than_the_history_allows(
    waves: dict[str, Any], count: int | None, *, keeps: bool
) -> None:
    survey = compile_survey(panel(STOLEN, waves={"panel": "p"} | waves))

    assert survey.count == count
    assert isinstance(survey.questions[0].mechanism, Memoised) == keeps


@pytest.mark.parametrize("count", [1, 101, 2.5, "2", True])
def test_a_count_of_waves_is_a_whole_number(count: object) -> None:
    ((path, why),) = problems(panel(STOLEN, waves={"panel": "p", "count": count}))

    assert path == "$.waves.count"
    assert "how many waves there are at most, from 2 to 100" in why


def test_every_type_but_a_vector_is_asked_afresh_too() -> None:
    survey = compile_survey(panel(*EVERY, waves={"panel": "p", "count": 2}))

    assert not any(isinstance(one.mechanism, Memoised) for one in survey.questions)
    assert survey.history.epsilon == pytest.approx(2 * survey.total.epsilon)
    forgetful = panel(EVERY[3] | {"mechanism": "laplace"}, waves={"panel": "p", "count": 2})
    assert problems(forgetful)[0][0] == "$.questions[0].mechanism"


# --- what is sent ---------------------------------------------------------------------------------


def test_later_waves_answer_from_the_memos_of_the_first() -> None:
    survey = compile_survey(panel(*EVERY))

    first = make_report(survey, ANSWERS)
    second = make_report(survey, ANSWERS, memos=first.memos)

    first.report.check(survey)
    second.report.check(survey)
    assert second.memos == first.memos
    assert second.report.id != first.report.id
    assert set(first.memos) == {question.name for question in survey.questions}


def test_what_is_said_later_does_not_matter_where_a_memo_is_kept() -> None:
    survey = compile_survey(panel(STOLEN))
    memos = {"stolen": [1]}
    tape = bytes(range(1, 200))

    def sent(answer: str) -> dict[str, list[int]]:
        place = iter(tape)
        coins = Coins(lambda count: bytes(next(place) for _ in range(count)))
        return make_report(survey, {"stolen": answer}, coins, memos=memos).report.values

    assert sent("yes") == sent("no")
    with pytest.raises(BadAnswer):
        make_report(survey, {"stolen": "maybe"})


def test_a_memo_that_is_none_is_refused_before_anything_is_drawn() -> None:
    survey = compile_survey(panel(*EVERY))

    def no_coins(_: int) -> bytes:
        raise AssertionError("a byte was drawn")

    for name, memo in (
        ("stolen", [2]),
        ("dept", []),
        ("took", [8]),
        ("income", [0, 1]),
        ("home", [1, 2, 3]),
    ):
        with pytest.raises(BadReport, match=name):
            make_report(survey, ANSWERS, Coins(no_coins), memos={name: memo})


def test_memos_are_not_sent_nor_printed() -> None:
    survey = compile_survey(panel(STOLEN))

    made = make_report(survey, {"stolen": "yes"}, memos={"stolen": [1]})

    assert "memo" not in made.report.canonical.decode()
    assert "memos" not in repr(made)
    assert randomise_answers(survey, {"stolen": "yes"}).values.keys() == {"stolen"}


# --- what is estimated ----------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.05, 0.3, 0.5, 1.0])
def test_intervals_of_a_wave_cover_by_enumeration(share: float) -> None:
    """Of 60 people the law of the count is binomial with the walked chance of a report; in the
    mean the estimate is the share, its variance the stated one."""
    survey = compile_survey(panel(STOLEN))
    (question,) = survey.questions
    assert isinstance(question, YesNo)
    found = mechanism(survey)
    laws = [distribution(lambda c, a=a: found.randomise(a, c))[(0,)] for a in (0, 1)]
    n, chance = 60, float(share * laws[0] + (1 - share) * laws[1])
    law = stats.binom.pmf(np.arange(n + 1), n, chance)

    estimates = [shares(question, Tally(n, np.array([c, n - c]))) for c in range(n + 1)]
    covered = [one.low[0] <= share + 1e-12 and share - 1e-12 <= one.high[0] for one in estimates]
    raw = np.array([one.raw[0] for one in estimates])

    assert law @ np.array(covered) >= 0.932, "the least of any share, as elsewhere"
    assert law @ raw == pytest.approx(share, abs=1e-12)
    assert law @ raw**2 - share**2 == pytest.approx(chance * (1 - chance) / n * 4, rel=1e-9)


# --- what people read -----------------------------------------------------------------------------


def test_respondents_read_what_one_wave_and_what_all_waves_give_away() -> None:
    sentences = describe_total(compile_survey(panel(STOLEN)))

    assert "at most 3 times" in sentences
    assert "You may be asked the same again." in sentences
    assert "over all times together, however many" in sentences
    assert "at most 9 times" in sentences
    once = compile_survey({"name": "s", "title": "T", "questions": [STOLEN]})
    assert "again" not in describe_total(once)


def test_much_is_called_much_by_the_history() -> None:
    loud = describe_total(compile_survey(panel(STOLEN, history=3)))

    assert "at most 27 times" in loud
    assert loud.endswith("may guess well about you.")


def test_researchers_read_that_an_answer_is_kept() -> None:
    found = mechanism(compile_survey(panel(STOLEN)))

    assert found.described == "subset selection, 1 of 2, of a kept answer"
