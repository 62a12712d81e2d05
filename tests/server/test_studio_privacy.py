"""The privacy page of a draft: each way is taken as one edit, and is then what it promised."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest
from flask import Flask

from deniably.authoring.compiling import compile_survey
from deniably.design.power import plan_power
from deniably.survey.spending import privacy_spent
from deniably.survey.survey import Survey, read_survey
from deniably_server.guard.app_state import store_of
from support.drafts import accepts, at_limit, draft
from support.modules import Modules
from support.soak import soak
from support.studio import Author, founded, operations_on

VERIFY = """
  const { digest } = await import("/core/canonical.js");
  const { verify } = await import("/survey/survey.js");
  const why = async (one) => verify(one, await digest(one))
    .then(() => "taken", (error) => `${error.name} ${error.message}`);
  return Promise.all(given.map(why));
"""
"""The JavaScript device's own check of a definition."""
EXPERT = re.compile(r"\b(epsilon|odds|delta|mechanism|YAML|token)\b", re.IGNORECASE)


def yes_no(text: str, **privacy: Any) -> dict[str, Any]:
    return {"type": "yes_no", "label": f"{text}?"} | (privacy or {"odds": 3})


FOUR: dict[str, Any] = {
    "name": "spring-26",
    "title": "Work",
    "questions": [
        yes_no("Theft"),
        yes_no("Accident"),
        {"type": "scale", "label": "Safe?", "choices": ["Never", "Often"], "odds": 3},
        {"type": "select_one", "label": "Whom?", "choices": ["Boss", "Union", "Both"], "odds": 3},
    ],
}
TOGETHER = FOUR | {
    "questions": [
        {key: value for key, value in each.items() if key != "odds"} for each in FOUR["questions"]
    ],
    "budget": {"epsilon": 4, "spend": "split"},
}
REFUSED = FOUR | {"questions": [each | {"odds": 7} for each in FOUR["questions"]]}


@pytest.fixture
def author(app: Flask) -> Author:
    return founded(app)


def figures(author: Author, draft_id: str) -> str:
    """The pieces of the page, with all figures."""
    answer = author.get(f"/studio/d/{draft_id}/privacy/figures")
    assert answer.status_code == 200
    return str(answer.text)


def words(page: str) -> str:
    """What people read of a page, but for the fold for experts."""
    page = re.sub(r'<details class="experts">.*?</details>', "", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).split())


def ways(page: str) -> dict[str, str]:
    """The cards of the ways by their ids: the words of each, without its button."""
    cards = re.findall(r'<section class="way".*?id="way-(\w+)"(>.*?)</section>', page, re.DOTALL)
    return {
        id_: words(card).removeprefix(">").replace(" Chosen", "").removesuffix(" Ask it this way")
        for id_, card in cards
    }


def chosen(page: str) -> list[str]:
    return re.findall(r'class="way" aria-current="true" aria-labelledby="way-(\w+)"', page)


def definition(author: Author, draft_id: str) -> Any:
    return author.post(f"/studio/drafts/{draft_id}/definition", {})


def survey_of(answer: Any) -> Survey:
    assert answer.status_code == 200, answer.text
    return read_survey(json.dumps(answer.get_json()["definition"]).encode())


# --- what the page shows ------------------------------------------------------------------------


def test_four_ways_are_side_by_side_with_what_each_costs_and_gives_up(author: Author) -> None:
    page = figures(author, author.begin(FOUR | {"expect": 600}))

    found = ways(page)
    assert list(found) == ["own", "all", "some", "joint"]
    assert chosen(page) == ["own"]
    assert found["some"].startswith("Each device draws 2 of the 4")
    assert "Privacy spent 88 of 100" in found["some"]
    assert "Each question is asked of 1 in 2 people, and each pair of 1 in 6." in found["some"]
    assert "You can see how the answers to two questions go together." in found["own"]
    assert "Only “Undo” makes them single questions again." in found["joint"]


