"""The first page: who asks, how long it takes, and what its figures mean."""

from __future__ import annotations

from fractions import Fraction

import pytest

from deniably.authoring.compiling import publish_text
from deniably.survey.survey import Survey
from deniably.wording.first_page import first_page, so_many, who_asks
from deniably.wording.words import LANGUAGES, Words
from support.every_type import survey_of_everything

QUESTION = "{name: q%s, type: yes_no, label: Q, odds: 2}"


def survey(count: int = 1, more: str = "") -> Survey:
    questions = ", ".join(QUESTION % number for number in range(count))
    return publish_text(f"{{name: s-1, title: T, {more} questions: [{questions}]}}")


@pytest.mark.parametrize(
    ("contact", "who"),
    [
        ("Dr. Ana Ruiz, ana.ruiz@example.org, +49 30 1234567", "Dr. Ana Ruiz"),
        ("A. Researcher, University of Somewhere", "A. Researcher, University of Somewhere"),
        ("Institute for Work; https://example.org; 030 123 45 67", "Institute for Work"),
        ("Ana Ruiz <ana@example.org>\\nRoom 12, 030 1234567", "Ana Ruiz"),
        ("Studie 2026 - www.example.org", "Studie 2026"),
        ("ana@example.org", ""),
        ("X" * 81, ""),
    ],
)
def test_who_asks_is_named_without_addresses_and_numbers(contact: str, who: str) -> None:
    asked = survey(more=f'contact: "{contact}",')

    assert who_asks(asked) == who
    assert first_page(asked).by == (f"{who} · " if who else "") + (
        "1 question, about 1 minute, voluntary"
    )
    assert contact.replace("\\n", "\n") in first_page(asked).own


def test_without_a_contact_nobody_is_named() -> None:
    assert first_page(survey(7)).by == "7 questions, about 4 minutes, voluntary"


def test_where_some_questions_are_asked_so_many_are_counted() -> None:
    text = "budget: {epsilon: 2, spend: sample, ask: 2},"
    some = publish_text(
        f"{{name: s, title: T, {text} questions: ["
        + ", ".join(f"{{name: q{i}, type: yes_no, label: Q}}" for i in range(6))
        + "]}"
    )

    page = first_page(some)

    assert page.by == (
        "2 of 6 questions, picked by chance on this device, about 1 minute, voluntary"
    )
    assert [mark.label for mark in page.marks] == [
        "from one answer that is sent",
        "from all 2 that are sent",
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_figure_of_the_scale_is_explained(language: str) -> None:
    for one in (survey(3), survey(3, "waves: {panel: s, count: 4},"), survey_of_everything()):
        page = first_page(one, Words(language))
        explained = " ".join(page.meaning)

        for mark in page.marks:
            assert mark.value in explained, mark.label
            assert Fraction(1, 2) <= mark.low <= mark.high <= 1
        places = [(mark.low + mark.high) / 2 for mark in page.marks]
        assert places == sorted(places)


def test_one_answer_is_not_compared_with_all() -> None:
    page = first_page(survey())

    assert [mark.label for mark in page.marks] == ["from one answer that is sent"]
    assert not any("stories" in text for text in page.meaning)


def test_waves_have_a_mark_of_their_own_and_say_that_the_same_is_asked_again() -> None:
    page = first_page(survey(2, "waves: {panel: s, count: 4},"))

    assert [mark.label for mark in page.marks] == [
        "from one answer that is sent",
        "from all 2 that are sent",
        "from all waves together",
    ]
    assert any("4 times at most" in text for text in page.meaning)


def test_an_upper_bound_is_said_to_be_one() -> None:
    bound = Words("en")("guess.bound")

    assert bound in first_page(survey_of_everything()).meaning
    assert bound not in first_page(survey(6)).meaning


def test_what_can_be_done_is_offered_where_it_can() -> None:
    offered = publish_text(
        "{name: s, title: T, questions: [{name: a, type: yes_no, label: A, odds: 2,"
        " also: [prefer_not_to_say]}]}"
    )
    prefer = (
        "You can choose “Prefer not to say” where it is offered: it is randomised like any answer."
    )

    assert prefer in first_page(offered).meaning
    assert prefer not in first_page(survey()).meaning
    assert first_page(survey()).meaning[-1].startswith("You can practise first.")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_line_says_who_gets_what_is_sent_and_that_no_name_goes_with_it(language: str) -> None:
    words = Words(language)
    keys = {"analysts": "", "public": "results: {reports: public},",
            "never": "results: {reports: never},"}  # fmt: skip
    said = {who: words(f"start.reports_{who}", who="Works Council") for who in keys}

    assert len(set(said.values())) == 3
    for who, key in keys.items():
        asked = survey(more=f'contact: "Works Council, +49 30 1234567", {key}')
        assert first_page(asked, words).cues[1] == said[who]
        unnamed = first_page(survey(more=key), words).cues[1]
        assert unnamed == words(f"start.reports_{who}", who=words("start.researchers"))


def test_the_worst_case_is_said_with_how_often_it_happens_and_never_alone() -> None:
    """Six answers with odds of 2: the die leaves all to (2/3)^6 of the people, 8.8 of 100."""
    page = first_page(survey(6))

    worst = next(text for text in page.meaning if "99 % sure" in text)

    assert "to 9 of 100 people at most" in worst
    assert "odds of 64 to 1" in worst
    assert not [mark for mark in page.marks if "99" in mark.value], "it stands in the fold alone"


@pytest.mark.parametrize(
    ("chance", "people"),
    [
        (Fraction(1), (100, 100)),
        (Fraction(11, 16), (69, 100)),
        (Fraction(1, 100), (1, 100)),
        (Fraction(1, 101), (10, 1000)),
        (Fraction(1, 1729), (6, 10_000)),
        (Fraction(1, 10**12), (1, 1_000_000)),
    ],
)
def test_a_chance_is_said_as_so_many_of_so_many_people(
    chance: Fraction, people: tuple[int, int]
) -> None:
    assert so_many(chance) == people
