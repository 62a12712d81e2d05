"""A draft is tried out in a real Chromium: beside the editor, and on a phone without a session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Frame, Page, Route

from deniably.authoring.compiling import compile_survey
from deniably.survey.report import read_report
from deniably_server.guard.session import COOKIE
from support.material import Server
from support.phone import PHONE
from support.soak import soak
from support.studio import EVERY_KIND, Author, Distant
from support.studio_pages import WIDE

pytestmark = pytest.mark.browser

SAVED = "#state:text-is('Saved')"
SENT = "#tried:visible"
STORED = """async () => ({
  databases: (await indexedDB.databases()).map(({ name }) => name), caches: await caches.keys(),
  local: {...localStorage}, session: {...sessionStorage}, cookies: document.cookie,
  workers: (await navigator.serviceWorker.getRegistrations()).length,
})"""
NOTHING = {
    "databases": [], "caches": [], "local": {}, "session": {}, "cookies": "", "workers": 0,
}  # fmt: skip
FOCUS = "document.activeElement.id || document.activeElement.localName"
SLOW = "<!doctype html><title>Slow</title><p data-slow>Look again in a moment.</p>"
PAUSES = [2000, 4000, 8000, 16_000, 32_000]
"""Milliseconds, in ``web/studio/figures.js``."""
CARET = "document.activeElement.selectionStart"
YES_NO: dict[str, Any] = {
    "name": "sleep",
    "type": "yes_no",
    "label": "Do you sleep at work?",
    "odds": 3,
}
NIGHTS: dict[str, Any] = {
    "name": "nights", "title": "Night shifts", "contact": "The union",
    "questions": [YES_NO, {"name": "whom", "type": "select_one", "label": "Whom would you tell?",
                           "choices": ["A colleague", "The union", "Nobody"], "odds": 3}],
}  # fmt: skip


@pytest.fixture(scope="module")
def server(first_start: Server) -> Server:
    return first_start


@pytest.fixture(scope="module")
def cookie(author: Author) -> str:
    assert isinstance(author.client, Distant)
    return str(author.client.session.cookies[COOKIE])


@pytest.fixture
def desk(chromium: Browser, server: Server, cookie: str) -> Iterator[Page]:
    """A browser in which the author is signed in."""
    context = chromium.new_context(viewport={"width": 1280, "height": 1000})
    path = f"{server.url}/studio/"
    context.add_cookies([{"name": COOKIE, "value": cookie, "url": path}])
    yield context.new_page()
    context.close()


@pytest.fixture
def mobile(chromium: Browser) -> Iterator[BrowserContext]:
    """A phone of somebody who has no session."""
    context = chromium.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    yield context
    context.close()


def fill(form: Page | Frame, presses: str = "Start") -> None:
    """Answer a form, from its first page to the end."""
    form.click(f"button:visible:has-text('{presses}')")
    while form.locator("[data-step=question]:visible").count():
        question = form.locator("[data-step=question]:visible")
        parts = question.locator("fieldset.part")
        for group in parts.all() or [question]:
            if group.locator("label.choice").count():
                group.locator("label.choice").first.click()
        for field in question.locator("input[type=text]").all():
            field.fill("3")
        question.locator("button:has-text('Continue')").click()
    form.click("#send")
    form.wait_for_selector(SENT)


def beside(page: Page) -> Frame:
    """The form in the editor's frame, once it is there."""
    page.locator("#preview").scroll_into_view_if_needed()
    page.frame_locator("#preview").locator("#survey:not([hidden])").wait_for()
    (frame,) = [frame for frame in page.frames if "/page" in frame.url]
    return frame


def edit(page: Page, server: Server, draft: str, question: str = "q1") -> Frame:
    page.goto(f"{server.url}/studio/d/{draft}?question={question}")
    page.wait_for_selector("#balance .big")
    return beside(page)


# --- nothing is sent, and nothing is kept -------------------------------------------------------


