"""The studio over HTTP: who may do what, and what an author writes, signs and closes there."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from deniably.authoring.compiling import compile_survey
from deniably.core.canonical import digest
from deniably.survey.survey import as_survey
from deniably.trust.signing import new_key
from deniably_server.guard import sign_in
from deniably_server.guard.admin_link import first_link
from deniably_server.guard.app_state import store_of
from deniably_server.guard.limits import Limit, limits_of
from deniably_server.guard.session import COOKIE
from deniably_server.storage.store import Store
from deniably_server.storage.tables.teams import new_team
from deniably_server.storage.tables.tokens import day_in, make
from support.studio import OWN_PAGE, Author, founded

PAY: dict[str, Any] = {
    "name": "spring-26",
    "title": "Pay",
    "questions": [{"name": "fair", "type": "yes_no", "label": "Paid fairly?", "odds": 3}],
}


@pytest.fixture
def author(app: Flask) -> Author:
    return founded(app)


@pytest.fixture
def stranger(app: Flask) -> Author:
    return Author(app.test_client())


def why(answer: TestResponse) -> str:
    return str(answer.get_json()["detail"])


# --- first start and sessions -------------------------------------------------------------------


def test_whoever_has_the_link_founds_the_group_once(app: Flask, stranger: Author) -> None:
    secret = first_link(store_of(app)) or ""

    answer = stranger.found(secret)

    assert answer.status_code == 201
    assert answer.get_json()["operator"]["token"].startswith("deniably_")
    cookie = answer.headers["Set-Cookie"]
    assert re.search(r"HttpOnly.*Path=/studio; SameSite=Strict", cookie)
    assert "What do you want to ask?" in stranger.client.get("/studio/").text
    again = Author(app.test_client()).found(secret)
    assert again.status_code == 401
    assert "used already" in why(again)


def test_away_from_this_machine_the_cookie_needs_https(app: Flask) -> None:
    app.config["HOSTS"] = "survey.example.org"
    author = Author(app.test_client())
    secret = first_link(store_of(app)) or ""
    headers = OWN_PAGE | {"Host": "survey.example.org"}
    word = author.client.post("/studio/word", headers=headers).get_json()["word"]
    text = sign_in.text_to_sign("https://survey.example.org", word)
    body = {"secret": secret, "name": "U", "contact": "u", "key": author.key.author, "word": word,
            "signature": author.key.sign_text(text).value}  # fmt: skip

    answer = author.client.post("/studio/start", json=body, headers=headers)

    assert answer.status_code == 201
    assert "; Secure" in answer.headers["Set-Cookie"]


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"secret": "wrong"}, 401),
        ({"signature": "ab" * 64}, 401),
        ({"signature": "no"}, 401),
        ({"word": "123-abc-def"}, 401),
        ({"word": "ä"}, 401),
        ({"key": "ab" * 32}, 401),
        ({"name": ""}, 400),
        ({"name": "a\nb"}, 400),
        ({"contact": "x" * 201}, 400),
    ],
)
def test_a_start_that_is_not_right_leaves_the_link_as_it_was(
    app: Flask, stranger: Author, changes: dict[str, str], status: int
) -> None:
    secret = first_link(store_of(app)) or ""

    assert stranger.found(secret, **changes).status_code == status

    assert stranger.found(secret).status_code == 201


def test_the_signature_signs_in_again_and_out(app: Flask, author: Author) -> None:
    other = Author(app.test_client(), author.key)

    assert other.sign_in().get_json() == {"team": "Harbour Workers' Union"}

    assert other.client.get("/studio/").status_code == 200
    assert other.post("/studio/out", {}).status_code == 204
    assert other.client.get("/studio/").headers["Location"] == "/studio/in"
    assert author.client.get("/studio/").status_code == 200, "the other browser stays signed in"


def test_another_signature_a_used_word_and_another_servers_are_refused(
    app: Flask, author: Author, stranger: Author
) -> None:
    assert "No group of this server" in why(stranger.sign_in())
    used = author.signed_word()
    assert author.post("/studio/in", used).status_code == 200
    assert "used already" in why(author.post("/studio/in", used))
    elsewhere = author.signed_word("https://evil.example")
    assert "not that of the group" in why(author.post("/studio/in", elsewhere))


def test_a_word_is_good_for_ten_minutes(author: Author, monkeypatch: pytest.MonkeyPatch) -> None:
    signed = author.signed_word()
    later = sign_in.time.time() + 601
    monkeypatch.setattr(sign_in.time, "time", lambda: later)

    assert "too long" in why(author.post("/studio/in", signed))


POSTS = [
    ("/studio/drafts", {"document": PAY}),
    ("/studio/drafts/{draft}/edits",
     {"edit": "e", "revision": 1, "operation": {"do": "remove", "question": "q1"}}),
    ("/studio/drafts/{draft}/gone", {"gone": True}),
    ("/studio/drafts/{draft}/trial", {}),
    ("/studio/drafts/{draft}/definition", {}),
    ("/studio/drafts/{draft}/published", {"digest": "", "author": "", "signature": ""}),
    ("/studio/s/spring-26/closed", {"name": "spring-26"}),
]  # fmt: skip
WITHOUT_SESSION = {"/studio/start", "/studio/in", "/studio/out", "/studio/word"}
PAGES = [
    "/studio/",
    "/studio/d/{draft}",
    "/studio/d/{draft}/page",
    "/studio/d/{draft}/try",
    "/studio/d/{draft}/publish",
    "/studio/s/spring-26",
]


def test_every_way_to_change_something_is_tried_here(app: Flask) -> None:
    changing = {
        re.sub(r"<\w+>", "<name>", rule.rule)
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith("/studio/") and "POST" in (rule.methods or ())
    }
    tried = {
        address.replace("{draft}", "<name>").replace("/s/spring-26", "/s/<name>")
        for address, _ in POSTS
    }

    assert changing == tried | WITHOUT_SESSION


@pytest.mark.parametrize(("address", "body"), POSTS)
def test_only_a_page_of_this_server_and_only_who_is_signed_in_may_change_anything(
    app: Flask, author: Author, stranger: Author, address: str, body: object
) -> None:
    draft = author.begin(PAY)
    place = address.format(draft=draft)
    token = store_of(app).studio.signer(author.key.author)
    assert token is not None

    for headers in (
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "http://localhost"},
        {},
    ):
        refused = author.client.post(place, json=body, headers=headers)
        assert (refused.status_code, why(refused)) == (
            403, "The studio takes this from its own pages alone."
        ), headers  # fmt: skip
    assert stranger.post(place, body).status_code == 401
    assert stranger.post(place, body, Authorization="Bearer x").status_code == 401
    store_of(app).revoke_token(token.id)
    assert author.post(place, body).status_code == 401, "a revoked token ends its sessions"
    assert (
        store_of(app).studio.draft(store_of(app).studio.team_of(token.id).id, draft).revision == 1
    )  # type: ignore[union-attr]


def test_without_sec_fetch_site_the_origin_tells_whose_page_it_is(author: Author) -> None:
    answer = author.client.post(
        "/studio/drafts", json={"document": PAY}, headers={"Origin": "http://localhost"}
    )

    assert answer.status_code == 201


@pytest.mark.parametrize("address", PAGES)
def test_a_page_asks_who_is_signed_out_to_sign_in(
    author: Author, stranger: Author, address: str
) -> None:
    draft = author.begin(PAY)

    answer = stranger.client.get(address.format(draft=draft))

    assert (answer.status_code, answer.headers["Location"]) == (303, "/studio/in")


def test_the_cookie_opens_no_api_and_goes_nowhere_else(author: Author) -> None:
    author.client.set_cookie(COOKIE, "x", path="/")

    assert author.client.get("/api/tokens").status_code == 401
    assert author.client.post("/api/surveys", json=PAY).status_code == 401


def test_another_groups_drafts_and_surveys_are_not_told_from_none(
    app: Flask, author: Author
) -> None:
    draft = author.begin(PAY)
    assert author.publish(draft).status_code == 201
    kept = author.begin(PAY | {"name": "b"})
    other = Author(app.test_client())
    store = store_of(app)
    store.set_setting("admin_link", "", replace=True)
    team = new_team("Others", "o", other.key.author)
    assert store.studio.found_team(team, make("author")[0], [], ("admin_link", ""))
    assert other.sign_in().status_code == 200

    for page in ("", "/page", "/page?question=q1", "/try", "/balance", "/publish"):
        assert other.client.get(f"/studio/d/{kept}{page}").status_code == 404
    assert other.post(f"/studio/drafts/{kept}/trial", {}).status_code == 404
    assert other.client.get(f"/studio/drafts/{kept}.yaml").status_code == 404
    assert other.client.get("/studio/s/spring-26").status_code == 404
    assert other.post("/studio/s/spring-26/closed", {"name": "spring-26"}).status_code == 404
    assert kept not in other.client.get("/studio/").text


# --- drafts -------------------------------------------------------------------------------------


def test_a_draft_is_given_out_as_the_file_that_it_came_from(author: Author) -> None:
    text = (
        'name: spring-26\ntitle: "Pay: fair?"\nquestions:\n'
        "  - {name: a, type: yes_no, label: Yes, odds: 2.5}\n"
    )
    began = author.post("/studio/drafts", {"text": text}).get_json()

    file = author.client.get(f"/studio/drafts/{began['id']}.yaml")

    assert file.headers["Content-Disposition"] == 'attachment; filename="spring-26.yaml"'
    again = author.post("/studio/drafts", {"text": file.text}).get_json()
    assert author.client.get(f"/studio/drafts/{again['id']}.yaml").text == file.text
    assert "odds: 2.5" in file.text


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({"text": "a: [b"}, 422, "not closed"),
        ({"text": "just words"}, 422, "keys and their values"),
        ({"document": {"questions": ["x"]}}, 422, "questions are a list"),
        ({"document": {"spec": 1}}, 422, "published survey"),
        ({"document": {"title": "x" * 300_000}}, 422, "at most 262,144 bytes"),
        ({"document": {"questions": [{}] * 101}}, 422, "at most 100 questions"),
        ({"text": 'title: "\\ud800"'}, 422, "lone surrogate"),
        ({"text": '{"title": "\\ud800"}'}, 422, "lone surrogate"),
        ({"text": '{"a": 1E999999999}'}, 422, "at most 20 characters"),
        ({"text": "a: 1e9999"}, 422, "at most 20 characters"),
        ({"wrong": 1}, 400, "The body is"),
    ],
)
def test_what_makes_no_draft_is_refused_and_says_why(
    author: Author, body: object, status: int, says: str
) -> None:
    answer = author.post("/studio/drafts", body)

    assert answer.status_code == status
    assert says in answer.text


def test_an_edit_answers_with_the_newest_revision_and_its_undo(author: Author) -> None:
    draft = author.begin(PAY)

    answer = author.edit(
        draft, {"do": "put", "question": "q1", "key": "label", "value": "Fair?"}
    ).get_json()

    assert answer["revision"] == 2
    assert answer["undo"] == {"do": "put", "question": "q1", "key": "label",
                              "value": "Paid fairly?"}  # fmt: skip
    assert answer["document"]["questions"][0]["label"] == "Fair?"
    clash = author.edit(
        draft, {"do": "put", "question": "q1", "key": "label", "value": "Mine"}, 1, "other"
    )
    assert (clash.status_code, clash.get_json()) == (409, {"theirs": "Fair?", "revision": 2})


@pytest.mark.parametrize("revision", [10**30, 1 << 63, -1, 0, 1.5, "1"])
def test_a_revision_that_can_be_none_is_refused(author: Author, revision: Any) -> None:
    draft = author.begin(PAY)

    answer = author.edit(draft, {"do": "remove", "question": "q1"}, revision)

    assert answer.status_code == 400
    assert "The body is" in why(answer)


def test_a_number_with_a_point_stays_exact(author: Author) -> None:
    draft = author.begin(PAY)

    author.edit(draft, {"do": "put", "question": "q1", "key": "odds", "value": 2.5})
    many = {"do": "put", "question": None, "key": "expect", "value": 10**22}
    large = author.edit(draft, many, 2, "many")

    assert "odds: 2.5\n" in author.client.get(f"/studio/drafts/{draft}.yaml").text
    assert large.status_code == 422


def test_a_group_signs_in_as_long_as_its_token_is_valid(app: Flask, author: Author) -> None:
    token = store_of(app).studio.signer(author.key.author)

    assert token is not None
    assert token.until > day_in(9 * 365)


def test_the_editor_shows_what_it_costs_and_what_is_learnt(author: Author) -> None:
    draft = author.begin(PAY)

    page = author.client.get(f"/studio/d/{draft}?question=q1").text
    balance = author.client.get(f"/studio/d/{draft}/balance?question=q1").text

    assert "Paid fairly?" in page
    assert re.search(r"22<span class=\"small\"> of 100", balance)
    assert "8 of 100" in balance
    assert "If 30 of 100 people say so" in balance
    assert "between 22 and 38" in balance
    assert not re.search(r"\b(epsilon|odds|delta|mechanism|YAML|token)\b", visible(page + balance))


def test_each_browser_of_a_group_has_240_checks_a_minute(app: Flask, author: Author) -> None:
    """The people of a group share its token; none of them uses up what another may ask."""
    limits = limits_of(0, 0, 0)
    app.extensions["deniably_limits"] = replace(limits, checks=Limit(2, clock=lambda: 0.0))
    draft = author.begin(PAY)
    other = Author(app.test_client(), author.key)
    other.sign_in()
    asked = f"/studio/d/{draft}/balance"

    assert [author.client.get(asked).status_code for _ in range(3)] == [200, 200, 429]
    assert other.client.get(asked).status_code == 200


def test_mistakes_are_said_where_they_are(author: Author) -> None:
    draft = author.begin({"name": "a", "questions": [{"type": "select_one", "odds": 3}]})

    balance = author.client.get(f"/studio/d/{draft}/balance").text

    assert "Not ready yet" in balance
    assert "The title: this is still empty" in balance
    assert f'href="/studio/d/{draft}?question=q1"' in balance


def test_a_mend_that_is_offered_is_accepted_and_costs_what_it_says(author: Author) -> None:
    questions = [
        {"name": f"a{number}", "type": "yes_no", "label": f"Q{number}", "odds": 7}
        for number in range(4)
    ]
    draft = author.begin(PAY | {"questions": questions})
    balance = author.client.get(f"/studio/d/{draft}/balance").text
    assert "refuse" in balance
    mends = [json.loads(unescape(text)) for text in re.findall(r'data-mend="([^"]*)"', balance)]
    assert 1 <= len(mends) <= 3

    for number, operations in enumerate(mends):
        other = author.begin(PAY | {"questions": questions})
        for at, operation in enumerate(operations):
            answer = author.edit(other, operation, at + 1, f"mend-{number}-{at}")
            assert answer.status_code == 200, (operation, answer.text)
        mended = author.client.get(f"/studio/d/{other}/balance").text
        assert "data-mend" not in mended
        (spent,) = re.findall(r'<span class="big">(\d+)', mended)
        assert int(spent) <= 100
        assert author.post(f"/studio/drafts/{other}/definition", {}).status_code == 200


def test_a_deleted_draft_is_offered_back(author: Author) -> None:
    draft = author.begin(PAY)
    assert author.post(f"/studio/drafts/{draft}/gone", {"gone": True}).status_code == 204

    assert "Bring it back" in author.client.get("/studio/").text
    assert author.post(f"/studio/drafts/{draft}/gone", {"gone": False}).status_code == 204
    assert "Being written" in author.client.get("/studio/").text


# --- publishing and closing ---------------------------------------------------------------------


def test_a_draft_is_published_with_the_signature_and_listed_with_its_number(
    app: Flask, author: Author
) -> None:
    draft = author.begin(PAY)

    answer = author.publish(draft)

    assert answer.get_json() == {"name": "spring-26", "form": "/s/spring-26"}
    store = store_of(app)
    assert store.author("spring-26") == author.key.author
    home = author.client.get("/studio/").text
    assert 'href="/studio/s/spring-26"' in home
    assert "Being written" not in home
    assert author.client.get("/s/spring-26").status_code == 200


def test_a_draft_that_changed_since_it_was_signed_is_not_published(
    app: Flask, author: Author
) -> None:
    draft = author.begin(PAY)
    shown = author.post(f"/studio/drafts/{draft}/definition", {}).get_json()["definition"]
    signature = author.key.sign(digest(shown))
    author.edit(draft, {"do": "put", "question": None, "key": "title", "value": "Other"})

    answer = author.post(
        f"/studio/drafts/{draft}/published",
        {"digest": digest(shown), "author": signature.author, "signature": signature.value},
    )

    assert answer.status_code == 409
    assert "changed while you looked" in why(answer)
    assert store_of(app).names() == []


def test_no_other_signature_publishes_it(app: Flask, author: Author) -> None:
    draft = author.begin(PAY)
    shown = author.post(f"/studio/drafts/{draft}/definition", {}).get_json()["definition"]
    version, other = digest(shown), new_key()

    for key, signature in (
        (other.author, other.sign(version).value),
        (author.key.author, other.sign(version).value),
    ):
        body = {"digest": version, "author": key, "signature": signature}
        answer = author.post(f"/studio/drafts/{draft}/published", body)
        assert answer.status_code == 422, answer.text

    assert store_of(app).names() == []


def test_what_devices_would_refuse_is_never_published(author: Author) -> None:
    questions = [
        {"name": f"a{number}", "type": "yes_no", "label": "Q", "odds": 20} for number in range(3)
    ]
    draft = author.begin(PAY | {"questions": questions})

    answer = author.post(f"/studio/drafts/{draft}/definition", {})

    assert answer.status_code == 422


def test_an_address_that_is_taken_is_said_before_anything_is_signed(author: Author) -> None:
    assert author.publish(author.begin(PAY)).status_code == 201

    answer = author.post(f"/studio/drafts/{author.begin(PAY)}/definition", {})

    assert (answer.status_code, why(answer)) == (
        409, "The address spring-26 is taken; spring-26-b is another one."
    )  # fmt: skip


def test_a_survey_is_closed_with_its_address_and_too_few_only_all_the_same(
    app: Flask, author: Author
) -> None:
    assert author.publish(author.begin(PAY)).status_code == 201
    page = author.client.get("/studio/s/spring-26").text
    assert "Who has answered" in page
    place = "/studio/s/spring-26/closed"

    assert author.post(place, {"name": "spring"}).status_code == 400
    few = author.post(place, {"name": "spring-26"})
    assert few.status_code == 409
    assert store_of(app).state("spring-26") == "open"
    closed = author.post(place, {"name": "spring-26", "anyway": True})

    assert closed.get_json() == {"reports": None}
    assert store_of(app).state("spring-26") == "closed"
    assert "See the results" in author.client.get("/studio/s/spring-26").text


def test_what_is_published_is_what_the_terminal_would_publish(store: Store, author: Author) -> None:
    draft = author.begin(PAY)
    shown = author.post(f"/studio/drafts/{draft}/definition", {}).get_json()["definition"]

    assert as_survey(shown) == compile_survey(PAY)


def visible(page: str) -> str:
    """The words of a page, without its markup."""
    return re.sub(r"<[^>]*>", " ", page)
