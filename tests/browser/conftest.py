"""A real server with surveys, and a phone with a real Chromium that is watched."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Request, Route

from deniably.authoring.authoring import publish_text
from support.between import Between
from support.material import Server

PHONE = {"width": 390, "height": 780}

SURVEY = """
name: workplace
title: Honesty at work
intro: Ten quiet minutes.
contact: A. Researcher, University
results: {minimum: 1, while_open: true}
questions:
  - {name: stolen, type: yes_no, label: Have you ever stolen from work, coins: {truth: 0.5}}
  - name: often
    type: select_one
    label: How often
    hint: Think of the last year.
    epsilon: 0.5
    choices: [Zilch, Onceonly, Weeklyish, Dailyish, Hourlyish]
"""
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
ANSWERS = ("Yes", "Weeklyish")
MODULE = "document.querySelector('script[src$=\"page.js\"]').src.replace('page.js', '%s')"
# What the page remembers.
READ = f"async () => (await import({MODULE % '../device/storage.js'})).read()"


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


# The pauses between tries to send, from half a second to four, are over at once. Other waits are
# not within: leaving has patience for 500 ms, and a register for 4,000.
IMPATIENT = """const { setTimeout: patiently } = globalThis;
globalThis.setTimeout = (then, milliseconds) =>
  patiently(then, milliseconds > 500 && milliseconds < 4000 ? 0 : milliseconds);"""


class Watched:
    """A page and every request, console line and error that it made."""

    def __init__(self, page: Page, server: Server | Between) -> None:
        self.page = page
        self.url = server.url
        self.requests: list[Request] = []
        self.console: list[str] = []
        page.context.on("request", lambda request: self.requests.append(request))
        page.on("console", lambda line: self.console.append(line.text))
        page.on("pageerror", lambda error: self.console.append(str(error)))

    def open(self, path: str = "/s/workplace") -> None:
        self.page.goto(self.url + path)
        if path.startswith("/s/"):
            # All that the page does of itself is done, also what comes after its first sight.
            ended = "#survey[data-kept], :is([data-step=refused], [data-step=author]):not([hidden])"
            self.page.wait_for_selector(ended, state="visible")

    def tamper(self, old: str, new: str, name: str = "workplace") -> None:
        """From now on, somebody on the way changes the definition within the form's page."""

        def change(route: Route) -> None:
            answer = route.fetch()
            before, mark, after = answer.text().partition('id="definition">')
            definition, end, rest = after.partition("</script>")
            assert old in definition
            page = before + mark + definition.replace(old, new, 1) + end + rest
            route.fulfill(response=answer, body=page)

        self.page.context.route(f"**/s/{name}", change)

    def click(self, text: str) -> None:
        self.page.locator("button:visible", has_text=text).first.click()

    def choose(self, label: str) -> None:
        self.page.locator("label:visible", has_text=label).click()
        self.click("Continue")

    def to_check_page(self) -> None:
        self.open()
        self.click("Start")
        for label in ANSWERS:
            self.choose(label)

    def send(self) -> None:
        self.page.click("#send")

    def wait(self, step: str) -> None:
        self.page.wait_for_selector(f'[data-step="{step}"]:not([hidden])', timeout=20_000)

    def leave(self) -> None:
        """Exit, until the other page is there in place of the copy that the form shows at once."""
        self.page.click("#exit")
        self.left()

    def left(self) -> None:
        self.page.wait_for_selector("html:not(:has(script)) h1:text('Weights and measures')")

    def heading(self) -> str:
        return self.page.locator("h1:visible").inner_text()

    def posts(self) -> list[Request]:
        return [request for request in self.requests if request.method != "GET"]

    def checked(self) -> int:
        return self.page.locator("input:checked").count()


@pytest.fixture
def phone(chromium: Browser, server: Server) -> Iterator[Watched]:
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
    found: Any = page.evaluate(f"axe.run({{resultTypes: ['violations'], {only}}})")
    return [
        f"{one['id']}: {json.dumps([node['target'] for node in one['nodes']])}"
        for one in found["violations"]
    ]
