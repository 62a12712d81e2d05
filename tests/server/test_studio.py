"""The studio over HTTP: who may do what, and what an author writes, signs and closes there."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from html import unescape
from string import ascii_lowercase
from typing import Any, NamedTuple

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from deniably.authoring.compiling import compile_survey
from deniably.core.canonical import digest
from deniably.survey.survey import as_survey
from deniably.trust.sign_in_request import sign_in_message
from deniably.trust.signing import new_key
from deniably_server.errors import Conflict
from deniably_server.guard import sign_in
from deniably_server.guard.admin_link import first_link
from deniably_server.guard.app_state import store_of
from deniably_server.guard.rate_limits import Limit, limits_of
from deniably_server.guard.session import COOKIE
from deniably_server.storage.store import Store
from deniably_server.storage.studio import DraftSource
from deniably_server.storage.tables.deeds import Doer
from deniably_server.storage.tables.teams import new_team
from deniably_server.storage.tables.tokens import ROLES, Role, day_in, make
from deniably_server.studio.addresses import free_address
from support.material import new_token
from support.studio import OWN_PAGE, Author, founded, operations_on

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
    text = sign_in_message("https://survey.example.org", word)
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
    assert other.client.get("/studio/").headers["Location"] == "/studio/in#/studio/"
    assert author.client.get("/studio/").status_code == 200, "the other browser stays signed in"


def test_who_is_signed_out_is_led_back_to_the_page_and_not_out_of_the_studio(
    app: Flask, author: Author
) -> None:
    draft = author.begin(PAY)
    stranger = app.test_client()

    for place in (f"/studio/d/{draft}?question=q1", f"/studio/d/{draft}/privacy"):
        assert stranger.get(place).headers["Location"] == f"/studio/in#{place}"
    hostile = stranger.get(f"/studio/d/{draft}?question=%0d%0aSet-Cookie:%20a=b").headers
    assert "Set-Cookie" not in hostile
    assert "\n" not in hostile["Location"]


def test_another_signature_a_used_word_and_another_servers_are_refused(
    app: Flask, author: Author, stranger: Author
) -> None:
    assert "No group of this server" in why(stranger.sign_in())
    used = author.signed_word()
    assert author.post("/studio/in", used).status_code == 200
    assert "used already" in why(author.post("/studio/in", used))
    elsewhere = author.signed_word("https://evil.example")
    assert "not that of the group" in why(author.post("/studio/in", elsewhere))


def test_a_word_is_good_for_an_hour(author: Author, monkeypatch: pytest.MonkeyPatch) -> None:
    signed = author.signed_word()
    later = sign_in.time.time() + 3601
    monkeypatch.setattr(sign_in.time, "time", lambda: later)

    assert "too long" in why(author.post("/studio/in", signed))


class Act(NamedTuple):
    """What is done at a place of the studio, and what it answers to whom."""

    place: str
    does: str
    own: int
    """To the group that the draft and the survey are of."""
    others: int
    """To another group."""
    out: int
    """To everybody who is not signed in."""
    body: object = None


EDIT = {"edit": "e", "revision": 1, "operation": {"do": "remove", "question": "q1"}}
DRAFT, SURVEY = "/studio/drafts/{draft}", "/studio/s/spring-26"
ACTS = [
    Act("/studio/start", "GET", 200, 200, 200),
    Act("/studio/in", "GET", 200, 200, 200),
    Act("/studio/", "GET", 200, 200, 303),
    Act("/studio/d/{draft}", "GET", 200, 404, 303),
    Act("/studio/d/{draft}/balance", "GET", 200, 404, 401),
    Act("/studio/d/{draft}/page", "GET", 200, 404, 401),
    Act("/studio/d/{draft}/try", "GET", 200, 404, 303),
    Act("/studio/d/{draft}/privacy", "GET", 200, 404, 303),
    Act("/studio/d/{draft}/privacy/figures", "GET", 200, 404, 401),
    Act("/studio/d/{draft}/publish", "GET", 200, 404, 303),
    Act("/studio/try/<name>", "GET", 404, 404, 404),  # its secret opens it, and nothing else
    Act(f"{DRAFT}.yaml", "GET", 200, 404, 401),
    Act(SURVEY, "GET", 200, 404, 303),
    Act("/studio/word", "POST", 200, 200, 200, {}),
    Act("/studio/start", "POST", 400, 400, 400, {}),
    Act("/studio/in", "POST", 400, 400, 400, {}),
    Act("/studio/drafts", "POST", 201, 201, 401, {"document": PAY}),
    Act(f"{DRAFT}/edits", "POST", 200, 404, 401, EDIT),
    Act(f"{DRAFT}/gone", "POST", 204, 404, 401, {"gone": True}),
    Act(f"{DRAFT}/trial", "POST", 201, 404, 401, {}),
    Act(f"{DRAFT}/definition", "POST", 200, 404, 401, {}),
    Act(f"{DRAFT}/envelope-key", "POST", 201, 404, 401, {}),
    Act(f"{DRAFT}/published", "POST", 201, 404, 401, "published"),
    Act(f"{SURVEY}/closed", "POST", 200, 404, 401, "closed"),
    Act(f"{SURVEY}/again", "POST", 201, 404, 401, {}),
    Act("/studio/out", "POST", 204, 204, 204, {}),
]
"""Every place of the studio. Whoever adds one says here who may come in."""
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
POSTS = [act for act in ACTS if act.does == "POST"]


def place_of(rule: str) -> str:
    """An address of ``ACTS`` as a rule of the server has it."""
    return rule.replace("{draft}", "<name>").replace("/s/spring-26", "/s/<name>")


def test_every_place_of_the_studio_is_in_the_table(app: Flask) -> None:
    places = {
        (re.sub(r"<\w+>", "<name>", rule.rule), method)
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith("/studio")
        for method in rule.methods or ()
        if method != "HEAD"
    }

    assert places == {(place_of(act.place), act.does) for act in ACTS}


@pytest.fixture
def at_work(app: Flask, author: Author) -> tuple[str, dict[str, Any]]:
    """A draft of the group, and the definition of its open survey."""
    definition = author.definition(draft := author.begin(PAY))
    assert author.publish(draft).status_code == 201
    return author.begin(PAY | {"name": "autumn-26"}), definition


def body_of(act: Act, who: Author, draft: str, definition: dict[str, Any]) -> object:
    """What somebody sends there, with their own signature."""
    if act.body == "closed":
        return who.closing("spring-26", definition, anyway=True)
    if act.body == "published":
        wanted = compile_survey(PAY | {"name": "autumn-26"})
        return {"digest": wanted.digest, "author": who.key.author,
                "signature": who.key.sign(wanted.digest).value}  # fmt: skip
    return act.body


def of_another_group(app: Flask) -> Author:
    other, store = Author(app.test_client()), store_of(app)
    store.set_setting("admin_link", "", replace=True)
    team = new_team("Others", "o", other.key.author)
    assert store.studio.found_team(team, make("author")[0], [], ("admin_link", ""))
    assert other.sign_in().status_code == 200
    return other


@pytest.mark.parametrize("act", ACTS, ids=lambda act: f"{act.does} {act.place}")
def test_who_may_do_what(app: Flask, author: Author, at_work: Any, act: Act) -> None:
    """The table of roles, places and actions, with no answer that is not expected."""
    draft, definition = at_work
    store = store_of(app)
    place = act.place.format(draft=draft)
    revoked = Author(app.test_client(), author.key)
    assert revoked.sign_in().status_code == 200
    tokens = {role: new_token(store, role) for role in ROLES}

    def does(who: Author, method: str, **headers: str) -> TestResponse:
        body = None if act.body is None else body_of(act, who, draft, definition)
        sent = OWN_PAGE | headers
        return who.client.open(place, method=method, json=body, headers=sent)  # type: ignore[union-attr]

    def nobody() -> Author:
        return Author(app.test_client(), author.key)

    wrong = [method for method in METHODS if (act.place, method) not in
             {(each.place, each.does) for each in ACTS}]  # fmt: skip
    for method in wrong:
        assert does(author, method).status_code == 405, method
    strangers = [does(nobody(), act.does)]
    strangers += [
        does(nobody(), act.does, Authorization=f"Bearer {token}") for token in tokens.values()
    ]
    strangers += [does(nobody(), act.does, Cookie=f"{COOKIE}={'x' * 43}")]
    assert {answer.status_code for answer in strangers} == {act.out}
    assert does(of_another_group(app), act.does).status_code == act.others
    assert store.studio.draft(the_team(app, author), draft).revision == 1
    assert store.state("spring-26") == "open"
    assert does(author, act.does).status_code == act.own
    token = store.studio.signer(author.key.author)
    assert token is not None
    store.revoke_token(token.id)
    assert does(revoked, act.does).status_code == act.out, "a revoked token ends its sessions"


def the_team(app: Flask, author: Author) -> str:
    studio = store_of(app).studio
    token = studio.signer(author.key.author)
    team = None if token is None else studio.team_of(token.id)
    assert team is not None
    return team.id


@pytest.mark.parametrize("act", POSTS, ids=lambda act: act.place)
def test_only_a_page_of_this_server_may_change_anything(
    app: Flask, author: Author, at_work: Any, act: Act
) -> None:
    draft, definition = at_work
    place, body = act.place.format(draft=draft), body_of(act, author, draft, definition)

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
    assert store_of(app).studio.draft(the_team(app, author), draft).revision == 1
    assert store_of(app).names() == ["spring-26"]
    assert store_of(app).state("spring-26") == "open"
    assert author.client.get("/studio/").status_code == 200, "nobody was signed out"


def test_without_sec_fetch_site_the_origin_tells_whose_page_it_is(author: Author) -> None:
    answer = author.client.post(
        "/studio/drafts", json={"document": PAY}, headers={"Origin": "http://localhost"}
    )

    assert answer.status_code == 201


def test_the_cookie_opens_no_api_and_goes_nowhere_else(author: Author) -> None:
    author.client.set_cookie(COOKIE, "x", path="/")

    assert author.client.get("/api/tokens").status_code == 401
    assert author.client.post("/api/surveys", json=PAY).status_code == 401


def test_another_groups_drafts_and_surveys_are_not_on_its_page(
    app: Flask, author: Author, at_work: Any
) -> None:
    page = of_another_group(app).client.get("/studio/").text

    assert at_work[0] not in page
    assert "spring-26" not in page


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
    mends = operations_on(balance)
    assert 1 <= len(mends) <= 3

    for operation in mends:
        other = author.begin(PAY | {"questions": questions})
        answer = author.edit(other, operation)
        assert answer.status_code == 200, (operation, answer.text)
        mended = author.client.get(f"/studio/d/{other}/balance").text
        assert operations_on(mended) == []
        (spent,) = re.findall(r'<span class="big">(\d+)', mended)
        assert int(spent) <= 100
        assert author.post(f"/studio/drafts/{other}/definition", {}).status_code == 200


def test_a_deleted_draft_is_neither_edited_nor_published_from_a_tab_that_is_still_open(
    app: Flask, author: Author
) -> None:
    draft = author.begin(PAY)
    assert author.post(f"/studio/drafts/{draft}/gone", {"gone": True}).status_code == 204

    edited = author.edit(draft, {"do": "put", "question": "q1", "key": "label", "value": "Fair?"})
    published = author.publish(draft)

    for answer in (edited, published):
        assert answer.status_code == 404
        assert why(answer) == "This draft was deleted; bring it back among your surveys."
    assert "spring-26" not in store_of(app).names()
    author.post(f"/studio/drafts/{draft}/gone", {"gone": False})
    assert author.publish(draft).status_code == 201


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
        409, "This address is taken; spring-26-b is free."
    )  # fmt: skip


def test_a_survey_is_closed_with_its_address_and_too_few_only_all_the_same(
    app: Flask, author: Author, at_work: Any
) -> None:
    _, definition = at_work
    page = author.client.get("/studio/s/spring-26").text
    assert "Who has answered" in page
    wrong = author.closing("spring-26", definition) | {"name": "spring"}

    assert author.post("/studio/s/spring-26/closed", wrong).status_code == 400
    assert author.close("spring-26", definition).status_code == 409
    assert store_of(app).state("spring-26") == "open"
    closed = author.close("spring-26", definition, anyway=True)

    assert closed.get_json() == {"reports": None}
    assert store_of(app).state("spring-26") == "closed"
    assert "See the results" in author.client.get("/studio/s/spring-26").text


def test_a_session_alone_closes_nothing(app: Flask, author: Author, at_work: Any) -> None:
    draft, definition = at_work
    other = Author(author.client)
    wrong = author.closing("spring-26", author.definition(draft), anyway=True)
    published = author.key.sign(digest(definition)).value

    for body in (
        other.closing("spring-26", definition, anyway=True),
        wrong,
        wrong | {"signature": published},
        wrong | {"signature": ""},
    ):
        answer = author.post("/studio/s/spring-26/closed", body)
        assert answer.status_code == 422, answer.text
    assert store_of(app).state("spring-26") == "open"


# --- once it is published -----------------------------------------------------------------------


def test_two_tabs_that_publish_one_draft_make_one_survey_and_the_other_is_shown_it(
    app: Flask, author: Author
) -> None:
    draft = author.begin(PAY)
    version = digest(author.definition(draft))
    body = {"digest": version, "author": author.key.author,
            "signature": author.key.sign(version).value}  # fmt: skip

    with ThreadPoolExecutor(2) as tabs:
        cookie = author.client.get_cookie(COOKIE, path="/studio")  # type: ignore[union-attr]
        assert cookie is not None

        def publish(_: int) -> TestResponse:
            tab = app.test_client()
            tab.set_cookie(COOKIE, cookie.value, path="/studio")
            return tab.post(f"/studio/drafts/{draft}/published", json=body, headers=OWN_PAGE)

        answers = list(tabs.map(publish, range(2)))

    assert {answer.status_code for answer in answers} <= {201, 409}
    for answer in (*answers, author.post(f"/studio/drafts/{draft}/published", body),
                   author.post(f"/studio/drafts/{draft}/definition", {})):  # fmt: skip
        assert answer.get_json() == {"name": "spring-26", "form": "/s/spring-26"}
    assert store_of(app).names() == ["spring-26"]


def test_a_draft_that_was_published_is_no_draft_any_more(author: Author) -> None:
    draft = author.begin(PAY)
    assert author.publish(draft).status_code == 201

    for page in (f"/studio/d/{draft}", f"/studio/d/{draft}/publish"):
        assert author.client.get(page).headers["Location"] == "/studio/s/spring-26"
    assert author.edit(draft, EDIT["operation"]).status_code == 404
    assert "Bring it back" not in author.client.get("/studio/").text


def test_an_edit_between_compiling_and_publishing_is_not_lost(app: Flask, author: Author) -> None:
    store, draft = store_of(app), author.begin(PAY)
    survey = compile_survey(PAY)
    token = store.studio.signer(author.key.author)
    assert token is not None
    source = DraftSource(Doer(the_team(app, author), token.id), draft, 1)
    author.edit(draft, {"do": "put", "question": None, "key": "intro", "value": "New"})

    with pytest.raises(Conflict, match="changed while you looked"):
        store.publish(survey, author.key.sign(survey.digest), token.id, source=source)

    assert store.names() == []


def test_a_closed_survey_is_asked_again_as_it_was_written(app: Flask, author: Author) -> None:
    document = PAY | {"intro": "Why we ask", "expect": 900, "budget": {"epsilon": 1},
                      "questions": [{"name": "fair", "type": "yes_no", "label": "Paid fairly?"},
                                    {"label": "Often?", "type": "yes_no"}]}  # fmt: skip
    definition = author.definition(draft := author.begin(document))
    assert author.publish(draft).status_code == 201
    assert "Ask again" not in author.client.get("/studio/s/spring-26").text
    assert author.close("spring-26", definition, anyway=True).status_code == 200
    assert "Ask again" in author.client.get("/studio/s/spring-26").text

    again = author.post("/studio/s/spring-26/again", {}).get_json()["id"]

    new = author.definition(again)
    assert new == definition | {"name": "spring-26-b"}
    assert "epsilon: 1\n" in author.client.get(f"/studio/drafts/{again}.yaml").text
    assert 'id="expect" inputmode="numeric" value="900"' in author.client.get(
        f"/studio/d/{again}").text  # fmt: skip
    assert author.publish(again).status_code == 201
    third = author.post("/studio/s/spring-26-b/again", {}).get_json()["id"]
    assert author.definition(third)["name"] == "spring-26-c"


def test_a_quota_that_is_used_up_is_said_before_anything_is_signed(
    app: Flask, author: Author
) -> None:
    app.config["SURVEYS"] = 1
    assert author.publish(author.begin(PAY)).status_code == 201
    draft = author.begin(PAY | {"name": "b"})

    page = author.client.get(f"/studio/d/{draft}/publish").text
    answer = author.post(f"/studio/drafts/{draft}/definition", {})

    full = "Your group published 1 survey today, and may publish 1 a day; go on tomorrow"
    assert full in page
    assert answer.status_code == 429
    assert full in why(answer)
    assert "token" not in visible(page) + why(answer)


def test_a_taken_address_is_said_on_the_page_and_the_next_one_is_free(author: Author) -> None:
    assert author.publish(author.begin(PAY)).status_code == 201

    page = author.client.get(f"/studio/d/{author.begin(PAY)}/publish").text

    assert "This address is taken; spring-26-b is free." in page


@pytest.mark.parametrize(
    ("wanted", "taken", "free"),
    [
        ("a", [], "a"),
        ("a", ["a"], "a-b"),
        ("a-b", ["a", "a-b"], "a-c"),
        ("spring-26", ["spring-26"], "spring-26-b"),
        ("a", ["a", *(f"a-{letter}" for letter in ascii_lowercase)], "a-z2"),
        ("a-z2", ["a", "a-z2", *(f"a-{letter}" for letter in ascii_lowercase)], "a-z3"),
        ("x" * 64, ["x" * 64], "x" * 60 + "-b"),
        ("No name", ["No name"], "No name"),
    ],
)
def test_a_free_address_is_like_the_wanted_one(wanted: str, taken: list[str], free: str) -> None:
    assert free_address(wanted, taken) == free


def test_a_new_survey_begins_with_an_address_that_is_free(author: Author) -> None:
    def empty() -> dict[str, Any]:
        (text,) = re.findall(r'data-document="([^"]*)"', author.client.get("/studio/").text)
        return dict(json.loads(unescape(text)))

    first = empty()["name"]
    assert author.publish(author.begin(PAY | {"name": first})).status_code == 201

    assert empty()["name"] == f"{first}-b"


# --- what the group did -------------------------------------------------------------------------


def test_what_a_group_did_is_listed_in_days(app: Flask, author: Author) -> None:
    definition = author.definition(draft := author.begin(PAY))
    author.publish(draft)
    author.close("spring-26", definition, anyway=True)
    Author(author.client, author.key).sign_in()
    studio, team = store_of(app).studio, the_team(app, author)

    deeds = studio.deeds(team, 20)

    today = day_in(0)
    assert [(deed.day, deed.what, deed.object) for deed in deeds] == [
        (today, "closed", "spring-26"), (today, "published", "spring-26"),
        (today, "began", ""), (today, "signed in", ""), (today, "founded", ""),
    ]  # fmt: skip
    home = visible(author.client.get("/studio/").text)
    assert re.search(rf"{today}\s+Closed\s+spring-26", home)
    assert re.search(rf"{today}\s+Set up the studio", home)
    assert re.search(rf"{today}\s+Began a draft", home)
    follow = visible(author.client.get("/studio/s/spring-26").text)
    assert re.search(rf"{today}\s+Published", follow)
    assert "Signed in" not in follow
    assert studio.deeds("others", 20) == []


@pytest.mark.parametrize("role", ["author", "operator"])
def test_a_closing_outside_the_studio_is_listed_too(app: Flask, author: Author, role: Role) -> None:
    """Whoever has the group's key closes by a command, and an operator without it."""
    definition = author.definition(draft := author.begin(PAY))
    author.publish(draft)
    signed = author.closing("spring-26", definition)
    headers = {"Authorization": f"Bearer {new_token(store_of(app), role)}"}
    if role == "author":
        headers |= {
            "Deniably-Author": signed["author"], "Deniably-Signature": signed["signature"],
        }  # fmt: skip

    closed = app.test_client().patch(
        "/api/surveys/spring-26", json={"state": "closed"}, headers=headers
    )

    assert closed.status_code == 200, closed.text
    deed, *_ = store_of(app).studio.deeds(the_team(app, author), 20)
    assert (deed.day, deed.what, deed.object) == (day_in(0), "closed outside", "spring-26")
    for page in ("/studio/", "/studio/s/spring-26"):
        shown = visible(author.client.get(page).text)
        assert re.search(r"Closed\s+spring-26\s+outside the studio", shown)


def test_what_is_published_is_what_the_terminal_would_publish(store: Store, author: Author) -> None:
    shown = author.definition(author.begin(PAY))

    assert as_survey(shown) == compile_survey(PAY)


def visible(page: str) -> str:
    """The words of a page, without its markup."""
    return re.sub(r"<[^>]*>", " ", page)