def test_a_phone_answers_every_kind_of_question_and_nothing_leaves_it_or_stays(
    mobile: BrowserContext, server: Server, author: Author
) -> None:
    path = author.trial_link(author.begin(EVERY_KIND))
    phone, requests, errors = mobile.new_page(), list[tuple[str, str]](), list[str]()
    mobile.on("request", lambda one: requests.append((one.method, one.url)))
    phone.on("console", lambda line: errors.append(line.text))
    phone.on("pageerror", lambda error: errors.append(str(error)))
    phone.goto(server.url + path)
    fill(phone)
    phone.wait_for_load_state("networkidle")

    survey = compile_survey(EVERY_KIND)
    text = phone.text_content("#report") or ""
    report = read_report(text.encode())
    report.check(survey)
    assert report.canonical == text.encode(), "what would be sent, to the byte"
    labels = phone.locator("#would dt").all_text_contents()
    assert labels == [question.label for question in survey.questions]
    assert phone.locator("#would dd").first.text_content() in ("Yes", "No")
    assert {method for method, _ in requests} == {"GET"}
    paths = [urlsplit(url).path for _, url in requests]
    assert [each for each in paths if not each.startswith("/web/")] == [path]
    assert all(url.startswith(server.url + "/") for _, url in requests)
    assert phone.evaluate(STORED) == NOTHING
    assert mobile.cookies() == []
    assert errors == []
    assert path not in server.log
    assert path.rpartition("/")[2] not in server.log


def test_beside_the_editor_the_stores_of_the_origin_stay_as_they_are(
    desk: Page, server: Server, author: Author
) -> None:
    draft = author.begin(NIGHTS)
    frame = edit(desk, server, draft)
    desk.evaluate("new Promise((done) => { indexedDB.open('kept').onsuccess = done; })")
    before, asked = desk.evaluate(STORED), list[str]()
    desk.on("request", lambda one: asked.append(f"{one.method} {urlsplit(one.url).path}"))
    frame.click("button:visible:has-text('Back')")
    fill(frame)

    frame.click("#anew")
    frame.wait_for_selector("[data-step=question]:visible h1:has-text('Do you sleep')")

    assert desk.evaluate(STORED) == before
    assert before["databases"] == ["kept"]
    assert {each for each in asked if "/web/" not in each} == {f"GET /studio/d/{draft}/page"}


def test_the_browser_itself_stops_whatever_a_trial_would_send(
    mobile: BrowserContext, server: Server, author: Author
) -> None:
    phone, asked = mobile.new_page(), list[str]()
    phone.goto(server.url + author.trial_link(author.begin(NIGHTS)))
    phone.wait_for_selector("#survey:not([hidden])")
    phone.on("request", lambda one: asked.append(one.url))

    for attempt in ("fetch('/healthz')", "fetch('/api/surveys', { method: 'POST', body: '1' })"):
        ended = f"{attempt}.then(() => 'sent', () => 'stopped')"
        assert phone.evaluate(ended) == "stopped"
    phone.evaluate("navigator.sendBeacon('/api/surveys', '1')")

    reached = [request for request in asked if not request.startswith(f"{server.url}/web/")]
    assert [phone.evaluate("performance.getEntriesByName(location.origin + '/healthz').length"),
            server.log.count("/healthz")] == [0, 0], reached  # fmt: skip


# --- beside the editor --------------------------------------------------------------------------


@pytest.mark.thorough
def test_the_caret_stays_in_the_authors_field_while_the_form_comes_again(
    desk: Page, server: Server, author: Author
) -> None:
    edit(desk, server, author.begin(NIGHTS))
    asked = list[str]()
    desk.on("request", lambda one: asked.append(one.url) if "/page?" in one.url else None)
    before = desk.evaluate("history.length")
    desk.focus("#f-label")
    desk.evaluate("document.activeElement.setSelectionRange(6, 6)")
    for typed in (" ever", " really"):
        desk.keyboard.type(typed)
        caret = desk.evaluate(CARET)
        heading = desk.frame_locator("#preview").locator("[data-step=question]:visible h1")
        heading.filter(has_text=typed).wait_for()
        desk.wait_for_timeout(300)
        assert (desk.evaluate(FOCUS), desk.evaluate(CARET)) == ("f-label", caret)

    assert desk.input_value("#f-label") == "Do you ever really sleep at work?"
    assert len(asked) == 2, "once after each change, and not for each key"
    assert desk.evaluate("history.length") == before, "the author's Back leads where it led before"


