"""The pure memory of a device: what it remembers, what it charges, what it refuses."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from deniably.authoring.compiling import publish_text
from deniably.core.errors import BadAnswer, BadMemory, BudgetSpent
from deniably.device.ledger import Limits, share, total_loss
from deniably.device.memory import Memory, answer, mark_sent, read_memory
from deniably.survey.survey import as_survey
from support.every_type import QUESTIONS, survey_of_everything
from support.material import survey_named

SURVEY = survey_named()
ANSWERS = {"stolen": "yes", "often": "never"}
CALL = {"day": "2026-11-21", "limits": Limits()}
WIDE = Limits.of("64")


def answered() -> Memory:
    return answer(Memory(), SURVEY, ANSWERS, **CALL)  # type: ignore[arg-type]


def test_a_survey_answered_again_gives_the_same_report_and_costs_nothing() -> None:
    memory = answered()

    assert answer(memory, SURVEY, {"stolen": "no", "often": "daily"}, **CALL) is memory  # type: ignore[arg-type]


def test_only_changed_answers_are_randomised_and_charged_again() -> None:
    memory = answered()
    before = memory.report(SURVEY.digest)

    after = answer(memory, SURVEY, {"often": "daily"}, changed={"often"}, **CALL)  # type: ignore[arg-type]

    report = after.report(SURVEY.digest)
    assert before is not None
    assert report is not None
    report.check(SURVEY)
    assert report.id != before.id
    assert report.values["stolen"] == before.values["stolen"]
    assert [each.question for each in after.ledger] == ["stolen", "often", "often"]
    assert total_loss(after.ledger).odds == 27


def test_a_change_is_drawn_with_fresh_coins() -> None:
    """Each of 64 changes of a question keeps its set of 2 of 5 with chance below 1/2."""
    memory = answer(Memory(), SURVEY, ANSWERS, day="2026-11-21", limits=Limits.of("64"))
    seen = set()
    for _ in range(54):
        memory = answer(
            memory, SURVEY, {"often": "daily"}, day="2026-11-21", limits=WIDE, changed={"often"}
        )
        report = memory.report(SURVEY.digest)
        assert report
        seen.add(tuple(report.values["often"]))
    assert len(seen) > 1


def test_deltas_have_a_limit_of_their_own() -> None:
    """Eleven promises that fail with a chance of 1 in 10000 each: one too many for one survey."""
    lines = [
        f"  - {{name: q{index}, type: number, label: Q, minimum: 0, maximum: 9, aim: mean,"
        " mechanism: gaussian, epsilon: 0.1, delta: 0.0001}"
        for index in range(11)
    ]
    texts = ["name: many\ntitle: M\nquestions:", *lines]
    survey, fewer = publish_text("\n".join(texts)), publish_text("\n".join(texts[:-1]))
    answers = {f"q{index}": 5 for index in range(11)}
    memory = answer(Memory(), fewer, dict(list(answers.items())[:-1]), **CALL)
    with pytest.raises(BudgetSpent, match=r"delta 0 in this survey, .* add 0\.0011: .* 0\.001$"):
        answer(memory, survey, answers, **CALL)
    assert answer(Memory(), survey, answers, day="2026-11-21", limits=Limits(delta=Fraction(1, 9)))
    loss = total_loss(memory.ledger)
    assert (share(loss, "survey", Limits()), loss.delta) == (100, Fraction(1, 1000))
    assert share(loss, "overall", Limits(delta=Fraction(1, 9))) == 5, "of epsilon, 1 of 20"


def test_a_limit_refuses_before_anything_is_drawn_and_says_what_was_spent() -> None:
    memory = answered()

    with pytest.raises(BudgetSpent, match=r"2\.20 in this survey, .* add 2\.20: .* limit of 4\.3"):
        answer(
            memory, SURVEY, ANSWERS, changed=set(ANSWERS), day="2026-11-22", limits=Limits.of("4.3")
        )


def test_a_hidden_question_changes_with_the_one_that_hides_it() -> None:
    stolen, what, caught = QUESTIONS[:3]
    survey = survey_of_everything(
        questions=[{"claim": {"epsilon": "2"}} | each for each in (stolen, what, caught)]
    )
    given = {"stolen": "yes", "what": "money", "caught": "no"}
    memory = answer(Memory(), survey, given, day="2026-11-21", limits=WIDE)

    with pytest.raises(BadAnswer, match="what"):
        answer(memory, survey, {"stolen": "yes"}, changed=["stolen"], day="2026-11-21", limits=WIDE)
    after = answer(
        memory, survey, {"stolen": "no"}, changed=["stolen"], day="2026-11-21", limits=WIDE
    )

    assert [each.question for each in after.ledger[3:]] == ["stolen", "what"]


def test_a_question_that_was_seen_can_change_alone() -> None:
    stolen, what = QUESTIONS[:2]
    survey = survey_of_everything(
        questions=[{"claim": {"epsilon": "2"}} | each for each in (stolen, what)]
    )
    given = {"stolen": "yes", "what": "money"}
    memory = answer(Memory(), survey, given, day="2026-11-21", limits=WIDE)

    after = answer(
        memory, survey, {"what": "time"}, changed=["what"], day="2026-11-21", limits=WIDE
    )
    with pytest.raises(BadAnswer, match="needs an answer"):
        answer(memory, survey, {}, changed=["what"], day="2026-11-21", limits=WIDE)

    assert [each.question for each in after.ledger[2:]] == ["what"]


@pytest.mark.parametrize("name", ["nobody", "often"])
def test_what_was_not_answered_cannot_have_changed(name: str) -> None:
    with pytest.raises(BadAnswer, match="has not answered it yet"):
        answer(Memory(), SURVEY, ANSWERS, changed=[name], **CALL)  # type: ignore[arg-type]


def test_of_a_survey_that_asks_some_only_what_was_drawn_is_charged() -> None:
    survey = as_survey(json.loads(SURVEY.canonical) | {"ask": 1})
    memory = answer(Memory(), survey, ANSWERS, **CALL)  # type: ignore[arg-type]

    report = memory.report(survey.digest)
    assert report
    assert [each.question for each in memory.ledger] == list(report.values)
    (other,) = {"stolen", "often"} - set(report.values)
    with pytest.raises(BadAnswer, match=other):
        answer(memory, survey, ANSWERS, changed=[other], **CALL)  # type: ignore[arg-type]


def test_only_the_report_that_was_sent_is_marked_so() -> None:
    memory = answered()
    version = SURVEY.digest
    old = memory.reports[version].body
    changed = answer(memory, SURVEY, ANSWERS, changed=["often"], **CALL)  # type: ignore[arg-type]

    assert not memory.reports[version].sent
    assert mark_sent(memory, version, old).reports[version].sent
    assert mark_sent(changed, version, old) is changed
    assert mark_sent(Memory(), version, old) == Memory()


def test_the_document_holds_no_answer_and_is_read_back() -> None:
    memory = answered()

    assert read_memory(memory.canonical) == memory
    for secret in (b"yes", b"never", SURVEY.title.encode()):
        assert secret not in memory.canonical


def test_what_is_no_memory_is_refused_without_a_word_of_it() -> None:
    with pytest.raises(BadMemory) as refused:
        read_memory(answered().canonical.replace(b"stolen", b"1stolen"))

    assert "stolen" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_a_limit_that_is_raised_raises_the_wider_ones() -> None:
    assert Limits.of() == Limits(Fraction(5), Fraction(10), Fraction(20))
    assert Limits.of("15") == Limits(Fraction(15), Fraction(15), Fraction(20))
    assert Limits.of("15", "6", "7") == Limits(Fraction(15), Fraction(6), Fraction(7))
    for wrong in ("0", "-1", "65", "NaN", "many", "1e3"):
        with pytest.raises(ValueError, match="above 0 and at most 64"):
            Limits.of(wrong)
