"""The lab's handout in a browser: for everybody, from a file, with nothing fetched."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page

from deniably.lab.catalogue import entries
from support.commands import call
from support.phone import ALIKE, new_tab

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TINY = """() => [...document.querySelectorAll("body *")].filter((one) =>
  [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim())
  && one.checkVisibility() && !one.closest("title, desc")
  && parseFloat(getComputedStyle(one).fontSize) < 12.99).map((one) => one.outerHTML)"""
BEYOND = """() => [...document.querySelectorAll(".graph text")].filter((one) => {
  const card = one.closest(".card").getBoundingClientRect(), box = one.getBoundingClientRect();
  return box.left < card.left || box.right > card.right;
}).map((one) => one.textContent)"""
TOGETHER = """() => [...document.querySelectorAll(".graph")].flatMap((one) => {
  const boxes = [...one.querySelectorAll("text")].map((word) => [word,
    word.getBoundingClientRect()]);
  return boxes.flatMap(([word, box], at) => boxes.slice(at + 1)
    .filter(([, other]) => box.left < other.right - 1 && other.left < box.right - 1
      && box.top < other.bottom - 4 && other.top < box.bottom - 4)
    .map(([other]) => `${word.textContent} and ${other.textContent}`));
})"""
ASTRAY = """() => [...document.querySelectorAll(".graph")].filter((one) =>
  one.querySelector("polyline")).map((one) => {
    const inner = one.querySelector("polyline").parentElement, drawn = inner.getScreenCTM();
    const part = (name) => parseFloat(inner.getAttribute(name));
    const at = (word) => drawn.e + drawn.a * inner.viewBox.baseVal.width
      * (parseFloat(word.getAttribute("x")) - part("x")) / part("width");
    return Math.max(...[...one.querySelectorAll("text[text-anchor=middle]")].map((word) => {
      const box = word.getBoundingClientRect();
      const inwards = parseFloat(word.getAttribute("dx") ?? 0);
      return Math.abs((box.left + box.right) / 2 - inwards - at(word));
    }));
  })"""


@pytest.mark.thorough
def test_a_handout_is_for_everybody_on_any_screen_and_on_paper(
    desktop: BrowserContext, axe_light_and_dark: Callable[[Page], list[str]], tmp_path: Path
) -> None:
    """It has every experiment, and needs nothing else."""
    assert call("lab", "all", "-o", tmp_path / "handout.html").returncode == 0
    text = (tmp_path / "handout.html").read_text(encoding="utf-8")
    for entry in entries().values():
        assert entry.question in text
    assert text.count("<style>") == 1
    assert "var(--mark)" in text
    assert not any(one in text for one in ("<script", "<link", "src=", "@import", "url("))
    page = new_tab(desktop)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((tmp_path / "handout.html").as_uri())
    page.evaluate("() => { for (const one of document.querySelectorAll('details')) one.open = 1; }")

    for width in (1280, 390, 320):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.evaluate(TINY) == []
        assert page.evaluate(BEYOND) == [], "words leave their card"
        assert page.evaluate(TOGETHER) == [], "words run together"
        astray = page.evaluate(ASTRAY)
        assert len(astray) > 9
        assert max(astray) < 1, "lines are off their axis"
    page.evaluate(ALIKE)
    assert axe_light_and_dark(page) == []
    page.emulate_media(media="print")
    page.evaluate("() => { for (const one of document.querySelectorAll('details')) one.open = 0; }")
    assert page.locator("td").first.is_visible(), "on paper, numbers are unfolded"
    assert len(asked) == 1, "nothing is fetched but the file itself"
    page.close()


def test_a_dossier_is_for_everybody_on_any_screen_and_prints_on_a4(
    desktop: BrowserContext, axe_light_and_dark: Callable[[Page], list[str]], tmp_path: Path
) -> None:
    survey, file = tmp_path / "survey.yaml", tmp_path / "dossier.html"
    survey.write_text(
        "name: s\ntitle: Habits\nquestions:\n"
        "  - {name: stolen, type: yes_no, label: Stolen?, coins: {truth: 0.5}}\n"
    )
    made = call("dossier", survey, "--n", "800", "--trials", "10", "--seconds", "0", "-o", file)
    assert made.returncode == 0
    page = new_tab(desktop)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())

    for width in (1280, 320):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.evaluate(TINY) == []
    assert axe_light_and_dark(page) == []
    printable = 672  # CSS pixels: A4 less two margins of 16 mm
    page.set_viewport_size({"width": printable, "height": 900})
    page.emulate_media(media="print")
    cut = "(all) => all.filter((one) => one.scrollWidth > one.clientWidth).length"
    assert page.eval_on_selector_all(".scroll, pre", cut) == 0, "paper does not scroll"
    assert len(asked) == 1, "nothing is fetched but the file itself"
    page.close()
