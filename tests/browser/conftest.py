"""A real server with surveys, and a phone with a real Chromium that is watched."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from deniably.authoring.compiling import publish_text
from support.material import Server
from support.phone import PHONE, SURVEY, Watched, as_new

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


@pytest.fixture(scope="module")
def handed_on(chromium: Browser) -> Iterator[BrowserContext]:
    """The browser of a phone that goes from one test to the next: a quarter cheaper than a new."""
    context = chromium.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    context.new_page()
    yield context
    context.close()


@pytest.fixture
def phone(handed_on: BrowserContext, server: Server) -> Iterator[Watched]:
    """A phone that was never here, but for files in its browser's cache."""
    yield Watched(handed_on.new_page(), server)
    as_new(handed_on, server.url)


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
    """The same of a page in light, and what hangs on colours of the same page in the dark."""

    def run(page: Page) -> list[str]:
        light = _violations(page)
        # Without motion, as a colour that still changes is none of the two.
        page.emulate_media(color_scheme="dark", reduced_motion="reduce")
        dark = _violations(page, "runOnly: ['color-contrast', 'link-in-text-block']")
        page.emulate_media(color_scheme="light", reduced_motion="no-preference")
        return light + [f"dark: {one}" for one in dark]

    return run


def _violations(page: Page, only: str = "") -> list[str]:
    path = Path(__file__).parents[2] / "client/node_modules/axe-core/axe.min.js"
    if not page.evaluate("'axe' in globalThis"):
        # Past the page's policy, as a browser's own tools are.
        page.evaluate(path.read_text(encoding="utf-8"))
    # What is right is left in the page: it is a hundred times as much.
    only_violations = ".then(({violations}) => violations)"
    run = f"axe.run({{resultTypes: ['violations'], {only}}})"
    found: Any = page.evaluate(run + only_violations)
    return [
        f"{one['id']}: {json.dumps([node['target'] for node in one['nodes']])}" for one in found
    ]
