"""A real server with surveys, and a phone with a real Chromium that is watched."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from deniably.authoring.compiling import publish_text
from support.material import Server
from support.phone import PHONE, SURVEY, Watched, as_new, new_tab
from support.studio import Author, Distant

HOSTILE = """
name: hostile
title: "<script>alert(1)</script> & \\"quotes\\" ' שלום 👋"
questions:
  - name: constructor
    type: select_one
    label: "</h1><img src=x onerror=alert(2)> how?"
    odds: 3
    choices:
      - {name: __proto__, label: "<b>bold</b>"}
      - {name: toString, label: "\\u200fright to left"}
      - {name: long, label: "%s"}
""" % ("Donaudampfschifffahrtsgesellschaft" * 8)
HIDDEN = SURVEY.replace("workplace", "hidden").replace("while_open: true", "while_open: false")
CLOSED = SURVEY.replace("workplace", "closed")


@pytest.fixture(scope="module")
def first_start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server at its very first start, of a module's own."""
    server = Server(tmp_path_factory.mktemp("server") / "deniably.db")
    yield server
    server.kill()


@pytest.fixture(scope="module")
def author(first_start: Server) -> Author:
    """A group that was founded there, and writes drafts."""
    (secret,) = re.findall(r"/studio/start#(\S+)", first_start.log)
    author = Author(Distant(first_start.url))
    assert author.found(secret, **author.signed_word(first_start.url)).status_code == 201
    return author


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server") / "deniably.db")
    for text in (SURVEY, HOSTILE, HIDDEN, CLOSED):
        server.publish(publish_text(text))
    from contextlib import closing

    from deniably_server.storage.store import Store

    with closing(Store(str(server.database))) as store:
        store.close_survey("closed")
    yield server
    server.kill()


@pytest.fixture(scope="session")
def handed_on(chromium: Browser) -> Iterator[BrowserContext]:
    """The browser of a phone that goes from one test to the next: a quarter cheaper than a new."""
    context = chromium.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    context.new_page()
    yield context
    context.close()


@pytest.fixture(scope="session")
def desktop(chromium: Browser) -> Iterator[BrowserContext]:
    """The browser of somebody at a desk, for pages that keep nothing. Tests open tabs in it, and
    close them."""
    context = chromium.new_context()
    context.new_page()
    yield context
    context.close()


@pytest.fixture
def phone(handed_on: BrowserContext, server: Server) -> Iterator[Watched]:
    """A phone that was never here, but for files in its browser's cache."""
    yield Watched(new_tab(handed_on), server)
    as_new(handed_on, server.url)


@pytest.fixture(scope="session")
def comes_back(chromium: Browser) -> Iterator[BrowserContext]:
    """The browser of a phone that visits one server after the other."""
    context = chromium.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    context.new_page()
    yield context
    context.close()


@pytest.fixture(scope="module")
def been_here(comes_back: BrowserContext, server: Server) -> Iterator[BrowserContext]:
    """The browser of a phone that comes back to this server, which takes half as long as the first
    time. The next server may have the same port, and meets a stranger."""
    yield comes_back
    as_new(comes_back, server.url)


@pytest.fixture
def visitor(been_here: BrowserContext, server: Server) -> Iterator[Watched]:
    """A phone that may have opened forms before, for tests that send nothing."""
    visitor = Watched(new_tab(been_here), server)
    yield visitor
    assert visitor.posts() == [], "who sends is no visitor"
    visitor.unwatch()
    visitor.page.close()


@pytest.fixture
def new_phone(chromium: Browser, server: Server) -> Iterator[Watched]:
    """A phone whose browser was just installed."""
    context = chromium.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    yield Watched(context.new_page(), server)
    context.close()


@pytest.fixture(scope="session")
def axe() -> Callable[[Page], list[str]]:
    """The violations that axe-core finds on a page, each with its places."""
    return _violations


@pytest.fixture(scope="session")
def axe_light_and_dark() -> Callable[[Page], list[str]]:
    """The violations of a page in light colours, and those of colours in dark mode."""

    def run(page: Page) -> list[str]:
        light = _violations(page)
        # Without motion, as a colour that still changes is none of the two.
        page.emulate_media(color_scheme="dark", reduced_motion="reduce")
        dark = _found(page, COLOURS)
        page.emulate_media(color_scheme="light", reduced_motion="no-preference")
        return light + [f"dark: {one}" for one in dark]

    return run