@pytest.mark.thorough
def test_a_form_that_takes_the_focus_would_be_seen(
    desk: Page, server: Server, author: Author
) -> None:
    def greedy(route: Route) -> None:
        answer = route.fetch()
        text = answer.text()
        assert "if(touched)" in text
        route.fulfill(response=answer, body=text.replace("if(touched)", ""))

    desk.route("**/form/page-trial.js", greedy)
    edit(desk, server, author.begin(NIGHTS))
    desk.focus("#f-label")
    desk.keyboard.press("End")

    desk.keyboard.type(" Or at home?")
    desk.frame_locator("#preview").locator("h1:visible", has_text="Or at home?").wait_for()
    desk.wait_for_function("document.activeElement.id !== 'f-label'")

    assert desk.evaluate(FOCUS) == "preview"


def test_once_it_is_touched_the_form_leads_the_focus_as_any_form_does(
    desk: Page, server: Server, author: Author
) -> None:
    frame = edit(desk, server, author.begin(NIGHTS))
    assert frame.evaluate(FOCUS) == "body"

    frame.click("label:visible >> nth=0")
    frame.click("button:visible:has-text('Continue')")

    assert frame.evaluate(FOCUS) == "h1"
    assert frame.evaluate("document.activeElement.textContent") == "Whom would you tell?"


def test_the_frame_shows_the_question_that_is_written(
    desk: Page, server: Server, author: Author
) -> None:
    draft = author.begin(NIGHTS)
    for question, heading in (("q1", "Do you sleep at work?"), ("q2", "Whom would you tell?")):
        frame = edit(desk, server, draft, question)
        assert frame.locator("h1:visible").all_text_contents() == [heading]
    desk.goto(f"{server.url}/studio/d/{draft}")
    assert beside(desk).locator("h1:visible").all_text_contents() == ["Night shifts"]


@pytest.mark.thorough
def test_what_is_not_ready_is_said_in_the_frame_until_it_is(
    desk: Page, server: Server, author: Author
) -> None:
    one = {"type": "select_one", "label": "Whom?", "choices": ["Nobody"], "odds": 3}
    draft = author.begin(NIGHTS | {"questions": [one]})
    desk.goto(f"{server.url}/studio/d/{draft}?question=q1")
    desk.locator("#preview").scroll_into_view_if_needed()
    form = desk.frame_locator("#preview")
    form.locator("h1", has_text="Not ready yet").wait_for()

    desk.fill("#f-choices", "Nobody\nA friend")

    form.locator("label:visible", has_text="A friend").wait_for()


@pytest.mark.thorough
def test_a_form_that_the_server_had_no_time_for_is_asked_for_again(
    desk: Page, server: Server, author: Author
) -> None:
    draft, left = author.begin(NIGHTS), [SLOW, SLOW]

    def slow(route: Route) -> None:
        if left:
            route.fulfill(content_type="text/html", body=left.pop())
        else:
            route.continue_()

    desk.clock.install()
    desk.route("**/page*", slow)
    desk.goto(f"{server.url}/studio/d/{draft}/try")
    for pause in PAUSES[:2]:
        desk.frame_locator("iframe").locator("[data-slow]").wait_for()
        desk.clock.run_for(pause)
    desk.frame_locator("iframe").locator("#survey:not([hidden])").wait_for()

    assert left == []


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("place", "frame"), [("?question=q2", "#preview"), ("/try", ".phone iframe")]
)
def test_whoever_is_signed_out_meanwhile_finds_the_way_back_in_the_frame(
    desk: Page, server: Server, author: Author, place: str, frame: str
) -> None:
    address = f"{server.url}/studio/d/{author.begin(NIGHTS)}{place}"
    desk.goto(address)
    desk.context.clear_cookies()
    desk.evaluate("(frame) => document.querySelector(frame).contentWindow.location.reload()", frame)
    form = desk.frame_locator(frame)
    form.locator("h1", has_text="You were signed out").wait_for()

    form.locator("a:text-is('Sign in')").click()

    desk.wait_for_url(f"{server.url}/studio/in#{address.removeprefix(server.url)}")


@pytest.mark.thorough
def test_the_way_out_stays_in_the_frame_and_the_next_change_brings_the_form_back(
    desk: Page, server: Server, author: Author
) -> None:
    frame = edit(desk, server, author.begin(NIGHTS))
    address = desk.url

    frame.click("#exit")

    form = desk.frame_locator("#preview")
    form.locator("h1", has_text="Weights and measures").wait_for()
    desk.wait_for_timeout(300)
    assert form.locator("h1").all_text_contents() == ["Weights and measures"]
    assert desk.url == address
    desk.fill("#f-hint", "In a break, too")
    form.locator(".hint:visible", has_text="In a break, too").wait_for()


