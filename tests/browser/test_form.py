"""The respondent's form in a real Chromium, against a real server."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
import requests
from playwright.sync_api import Browser, BrowserContext, Route

from deniably.authoring.compiling import publish_text
from deniably.survey.report import read_report
from deniably_server.web.static_files import BUILD
from support.material import Server
from support.modules import Modules
from support.phone import ANSWERS, IMPATIENT, PHONE, SURVEY, Watched, as_new, new_tab

pytestmark = pytest.mark.browser

DEFINITION = publish_text(SURVEY)
STORES = """async () => ({
  local: {...localStorage}, session: {...sessionStorage}, cookies: document.cookie,
  databases: (await indexedDB.databases()).map(({ name }) => name), caches: await caches.keys(),
  history: history.state, address: location.href,
})"""


@pytest.fixture(scope="module")
def sent(chromium: Browser, server: Server) -> Iterator[Watched]:
    """A phone that has answered and has its receipt. It is only looked at."""
    context = chromium.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    phone = Watched(context.new_page(), server)
    phone.to_check_page()
    phone.send()
    phone.wait("receipt")
    yield phone
    context.close()


def test_a_person_answers_on_a_phone_and_only_the_report_leaves(phone: Watched) -> None:
    phone.open()
    for button in ("Start", *ANSWERS):
        phone.page.locator(":is(button, label):visible", has_text=button).first.tap()
        if button in ANSWERS:
            phone.page.locator("button:visible", has_text="Continue").tap()
    assert phone.see("[data-answer]") == list(ANSWERS)
    phone.send()
    phone.wait("receipt")

    (post,) = phone.posts()
    body = post.post_data_buffer or b""
    report = read_report(body)
    report.check(DEFINITION)
    assert report.canonical == body, "nothing but the report, in canonical JSON"
    assert report.survey == DEFINITION.digest
    assert phone.text("#digest") == hashlib.sha256(body).hexdigest()
    assert phone.console == []


def test_no_request_goes_elsewhere_or_carries_an_answer(sent: Watched) -> None:
    phone = sent
    assert len(phone.requests) > 5
    for request in phone.requests:
        assert request.url.startswith(phone.url + "/"), "no third party"
        sent = request.url + json.dumps(request.all_headers()) + (request.post_data or "")
        for secret in ("Weeklyish", "weeklyish", "Yes", '"yes"', "#q1"):
            assert secret not in sent
        assert request.all_headers().get("referer", "") == ""
        assert "cookie" not in request.all_headers()


def test_requests_before_sending_are_the_same_whatever_is_answered(
    handed_on: BrowserContext, server: Server
) -> None:
    seen: list[set[tuple[str, str]]] = []
    for answers in (("Yes", "Zilch"), ("No", "Hourlyish")):
        phone = Watched(new_tab(handed_on), server)
        phone.open()
        loading = len(phone.requests)
        phone.click("Start")
        for label in answers:
            phone.choose(label)
        assert phone.requests[loading:] == [], "answering asks the network for nothing"
        # A set: whether a browser asks twice for a file that it has is its own affair.
        seen.append({(request.method, request.url) for request in phone.requests})
        as_new(handed_on, server.url)

    assert seen[0] == seen[1]
    assert all(method in ("GET", "HEAD") for method, _ in seen[0])


def test_after_sending_no_true_answer_is_left_anywhere(sent: Watched) -> None:
    phone = sent
    assert phone.checked() == 0
    said = "[...document.querySelectorAll('[data-answer]')].map((one) => one.textContent)"
    assert phone.page.evaluate(said) == ["", ""]
    stores = phone.page.evaluate(STORES)
    assert stores == {
        "local": {}, "session": {}, "cookies": "",
        "databases": ["deniably-memory", "deniably-offline"],  # what is in them: test_offline.py
        "caches": [f"deniably-code-/web/{BUILD}/"], "history": {"step": 3, "depth": 3},
        "address": f"{phone.url}/s/workplace",
    }  # fmt: skip
    assert phone.page.context.cookies() == []


def test_going_back_after_sending_shows_the_receipt_and_no_answer(sent: Watched) -> None:
    phone = sent
    for move in (phone.page.go_back, phone.page.go_forward):
        move()

        assert phone.heading().startswith("Thank you")
        assert phone.checked() == 0


def test_a_question_without_an_answer_is_pointed_at_and_coming_back_later_finds_none(
    visitor: Watched,
) -> None:
    phone = visitor
    phone.open()
    phone.click("Start")
    phone.click("Continue")

    assert "Choose an answer" in phone.words(".error")
    assert phone.page.evaluate("document.activeElement.className") == "error"
    phone.press((".error a", ""))
    assert phone.page.evaluate("document.activeElement.id") == "q1-1"
    assert phone.checked() == 0, "nothing is preselected"

    phone.choose("Yes")
    phone.page.goto(phone.url + "/")

    phone.page.go_back()
    phone.page.wait_for_selector("#survey:not([hidden])", state="visible")

    assert phone.checked() == 0


def test_the_report_is_stored_once_and_the_receipts_agree(sent: Watched, server: Server) -> None:
    phone = sent
    (post,) = phone.posts()
    report = read_report(post.post_data_buffer or b"")
    answered = post.response()
    assert answered
    assert answered.status == 201
    again = server.post(DEFINITION, report)  # a browser need not keep what a page has read
    assert again.status_code == 200
    assert again.json()["receipt"] == phone.text("#digest")
    with closing(sqlite3.connect(server.database)) as database:
        (count,) = database.execute(
            "SELECT count(*) FROM reports WHERE id = ?", [bytes.fromhex(report.id)]
        ).fetchone()
    assert count == 1


def test_the_receipt_can_be_kept_and_holds_no_answer(sent: Watched) -> None:
    phone = sent
    with phone.page.expect_download() as kept:
        phone.page.click("#download")

    text = kept.value.path().read_text(encoding="utf-8")
    assert DEFINITION.digest in text
    assert phone.text("#digest") in text
    assert not any(answer in text for answer in ANSWERS)


def test_a_fault_of_the_network_sends_the_same_bytes_again(phone: Watched) -> None:
    failures = iter(("abort", "503", "503", "lost"))

    def fault(route: Route) -> None:
        match next(failures, "go"):
            case "abort":
                route.abort()
            case "503":
                route.fulfill(status=503, body="{}")
            case "lost":
                route.fetch()  # the server has it, but its answer never arrives
                route.abort()
            case _:
                route.continue_()

    phone.page.add_init_script(IMPATIENT)
    phone.page.route("**/reports", fault)
    phone.to_check_page()
    phone.send()
    phone.see("#again")
    assert phone.checked() == 0, "the answers are wiped although the report is not through yet"
    phone.press(("#again", ""))
    phone.wait("receipt")

    bodies = {request.post_data for request in phone.posts()}
    assert len(phone.posts()) == 5
    assert len(bodies) == 1, "the coins are thrown once"


def test_the_back_button_loses_nothing_an_answer_can_be_changed_and_a_double_click_sends_once(
    phone: Watched,
) -> None:
    phone.to_check_page()
    phone.page.go_back()
    assert phone.heading() == "How often"
    assert phone.checked() == 2
    phone.click("Continue")

    phone.click("Change")
    assert phone.heading() == "Have you ever stolen from work"
    phone.choose("No")

    assert phone.see("[data-answer]") == ["No", "Weeklyish"]
    phone.page.dblclick("#send")
    phone.wait("receipt")
    assert len(phone.posts()) == 1, "a double click sends once"


def test_the_whole_form_works_with_the_keyboard_alone(phone: Watched) -> None:
    phone.open()
    keys = phone.page.keyboard

    def tab_to(selector: str) -> None:
        for _ in range(30):
            if phone.page.evaluate(f"document.activeElement.matches({json.dumps(selector)})"):
                return
            keys.press("Tab")
        pytest.fail(f"the keyboard does not reach {selector}")

    tab_to("button[data-go='1']")
    keys.press("Enter")
    for _ in range(2):
        tab_to("input")
        keys.press("Space")
        keys.press("ArrowDown")
        keys.press("Enter")
    tab_to("#send")
    keys.press("Enter")
    phone.wait("receipt")


TAMPERED = {
    ('"own":3', '"own":30'): "larger odds",
    ("Honesty", "Dishonesty"): "was changed",
    ('"name":"subset_selection"', '"name":"plain"'): "subset_selection",
    ('"type":"yes_no"', '"type":"text"'): "free text cannot be asked",
    ('"type":"yes_no"', '"type":"ranking"'): "no such type",
    ('{"contact"', '{"contact":"x","contact"'): "twice",
    ('{"contact"', "<html>"): "JSON",
}
"""What somebody on the way makes of the definition, and what is said of it."""
VERIFY = """
  const { parse } = await import("/core/canonical.js");
  const { verify } = await import("/survey/survey.js");
  return verify(parse(given.text), given.digest);
