"""The studio's pages in a real browser: how a state of one is looked at."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page

from support.hands import Hand
from support.material import Server

WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SAVED = "#state:text-is('Saved')"
_EXPERT = re.compile(r"\b(epsilon|odds|delta|YAML|token|mechanism)\b", re.IGNORECASE)
_WORDS = """() => {
  const folds = [...document.querySelectorAll("details:not(.experts):not([open])")];
  const experts = [...document.querySelectorAll(".experts")];
  for (const fold of folds) fold.open = true;
  for (const fold of experts) fold.hidden = true;
  const keys = ["aria-label", "aria-valuetext", "title", "alt"];
  const said = [...document.querySelectorAll(keys.map((key) => `[${key}]`))]
    .filter((one) => !one.closest(".experts"))
    .flatMap((one) => keys.map((key) => one.getAttribute(key)));
  const words = [document.title, document.body.innerText, ...said].join(" ");
  for (const fold of folds) fold.open = false;
  for (const fold of experts) fold.hidden = false;
  return words;
}"""


def expert_words(page: Page) -> list[str]:
    """The words of experts that a page says or shows, in whatever fold, but in that for experts."""
    return _EXPERT.findall(page.evaluate(_WORDS))


def found_group(hand: Hand, server: Server) -> None:
    """From the link that the server printed to a group with its signature and its copy."""
    page = hand.page
    (link,) = re.findall(r"http://\S+/studio/start#\S+", server.log)
    page.goto(link)
    hand.write("#name", "Harbour Workers’ Union")
    hand.write("#contact", "survey@union.example")
    page.wait_for_selector("#words li")
    with page.expect_download():
        hand.press("#save")
    hand.choose("#kept")
    hand.press("#start")


def look_at(page: Page, axe: Callable[[Page], list[str]]) -> None:
    """Looks at a state of a page: for everybody, on any screen, at any size, in plain words."""
    assert axe(page) == [], page.url
    size: Any = page.viewport_size
    for width in (390, 320):
        page.set_viewport_size({"width": width, "height": 700})
        assert page.evaluate(WIDE) <= 0, (page.url, width)
    page.set_viewport_size({"width": 1280, "height": 800})
    page.evaluate("document.documentElement.style.fontSize = '200%'")
    assert page.evaluate(WIDE) <= 0, (page.url, "large letters")
    page.evaluate("document.documentElement.style.fontSize = ''")
    if size:
        page.set_viewport_size(size)
    assert expert_words(page) == [], page.url