@pytest.mark.thorough
def test_links_that_lead_away_open_beside_it(desk: Page, server: Server, author: Author) -> None:
    frame = edit(desk, server, author.begin(NIGHTS))

    with desk.context.expect_page() as opened:
        frame.click("footer a:has-text('How this works')")

    assert opened.value.url.startswith(f"{server.url}/how")
    assert frame.locator("h1:visible").all_text_contents() == ["Do you sleep at work?"]


# --- of any design ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "more",
    [
        {"invited": True},
        {"strata": {"site": ["north", "south"]}},
        {"budget": {"epsilon": 2, "spend": "sample"}},
        {"waves": {"panel": "nights", "count": 2}},
        {"part": True},
        {"language": "de"},
        {"language": "ar"},
    ],
    ids=str,
)
@pytest.mark.thorough
def test_a_survey_of_any_design_can_be_tried(
    mobile: BrowserContext, server: Server, author: Author, more: dict[str, Any]
) -> None:
    questions = NIGHTS["questions"]
    if "budget" in more:
        questions = [{k: v for k, v in each.items() if k != "odds"} for each in questions]
    document = NIGHTS | {"questions": questions} | more
    phone, errors = mobile.new_page(), list[str]()
    phone.on("pageerror", lambda error: errors.append(str(error)))
    phone.goto(f"{server.url}{author.trial_link(author.begin(document))}?language=en")

    fill(phone)

    report = read_report((phone.text_content("#report") or "").encode())
    report.check(compile_survey(document))
    assert phone.evaluate(STORED) == NOTHING
    assert errors == []


def test_what_devices_would_refuse_is_refused_here_too(
    mobile: BrowserContext, server: Server, author: Author
) -> None:
    questions = [YES_NO | {"name": f"q{number}", "odds": 20} for number in range(3)]
    document = NIGHTS | {"questions": questions, "part": False}
    phone = mobile.new_page()

    phone.goto(server.url + author.trial_link(author.begin(document)))

    phone.wait_for_selector("[data-step=refused]:visible")
    assert "So it does not answer" in (phone.text_content("#why") or "")


def test_a_word_of_the_author_shows_as_text(
    mobile: BrowserContext, server: Server, author: Author
) -> None:
    hostile = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"
    choice = {"type": "select_one", "label": hostile, "choices": [hostile, "b"], "odds": 3}
    phone, alerts = mobile.new_page(), list[str]()
    phone.on("dialog", lambda dialog: alerts.append(dialog.message))
    document = {"name": "h", "title": hostile, "contact": hostile, "questions": [choice]}
    phone.goto(server.url + author.trial_link(author.begin(document)))

    fill(phone)

    assert phone.locator("#would dt").all_text_contents() == [hostile]
    assert phone.locator("img, main script").count() == 0
    assert alerts == []


# --- on a phone ---------------------------------------------------------------------------------


@pytest.mark.thorough
def test_on_a_phone_the_editor_leads_to_the_form_and_loads_none(
    desk: Page, server: Server, author: Author
) -> None:
    desk.set_viewport_size({"width": 390, "height": 780})
    asked = list[str]()
    desk.on("request", lambda one: asked.append(one.url))
    draft = author.begin(NIGHTS)
    desk.goto(f"{server.url}/studio/d/{draft}?question=q1")
    desk.wait_for_selector("#balance .big")
    desk.fill("#f-hint", "In a break, too")
    desk.wait_for_selector(SAVED)
    desk.wait_for_timeout(1000)
    assert not desk.locator("#preview").is_visible()
    assert [url for url in asked if "/page" in url] == []

    desk.click("main >> text='Try it'")
    desk.wait_for_url("**/try")
    with desk.context.expect_page() as opened:
        desk.click("text=Open the form")

    fill(opened.value)
    assert opened.value.text_content("#would dt:first-child") == "Do you sleep at work?"


