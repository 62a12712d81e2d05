"""The privacy page of a draft in a real browser: ways are taken and taken back, by everybody."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import requests
from playwright.sync_api import Browser, BrowserContext, Page, Request, Route

from deniably_server.guard.session import COOKIE
from support.material import Server
from support.soak import soak
from support.studio import Author, Distant
from support.studio_pages import SAVED, expert_words, look_at

pytestmark = pytest.mark.browser

LARGEST_SCRIPTS, LARGEST_STYLES = 25_000, 4_096
UNDER_THE_FOOT = """() => {
  const focused = document.activeElement, foot = document.querySelector("#foot");
  if (focused === foot) return "the foot itself";
  const { top } = foot.getBoundingClientRect();
  return focused.getBoundingClientRect().bottom > top ? focused.outerHTML : "";
}"""
CHOSEN = ".way[aria-current] h3"
READY = "#ways .way"
QUESTIONS: list[dict[str, Any]] = [
    {"type": "yes_no", "label": "Did you hide an accident?", "odds": 3},
    {"type": "yes_no", "label": "Did you work without pay?", "odds": 3},
    {"type": "scale", "label": "How safe is it?", "choices": ["Not", "A bit", "Fully"], "odds": 3},
    {"type": "number", "label": "How many hours?", "minimum": 0, "maximum": 60, "unit": "hours",
     "odds": 3},
]  # fmt: skip
DOCUMENT: dict[str, Any] = {
    "name": "autumn-26", "title": "Our sites", "questions": QUESTIONS, "expect": 600,
}  # fmt: skip


@pytest.fixture(scope="module")
def server(first_start: Server) -> Server:
    return first_start


def signed_in(chromium: Browser, server: Server, author: Author) -> BrowserContext:
    """A browser that is signed in."""
    context = chromium.new_context()
    assert isinstance(author.client, Distant)
    cookie = str(author.client.session.cookies[COOKIE])
    context.add_cookies([{"name": COOKIE, "value": cookie, "url": f"{server.url}/studio/"}])
    return context


@pytest.fixture(scope="module")
def context(chromium: Browser, server: Server, author: Author) -> Iterator[BrowserContext]:
    """The browser that goes from one test to the next."""
    context = signed_in(chromium, server, author)
    yield context
    context.close()


@pytest.fixture
def page_of_its_own(chromium: Browser, server: Server, author: Author) -> Iterator[Page]:
    """A page of a browser whose clock, or whose session, is no other test's."""
    context = signed_in(chromium, server, author)
    yield context.new_page()
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    page = context.new_page()
    page.set_default_timeout(30_000)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    assert errors == []
    page.close()


@pytest.fixture
def opened(page: Page, server: Server, author: Author) -> Callable[..., str]:
    """Opens the privacy page of a new draft; returns the draft's address."""

    def open_(**keys: Any) -> str:
        address = f"{server.url}/studio/d/{author.begin(DOCUMENT | keys)}"
        page.goto(f"{address}/privacy")
        page.wait_for_selector("#spent .big, #spent .checks")
        # A window stands in for the best design of a mean, until that is there.
        page.wait_for_selector("[data-again]", state="detached")
        return address

    return open_


def take(page: Page, way: str) -> None:
    page.click(f".way:has(#way-{way}) button")
    page.wait_for_selector(f".way[aria-current] #way-{way}")


def fact(page: Page, name: str) -> str:
    """A figure of the way that is chosen."""
    return page.inner_text(f".way[aria-current] div:has(> dt:text-is('{name}')) dd")


def with_one_for_all(**budget: Any) -> dict[str, Any]:
    questions = [{key: each[key] for key in each if key != "odds"} for each in QUESTIONS]
    return {"questions": questions, "budget": {"epsilon": 3, "spend": "split"} | budget}


# --- the walk -----------------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_way_is_taken_with_one_press_and_taken_back_with_one(
    page: Page, opened: Callable[..., str]
) -> None:
    opened()
    assert page.inner_text("#spent .big") == "88 of 100"
    promised = page.inner_text(".way:has(#way-some) dl")

    take(page, "some")

    page.wait_for_selector("[data-again]", state="detached")
    assert page.inner_text(".way[aria-current] dl") == promised
    assert page.evaluate("document.activeElement.id") == "chosen", "whose button is gone"
    page.wait_for_selector("#budget")
    page.wait_for_selector(SAVED)
    page.click("#undo")
    page.wait_for_selector(".way[aria-current] #way-own")
    assert page.locator("#budget").count() == 0
    page.wait_for_selector("#undo:disabled")