def test_it_says_what_is_learnt_and_how_many_people_a_difference_needs(author: Author) -> None:
    page = words(figures(author, author.begin(FOUR | {"expect": 600})))

    assert "If 30 of 100 people say so" in page
    assert "Theft? 8 of 100 If 30 of 100 people say so" in page, "of which question it is"
    assert page.count("If 30 of 100") == 1
    assert "read between 22 and 38." in page
    assert "With so few people" not in page
    groups = page.partition("To compare two groups")[2]
    assert "Needed 600 show Theft? 3,300 24 of 100 Accident? 3,300 24 of 100" in groups
    assert "Asked openly, without protection 830 12 of 100" in groups


@pytest.mark.parametrize("people", [300, 600, 4000])
def test_the_difference_that_so_many_people_show_is_seen_8_times_in_10(
    author: Author, people: int
) -> None:
    id_ = author.begin(FOUR | {"expect": people})
    page, survey = words(figures(author, id_)), survey_of(definition(author, id_))
    groups = page.partition("To compare two groups")[2]

    for question in survey.questions:
        label = re.escape(question.label)
        (points,) = re.findall(rf"{label} [\d,]+ (\d+) of 100", groups)
        seen, less = (
            min(
                float(row["power"] or 0)
                for row in plan_power(survey, difference=by, n=people, question=question.name).rows
            )
            for by in (int(points) / 100, int(points) / 100 - 0.015)
        )
        assert seen > 0.78
        assert less < 0.8, "and a smaller one is not"


def test_a_number_is_compared_in_its_own_unit(author: Author) -> None:
    hours = {"type": "number", "label": "Hours?", "minimum": 0, "maximum": 60, "unit": "hours"}
    page = words(figures(author, author.begin(FOUR | {"questions": [hours | {"odds": 3}]})))

    assert re.search(r"Hours\? \(by 6 hours\) 3,\d00 14 hours", page)


def test_waves_groups_and_invitations_of_a_file_are_named_with_their_figures(
    author: Author,
) -> None:
    special = {
        "waves": {"panel": "home", "count": 3},
        "strata": {"site": ["north", "south"]},
        "invited": True,
        "questions": [yes_no("Theft", odds=2), yes_no("Accident", odds=2)],
    }
    page = words(figures(author, author.begin(FOUR | special)))
    plain = words(figures(author, author.begin(FOUR)))

    designs = page.partition("Special designs ")[2]
    assert "One of 3 waves of “home” The die is rolled anew in each wave" in designs
    assert "Privacy spent, all waves 84 of 100 Guess from all waves 80" in designs
    assert "2 groups: site north; site south" in designs
    assert "Plus or minus, in one group 17 of 100" in designs
    assert "By invitation Each code is good for one report." in designs
    assert EXPERT.findall(page) == []
    assert "Special designs" not in plain


@pytest.mark.parametrize(("count", "said"), [(1, False), (2, True), (3, False)])
def test_where_all_answers_tell_no_more_than_one_it_says_why(
    author: Author, count: int, said: bool
) -> None:
    id_ = author.begin(FOUR | {"questions": FOUR["questions"][:count]})
    pages = [words(figures(author, id_)), words(author.get(f"/studio/d/{id_}/balance").text)]

    for page in pages:
        assert ("if they contradict each other, it is no better" in page) == said


def test_the_part_of_the_question_on_the_page_is_the_tall_one(author: Author) -> None:
    id_ = author.begin(FOUR)
    page = author.get(f"/studio/d/{id_}/balance?question=q2").text
    heights = re.findall(
        r'<rect(?: class="here")? x="[^"]+" width="[^"]+" y="\d" height="(\d+)"', page
    )

    assert heights == ["8", "16", "8", "8"]
    assert "This question’s part is the tall one." in page
    assert "the tall one" not in figures(author, id_)


@pytest.mark.parametrize(("people", "few"), [(299, True), (300, False)])
def test_below_300_people_it_says_that_this_shows_little(
    author: Author, people: int, few: bool
) -> None:
    page = words(figures(author, author.begin(FOUR | {"expect": people})))

    assert ("With so few people this shows little." in page) == few


def test_the_form_s_own_scale_says_what_a_guesser_gets_right(author: Author) -> None:
    page = words(figures(author, author.begin(FOUR)))

    assert "so many would be right: from one answer 70 to 75 from all 4 85" in page
    assert "50: pure guessing 100: an ordinary survey" in page


