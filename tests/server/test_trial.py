"""Trying a draft out: it is the published form, and nothing of it is sent or kept."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import closing
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably.authoring.compiling import compile_survey
from deniably_server.api.quick_checks import CheckTurns, checker, use_checks
from deniably_server.guard.app_state import store_of
from deniably_server.guard.headers import SECURITY_HEADERS
from deniably_server.storage.store import Store
from deniably_server.storage.tables.tokens import Role
from deniably_server.web import static_files
from support.material import new_token
from support.studio import EVERY_KIND, OWN_PAGE, Author, founded

YES_NO: dict[str, Any] = {"type": "yes_no", "label": "Paid fairly?", "odds": 3}
PAY: dict[str, Any] = {"name": "pay", "title": "Pay", "contact": "Us", "questions": [YES_NO]}
HOURS = {"type": "number", "label": "Hours?", "minimum": 0, "maximum": 60, "odds": 3}
ONE_ANSWER = {"type": "select_one", "label": "Whom?", "choices": ["Nobody"], "odds": 3}
QUESTION = re.compile(r'<form class="step" data-step="question".*?</form>', re.DOTALL)


@pytest.fixture
def author(app: Flask) -> Author:
    return founded(app)


@pytest.fixture
def phone(app: Flask) -> FlaskClient:
    """Somebody without a session."""
    return app.test_client()


def shown(author: Author, document: dict[str, Any], query: str = "") -> str:
    """The trial of a draft of this document, beside the editor."""
    answer = author.client.get(f"/studio/d/{author.begin(document)}/page{query}")
    assert answer.status_code == 200, answer.text
    return str(answer.text)


def step(page: str) -> int:
    """The step that a trial begins with."""
    (at,) = re.findall(r'data-at="(\d+)"', page)
    return int(at)


# --- the same form ------------------------------------------------------------------------------


def test_each_question_is_shown_as_it_is_when_published(author: Author) -> None:
    draft = author.begin(EVERY_KIND)
    trial = author.client.get(f"/studio/d/{draft}/page").text
    assert author.publish(draft).status_code == 201

    form = author.client.get("/s/every-kind").text

    questions = QUESTION.findall(form)
    assert len(questions) == len(EVERY_KIND["questions"])
    assert QUESTION.findall(trial) == questions
    for part in ("start", "check", "refused", "practice"):
        section = re.compile(rf'<(\w+) class="step" data-step="{part}".*?</\1>', re.DOTALL)
        assert section.findall(form)
        assert section.findall(trial) == section.findall(form)


def test_it_has_the_sheets_of_the_form(author: Author) -> None:
    sheets = static_files.SHEETS

    *same, own = sheets["style/trial-page.css"]

    assert tuple(same) == sheets["style/form-page.css"]
    assert own == "trial"
    assert "style/trial-page.css" in shown(author, PAY)


def test_it_asks_the_server_for_nothing_else(author: Author) -> None:
    page = shown(author, PAY)

    assert "/register/pay" not in page, "a form loads that ahead"
    assert re.findall(r'<script[^>]* src="/web/[^/]+/([^"]+)"', page) == ["form/page-trial.js"]


def test_it_begins_with_the_question_that_is_written(author: Author) -> None:
    questions = [YES_NO, YES_NO | {"label": "Paid late?"}]
    draft = PAY | {"questions": questions}

    assert step(shown(author, draft)) == 0
    assert step(shown(author, draft, "?question=q1")) == 1
    assert step(shown(author, draft, "?question=q2")) == 2
    assert step(shown(author, draft, "?question=gone")) == 0


def test_questions_that_are_asked_as_one_are_shown_together(author: Author) -> None:
    questions = [YES_NO | {"label": label} for label in ("Late?", "Never?")]
    for question in questions:
        del question["odds"]
    page = shown(
        author,
        PAY | {"questions": questions, "budget": {"epsilon": 4, "spend": "auto"}},
        "?question=q2",
    )

    (form,) = QUESTION.findall(page)
    assert "Never?" in form
    assert step(page) == 1


def test_another_language_can_be_chosen(author: Author) -> None:
    page = shown(author, PAY, "?language=de")

    assert '<html lang="de">' in page
    assert "Practice. Nothing is sent." in page


# --- a draft that is not ready ------------------------------------------------------------------


def test_texts_that_are_missing_hide_nothing(author: Author) -> None:
    kinds = ("yes_no", "select_one", "select_multiple", "scale", "number")
    questions = [{"type": kind, "odds": 3} for kind in kinds]

    page = shown(author, {"questions": [*questions, YES_NO]}, "?question=q6")

    assert step(page) == 6
    assert page.count("A new question") >= len(kinds)
    assert "Without a title" in page


def test_what_cannot_be_shown_yet_says_why(author: Author) -> None:
    page = shown(author, PAY | {"questions": [YES_NO, ONE_ANSWER]})

    assert "Not ready yet" in page
    assert "Question 2, the answers: give two answers or more" in page
    assert "<script" not in page


def test_what_devices_would_refuse_can_be_looked_at(author: Author) -> None:
    """The form's own device says why it does not answer."""
    questions = [YES_NO | {"label": f"Q{number}", "odds": 20} for number in range(3)]

    page = shown(author, PAY | {"questions": questions})

    assert len(QUESTION.findall(page)) == 3