@pytest.mark.thorough
def test_what_is_taken_here_can_be_taken_back_at_a_question(
    page: Page, opened: Callable[..., str]
) -> None:
    opened()
    take(page, "all")
    page.wait_for_selector(SAVED)
    page.click(".walk a:text-is('Questions')")
    page.click("#list li:nth-child(2) a")
    page.wait_for_selector("text=Set for all questions together")

    page.click("#undo")

    page.wait_for_selector("#odds")


@pytest.mark.thorough
def test_with_one_protection_for_all_the_slider_is_here(
    page: Page, opened: Callable[..., str], server: Server
) -> None:
    address = opened(**with_one_for_all())
    assert page.inner_text("#spent .big") == "60 of 100"
    page.focus("#budget")

    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#at-most") == "at most 10 of 100"
    assert page.get_attribute("#budget", "aria-valuetext") == "at most 10 of 100"
    page.wait_for_selector("#spent .big:has-text('10 of 100')")

    assert page.evaluate("document.activeElement.id") == "budget", "no piece takes its place"
    page.wait_for_selector(SAVED)
    draft = address.rpartition("/")[2]
    file = page.request.get(f"{server.url}/studio/drafts/{draft}.yaml").text()
    assert re.search(r"epsilon: 0\.5\b", file)
    page.click("#undo")
    page.wait_for_selector("#spent .big:has-text('60 of 100')")


@pytest.mark.thorough
def test_more_people_see_more(page: Page, opened: Callable[..., str]) -> None:
    opened()
    wide = fact(page, "Plus or minus")
    page.fill("#expect", "200")
    page.keyboard.press("Tab")

    page.wait_for_selector("text=With so few people this shows little.")
    assert fact(page, "Plus or minus") != wide
    page.fill("#expect", "60000")
    page.keyboard.press("Tab")
    page.wait_for_selector("text=read between 29 and 31")
    assert page.locator("text=With so few people").count() == 0


@pytest.mark.thorough
def test_a_survey_that_devices_refuse_is_mended_here(
    page: Page, opened: Callable[..., str], axe_light_and_dark: Callable[[Page], list[str]]
) -> None:
    opened(questions=[each | {"odds": 14} for each in QUESTIONS])
    page.wait_for_selector("#spent .error")
    look_at(page, axe_light_and_dark)

    page.click("#spent .mend button >> nth=0")

    page.wait_for_selector("#spent .error", state="detached")
    assert page.locator("#spent .mend").count() == 0
    page.wait_for_selector(SAVED)
    page.click("#undo")
    page.wait_for_selector("#spent .error")


@pytest.mark.thorough
def test_the_steps_lead_from_the_questions_to_the_last_page(
    page: Page, opened: Callable[..., str]
) -> None:
    address = opened()
    assert page.inner_text(".walk [aria-current=step]") == "Privacy"
    steps = {"Questions": "", "Privacy": "/privacy", "Try it": "/try", "Publish": "/publish"}
    for step, path in steps.items():
        page.click(f".walk a:text-is('{step}')")
        page.wait_for_url(address + path)
        assert page.inner_text(".walk [aria-current=step]") == step


# --- on a loaded machine ------------------------------------------------------------------------


SLOW = (
    '<p data-slow>This takes long.</p><div data-part="spent"><p data-slow>It takes long.</p></div>'
)
"""A piece of either page that the server had no time to work out."""
PAUSES = [2000, 4000, 8000, 16_000, 32_000]
"""Milliseconds, in ``web/studio/figures.js``."""


