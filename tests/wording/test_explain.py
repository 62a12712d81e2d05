"""The protection in natural frequencies: computed from the mechanism, and never too rosy."""

import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins

from deniably.authoring.compiling import publish_text
from deniably.mechanisms.memoised import memoised
from deniably.wording.explain import (
    clipped,
    describe_inference,
    describe_sending,
    describe_total,
    factor,
    icon_arrays,
    natural_frequencies,
    practice,
    weak,
)
from support.every_type import survey_of_everything
from support.textbook import k_ary, warner

SURVEY = publish_text(
    """
name: s
title: T
questions:
  - {name: a, type: yes_no, label: A, coins: {truth: 0.5}}
  - {name: b, type: select_one, label: B, choices: [x, y, z], odds: 2}
  - {name: c, type: select_one, label: C, choices: [x, y, z, u, v], epsilon: 0.5}
"""
)


def test_the_sentences_give_the_odds_of_the_mechanism() -> None:
    a, b, c = SURVEY.questions

    assert describe_sending(a) == (
        "If you choose “Yes”, then “Yes” is sent 75 of 100 times, and “No” 25 of 100 times."
    )
    assert describe_sending(b) == (
        "If you choose “x”, then “x” is sent 50 of 100 times, and one of the other answers,"
        " picked at random, 50 of 100 times."
    )
    assert "names 2 of the 5 answers" in describe_sending(c)
    assert "among them 52 of 100 times" in describe_sending(c)
    assert "at most 3 times as likely" in describe_inference(a)
    assert "at most 9.9 times" in describe_total(SURVEY)


@given(st.fractions("1.02", 22026, max_denominator=10**6))
def test_a_printed_number_of_times_is_never_too_small(odds: Fraction) -> None:
    printed = Fraction(factor(odds))

    assert odds <= printed <= odds + 1


@pytest.mark.parametrize("mechanism", [warner(22026, 1), warner(10101, 10000), k_ary(1024, 11, 10)])
def test_neither_never_nor_always_is_claimed(mechanism) -> None:  # type: ignore[no-untyped-def]
    seen = natural_frequencies(mechanism)

    assert 0 < seen.own < seen.out_of


# --- every mechanism ----------------------------------------------------------------------------

EVERYTHING = survey_of_everything()
FORBIDDEN = ("epsilon", "algorithm", "noise", "fake", "false", "lie ", "anonymous")


def test_every_question_is_explained_in_words_that_people_use() -> None:
    for question in EVERYTHING.questions:
        text = (
            f"{describe_sending(question)} {describe_inference(question)} {clipped(question) or ''}"
        )
        assert not any(word in text.lower() for word in FORBIDDEN), text
        assert re.search(r"\d{6}", text.replace(",", "")) is None or "1 in 100,000" in text, text


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("drugs", "An option that you tick is among them 27 of 100 times"),
        ("worries", "Ticked or not is sent as it is 88 of 100 times"),
        ("trust", "79 of 100 times the one nearest to your answer"),
        ("income", "60 of 100 times one of the 3 nearest to your answer"),
        ("caught", "one of 2 signals"),
        ("sick", "larger than 6.93 days"),
        ("fines", "larger than 16.5"),
        ("hours", "picks at random 1 of your 2 numbers"),
        ("home", "names 8 of 64 areas of the map"),
        ("vote", "names 1 of 6 combinations"),
    ],
)
def test_every_mechanism_has_its_own_sentence_with_its_figures(name: str, words: str) -> None:
    (question,) = [q for q in EVERYTHING.questions if q.name == name]

    assert words in describe_sending(question)


def test_a_promise_that_can_fail_says_so() -> None:
    (fines,) = [q for q in EVERYTHING.questions if q.name == "fines"]

    assert "except with a chance of at most 1 in 100,000" in describe_inference(fines)
    assert "except with a chance" in describe_total(EVERYTHING)


def test_what_counts_as_a_bound_is_said_beforehand() -> None:
    by_name = {question.name: question for question in EVERYTHING.questions}

    assert clipped(by_name["drinks"]) == "Numbers below 0 count as 0, numbers above 50 as 50."
    assert "Paid work: 0 to 80" in str(clipped(by_name["hours"]))
    assert clipped(by_name["stolen"]) is None