@pytest.mark.parametrize("kind", [["yes_no"], {}, 3, "essay", "vector", "point", "product"])
def test_a_question_of_no_kind_yet_or_of_a_strange_one_is_not_ready(
    author: Author, kind: object
) -> None:
    page = shown(author, PAY | {"questions": [YES_NO | {"type": kind}]}, "?question=q1")

    assert "Not ready yet" in page
    assert "Question 1" in page


@pytest.mark.parametrize(
    "change",
    [
        {"name": 3},
        {"name": "Not an address"},
        {"title": ["x"]},
        {"title": "x" * 100_000},
        {"contact": {}},
        {"language": "xx"},
        {"budget": {"epsilon": 0}},
        {"strata": {"site": ["north"]}},
        {"questions": []},
        {"questions": [YES_NO] * 100},
        {"questions": [YES_NO | {"label": ["x"]}]},
        {"questions": [YES_NO | {"label": 5}]},
        {"questions": [YES_NO | {"name": {"a": 1}}]},
        {"questions": [YES_NO | {"odds": "many"}]},
        {"questions": [YES_NO | {"show_if": {"question": "gone", "is": ["yes"]}}]},
        {"questions": [HOURS | {"minimum": "low", "maximum": None}]},
        {"questions": [ONE_ANSWER | {"choices": {"a": 1}}]},
        {"questions": [ONE_ANSWER | {"choices": ["x"] * 2000}]},
    ],
    ids=lambda change: str(change)[:60],
)
def test_whatever_a_draft_says_it_is_shown_or_said_what_is_wrong(
    author: Author, change: dict[str, Any]
) -> None:
    page = shown(author, PAY | change, "?question=q1")

    assert ("Not ready yet" in page) != bool(QUESTION.search(page))


@pytest.mark.parametrize(
    "more",
    [
        {"invited": True},
        {"strata": {"site": ["north", "south"], "shift": ["day", "night"]}},
        {"language": "ar"},
    ],
    ids=lambda more: next(iter(more)),
)
def test_a_survey_of_any_design_is_shown(author: Author, more: Mapping[str, Any]) -> None:
    assert len(QUESTION.findall(shown(author, {**PAY, **more}))) == 1


# --- in the process that checks -----------------------------------------------------------------


@pytest.fixture
def checking(app: Flask) -> list[object]:
    """An application with a check process, which here is this one; and what it is asked."""
    answer, asked = checker(), list[object]()

    def ask(question: bytes) -> bytes:
        asked.append(question)
        return answer(question)

    use_checks(app, CheckTurns(ask, 8))
    return asked


