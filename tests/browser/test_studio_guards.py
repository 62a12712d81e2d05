"""What guards the studio's pages in a real browser: texts stay texts, the policy holds, the cookie
goes nowhere else, and nothing that an author typed is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import requests
from playwright.sync_api import Browser, BrowserContext, Page

from deniably_server.guard.session import COOKIE
from support.material import Server
from support.studio_pages import SAVED
from support.studio_tab import Studio

pytestmark = pytest.mark.browser

BREAK_OUT = "\"'></textarea></title><img src=x onerror=pwned=1><script>pwned=1</script>{{7*7}}"
NAME = BREAK_OUT[:90]
TAG = "<img src=x onerror=pwned=1>"
SAYS_NOTHING = ("/s/closed",)
"""Pages that show no author's text."""


@pytest.fixture(scope="module")
def server(first_start: Server) -> Server:
    return first_start


@pytest.fixture(scope="module")
def unguarded(chromium: Browser) -> Iterator[BrowserContext]:
    """A browser that heeds no policy."""
    context = chromium.new_context(bypass_csp=True, accept_downloads=True)
    yield context
    context.close()


@pytest.fixture(scope="module")
def studio(server: Server, unguarded: BrowserContext) -> Studio:
    """A group whose every text is an attack, and its pages."""
    studio = Studio(unguarded, server)
    studio.found(NAME, BREAK_OUT)
    return studio


@pytest.fixture(scope="module")
def pages(studio: Studio, server: Server) -> list[str]:
    """Every page of the origin that shows something of a draft and of a survey, open and closed."""
    page = studio.page
    drafts: list[str] = []
    for name in ("kept", "open", "closed"):
        draft = studio.begin(BREAK_OUT, BREAK_OUT)
        page.select_option("#type", "select_one")
        page.wait_for_selector("#f-choices")
        studio.write("#f-hint", BREAK_OUT)
        studio.write("#f-short", TAG)
        studio.write("#f-choices", f"{BREAK_OUT}\nOther {BREAK_OUT}")
        studio.saved()
        page.click("#list li:nth-child(1) a")
        page.wait_for_selector("#f-intro")
        for field in ("intro", "contact"):
            studio.write(f"#f-{field}", BREAK_OUT)
        studio.saved()
        drafts.append(draft)
        if name == "kept":
            continue
        page.click("text=Continue")
        page.fill("#name", name)
        page.check("#read")
        page.click("#publish")
        page.wait_for_selector("#done:not([hidden])")
    page.goto(f"{server.url}/studio/s/closed")
    page.fill("#typed", "closed")
    page.click("#close")
    page.wait_for_selector("#few:not([hidden])")
    page.check("#anyway")
    page.click("#close")
    page.wait_for_selector("#again")
    kept = drafts[0].removeprefix(server.url)
    return ["/studio/", kept, f"{kept}?question=q1", f"{kept}/balance?question=q1",
            f"{kept}/privacy", f"{kept}/try", f"{kept}/page?question=q1", f"{kept}/publish",
            "/studio/s/open", "/studio/s/closed", "/studio/in", "/", "/s/open",
            "/s/closed", "/surveys/open", "/surveys/closed", "/register"]  # fmt: skip


def seen(page: Page) -> str:
    """All that a page shows, also in its fields."""
    found: str = page.evaluate("""() => [document.body.innerText, document.title,
      ...Array.from(document.querySelectorAll("input, textarea"), ({ value }) => value)
    ].join("\\n")""")
    return found


class Look(NamedTuple):
    """A look at a page: whether an author's text ran as a script, and what is shown."""

    ran: bool
    shown: str


@pytest.fixture(scope="module")
def looks(studio: Studio, pages: list[str], server: Server) -> dict[str, Look]:
    """A look at every page, without any policy."""
    page, found = studio.page, dict[str, Look]()
    for address in pages:
        for _ in range(20):  # on a busy machine figures take too long, or come later
            load(page, server, address)
            if address in SAYS_NOTHING or TAG in seen(page):
                break
        ran = page.evaluate("globalThis.pwned") is not None
        found[address] = Look(ran or page.locator("img[src=x]").count() > 0, seen(page))
    assert studio.errors == []
    return found


def load(page: Page, server: Server, address: str) -> None:
    """Open a page, until what it fetches later is there. A check of the page before may still be at
    work, and a browser has one at a time."""
    for _ in range(60):
        answer = page.goto(f"{server.url}{address}", wait_until="networkidle")
        if answer and answer.ok:
            break
        page.wait_for_timeout(500)
    if address.startswith("/studio/d/") and page.locator("#balance").count():
        page.wait_for_selector("#balance p:visible")
    page.wait_for_function("[...document.images].every(({ complete }) => complete)")


