"""A draft with a mixer in the studio: its offer, what the pages say, and how it is published."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import msgspec
import pytest
from flask import Flask

from deniably.core.canonical import digest
from deniably.trust.envelope import new_opening_key
from deniably.trust.mixer_offer import make_offer
from deniably.trust.signing import Key, fingerprint, new_key
from deniably_server.guard.app_state import store_of
from deniably_server.storage.tables.tokens import make
from support.studio import Author, founded, operations_on

EXPERT = re.compile(r"\b(epsilon|odds|delta|mechanism|YAML|token)\b", re.IGNORECASE)
QUESTIONS = [
    {"type": "yes_no", "label": "Theft?", "odds": 3},
    {"type": "yes_no", "label": "Accident?", "odds": 3},
    {"type": "scale", "label": "Safe?", "choices": ["Never", "Often"], "odds": 3},
]
DRAFT: dict[str, Any] = {
    "name": "spring-26", "title": "Work", "contact": "Union", "questions": QUESTIONS,
    "expect": 600,
}  # fmt: skip
ADDRESS = "https://mixer.example.net"
BY = "Works council"


def an_offer(address: str = ADDRESS, signing: Key | None = None) -> dict[str, Any]:
    made = make_offer(signing or new_key(), address, BY, new_opening_key().public)
    return dict(msgspec.to_builtins(made))


def through(offer: object, **mixer: Any) -> dict[str, Any]:
    """A draft that goes through a mixer."""
    plain = [{key: each[key] for key in each if key != "odds"} for each in QUESTIONS]
    return DRAFT | {"questions": plain, "mixer": {"offer": offer, "odds": 3} | mixer}


@pytest.fixture
def author(app: Flask) -> Author:
    return founded(app)


def words(page: str) -> str:
    """What people read of a page, but for the fold for experts."""
    page = re.sub(r'<details class="experts">.*?</details>', "", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).split())


def figures(author: Author, id_: str) -> str:
    answer = author.get(f"/studio/d/{id_}/privacy/figures")
    assert answer.status_code == 200
    assert EXPERT.findall(words(answer.text)) == []
    return str(answer.text)


def way(page: str) -> str:
    """The card of the way through the mixer; empty where there is none."""
    found = re.search(r'<section class="way"[^>]*aria-labelledby="way-mixer">.*?</section>', page,
                      re.DOTALL)  # fmt: skip
    return words(found[0]) if found else ""


def with_key(author: Author, id_: str, revision: int = 1) -> str:
    """Puts a key of the server's into the draft, as the page does."""
    answer = author.post(f"/studio/drafts/{id_}/envelope-key", {})
    assert answer.status_code == 201
    assert answer.headers["Cache-Control"] == "no-store"
    key = str(answer.json["open"])
    document = author.edit(id_, {"do": "put", "question": None, "key": "expect", "value": 601},
                           revision, "see").json["document"]  # fmt: skip
    put = {"do": "put", "question": None, "key": "mixer",
           "value": document["mixer"] | {"open": key}}  # fmt: skip
    assert author.edit(id_, put, revision + 1, "key").status_code == 200
    return key


def why(answer: Any) -> list[tuple[str, str]]:
    assert answer.status_code == 422, answer.text
    return [(each["path"], each["why"]) for each in answer.json["errors"]]


# --- the offer ----------------------------------------------------------------------------------


def test_an_offer_makes_a_way_beside_the_others_which_is_taken_with_one_press(
    author: Author,
) -> None:
    signing = new_key()
    id_ = author.begin(DRAFT | {"offer": an_offer(signing=signing)})
    page = figures(author, id_)

    assert "Privacy spent 22 of 100" in way(page)
    assert "Both, from one answer 89" in way(page)
    assert f"an offer of {BY} , {ADDRESS}, number {fingerprint(signing.author)}" in words(page)
    (press,) = (one for one in operations_on(page) if "mixer" in str(one) and one["do"] == "all")
    edited = author.edit(id_, press)
    assert edited.status_code == 200
    after = figures(author, id_)
    assert 'aria-current="true" aria-labelledby="way-mixer"' in after
    assert "If the mixer and this server work together against people" in words(after)
    assert "groups cannot be compared" in words(after)

    assert author.edit(id_, edited.json["undo"], 2, "back").status_code == 200
    assert figures(author, id_) == page