def test_a_mean_waits_for_no_design(author: Author, checking: list[object]) -> None:
    page = shown(author, PAY | {"questions": [HOURS | {"maximum": 47}]})

    (definition,) = re.findall(r'id="definition">(.*?)</script>', page)
    assert json.loads(definition)["questions"][0]["mechanism"]["name"] == "window"
    assert len(checking) == 1


def test_the_process_says_what_is_not_ready_too(author: Author, checking: list[object]) -> None:
    page = shown(author, PAY | {"questions": [ONE_ANSWER]})

    assert "Question 1, the answers: give two answers or more" in page
    assert len(checking) == 1


def test_whoever_looks_too_often_is_asked_to_wait(
    author: Author, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = author.begin(PAY)
    path = author.trial_link(draft)
    monkeypatch.setattr("deniably_server.guard.rate_limits.Limit.take", lambda *_: 0)

    for address in (f"/studio/d/{draft}/page", path):
        assert "takes too long to work out" in author.client.get(address).text


# --- the link -----------------------------------------------------------------------------------


def test_a_phone_without_a_session_tries_the_draft_out(author: Author, phone: FlaskClient) -> None:
    draft = author.begin(EVERY_KIND)
    path = author.trial_link(draft)

    answer = phone.get(path)

    assert answer.status_code == 200
    assert answer.text == author.client.get(f"/studio/d/{draft}/page").text
    assert "Set-Cookie" not in answer.headers
    assert draft not in answer.text, "the link leads to nothing else"
    assert "every-kind" in answer.text
    author.edit(draft, {"do": "put", "question": "q1", "key": "label", "value": "Newer?"})
    assert "Newer?" in phone.get(path).text


def test_the_link_is_shown_once_with_its_code(author: Author) -> None:
    draft = author.begin(PAY)
    answer = author.post(f"/studio/drafts/{draft}/trial", {})

    assert answer.headers["Cache-Control"] == "no-store, no-transform"
    link = answer.get_json()
    assert link["code"].startswith('<svg role="img" aria-label="The link as a code for phones"')
    assert re.fullmatch(r"http://localhost/studio/try/[\w-]{43}", link["address"])
    page = author.client.get(f"/studio/d/{draft}/try").text
    assert link["address"] not in page
    assert "There is a link already, good until" in page


def test_the_old_link_a_wrong_one_and_that_of_a_published_draft_open_nothing(
    author: Author, phone: FlaskClient
) -> None:
    draft = author.begin(PAY)
    old, new = author.trial_link(draft), author.trial_link(draft)
    assert phone.get(new).status_code == 200
    wrong = [old, "/studio/try/none", "/studio/try/%00", "/studio/try/%ed%a0%80", f"{new}x"]
    assert [phone.get(path).status_code for path in wrong] == [404] * len(wrong)
    assert "no longer good" in phone.get(old).text

    assert author.publish(draft).status_code == 201

    assert phone.get(new).status_code == 404
    assert author.post(f"/studio/drafts/{draft}/trial", {}).status_code == 404


def test_whoever_guesses_links_is_stopped(app: Flask, author: Author, phone: FlaskClient) -> None:
    path = author.trial_link(author.begin(PAY))
    limit = int(app.config["FAILURES"])
    phone.environ_base["REMOTE_ADDR"] = "203.0.113.7"

    guesses = [phone.get(f"/studio/try/{number}").status_code for number in range(limit + 1)]

    assert set(guesses[:limit]) == {404}
    assert guesses[limit] == 429
    assert phone.get(path).status_code == 429


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "X"])
def test_a_trial_is_read_and_nothing_else(
    app: Flask, author: Author, phone: FlaskClient, method: str
) -> None:
    draft = author.begin(PAY)
    path = author.trial_link(draft)
    before = store_of(app).studio.tried(path.rpartition("/")[2])

    for address in (path, f"/studio/d/{draft}/page", f"/studio/d/{draft}/try"):
        for browser in (phone, author.client):
            answer = browser.open(address, method=method, json={}, headers=OWN_PAGE)
            assert answer.status_code == 405
    assert store_of(app).studio.tried(path.rpartition("/")[2]) == before


