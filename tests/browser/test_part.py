"""A phone with little of its budget left, from the offer of a part to the figures of the survey."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import requests
from playwright.sync_api import Browser

from deniably.authoring.compiling import publish_text
from deniably.survey.report import randomise_answers
from support.material import Server
from support.phone import PHONE, SURVEY, Watched, answer, memory

pytestmark = pytest.mark.browser

FIRST, SECOND = (
    publish_text(SURVEY.replace("workplace", name).replace("epsilon: 0.5", spends))
    for name, spends in (
        ("first", "epsilon: 3.7"),
        ("second", "epsilon: 3.7"),
    )
)
NAMES = ("a", "b", "c")
TEXT = "name: divided\ntitle: T\npart: true\nresults: {minimum: 1, while_open: false}\nquestions:\n"
TEXT += "".join(
    f"  - {{name: {name}, type: yes_no, label: 'Question {name.upper()}', epsilon: 0.3}}\n"
    for name in NAMES
)
DIVIDED = publish_text(TEXT)
DRAWN = publish_text(TEXT.replace("divided", "drawn")
                     .replace("title: T", "title: T\nbudget: {epsilon: 0.6, spend: sample, ask: 2}")
                     .replace(", epsilon: 0.3", ""))  # fmt: skip
REFUSING = publish_text(TEXT.replace("divided", "whole").replace("part: true\n", "part: false\n"))
OFFER = "most of what its limits permit. So it can answer 1 of the {all} questions, drawn by chance"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server") / "deniably.db")
    for survey in (FIRST, SECOND, DIVIDED, DRAWN, REFUSING):
        server.publish(survey)
    yield server
    server.kill()


@pytest.fixture(scope="module")
def phone(chromium: Browser, server: Server) -> Iterator[Watched]:
    """It has answered two surveys: of the 10 for their author 0.4 are left."""
    context = chromium.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    phone = Watched(context.new_page(), server)
    for name in ("first", "second"):
        answer(phone, name)
    yield phone
    context.close()


@pytest.mark.thorough
def test_a_part_is_offered_answered_and_counted(phone: Watched, server: Server) -> None:
    whole = randomise_answers(DIVIDED, dict.fromkeys(NAMES, "yes"))
    assert server.post(DIVIDED, whole).status_code == 201

    phone.open("/s/divided")
    assert OFFER.format(all=3) in " ".join(phone.words("[data-part]").split())
    order = memory(phone)["orders"]
    for _ in range(3):  # to load it again draws nothing again
        phone.open("/s/divided")
        assert memory(phone)["orders"] == order
    phone.press(("button", "Start"))
    asked = phone.heading()
    assert "Question 1 of 1" in phone.text("[data-step=question]:not([hidden]) .progress")
    phone.choose("Yes")
    phone.send()
    phone.wait("receipt")

    kept = memory(phone)
    (name,) = values_of(kept, DIVIDED.digest)
    assert asked.strip() == f"Question {name.upper()}"
    assert name == order[DIVIDED.digest][0]
    assert "orders" not in kept
    assert [one["question"] for one in kept["ledger"] if one["survey"] == "divided"] == [name]
    server.close(DIVIDED)
    found = requests.get(f"{server.url}/api/surveys/divided/results", timeout=30).json()
    assert found["n"] == 2
    assert {one["name"]: one["n"] for one in found["questions"]} == {
        each: 2 if each == name else 1 for each in NAMES
    }


def test_a_part_of_the_drawn_questions(phone: Watched) -> None:
    """After the other test 0.1 are left, and nothing fits; before it, 1 of 2 does."""
    phone.page.goto(f"{phone.url}/s/drawn")

    phone.see(":is([data-step=refused], [data-part]):not([hidden])")

    assert len(memory(phone)["orders"][DRAWN.digest]) == 2


def test_where_the_author_wants_all_or_none_it_is_refused(phone: Watched) -> None:
    phone.page.goto(f"{phone.url}/s/whole")

    phone.wait("refused")

    assert REFUSING.digest not in memory(phone).get("orders", {})


def values_of(kept: dict[str, dict[str, dict[str, str]]], version: str) -> list[str]:
    return list(json.loads(kept["reports"][version]["text"])["values"])