@pytest.mark.parametrize(
    "document",
    [
        FOUR,
        TOGETHER,
        REFUSED,
        {"name": "a"},
        {"name": "a", "title": "A", "questions": [yes_no("One")]},
        FOUR | {"budget": "x"},
        FOUR | {"budget": {"epsilon": "NaN"}},
        FOUR | {"budget": {"epsilon": "Infinity"}},
        FOUR | {"budget": [1]},
        TOGETHER | {"budget": {"epsilon": 3}},
        TOGETHER | {"budget": {"epsilon": 10**9}},
    ],
)
def test_only_the_fold_for_experts_has_their_words(author: Author, document: Any) -> None:
    id_ = author.begin(document)
    shell = author.get(f"/studio/d/{id_}/privacy").text
    balance = author.get(f"/studio/d/{id_}/balance").text
    page = figures(author, id_)

    valid = "Not ready yet" not in page
    assert ("Details for experts" in page) == valid
    said = words(shell) + words(page) + words(balance)
    assert ("The reason stands under" in said) is False
    mistakes = re.findall(r"<li class=\"no\">.*?</li>", page + balance)
    for each in mistakes:  # what is wrong in a file, in the words of the file
        said = said.replace(words(each), "")
    assert EXPERT.findall(said) == []


# --- a way that is taken ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "document", [FOUR, TOGETHER, REFUSED, *map(draft, range(5)), soak(draft(5))]
)
def test_a_way_that_is_taken_is_what_it_promised_and_is_taken_back_as_one_edit(
    author: Author, document: dict[str, Any], modules: Modules
) -> None:
    page = figures(author, author.begin(document))
    before = ways(page)
    buttons = operations_on(page.partition('data-part="ways"')[2])
    assert len(buttons) == len(before) - 1
    definitions: list[Any] = []

    for id_, operation in zip(
        [id_ for id_ in before if id_ not in chosen(page)], buttons, strict=True
    ):
        other = author.begin(document)
        answer = author.edit(other, operation)
        assert answer.status_code == 200, answer.text
        taken = figures(author, other)
        assert chosen(taken) == [id_]
        assert ways(taken)[id_] == before[id_], "to the digit"
        published = survey_of(definition(author, other))
        assert f"Privacy spent {privacy_spent(published.total)} of 100" in before[id_]
        assert accepts(published)
        definitions.append(json.loads(published.canonical))
        assert author.edit(other, answer.get_json()["undo"], 2, "undo").status_code == 200
        assert ways(figures(author, other)) == before

    assert modules.compute(VERIFY, definitions) == ["taken"] * len(definitions)


def test_mends_on_the_page_are_accepted_by_both_devices(author: Author, modules: Modules) -> None:
    page = figures(author, author.begin(REFUSED))
    buttons = operations_on(page.partition('data-part="ways"')[0])
    assert len(buttons) == 2
    published: list[Survey] = []
    for operation in buttons:
        other = author.begin(REFUSED)
        assert author.edit(other, operation).status_code == 200
        published.append(survey_of(definition(author, other)))

    assert all(map(accepts, published))
    found = modules.compute(VERIFY, [json.loads(each.canonical) for each in published])
    assert found == ["taken"] * 2


def test_ways_are_taken_one_after_the_other(author: Author) -> None:
    id_ = author.begin(FOUR)
    for number, way in enumerate(("all", "some", "own", "joint", "all", "joint"), 1):
        page = figures(author, id_)
        offered = [each for each in ways(page) if each not in chosen(page)]
        buttons = dict(
            zip(offered, operations_on(page.partition('data-part="ways"')[2]), strict=True)
        )
        assert author.edit(id_, buttons[way], number, f"e{number}").status_code == 200
        assert chosen(figures(author, id_)) == [way]