def test_weak_protection_is_not_called_strong() -> None:
    loud = publish_text(
        "{name: s, title: T, questions: ["
        "{name: a, type: yes_no, label: A, epsilon: 8},"
        " {name: b, type: yes_no, label: B, odds: 20}]}"
    )

    low, high = map(describe_inference, loud.questions)

    assert "can be sure" not in low
    assert low.startswith("This question protects weakly")
    assert "2,981 times as likely" in low
    assert high.startswith("Nobody who sees what was sent can be sure of your answer")
    assert describe_total(loud).endswith("may guess well about you.")
    assert weak(loud.total)
    assert "That is much" not in describe_total(SURVEY)
    assert not weak(SURVEY.total)


def test_strong_answers_that_are_weak_together_are_said_to_be() -> None:
    three = publish_text(
        "{name: s, title: T, questions: ["
        + ", ".join(f"{{name: {name}, type: yes_no, label: A, odds: 3}}" for name in "abc")
        + "]}"
    )

    assert not any(weak(question.mechanism.loss) for question in three.questions)
    assert weak(three.total), "27 times"
    assert describe_total(three).endswith("may guess well about you.")


def test_of_repeated_surveys_the_whole_history_is_stated_and_graded() -> None:
    choices = [{"name": name, "label": name} for name in ("yes", "no")]
    mechanism = to_builtins(memoised(warner(3, 1), Fraction(27)))
    claim = {"odds": "3", "history": {"odds": "27"}}
    question = {"name": "stolen", "type": "yes_no", "label": "A", "choices": choices}
    panel = survey_of_everything(
        waves={"panel": "p"}, questions=[question | {"mechanism": mechanism, "claim": claim}]
    )

    assert "at most 3 times as likely" in describe_total(panel)
    assert "over all times together, however many" in describe_total(panel)
    assert "at most 27 times as likely" in describe_total(panel)
    assert describe_total(panel).endswith("may guess well about you.")


# --- pictures ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "filled"),
    [
        ("stolen", [88]),
        ("drugs", [27, 4]),
        ("worries", [88]),
        ("happy", [65]),
        ("trust", [79]),
        ("income", [60]),
        ("home", [51, 12]),
        ("vote", [60, 8]),
        ("drinks", [79]),
    ],
)
def test_a_picture_has_as_many_dots_as_the_sentence_says(name: str, filled: list[int]) -> None:
    (question,) = [q for q in EVERYTHING.questions if q.name == name]

    pictures = icon_arrays(question)

    assert [picture.own for picture in pictures] == filled
    for picture in pictures:
        assert f"{picture.own} of 100" in describe_sending(question)
        if len(pictures) > 1:
            assert f"{picture.own} of 100" in picture.caption, "two pictures are told apart"


@pytest.mark.parametrize("name", ["caught", "sick", "fines", "hours"])
def test_signals_and_noisy_numbers_have_no_picture(name: str) -> None:
    """No two shares describe them: the picture would say less than the sentence, or mislead."""
    (question,) = [q for q in EVERYTHING.questions if q.name == name]

    assert icon_arrays(question) == []


def test_what_a_hundred_dots_cannot_show_has_no_picture() -> None:
    (loud,) = publish_text(
        "{name: s, title: T, questions: [{name: a, type: yes_no, label: A, epsilon: 8}]}"
    ).questions

    assert "of 10,000 times" in describe_sending(loud)
    assert icon_arrays(loud) == []


def test_the_practice_question_has_the_odds_of_the_first_question_that_has_some() -> None:
    assert practice(SURVEY).loss.odds == 3
    assert practice(EVERYTHING).loss == EVERYTHING.questions[0].mechanism.loss
    numbers = publish_text(
        "{name: s, title: T, questions: [{name: a, type: number, label: A, minimum: 0,"
        " maximum: 9, odds: 2}]}"
    )
    assert practice(numbers).loss.odds == 3, "plain odds of 3 where no question has such"