"""


@pytest.mark.parametrize("change", TAMPERED)
def test_whatever_is_tampered_with_in_a_definition_is_seen(
    modules: Modules, change: tuple[str, str]
) -> None:
    text = DEFINITION.canonical.decode()
    assert change[0] in text
    given = {"text": text.replace(*change, 1), "digest": DEFINITION.digest}

    error = modules.run(VERIFY, given)

    assert error["name"] == "Refused"
    assert TAMPERED[change] in error["message"]


def test_a_definition_that_was_tampered_with_is_refused(visitor: Watched) -> None:
    phone = visitor
    for change in (("Honesty", "Dishonesty"), ('{"contact"', "<html>")):
        phone.tamper(*change)
        phone.open()

        phone.wait("refused")
        assert "does not trust it" in phone.words("#why")
        assert TAMPERED[change] in phone.words("#detail")
        assert phone.posts() == []
        assert phone.shown("input") == 0, "nobody is asked anything"
    phone.page.context.unroute("**/s/workplace")


def test_a_browser_without_safe_chance_names_the_address_to_open(visitor: Watched) -> None:
    phone = visitor
    phone.page.add_init_script("Object.defineProperty(crypto, 'subtle', { value: undefined })")
    phone.open()

    phone.wait("refused")
    assert "begins with https" in phone.words("#why")
    assert phone.shown("input") == 0, "nobody is asked anything"


def test_a_survey_that_closes_meanwhile_is_explained(phone: Watched) -> None:
    phone.page.route(
        "**/reports",
        lambda route: route.fulfill(
            status=409,
            content_type="application/problem+json",
            body=json.dumps({"type": "/problems/closed", "detail": "The survey is closed."}),
        ),
    )
    phone.to_check_page()
    phone.send()
    phone.wait("refused")

    assert phone.words("#why") == "The survey is closed."
    assert len(phone.posts()) == 1, "a refusal is not tried again"
    assert phone.checked() == 0


def test_without_javascript_it_explains_and_sends_nothing(
    chromium: Browser, server: Server
) -> None:
    context = chromium.new_context(java_script_enabled=False)
    phone = Watched(context.new_page(), server)
    phone.page.goto(f"{server.url}/s/workplace")

    text = phone.page.locator("body").inner_text()
    assert "needs JavaScript" in text
    assert "sends nothing" in text
    assert "deniably answer" in text
    for control in phone.page.locator("button, input, form").all():
        assert not control.is_visible()
    assert phone.posts() == []
    phone.page.click("#exit")
    assert phone.page.url == f"{server.url}/measures", "to leave is a link"
    context.close()


def test_where_the_browser_has_no_cryptography_it_says_so(phone: Watched) -> None:
    phone.page.add_init_script("Object.defineProperty(crypto, 'subtle', {value: undefined})")
    phone.open()

    phone.wait("refused")
    assert "https" in phone.words("#why")


def test_the_policy_allows_no_inline_code_and_nothing_from_elsewhere(server: Server) -> None:
    answer = requests.get(f"{server.url}/s/workplace", timeout=30)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    html = answer.text
    assert "style=" not in html
    assert " onclick" not in html
    assert re.findall("<script[^>]*>", html) == [
        f'<script type="module" src="/web/{BUILD}/form/page.js">',
        '<script type="application/json" id="definition">',
        '<script type="application/json" id="words">',
    ], "code from files alone; the others are data, which no browser runs"


def test_hostile_texts_are_shown_as_texts(phone: Watched) -> None:
    dialogs: list[str] = []
    phone.page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    phone.open("/s/hostile")
    assert phone.heading().startswith("<script>alert(1)</script>")
    phone.click("Start")
    assert phone.heading() == "</h1><img src=x onerror=alert(2)> how?"
    phone.choose("<b>bold</b>")
    assert phone.words("[data-answer]") == "<b>bold</b>"
    phone.send()
    phone.wait("receipt")

    assert len(phone.posts()) == 1
    assert dialogs == []
    assert phone.console == []


def test_a_closed_survey_asks_nothing(server: Server) -> None:
    page = requests.get(f"{server.url}/s/closed", timeout=30).text

    assert re.findall("<h1[^>]*>(.*?)</h1>", page, re.DOTALL) == ["This survey is closed"]
    assert re.findall("<(?:input|form|script)", page) == []


def test_the_words_are_plain_and_promise_no_more_than_they_keep(sent: Watched) -> None:
    phone = sent
    words = phone.page.locator("main").text_content() or ""

    for forbidden in (" lie", "fake", "false", "noise", "epsilon", "algorithm", "100 % anonymous"):
        assert forbidden not in words.lower()
    assert "75 of 100 times" in words, "the odds in natural frequencies"
    assert "Your device rolls a die for every answer." in words
    assert "So nobody can be sure what you answered" in words
    assert "What remains visible is that you took part" in words
    assert "That is strong evidence" in words, "and that protection has its limits"