@pytest.mark.thorough
def test_a_link_is_made_on_the_page_and_a_new_one_ends_it(
    desk: Page, mobile: BrowserContext, server: Server, author: Author
) -> None:
    draft = author.begin(NIGHTS)
    desk.goto(f"{server.url}/studio/d/{draft}/try")
    links = list[str]()
    for _ in range(2):
        desk.click("#make")
        desk.wait_for_function(
            "(last) => !['', last].includes(document.querySelector('#address').href)",
            arg=links[-1] if links else "",
        )
        links.append(desk.get_attribute("#address", "href") or "")
    phone = mobile.new_page()

    statuses = [phone.goto(link).status for link in links]  # type: ignore[union-attr]

    assert statuses == [404, 200]
    assert desk.locator("#link svg").get_attribute("aria-label") == "The link as a code for phones"
    assert desk.inner_text("#code") == "", "a drawing and nothing else"
    desk.reload()
    assert desk.get_attribute("#address", "href") is None, "it was shown once"
    assert "There is a link already" in desk.inner_text("#before")


def test_whoever_is_signed_out_makes_no_link_and_is_told(
    desk: Page, server: Server, author: Author
) -> None:
    desk.goto(f"{server.url}/studio/d/{author.begin(NIGHTS)}/try")
    desk.context.clear_cookies()

    desk.click("#make")
    desk.wait_for_selector("#why:not([hidden])")

    assert "signed out" in desk.inner_text("#why")


# --- for everybody, and light -------------------------------------------------------------------


@pytest.mark.parametrize("dark_and_narrow", [False, soak(True)])
@pytest.mark.thorough
def test_every_state_is_for_everybody(
    desk: Page,
    server: Server,
    author: Author,
    axe_light_and_dark: Callable[[Page], list[str]],
    axe: Callable[[Page], list[str]],
    dark_and_narrow: bool,
) -> None:
    draft = author.begin(EVERY_KIND)
    not_ready = author.begin(NIGHTS | {"questions": [{"type": "essay"}]})

    def look() -> None:
        narrow = axe_light_and_dark if dark_and_narrow else axe
        for width, sees in ((1280, axe_light_and_dark), (390, narrow), (320, narrow)):
            desk.set_viewport_size({"width": width, "height": 800})
            assert sees(desk) == [], (desk.url, width)
            assert desk.evaluate(WIDE) <= 0, (desk.url, width)
        desk.set_viewport_size({"width": 1280, "height": 1000})

    edit(desk, server, draft)
    look()
    desk.goto(f"{server.url}/studio/d/{draft}/try")
    look()
    desk.click("#make")
    desk.wait_for_selector("#link svg")
    look()
    for path in (f"/studio/d/{not_ready}/page", "/studio/try/none"):
        desk.goto(server.url + path)
        look()
    for query in ("", "?question=q3"):
        desk.goto(f"{server.url}/studio/d/{draft}/page{query}")
        desk.wait_for_selector("#survey:not([hidden])")
        look()
    desk.goto(f"{server.url}/studio/d/{draft}/page")
    fill(desk)
    desk.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    look()


@pytest.mark.parametrize("accepted", ["gzip", "gzip, br"])
@pytest.mark.parametrize("document", [NIGHTS, EVERY_KIND], ids=lambda one: str(one["name"]))
@pytest.mark.thorough
def test_a_trial_weighs_no_more_than_the_form(
    chromium: Browser, server: Server, author: Author, document: dict[str, Any], accepted: str
) -> None:
    name = f"{document['name']}-{len(accepted)}"
    draft = author.begin(document | {"name": name})
    trial = weight(chromium, server.url + author.trial_link(draft), accepted)
    assert author.publish(draft).status_code == 201
    form = weight(chromium, f"{server.url}/s/{name}", accepted)

    assert 20_000 < trial < 1.1 * form


def weight(chromium: Browser, address: str, accepted: str) -> int:
    """The bytes over the wire until a form can be answered, with all headers."""
    context = chromium.new_context(viewport=PHONE)
    page, sizes = context.new_page(), list[int]()
    page.add_init_script("delete Navigator.prototype.serviceWorker")  # it comes later
    line = context.new_cdp_session(page)
    line.send("Network.enable")
    page.set_extra_http_headers({"Accept-Encoding": accepted})
    line.on("Network.loadingFinished", lambda one: sizes.append(one["encodedDataLength"]))
    page.goto(address)
    page.wait_for_selector("#survey[data-kept]")
    page.wait_for_load_state("networkidle")
    context.close()
    assert len(sizes) >= 3
    return sum(sizes)
