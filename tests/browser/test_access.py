"""Every state of the form for everybody: screen readers, small phones, light and dark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest
from playwright.sync_api import Page

from deniably.wording.words import LANGUAGES, direction
from support.phone import ANSWERS, IMPATIENT, Watched
from support.soak import soak

pytestmark = pytest.mark.browser


def form_states(phone: Watched) -> Iterator[str]:
    """Leads through every state of the form, and names it."""
    phone.page.add_init_script(IMPATIENT)
    phone.open()
    yield "start"
    phone.click("Practise first")
    phone.wait("practice")
    phone.press(("label", ""))
    yield "practice"
    phone.click("Start the survey")
    yield "question"
    phone.click("Continue")
    yield "error"
    phone.press(("label", ""))
    phone.page.locator("summary:visible").click()
    yield "explained"
    phone.click("Continue")
    phone.choose(ANSWERS[1])
    yield "check"
    phone.page.route("**/reports", lambda route: route.fulfill(status=503, body="{}"))
    phone.send()
    phone.see("#again")
    yield "again"
    phone.page.unroute("**/reports")
    phone.press(("#again", ""))
    phone.wait("receipt")
    yield "receipt"
    phone.tamper("Honesty", "Dishonesty")
    phone.page.goto(f"{phone.url}/s/workplace")
    phone.wait("refused")
    yield "refused"
    phone.page.context.unroute("**/s/workplace")


@pytest.mark.thorough
def test_no_page_state_has_a_violation_that_axe_finds(
    phone: Watched, axe_light_and_dark: Callable[[Page], list[str]]
) -> None:
    phone.page.set_viewport_size({"width": 320, "height": 640})
    seen = 0
    for state in form_states(phone):
        seen += 1
        assert axe_light_and_dark(phone.page) == [], state
        overflow = phone.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert overflow <= 0, f"{state} has to be scrolled sideways at 320 px"
    assert seen >= 7


SHOW = """(step) => {
  for (const one of step.querySelectorAll("[hidden]")) one.hidden = false;
  for (const details of step.querySelectorAll("details")) details.open = true;
  const empty = "[data-answer], #progress, #sends, #why, #detail, code, #before";
  for (const place of step.querySelectorAll(empty)) {
    place.textContent = place.textContent || "Donaudampfschifffahrtsgesellschaft";
  }
}"""
EVERY_STEP = """() => {
  for (const step of document.querySelectorAll(".step")) step.hidden = false;
}"""
# Every step alone, with all that it can ever show: how much wider than its window it is.
ALONE = """() => {
  const steps = [...document.querySelectorAll(".step")];
  return steps.map((step) => {
    (SHOW)(step);
    for (const other of steps) other.hidden = other !== step;
    const { scrollWidth, clientWidth } = document.documentElement;
    return [step.dataset.step, scrollWidth - clientWidth];
  });
}"""


# What a page is apart from its language: each element with what its attributes are, and whether it
# has a text.
SKELETON = """() => [...document.querySelectorAll("html, html *")].map((one) => [
  one.tagName, one.id, one.className, one.getAttribute("role"), one.textContent.trim() !== "",
  ...[...one.attributes].filter(({ name }) => one.tagName !== "HTML" || name !== "dir")
    .map(({ name, value }) => `${name} ${value.trim() !== ""}`),
])"""
ELSEWHERE = ":not(nav.languages *)"
"""Of the languages to choose from, another is the one that is shown."""
MESSAGES = ("/s/closed", "/s/none")
"""Pages instead of a form; in test_every_page axe looks at them in English."""


@pytest.mark.parametrize(
    "languages", [("en", "de", "uk", "ar"), soak(LANGUAGES)], ids=["the longest", "all"]
)
@pytest.mark.thorough
def test_no_step_in_any_language_has_a_violation_that_axe_finds(
    visitor: Watched,
    languages: Sequence[str],
    axe: Callable[[Page], list[str]],
    axe_light_and_dark: Callable[[Page], list[str]],
) -> None:
    """Every step of the form with all that it can ever show; and the pages instead of a form, which
    differ from those in English in their words alone.

    Languages that are not the survey's own differ from each other in words alone, too, so axe looks
    at one of them, and at those that are mirrored; colours are the same in every language, so the
    dark ones are looked at in one. German and Ukrainian have the longest words.
    """
    phone = visitor
    phone.page.set_viewport_size({"width": 320, "height": 640})
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    foreign: list[object] = []
    in_english: dict[str, object] = {}
    assert languages[0] == "en"
    for language in languages:
        phone.open(f"/s/workplace?language={language}")
        found = phone.page.evaluate(ALONE.replace("SHOW", SHOW))
        assert len(found) == 9
        assert [step for step in found if step[1] > 0] == [], f"{language} is wider than 320 px"
        phone.page.evaluate(EVERY_STEP)
        if language == "en":
            assert axe_light_and_dark(phone.page) == [], "all steps, one below the other"
        else:
            foreign.append(phone.page.evaluate(SKELETON.replace("html *", "html *" + ELSEWHERE)))
            assert foreign[-1] == foreign[0], language
            looked = len(foreign) == 1 or direction(language) == "rtl"
            assert not looked or axe(phone.page) == [], language
        for path in MESSAGES:
            phone.page.goto(f"{phone.url}{path}?language={language}")
            assert phone.page.evaluate("document.documentElement.lang") == language
            skeleton = phone.page.evaluate(SKELETON)
            assert skeleton == in_english.setdefault(path, skeleton)
            assert phone.page.evaluate(wide) <= 0, path
    assert len(foreign) == len(languages) - 1


def test_each_step_moves_the_focus_to_its_heading_and_all_to_tap_is_large_enough_for_a_thumb(
    visitor: Watched,
) -> None:
    phone = visitor
    phone.open()
    phone.click("Start")
    assert phone.page.evaluate("document.activeElement.textContent") == (
        "Have you ever stolen from work"
    )

    phone.choose(*ANSWERS)
    for target in phone.page.locator("button:visible, .choice:visible, summary:visible").all():
        box = target.bounding_box()
        assert box
        assert box["height"] >= 44


def test_the_checker_would_see_a_violation(
    visitor: Watched, axe: Callable[[Page], list[str]]
) -> None:
    phone = visitor
    phone.open("/")
    phone.page.evaluate("document.querySelector('main').append(document.createElement('img'))")

    assert any(found.startswith("image-alt") for found in axe(phone.page))