@pytest.mark.thorough
@pytest.mark.parametrize("place", ["?question=q1", "/privacy"])
def test_figures_that_take_too_long_are_asked_for_a_few_times_with_growing_pauses(
    page_of_its_own: Page, server: Server, author: Author, place: str
) -> None:
    page = page_of_its_own
    asked: list[str] = []

    def slow(route: Route) -> None:
        asked.append(route.request.url)
        route.fulfill(content_type="text/html", body=SLOW)

    page.clock.install(time=0)
    page.clock.pause_at(1)
    page.route(re.compile("/(balance|privacy/figures)"), slow)
    page.goto(f"{server.url}/studio/d/{author.begin(DOCUMENT)}{place}")
    page.clock.run_for(100)
    for number, pause in enumerate(PAUSES, 1):
        page.wait_for_selector("main:not(:has([aria-busy])) [data-slow]")
        assert len(asked) == number
        page.clock.run_for(pause - 1)
        page.wait_for_timeout(200)
        assert len(asked) == number, "not sooner"
        with page.expect_request(re.compile("/(balance|privacy/figures)")):
            page.clock.run_for(1)
    page.wait_for_selector("main:not(:has([aria-busy])) [data-slow]")
    page.clock.run_for(200_000)
    page.wait_for_timeout(200)
    assert len(asked) == 1 + len(PAUSES), "and not for ever"

    page.unroute(re.compile("/(balance|privacy/figures)"))
    page.fill("#expect", "700")  # whoever changes something asks anew
    page.keyboard.press("Tab")
    page.clock.run_for(1000)
    page.wait_for_selector("#state:text-is('Saved')")
    page.clock.run_for(1000)
    page.wait_for_selector(".big:has-text('88 of 100')")


def test_whoever_was_signed_out_reads_so_in_place_of_figures(
    page_of_its_own: Page, server: Server, author: Author
) -> None:
    page = page_of_its_own
    address = f"{server.url}/studio/d/{author.begin(DOCUMENT)}/privacy"
    again = '<p data-part="spent" data-again>About so much</p>'
    page.route("**/figures", lambda one: one.fulfill(content_type="text/html", body=again))
    page.goto(address)
    page.wait_for_selector("text=About so much")
    page.context.clear_cookies()
    page.unroute("**/figures")
    page.wait_for_selector("#why a:text-is('Sign in')")

    assert page.inner_text("#why").startswith("You were signed out; nothing is lost")
    place = page.evaluate("sessionStorage['deniably-place']")
    assert place == address.removeprefix(server.url)


# --- for everybody ------------------------------------------------------------------------------


def test_a_way_is_taken_and_taken_back_by_keyboard_alone(
    page: Page, opened: Callable[..., str]
) -> None:
    opened()
    page.keyboard.press("Tab")
    for _ in range(40):
        if page.evaluate("document.activeElement.matches('.way:has(#way-all) button')"):
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector(".way[aria-current] #way-all")
    page.wait_for_selector(SAVED)

    page.keyboard.press("Control+z")

    page.wait_for_selector(".way[aria-current] #way-own")
    assert page.evaluate("document.activeElement.id") == "chosen"


def test_the_figures_are_said_in_one_sentence_once_they_rest(
    page: Page, opened: Callable[..., str]
) -> None:
    opened()
    take(page, "some")

    said = "^Privacy spent [0-9]+ of 100, accepted. Plus or minus [0-9]+ to [0-9]+ points.$"
    page.wait_for_selector(f"#says:text-matches('{said}')", state="attached")


SPECIAL: dict[str, Any] = {
    "waves": {"panel": "home", "count": 3}, "strata": {"site": ["north", "south"]},
    "invited": True, "questions": [each | {"odds": 2} for each in QUESTIONS[:2]],
}  # fmt: skip
EVERY_PLACE = ("/privacy", "", "?question=q1", "/publish")


@pytest.mark.parametrize(
    ("keys", "places"),
    [
        ({}, EVERY_PLACE),
        (with_one_for_all(), EVERY_PLACE[:1]),
        (with_one_for_all(spend="sample"), EVERY_PLACE[:1]),
        ({"questions": QUESTIONS[:1], "expect": 50}, EVERY_PLACE[:1]),
        soak(with_one_for_all(), EVERY_PLACE),
        soak(with_one_for_all(spend="sample"), EVERY_PLACE),
        soak({"questions": QUESTIONS[:1], "expect": 50}, EVERY_PLACE),
        ({"title": "", "questions": [{"type": "yes_no", "odds": 3}]}, EVERY_PLACE),
        (SPECIAL, EVERY_PLACE[:1]),
    ],
)
@pytest.mark.thorough
def test_each_state_is_for_everybody_on_any_screen_and_in_plain_words(
    page: Page,
    opened: Callable[..., str],
    axe_light_and_dark: Callable[[Page], list[str]],
    axe: Callable[[Page], list[str]],
    keys: dict[str, Any],
    places: tuple[str, ...],
) -> None:
    address = opened(**keys)
    for place in places:
        if not place.endswith("privacy"):
            page.goto(address + place)
            page.wait_for_load_state("networkidle")
        look_at(page, axe_light_and_dark)
        for width in (320, 390):
            page.set_viewport_size({"width": width, "height": 700})
            assert axe(page) == [], (page.url, width)
        page.set_viewport_size({"width": 1280, "height": 720})
        page.emulate_media(forced_colors="active")
        assert axe(page) == [], (page.url, "forced colours")
        page.emulate_media(forced_colors="none")