@pytest.mark.thorough
def test_a_break_out_in_every_field_is_text_on_every_page_without_any_policy(
    looks: dict[str, Look],
) -> None:
    for address, look in looks.items():
        assert not look.ran, address
        assert (TAG in look.shown) == (address not in SAYS_NOTHING), address
        assert "49" not in re.findall(r"</script>(\d+)", look.shown), address


@pytest.mark.thorough
def test_the_cookie_is_in_no_request_outside_the_studio(
    looks: dict[str, Look], studio: Studio, server: Server
) -> None:
    studio.page.goto(f"{server.url}/studio/")
    studio.page.evaluate("fetch('/api/surveys/open').then((answer) => answer.text())")
    asked = {request.url: request for request in studio.requests}
    assert len(asked) > len(looks)
    with_it = {
        url.removeprefix(server.url).split("/")[1]
        for url, request in asked.items()
        if url.startswith(server.url) and COOKIE in request.all_headers().get("cookie", "")
    }

    assert with_it == {"studio"}


@pytest.mark.thorough
def test_with_the_policy_all_pages_work_and_raw_html_is_stopped(
    chromium: Browser, unguarded: BrowserContext, pages: list[str], server: Server
) -> None:
    context = chromium.new_context()
    context.add_cookies(unguarded.cookies())  # type: ignore[arg-type]
    studio = Studio(context, server)
    page = studio.page
    for address in pages:
        load(page, server, address)
        assert studio.errors == [], address
        if not address.startswith("/studio/"):
            continue
        stopped = page.evaluate("""() => [
          () => { document.body.innerHTML = "<b>raw</b>"; },
          () => document.body.insertAdjacentHTML("beforeend", "<b>raw</b>"),
          () => new DOMParser().parseFromString("<b>raw</b>", "text/html"),
          () => { document.createElement("script").src = "/web/studio/in.js"; },
          () => trustedTypes.createPolicy("other", { createHTML: (text) => text }),
        ].map((raw) => { try { raw(); return "done"; } catch ({ name }) { return name; } })""")
        assert stopped == ["TypeError"] * 5, address
        assert page.locator("b:text-is('raw')").count() == 0
        studio.errors.clear()
    context.close()


@pytest.mark.thorough
def test_the_policy_of_the_studio_is_made_once(studio: Studio, server: Server) -> None:
    """Whoever gets a script to run there cannot make it again."""
    context = studio.page.context.browser.new_context()  # type: ignore[union-attr]
    page = context.new_page()
    page.goto(f"{server.url}/studio/in", wait_until="networkidle")

    made = page.evaluate("""() => {
      try { return trustedTypes.createPolicy("studio", {}).name; } catch ({ name }) { return name; }
    }""")

    assert made == "TypeError"
    context.close()


# --- nothing is lost ----------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_session_that_ends_while_somebody_types_leads_back_to_the_place_with_the_text(
    studio: Studio,
) -> None:
    page = studio.page
    draft = studio.begin("Nights", "Asleep?")
    place = page.url
    page.wait_for_load_state("networkidle")
    page.context.clear_cookies()
    page.fill("#f-label", "Do you sleep at work?")
    page.keyboard.press("Tab")
    assert studio.why() == (
        "You were signed out; nothing is lost: sign in, and you are back here. Sign in"
    )
    page.fill("#f-hint", "In the last month")  # goes on typing

    page.click("#why a")
    page.click("#sign-in")
    page.wait_for_url(place)
    page.wait_for_selector(SAVED)

    file = page.request.get(f"{draft.replace('/d/', '/drafts/')}.yaml").text()
    assert "Do you sleep at work?" in file
    assert "In the last month" in file
    assert page.input_value("#f-label") == "Do you sleep at work?"


@pytest.mark.thorough
def test_a_link_to_a_draft_leads_there_once_somebody_signed_in(
    studio: Studio, server: Server
) -> None:
    draft = studio.begin("Linked", "Asked?")
    studio.page.goto(f"{server.url}/register")  # nothing there asks with the cookie
    studio.page.context.clear_cookies()
    tab = studio.page.context.new_page()

    tab.goto(f"{draft}?question=q1")
    tab.wait_for_selector("#here:not([hidden])")
    tab.click("#sign-in")

    tab.wait_for_url(f"{draft}?question=q1")
    tab.close()