# In the dark, and in light on long pages, words that look alike on grounds that are alike are
# looked at once: axe, which looks behind each word, takes a hundred times as long. It is asked
# about what is out of its place or seen through, and about links that only a colour could tell from
# their text. The words of pictures are not its affair: the tests of pictures look at them.
COLOURS = """async () => {
  const looks = new Set(), odd = [], found = [];
  const parts = (colour) => {
    const [r, g, b, a = 1] = colour.match(/^rgba?\\((.*)\\)$/)[1].split(/[, /]+/).map(Number);
    return [[r, g, b], a];
  };
  const over = (colour, ground) => {
    const [tones, alpha] = parts(colour);
    return tones.map((tone, at) => alpha * tone + (1 - alpha) * ground[at]);
  };
  const light = (tones) => {
    const [r, g, b] = tones.map((tone) => tone / 255)
      .map((share) => share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const walk = (one, ground, odds) => {
    if (one.localName === "svg") return;
    const style = getComputedStyle(one);
    const { color, fontSize, fontWeight, backgroundColor, textDecorationLine } = style;
    const plain = style.opacity + style.filter + style.mixBlendMode === "1nonenormal";
    const put = ["static", "relative"].includes(style.position);
    const strange = odds || !plain || !put;
    const behind = over(backgroundColor, ground);
    const words = [...one.childNodes].some(({ nodeType, data }) => nodeType === 3 && data.trim());
    const look = [color, fontSize, fontWeight, ...behind].join();
    const named = one.localName === "a" && one.textContent.trim();
    if (named && !textDecorationLine.includes("underline") || words && strange) odd.push(one);
    else if (words && !looks.has(look) && one.checkVisibility() && !one.matches(":disabled")) {
      looks.add(look);
      const [darker, lighter] = [light(over(color, behind)), light(behind)].sort((a, b) => a - b);
      const size = parseFloat(fontSize) * (fontWeight >= 700 ? 24 / 18.66 : 1);
      if (lighter / darker < (size >= 24 ? 3 : 4.5)) {
        found.push({ id: "color-contrast", nodes: [{ target: one.outerHTML.slice(0, 90) }] });
      }
    }
    for (const each of one.children) walk(each, behind, strange);
  };
  const blank = document.body.appendChild(document.createElement("p"));
  blank.style.backgroundColor = "Canvas";
  const [canvas] = parts(getComputedStyle(blank).backgroundColor);
  blank.remove();
  walk(document.documentElement, canvas, false);
  const include = odd.filter((one) =>
    one.checkVisibility() && one.getBoundingClientRect().width > 1);
  if (!include.length) return found;
  const runOnly = ["color-contrast", "link-in-text-block"];
  const { violations } = await axe.run({ include }, { resultTypes: ["violations"], runOnly });
  return [...found, ...violations];
}"""
# What is right is left in the page: it is a hundred times as much. A colour on its way to another
# is neither of the two. Nothing comes from a page that has no axe yet.
RUN = """async () => {
  if (!globalThis.axe) return null;
  for (const one of document.getAnimations()) if (one instanceof CSSTransition) one.finish();
  const enabled = document.getElementsByTagName("*").length <= 200;
  const rules = { "color-contrast": { enabled }, "link-in-text-block": { enabled } };
  const { violations } = await axe.run({ resultTypes: ["violations"], rules });
  return enabled ? violations : [...violations, ...await (COLOURS)()];
}""".replace("COLOURS", COLOURS)
AXE = Path(__file__).parents[2] / "client/node_modules/axe-core/axe.min.js"


def _violations(page: Page) -> list[str]:
    try:
        return _found(page, RUN)
    except LookupError:
        # Past the page's policy, as a browser's own tools are; Playwright's way reads the half
        # megabyte four times.
        line = page.context.new_cdp_session(page)
        line.send("Runtime.evaluate", {"expression": AXE.read_text(encoding="utf-8") + ";0"})
        line.detach()
        return _found(page, RUN)


def _found(page: Page, look: str) -> list[str]:
    found: Any = page.evaluate(look)
    if found is None:
        raise LookupError("this page has no axe")
    return [
        f"{one['id']}: {json.dumps([node['target'] for node in one['nodes']])}" for one in found
    ]