def test_who_leaves_the_mixer_keeps_its_offer(author: Author) -> None:
    offer = an_offer()
    id_ = author.begin(through(offer))
    page = figures(author, id_)
    away = [one for one in operations_on(page) if one["do"] == "all"]

    assert len(away) == 4
    for number, one in enumerate(away, 1):
        other = author.begin(through(offer))
        found = author.edit(other, one, 1, f"e{number}").json["document"]
        assert "mixer" not in found
        assert found["offer"] == offer
        assert "Ask it this way" in way(figures(author, other))


def test_an_offer_waits_in_the_draft_and_is_never_published(author: Author) -> None:
    id_ = author.begin(DRAFT | {"offer": an_offer()})

    assert "mixer" not in author.get(f"/studio/drafts/{id_}.yaml").text
    assert "mixer" not in author.definition(id_)


@pytest.mark.parametrize("offer", ["offer.json", 5, [], {"by": "Nobody"}, {}])
def test_what_is_no_offer_is_a_sentence(author: Author, offer: object) -> None:
    page = figures(author, author.begin(DRAFT | {"offer": offer}))

    assert "This is no offer of a mixer." in words(page)
    assert way(page) == ""


@pytest.mark.parametrize("key", ["address", "by", "key", "signing", "signature"])
def test_an_offer_that_was_changed_is_a_sentence(author: Author, key: str) -> None:
    other = an_offer("https://other.example") | {"by": "Somebody else"}
    page = figures(author, author.begin(DRAFT | {"offer": an_offer() | {key: other[key]}}))

    assert "Somebody changed this offer" in words(page)
    assert way(page) == ""


def test_an_offer_of_this_very_host_is_a_sentence_and_is_not_published(author: Author) -> None:
    own = an_offer("http://localhost:80")
    page = figures(author, author.begin(DRAFT | {"offer": own}))
    assert "This mixer is on the machine of this very server." in words(page)
    assert way(page) == ""

    id_ = author.begin(through(own))
    with_key(author, id_)
    ((path, sentence),) = why(author.post(f"/studio/drafts/{id_}/definition", {}))
    assert path == "$.mixer.offer"
    assert "somebody else runs it" in sentence
    assert "this very server" in words(author.get(f"/studio/d/{id_}/publish").text)


def test_what_does_not_go_through_a_mixer_is_a_sentence(author: Author) -> None:
    id_ = author.begin(DRAFT | {"offer": an_offer(), "waves": {"panel": "home"}})

    assert "This survey cannot go through it: a survey with a mixer cannot have waves" in words(
        figures(author, id_)
    )


# --- the editor ---------------------------------------------------------------------------------


def test_the_editor_says_both_guesses_and_what_the_slider_of_a_question_is_about(
    author: Author,
) -> None:
    id_ = author.begin(through(an_offer()))
    balance = words(author.get(f"/studio/d/{id_}/balance?question=q1").text)
    page = words(author.get(f"/studio/d/{id_}?question=q1").text)

    assert "Privacy spent 22 of 100" in balance
    assert re.search(r"right at most: from one answer \d+ from all 3 75", balance)
    assert "work together against people: from one answer 89 from all 3 9" in balance
    assert "they are right at most 89 of 100 times" in page
    assert EXPERT.findall(balance + page) == []


def test_the_form_of_the_draft_is_tried_out(author: Author) -> None:
    id_ = author.begin(through(an_offer()))
    page = author.get(f"/studio/d/{id_}/page").text

    assert "form/page-trial-mixed.js" in page
    assert f"The sealed answers go to a second party, {BY}, which cannot open them." in words(page)
    assert "The server alone: one answer" in words(page)