def test_the_fold_for_experts_has_what_they_look_for_and_nothing_else_has(
    page: Page, opened: Callable[..., str]
) -> None:
    opened()
    page.click(".experts summary")

    fold = page.inner_text(".experts")
    assert re.search(r"Epsilon\s+Odds\s+Delta", fold)
    assert "All that one device is asked" in fold
    assert expert_words(page) == []
    page.evaluate("document.querySelector('#spent').append('the odds')")
    assert expert_words(page) == ["odds"], "it would be seen"


def test_on_a_phone_three_figures_stick_to_the_foot_and_open_the_balance(
    page: Page, opened: Callable[..., str]
) -> None:
    address = opened(questions=QUESTIONS[:3])
    page.set_viewport_size({"width": 390, "height": 700})
    page.goto(f"{address}?question=q2")
    page.wait_for_selector("#foot b")

    words = page.inner_text("#foot").split("\n")
    assert words[0] == "Privacy spent"
    assert words[1:4] == ["66 of 100", "Of 600 people", words[3]]
    assert re.fullmatch(r"± \d+ to \d+", words[3])
    assert words[4:] == ["Phones accept", "this survey"]
    box = page.locator("#foot").bounding_box()
    assert box
    assert round(box["y"] + box["height"]) == 700
    page.click("#foot")
    assert page.evaluate("document.activeElement.id") == "costs"
    top = page.evaluate("document.querySelector('#costs').getBoundingClientRect().top")
    assert -5 < top < 300
    page.click("text=Back to the question")
    assert page.evaluate("document.activeElement.id") == "fields"
    page.set_viewport_size({"width": 1280, "height": 700})
    assert not page.is_visible("#foot")


def test_on_a_phone_the_foot_covers_nothing_that_has_the_focus(
    page: Page, opened: Callable[..., str]
) -> None:
    address = opened(questions=QUESTIONS[:3])
    page.set_viewport_size({"width": 390, "height": 700})
    page.goto(f"{address}?question=q2")
    page.wait_for_selector("#foot b")
    places: list[str] = []
    for _ in range(60):
        page.keyboard.press("Tab")
        place = page.evaluate(UNDER_THE_FOOT)
        if place == "the foot itself":
            break
        places.append(place)

    assert len(places) > 20
    assert [place for place in places if place] == []


# --- weight -------------------------------------------------------------------------------------


@cache
def weight(url: str) -> int:
    """Bytes of a file, gzipped."""
    return len(gzip.compress(requests.get(url, timeout=30).content))


@pytest.mark.thorough
def test_no_page_has_more_scripts_and_styles_than_it_may(
    page: Page, opened: Callable[..., str], server: Server
) -> None:
    address = opened()
    studio = f"{server.url}/studio"
    drafts = [address + end for end in ("", "?question=q1", "/privacy", "/try", "/publish")]
    for place in (f"{studio}/start", f"{studio}/in", f"{studio}/", *drafts):
        seen: set[str] = set()

        def note(request: Request, seen: set[str] = seen) -> None:
            if request.frame == page.main_frame:  # the form in the frame is a page of its own
                seen.add(request.url)

        page.on("request", note)
        page.goto(place)
        page.wait_for_load_state("networkidle")
        page.remove_listener("request", note)
        assert all(url.startswith(server.url) for url in seen), "and nothing of anybody else"
        weights = {".js": 0, ".css": 0}
        for url in seen:
            end = Path(url.partition("?")[0]).suffix
            if end in weights:
                weights[end] += weight(url)
        assert 0 < weights[".js"] <= LARGEST_SCRIPTS, (place, weights)
        assert 0 < weights[".css"] <= LARGEST_STYLES, (place, weights)