@pytest.mark.parametrize("role", ["author", "analyst", "monitor", "operator"])
def test_no_token_stands_for_a_session(
    app: Flask, author: Author, phone: FlaskClient, role: Role
) -> None:
    draft = author.begin(PAY)
    token = {"Authorization": f"Bearer {new_token(store_of(app), role)}"}

    answer = phone.get(f"/studio/d/{draft}/try", headers=token)
    place = f"/studio/in#/studio/d/{draft}/try"
    assert (answer.status_code, answer.headers["Location"]) == (303, place)
    assert phone.get(f"/studio/d/{draft}/page", headers=token).status_code == 401
    made = phone.post(f"/studio/drafts/{draft}/trial", json={}, headers=OWN_PAGE | token)
    assert made.status_code == 401


@pytest.mark.parametrize(
    ("query", "around"),
    [("", "/try"), ("?question=", ""), ("?question=q2", "?question=q2"),
     ("?question=%22%3E%3Cb", "?question=%22%3E%3Cb")],
)  # fmt: skip
def test_whoever_is_signed_out_finds_the_way_to_sign_in_within_the_frame(
    author: Author, phone: FlaskClient, query: str, around: str
) -> None:
    draft = author.begin(PAY)

    answer = phone.get(f"/studio/d/{draft}/page{query}")

    assert answer.status_code == 401
    assert "You were signed out" in answer.text
    assert f'href="/studio/in#/studio/d/{draft}{around}" target="_top"' in answer.text
    assert "Is your pay fair" not in answer.text
    assert answer.headers["X-Frame-Options"] == "SAMEORIGIN"


@pytest.mark.parametrize("query", ["?x=1", "?question=q1&question=q2", "?language=de&secret=x"])
def test_unknown_parameters_are_refused_beside_the_editor(author: Author, query: str) -> None:
    draft = author.begin(PAY)

    assert author.client.get(f"/studio/d/{draft}/page{query}").status_code == 400


def test_nothing_is_stored_of_who_looks(app: Flask, author: Author, phone: FlaskClient) -> None:
    path = author.trial_link(author.begin(PAY))
    database = app.config["DATABASE"]
    with closing(Store(database)) as store:
        before = store.names(), store.studio.tried(path.rpartition("/")[2])
        phone.get(path)
        assert (store.names(), store.studio.tried(path.rpartition("/")[2])) == before


# --- headers and code ---------------------------------------------------------------------------


def policy(headers: Mapping[str, str]) -> set[str]:
    return set(headers["Content-Security-Policy"].split("; "))


def test_one_page_alone_may_be_in_a_frame_and_a_trial_can_send_nothing(
    author: Author, phone: FlaskClient
) -> None:
    draft = author.begin(PAY)
    usual = policy(dict(SECURITY_HEADERS))
    own = {"require-trusted-types-for 'script'", "trusted-types studio"}
    silent = (usual | own) - {"connect-src 'self'"} | {"connect-src 'none'"}
    framed = silent - {"frame-ancestors 'none'"} | {"frame-ancestors 'self'"}
    pages = {
        f"/studio/d/{draft}/page": ("SAMEORIGIN", framed),
        f"/studio/d/{draft}/page?question=q1": ("SAMEORIGIN", framed),
        author.trial_link(draft): ("DENY", silent),
        "/studio/try/none": ("DENY", silent),
        f"/studio/d/{draft}": ("DENY", usual | own | {"frame-src 'self'"}),
        f"/studio/d/{draft}/try": ("DENY", usual | own | {"frame-src 'self'"}),
        f"/studio/d/{draft}/publish": ("DENY", usual | own),
        f"/studio/d/{draft}/balance": ("DENY", usual | own),
        "/studio/": ("DENY", usual | own),
    }
    for path, (frames, wanted) in pages.items():
        headers = author.client.get(path).headers
        assert (headers["X-Frame-Options"], policy(headers)) == (frames, wanted), path