# --- publishing ---------------------------------------------------------------------------------


def test_a_survey_is_published_with_a_key_of_the_server(app: Flask, author: Author) -> None:
    offer = an_offer()
    id_ = author.begin(through(offer))
    assert why(author.post(f"/studio/drafts/{id_}/definition", {}))[0][0] == "$.mixer.open"
    key = with_key(author, id_)
    definition = author.definition(id_)

    assert {name: definition["mixer"][name] for name in ("address", "by", "key", "signing")} == {
        name: offer[name] for name in ("address", "by", "key", "signing")
    }
    assert definition["mixer"]["open"] == key
    assert author.publish(id_).status_code == 201
    assert store_of(app).survey("spring-26").digest == digest(definition)


@pytest.mark.parametrize("change", [{"open": new_opening_key().public}, {"open": None}])
def test_a_key_that_is_not_the_servers_is_refused(author: Author, change: dict[str, Any]) -> None:
    mixer = {key: value for key, value in change.items() if value}
    id_ = author.begin(through(an_offer(), **mixer))

    assert [path for path, _ in why(author.post(f"/studio/drafts/{id_}/definition", {}))] == [
        "$.mixer.open"
    ]
    signed = author.key.sign("0" * 64)
    body = {"digest": "0" * 64, "author": signed.author, "signature": signed.value}
    assert why(author.post(f"/studio/drafts/{id_}/published", body))


def test_an_offer_is_for_one_survey(author: Author) -> None:
    offer = an_offer()
    id_ = author.begin(through(offer))
    with_key(author, id_)
    assert author.publish(id_).status_code == 201

    page = words(figures(author, author.begin(DRAFT | {"offer": offer})))
    assert "You published “Work” with this offer." in page
    again = json.loads(author.post("/studio/s/spring-26/again", {}).text)["id"]
    assert "You published “Work” with this offer." in words(figures(author, again))
    assert "open" not in author.get(f"/studio/drafts/{again}.yaml").text


def test_only_the_own_page_of_a_member_gets_a_key(app: Flask, author: Author) -> None:
    id_ = author.begin(through(an_offer()))
    address = f"/studio/drafts/{id_}/envelope-key"

    assert author.post(address, {}, **{"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert Author(app.test_client()).post(address, {}).status_code == 401
    assert author.post("/studio/drafts/none/envelope-key", {}).status_code == 404
    token, text = make("author")
    store_of(app).add_token(token)
    bearer = {"Authorization": f"Bearer {text}"}
    assert app.test_client().post(address, json={}, headers=bearer).status_code in (401, 403)


# --- following ----------------------------------------------------------------------------------


@pytest.fixture
def published(author: Author) -> Author:
    id_ = author.begin(through(an_offer()))
    with_key(author, id_)
    assert author.publish(id_).status_code == 201
    return author


def test_the_page_of_an_open_survey_alone_may_ask_the_mixer(published: Author) -> None:
    page = published.get("/studio/s/spring-26")
    policy = page.headers["Content-Security-Policy"]

    assert f"connect-src 'self' {ADDRESS};" in policy
    assert "trusted-types studio" in policy
    assert len(page.headers.getlist("Content-Security-Policy")) == 1
    assert "Asking the mixer …" in page.text
    assert ADDRESS not in published.get("/studio/").headers["Content-Security-Policy"]


def test_it_is_closed_without_a_count_and_waits_for_the_mixer(
    app: Flask, published: Author
) -> None:
    open_ = words(published.get("/studio/s/spring-26").text)
    assert f"Then {BY} passes the answers on" in open_
    definition = json.loads(published.client.get("/api/surveys/spring-26").text)

    assert published.close("spring-26", definition).status_code == 200
    page = published.get("/studio/s/spring-26")
    assert f"The mixer of {BY} has not passed on the answers yet." in words(page.text)
    assert "See the results" not in page.text
    assert ADDRESS not in page.headers["Content-Security-Policy"]
