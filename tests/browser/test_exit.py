"""“Exit this page”: gone at once, from every step, and nothing of the survey is left in the tab."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests
from playwright.sync_api import Browser, BrowserContext

from deniably.authoring.compiling import publish_text
from support.material import Server
from support.phone import ANSWERS, SURVEY, Watched, as_new
from support.soak import soak

pytestmark = pytest.mark.browser

LEFT = """async () => ({
  databases: (await indexedDB.databases()).map(({ name }) => name), caches: await caches.keys(),
  workers: (await navigator.serviceWorker.getRegistrations()).length,
})"""
NOTHING = {"databases": [], "caches": [], "workers": 0}


def question(phone: Watched) -> None:
    phone.open()
    phone.click("Start")
    phone.press(("label", ""))


def error(phone: Watched) -> None:
    question(phone)
    phone.click("Continue")
    phone.click("Continue")


def back_and_forth(phone: Watched) -> None:
    question(phone)
    phone.click("Continue")
    phone.click("Back")
    phone.page.go_back()
    phone.see("[data-question=often]")


def reloaded(phone: Watched) -> None:
    """Back at the start."""
    question(phone)
    phone.page.reload()
    phone.see("#survey[data-kept]")


def other_language(phone: Watched) -> None:
    question(phone)
    phone.click("Back")
    phone.press(("details.languages summary", ""))
    phone.press(("nav.languages a[lang=de]", ""))
    phone.see("html[lang=de] #survey[data-kept]")


def practised(phone: Watched) -> None:
    phone.open()
    phone.click("Practise")
    phone.press(("[data-step=practice] [data-go='1']", ""))


BACK_AND_FORTH = """() => {
  for (let i = 0; i < 30; i++) {
    document.querySelector("[data-first] [data-go='1']").click();
    document.querySelector("[data-question] [data-go='0']").click();
  }
}"""


def sixty_steps(phone: Watched) -> None:
    """More than a browser keeps of a tab."""
    phone.open()
    phone.page.evaluate(BACK_AND_FORTH)


def sending(phone: Watched) -> None:
    phone.to_check_page()
    phone.page.context.route("**/reports", lambda route: None)
    phone.send()
    phone.wait("sending")


def receipt(phone: Watched) -> None:
    phone.to_check_page()
    phone.send()
    phone.wait("receipt")


def refused(phone: Watched) -> None:
    phone.tamper("Honesty", "Dishonesty")
    phone.open()


STEPS = (
    error,
    soak(back_and_forth),
    reloaded,
    other_language,
    soak(practised),
    sixty_steps,
    sending,
    receipt,
    refused,
)


def assert_forgotten(phone: Watched) -> None:
    """There is no entry of the survey between where the tab is and where it was before."""
    assert phone.heading() == "Weights and measures"
    for move in (phone.page.go_forward, phone.page.go_back, phone.page.go_back):
        move()
        assert "/s/" not in phone.page.url
    assert phone.page.url == "about:blank"


@pytest.fixture
def first_tab(handed_on: BrowserContext, server: Server) -> Iterator[Watched]:
    """A phone that was never here, in the one tab of its browser that is never closed: each test
    leaves it where it was before."""
    yield Watched(handed_on.pages[0], server)
    as_new(handed_on, server.url)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.thorough
def test_every_step_can_be_left_and_the_tab_forgets_it(
    first_tab: Watched, step: Callable[[Watched], None]
) -> None:
    phone = first_tab
    phone.page.goto("about:blank")
    step(phone)
    phone.leave()

    assert_forgotten(phone)
    assert all(request.url.startswith(phone.url) for request in phone.requests)


@pytest.mark.thorough
def test_another_survey_stays_kept(phone: Watched, server: Server) -> None:
    phone.open("/s/hostile")
    phone.open()
    phone.leave()

    assert phone.page.evaluate(LEFT)["workers"] == 1
    phone.page.context.route("**/s/*", lambda route: route.abort())
    phone.open("/s/hostile")
    with pytest.raises(Exception, match="net::ERR_FAILED"):
        phone.page.goto(phone.url + "/s/workplace")


def test_an_onlooker_sees_the_other_page_at_once_and_what_was_kept_is_gone(phone: Watched) -> None:
    """Whether it comes soon or never: until then the form shows its copy. What is kept for use
    without a network goes, too."""
    phone.page.goto("about:blank")
    phone.to_check_page()
    assert phone.page.evaluate(LEFT)["workers"] == 1
    left = """() => {
      document.getElementById("exit").click();
      return [document.title, document.body.innerText.trim(), document.documentElement.outerHTML];
    }"""

    title, text, html = phone.page.evaluate(left)
    phone.left()

    assert (title, text) == (phone.page.title(), phone.page.inner_text("body").strip())
    for word in ("workplace", "stolen", *ANSWERS):
        assert word not in html
    assert phone.page.evaluate(LEFT) == NOTHING
    assert_forgotten(phone)


@pytest.mark.thorough
def test_without_a_network_the_other_page_stays(chromium: Browser, tmp_path: Path) -> None:
    """Pulled at the browser, which then knows of it, or only at the other end."""
    server = Server(tmp_path / "deniably.db")
    server.publish(publish_text(SURVEY))
    context = chromium.new_context()
    phone = Watched(context.new_page(), server)
    for plug in ("browser", "server"):
        phone.page.goto("about:blank")
        phone.to_check_page()
        if plug == "server":
            server.kill()
        context.set_offline(plug == "browser")
        with phone.page.expect_event("requestfailed", lambda one: one.url.endswith("/measures")):
            phone.page.click("#exit")

        for _ in range(2):
            assert phone.heading() == phone.page.title() == "Weights and measures", plug
            assert phone.page.url == f"{phone.url}/measures"
            assert phone.page.evaluate("document.documentElement.lang") == "en"
            assert phone.page.evaluate(LEFT) == NOTHING
            phone.page.go_back()
        assert phone.page.url == "about:blank"
        context.set_offline(False)
    context.close()


def test_escape_three_times_leaves_and_is_announced(phone: Watched) -> None:
    """A key that is held down counts once, and presses far apart do not count together."""
    phone.open()
    status = phone.page.locator("#presses")
    keys = phone.page.keyboard
    for _ in range(5):
        keys.down("Escape")
    keys.up("Escape")
    assert "two more times" in status.inner_text()
    keys.press("a")
    assert status.inner_text() == ""
    for stamp in (1_000, 4_500, 8_000):
        phone.page.evaluate(
            """stamp => {
              const event = new KeyboardEvent("keydown", {key: "Escape"});
              Object.defineProperty(event, "timeStamp", {value: stamp});
              dispatchEvent(event);
            }""",
            stamp,
        )
    assert "two more times" in status.inner_text()
    keys.press("a")

    phone.click("Start")
    for pressed, said in (("Escape", "two more times"), ("Escape", "once more"), ("a", "")):
        keys.press(pressed)
        assert said in status.inner_text()
    assert status.inner_text() == "", "another key starts the count anew"
    assert status.get_attribute("role") == "status"
    for _ in range(3):
        keys.press("Escape")
    phone.left()


def test_the_page_says_what_it_cannot_do_and_the_keyboard_reaches_it_just_before_the_heading(
    phone: Watched,
) -> None:
    phone.open()
    assert "history still holds the address of this page" in (phone.page.text_content("main") or "")

    phone.click("Start")
    phone.page.keyboard.press("Shift+Tab")
    assert phone.page.evaluate("document.activeElement.textContent") == "Exit this page"
    phone.page.keyboard.press("Enter")
    phone.left()


def test_it_stays_in_sight_and_hides_nothing_that_has_the_focus(phone: Watched) -> None:
    phone.page.set_viewport_size({"width": 320, "height": 480})
    phone.open("/s/hostile")
    phone.click("Start")
    for control in phone.page.locator("input:visible, summary:visible, button:visible").all():
        control.focus()
        hidden = phone.page.evaluate(
            """() => {
              const box = document.activeElement.getBoundingClientRect();
              const bar = document.getElementById("exit").getBoundingClientRect();
              const apart = box.top >= bar.bottom || box.right <= bar.left;
              return !(apart && box.bottom <= innerHeight && bar.top >= 0);
            }"""
        )
        assert not hidden, control.inner_text()


def test_the_other_page_says_nothing_of_surveys(server: Server) -> None:
    text = requests.get(f"{server.url}/measures", timeout=30).text.lower()

    assert "<title>weights and measures</title>" in text
    for word in ("survey", "deniably", "answer", "exit"):
        assert word not in text