MEANS = re.compile(r"indexedDB|caches|localStorage|sessionStorage|serviceWorker|sendBeacon"
                   r"|XMLHttpRequest|WebSocket|EventSource|document\.cookie")  # fmt: skip


def bundle(name: str) -> str:
    return static_files.text_of(f"form/{name}.js")


def test_no_published_form_has_anything_of_a_trial(author: Author) -> None:
    for name in ("page", "page-invited", "page-strata", "page-mixed", "page-arrived"):
        assert not re.search(r"trial|anew|\btouched\b", bundle(name)), name
    reached, ahead = set[str](), ["form/exit", "form/stratum", "form/form"]
    while ahead:
        path = ahead.pop()
        text = static_files.text_of(f"{path}.js")
        room = path.partition("/")[0]
        for source in re.findall(r'["\'](\.{1,2}/[\w./]+)\.js["\']', text):
            target = source[3:] if source.startswith("../") else f"{room}/{source[2:]}"
            if target not in reached and not target.endswith("types"):
                reached.add(target)
                ahead.append(target)
    assert len(reached) > 40
    assert "form/trial" not in reached


@pytest.mark.parametrize("name", ["page-trial", "page-trial-mixed"])
def test_a_trial_has_no_means_to_store_or_send(name: str) -> None:
    trial = bundle(name)

    assert MEANS.search(bundle("page")), "a form stores"
    assert MEANS.findall(trial) == []
    assert re.findall(r"fetch\([^)]*\)", trial) == [
        'fetch(address,{credentials:"omit",cache:"no-store"})'
    ], "whether the harmless page of the exit answers; the policy stops even that"


FORM = ("exit", "form", "remembered", "sending", "stratum", "asked", "steps")
STANDS_IN = {
    "storage": "Damaged forget keeps read recordSent setAside ticketOf update",
    "kept_pages": "forget",
    "listing": "hasChanged keepListing meet",
    "offline": "keepPage whenBack",
    "send": "Unreachable send",
    "waiting": "sendOthers",
    "invited": "bring enter",
    "to_mixer": "fetchStatement sealForMixer sealReports sendSealed",
    "mixer_code": "askForCode askForOther code forgetCode keepStatement storedStatement",
    "mixer_statement": "readStatement",
}
"""What the form takes of each module that form/trial.js, form/trial_invited.js and
form/trial_mixed.js stand in for."""


def test_the_trial_stands_in_for_all_that_a_form_takes_of_these_modules() -> None:
    assert {path.rpartition("/")[2] for path in static_files.IN_MIXED_TRIALS} == set(STANDS_IN)
    own = [static_files.text_of(f"form/{name}.js")
           for name in ("trial", "trial_invited", "trial_mixed")]  # fmt: skip
    export = re.compile(r"^export (?:async )?(?:function|class|const) (\w+)", re.MULTILINE)
    exported = set(export.findall("".join(own)))
    assert exported == {name for names in STANDS_IN.values() for name in names.split()}
    taken = {
        (source, name.strip())
        for module in (*FORM, "mixed")
        for names, source in re.findall(
            r'^import \{([^}]*)\} from "(?:\.\.?/)(?:device/|trust/)?(\w+)\.js"',
            static_files.text_of(f"form/{module}.js"), re.MULTILINE)
        for name in names.split(",")
        if source in STANDS_IN and name.strip()
    }  # fmt: skip
    assert len(taken) > 12
    assert [pair for pair in taken if pair[1] not in STANDS_IN[pair[0]].split()] == []


def test_what_is_tried_is_what_would_be_published(author: Author) -> None:
    page = shown(author, EVERY_KIND)

    (version,) = re.findall(r'data-digest="(\w+)"', page)
    assert version == compile_survey(EVERY_KIND).digest