@pytest.mark.thorough
def test_of_two_tabs_that_publish_one_draft_the_second_shows_where_it_is(
    studio: Studio, server: Server
) -> None:
    draft = studio.begin("Twice", "Published once?")
    first, second = studio.page, studio.page.context.new_page()
    for tab in (first, second):
        tab.goto(f"{draft}/publish")
        tab.fill("#name", "twice-26")
        tab.check("#read")
    first.click("#publish")
    first.wait_for_selector("#done h2:text-is('It is open')")

    second.click("#publish")

    second.wait_for_selector("#done h2:text-is('It was published already')")
    assert second.inner_text("#link") == f"{server.url}/s/twice-26"
    assert "meanwhile, in another tab" in second.inner_text("#why")
    second.close()
    names = [entry["survey"] for entry in requests.get(
        f"{server.url}/register", timeout=30).json()["entries"]]  # fmt: skip
    assert names.count("twice-26") == 1


@pytest.mark.thorough
def test_an_address_that_is_taken_is_said_before_anything_is_signed(
    studio: Studio, pages: list[str]
) -> None:
    page = studio.page
    draft = studio.begin("Taken", "Taken?")
    page.goto(f"{draft}/publish")
    page.fill("#name", "open")
    page.check("#read")
    before = len(studio.sent)

    page.click("#publish")

    assert studio.why() == "This address is taken; open-b is free."
    assert not [each for each in studio.sent[before:] if "/published" in each]
    page.fill("#minimum", "601")
    page.wait_for_selector("#too-many:not([hidden])")
    assert page.inner_text("#too-many") == (
        "You expect 600 people and ask for 601. Nobody would ever see a result."
    )
    page.reload()
    assert "This address is taken; open-b is free." in studio.words()


@pytest.mark.thorough
def test_a_minute_without_a_network_loses_nothing_and_doubles_nothing(studio: Studio) -> None:
    page = studio.page
    draft = studio.begin("First", "Question?")
    page.clock.install()
    page.reload(wait_until="networkidle")
    page.context.set_offline(True)
    for number in range(5):
        page.fill("#f-label", f"Label {number}")
        page.keyboard.press("Tab")
        page.fill("#f-hint", f"Hint {number}")
        page.keyboard.press("Tab")
        page.clock.run_for(12_000)
        page.wait_for_selector("#state:has-text('It is kept in this tab')")
    sent = len(studio.sent)
    page.context.set_offline(False)
    page.clock.run_for(4_000)
    page.wait_for_selector(SAVED)
    page.clock.resume()

    file = page.request.get(f"{draft.replace('/d/', '/drafts/')}.yaml").text()
    assert "label: Label 4\n" in file
    assert "hint: Hint 4\n" in file
    edits = [each for each in studio.sent[sent:] if "/edits" in each]
    asked = [re.findall(r'"edit":"(\w+)"', each)[0] for each in edits]
    assert len(asked) == len(set(asked)), "each edit went once"
    values = re.findall(r'"value":"(\w+ \d)"', " ".join(edits))
    assert [value for value in values if "Label" in value] == sorted(
        value for value in values if "Label" in value
    )


@pytest.mark.thorough
def test_a_killed_server_loses_no_edit_that_it_acknowledged(
    chromium: Browser, tmp_path: Path
) -> None:
    database = tmp_path / "deniably.db"
    server = Server(database)
    context = chromium.new_context(accept_downloads=True)
    studio = Studio(context, server)
    page = studio.page
    studio.found("Union", "u")
    draft = studio.begin("Kept", "Acknowledged?")
    for number in range(20):
        page.fill("#f-label", f"Label {number}")
        page.keyboard.press("Tab")
        page.wait_for_selector(SAVED)
        page.wait_for_function(f"JSON.stringify(document.querySelector('#list').textContent)"
                               f".includes('Label {number}')")  # fmt: skip
    port = server.port
    server.kill()
    page.fill("#f-hint", "Typed while it was down")
    page.keyboard.press("Tab")
    page.wait_for_selector("#state:has-text('It is kept in this tab')")

    again = Server(database, "--port", str(port))
    page.wait_for_selector(SAVED)

    file = page.request.get(f"{draft.replace('/d/', '/drafts/')}.yaml").text()
    assert "label: Label 19\n" in file
    assert "hint: Typed while it was down\n" in file
    context.close()
    again.kill()
