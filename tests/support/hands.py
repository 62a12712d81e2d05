"""How people use a page: with a mouse, by keyboard alone, or by touch on a phone."""

from __future__ import annotations

from typing import Protocol

from playwright.sync_api import Browser, BrowserContext, Locator, Page

from support.phone import PHONE

MOST_TABS = 120
"""So many presses of Tab reach whatever is on a page."""
HAS_FOCUS = "(one) => one === document.activeElement"
SHOWS_FOCUS = """(one) => {
  const { top, bottom, left, right } = one.getBoundingClientRect();
  const there = bottom > 0 && right > 0 && top < innerHeight && left < innerWidth;
  return there && getComputedStyle(one).outlineStyle !== "none";
}"""
SMALLEST = 24
"""Pixels that a finger needs at least, beside other things to press (WCAG 2.5.8)."""


class Hand(Protocol):
    """Uses a page. ``what`` is a selector of something that is shown."""

    page: Page

    def press(self, what: str) -> None:
        """Press a button, or follow a link."""
        ...

    def choose(self, what: str) -> None:
        """Tick a box, or choose an answer."""
        ...

    def write(self, what: str, text: str) -> None:
        """Write into a field that is empty, and leave it."""
        ...


class Mouse:
    """Somebody with a mouse, and a keyboard to write."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def press(self, what: str) -> None:
        self.page.click(what)

    def choose(self, what: str) -> None:
        self.page.check(what)

    def write(self, what: str, text: str) -> None:
        self.page.click(what)
        self.page.keyboard.type(text)
        self.page.keyboard.press("Tab")


class Keyboard:
    """Somebody without a pointer, who sees where the focus is."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def press(self, what: str) -> None:
        self._reach(what)
        self.page.keyboard.press("Enter")

    def choose(self, what: str) -> None:
        self._reach(what)
        self.page.keyboard.press("Space")

    def write(self, what: str, text: str) -> None:
        self._reach(what)
        self.page.keyboard.type(text)
        self.page.keyboard.press("Tab")

    def _reach(self, what: str) -> None:
        place = self.page.locator(f"{what} >> visible=true").first
        place.wait_for()
        for _ in range(MOST_TABS):
            if place.evaluate(HAS_FOCUS):
                break
            self.page.keyboard.press("Tab")
        assert place.evaluate(HAS_FOCUS), f"Tab does not reach {what}"
        assert place.evaluate(SHOWS_FOCUS), f"nobody sees that {what} has the focus"


class Touch:
    """Somebody with a finger on a phone."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def press(self, what: str) -> None:
        place = self.page.locator(f"{what} >> visible=true").first
        self._tap(place)

    def choose(self, what: str) -> None:
        # What a finger presses is a box with its words.
        self._tap(self.page.locator(what).first.locator("xpath=ancestor::label"))

    def write(self, what: str, text: str) -> None:
        self._tap(self.page.locator(what))
        self.page.keyboard.type(text)
        self.page.keyboard.press("Tab")

    def _tap(self, place: Locator) -> None:
        place.scroll_into_view_if_needed()
        box = place.bounding_box()
        assert box
        assert min(box["width"], box["height"]) >= SMALLEST, place
        place.tap()


def mouse(browser: Browser) -> BrowserContext:
    """The browser of somebody with a mouse."""
    return browser.new_context(accept_downloads=True)


def phone(browser: Browser) -> BrowserContext:
    """The browser of somebody with a phone, 390 pixels wide."""
    return browser.new_context(
        viewport=PHONE, has_touch=True, is_mobile=True, accept_downloads=True
    )
