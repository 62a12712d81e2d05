"""The protection in natural frequencies: computed from the mechanism, and never too rosy."""

import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniably.authoring import publish_text
from deniably.explain import clipped, factor, forward, natural_frequencies, reverse, total
from deniably.mechanisms.subset_selection import k_ary, warner
from every_type import survey_of_everything

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

    assert forward(a) == (
        "If you choose “Yes”, then “Yes” is sent 75 of 100 times, and “No” 25 of 100 times."
    )
    assert forward(b) == (
        "If you choose “x”, then “x” is sent 50 of 100 times, and one of the other answers,"
        " picked at random, 50 of 100 times."
    )
    assert "names 2 of the 5 answers" in forward(c)
    assert "among them 52 of 100 times" in forward(c)
    assert "at most 3 times as likely" in reverse(a)
    assert "at most 9.9 times" in total(SURVEY)


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
        text = f"{forward(question)} {reverse(question)} {clipped(question) or ''}"
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

    assert words in forward(question)


def test_a_promise_that_can_fail_says_so() -> None:
    (fines,) = [q for q in EVERYTHING.questions if q.name == "fines"]

    assert "except with a chance of at most 1 in 100,000" in reverse(fines)
    assert "except with a chance" in total(EVERYTHING)


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

    weak, strong = map(reverse, loud.questions)

    assert "cannot know" not in weak
    assert weak.startswith("This question protects weakly")
    assert "2,981 times as likely" in weak
    assert "cannot know your answer" in strong
    assert total(loud).endswith("may guess well about you.")
    assert "That is much" not in total(SURVEY)