def test_what_is_joined_twice_has_ids_of_its_own(author: Author) -> None:
    id_ = author.begin(FOUR)
    page = figures(author, id_)
    joint = operations_on(page)[-1]
    assert author.edit(id_, joint).status_code == 200
    for number, name in enumerate(("New", "Newer"), 2):
        added = {"do": "add", "question": f"n{number}", "after": None, "keys": yes_no(name)}
        assert author.edit(id_, added, number, name).status_code == 200

    page = figures(author, id_)
    assert chosen(page) == ["joint"]
    for operation in operations_on(page):
        other = author.begin(FOUR)
        assert author.edit(other, joint).status_code == 200
        for number, name in enumerate(("New", "Newer"), 2):
            added = {"do": "add", "question": f"n{number}", "after": None, "keys": yes_no(name)}
            assert author.edit(other, added, number, name).status_code == 200
        assert author.edit(other, operation, 4, "last").status_code == 200


def test_a_question_that_nobody_joined_keeps_what_somebody_changed_meanwhile(
    author: Author,
) -> None:
    id_ = author.begin(FOUR)
    joint = operations_on(figures(author, id_))[-1]
    hint = {"do": "put", "question": "q3", "key": "hint", "value": "At work"}
    assert author.edit(id_, hint, 1, "hint").status_code == 200
    answer = author.edit(id_, joint, 1, "joint")

    assert answer.status_code == 200
    assert [each.get("hint") for each in answer.get_json()["document"]["questions"]] == [
        None, "At work",
    ]  # fmt: skip
    gone = author.edit(id_, {"do": "put", "question": None, "key": "title", "value": "T"}, 3, "t")
    assert gone.status_code == 200


def test_a_way_is_not_taken_where_somebody_changed_what_it_changes(author: Author) -> None:
    id_ = author.begin(FOUR)
    some = operations_on(figures(author, id_))[1]
    odds = {"do": "put", "question": "q2", "key": "odds", "value": 2}
    assert author.edit(id_, odds, 1, "odds").status_code == 200

    answer = author.edit(id_, some, 1, "some")

    assert (answer.status_code, answer.get_json()["theirs"]) == (409, 2)
    assert chosen(figures(author, id_)) == ["own"]


# --- one protection for all ---------------------------------------------------------------------


def test_where_there_is_one_protection_for_all_the_slider_is_here_and_not_at_a_question(
    author: Author,
) -> None:
    id_ = author.begin(TOGETHER)
    page = author.get(f"/studio/d/{id_}/privacy").text
    question = author.get(f"/studio/d/{id_}?question=q1").text

    assert 'id="budget"' in page
    assert "80 of 100" in page
    assert "Set for all questions together" in question
    assert f'href="/studio/d/{id_}/privacy"' in question
    own = author.get(f"/studio/d/{author.begin(FOUR)}/privacy").text
    assert 'id="budget"' not in own


@pytest.mark.parametrize("spend", ["split", "sample"])
def test_each_stop_of_the_slider_spends_what_it_says(author: Author, spend: str) -> None:
    id_ = author.begin(TOGETHER | {"budget": {"epsilon": 4, "spend": spend}})
    page = author.get(f"/studio/d/{id_}/privacy").text
    (stops,) = re.findall(r'data-stops="([^"]*)"', page)
    (shown,) = re.findall(r'data-shown="([^"]*)"', page)
    assert shown.split()[-1] == "100"

    for epsilon, spent in list(zip(stops.split(), shown.split(), strict=True))[::3]:
        document = TOGETHER | {"budget": {"epsilon": float(epsilon), "spend": spend}}
        found = figures(author, author.begin(document))
        assert f'{spent}<span class="small"> of 100' in found


# --- the limit ----------------------------------------------------------------------------------


@pytest.mark.thorough
def test_of_60_drafts_at_the_limit_exactly_those_are_published_that_devices_take(
    app: Flask, author: Author
) -> None:
    for index in range(60):
        document = at_limit(index) | {"name": f"limit-{index}"}
        taken = accepts(compile_survey(document))
        assert taken == (index // 5 % 3 < 2)
        id_ = author.begin(document)
        page = figures(author, id_)
        assert ("Nobody could answer all of this survey" in page) == (not taken)
        answer = definition(author, id_)
        assert answer.status_code == (200 if taken else 422)
        if taken:
            assert author.publish(id_).status_code == 201
        else:
            body = {"digest": compile_survey(document).digest, "author": "", "signature": ""}
            assert author.post(f"/studio/drafts/{id_}/published", body).status_code == 422

    assert len(store_of(app).names()) == 40
