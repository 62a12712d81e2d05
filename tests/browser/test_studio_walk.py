"""The whole walk in a real browser, by whatever hand and on either database: from the link that the
server prints to a live form, its answers, its end, and a finding."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests
from click.testing import CliRunner
from playwright.sync_api import Browser, BrowserContext, Page

from deniably_client.register_cli import register as register_command
from deniably_client.rehearsal import answer_all
from support import hands
from support.databases import new_database
from support.hands import Hand, Keyboard, Mouse, Touch
from support.material import Server
from support.studio_pages import SAVED, WIDE, expert_words, found_group

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

BY_FORM, BY_DEVICE = 3, 117
WIDEST = 30_000
"""Milliseconds that a step may take while the machine has other work."""


@contextmanager
def served(kind: str, folder: Path, request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server at its very first start, on a database of this kind."""
    if kind == "sqlite":
        server = Server(folder / "deniably.db")
        yield server
        server.kill()
        return
    with new_database(request.getfixturevalue("postgres_server")) as address:
        server = Server(address, log=folder / "server.log")
        yield server
        server.kill()


def opened(context: BrowserContext) -> Page:
    page = context.new_page()
    page.set_default_timeout(WIDEST)
    return page


def in_plain_words(page: Page) -> None:
    """A state on the way: no wider than its window, and in plain words."""
    assert page.evaluate(WIDE) <= 0, page.url
    assert expert_words(page) == [], page.url


def to_a_live_form(hand: Hand, server: Server) -> str:
    """From the printed link to the link for respondents."""
    page = hand.page
    found_group(hand, server)
    hand.press("#founded a.button")
    page.wait_for_selector("#empty")
    in_plain_words(page)
    hand.press("#empty")
    hand.write("#f-title", "Work at our sites")
    hand.press("#list li:nth-child(2) a")
    hand.write("#f-label", "In the last 12 months, did you hide an accident at work?")
    page.wait_for_selector(SAVED)
    page.wait_for_selector("#balance .big", state="attached")
    in_plain_words(page)
    hand.press(".head a.button")
    page.wait_for_selector("#asked-questions li")
    in_plain_words(page)
    hand.choose("#read")
    hand.press("#publish")
    page.wait_for_selector("#done:not([hidden])")
    in_plain_words(page)
    return page.inner_text("#link")


def answer(hand: Hand, link: str) -> None:
    """A respondent's whole form, on a device that was never here."""
    page = hand.page
    page.goto(link)
    hand.press("[data-first] [data-go='1']")
    hand.choose("[data-step=question]:not([hidden]) input[type=radio]")
    hand.press("[data-step=question]:not([hidden]) .buttons .button:not(.quiet)")
    hand.press("#send")
    page.wait_for_selector("text=Your randomised answers have arrived")


def to_a_finding(hand: Hand, name: str) -> str:
    """From the page that says that the survey is open to its results."""
    page = hand.page
    hand.press("#follow")
    hand.write("#typed", name)
    in_plain_words(page)
    hand.press("#close")
    hand.press("a:text-is('See the results')")
    page.wait_for_selector(".finding")
    return page.inner_text("body")


@pytest.mark.parametrize(
    ("use", "browser_of", "database"),
    [
        (Keyboard, hands.mouse, "sqlite"),
        (Touch, hands.phone, "sqlite"),
        (Mouse, hands.mouse, "postgres"),
    ],
)
def test_the_whole_walk_from_the_printed_link_to_a_finding(
    chromium: Browser,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    use: Callable[[Page], Hand],
    browser_of: Callable[[Browser], BrowserContext],
    database: str,
) -> None:
    with served(database, tmp_path, request) as server:
        context = browser_of(chromium)
        author, errors = use(opened(context)), list[str]()
        author.page.on("pageerror", lambda error: errors.append(str(error)))

        link = to_a_live_form(author, server)
        number = author.page.evaluate(NUMBER)
        name = link.rpartition("/")[2]
        before = tmp_path / "register.json"
        compared(server, "--save", str(before))
        for _ in range(BY_FORM):
            device = browser_of(chromium)
            answer(use(opened(device)), link)
            device.close()
        question = requests.get(f"{server.url}/api/surveys/{name}", timeout=30).json()["questions"]
        truth = ({question[0]["name"]: "yes" if at % 3 else "no"} for at in range(BY_DEVICE))
        assert sum(answer_all([link], truth)) == BY_DEVICE
        results = to_a_finding(author, name)

        assert re.search(rf"\b{BY_FORM + BY_DEVICE}\b", results)
        register = compared(server, "--compare", str(before))
        assert number in register
        assert "The copies agree; the other one is 1 entry behind." in register, "the closing"
        assert errors == []
        context.close()


NUMBER = """async () => {
  const { readOwn } = await import("/web/studio/signature.js");
  return (await readOwn()).number;
}"""
"""The number of the signature that is in this browser."""


def compared(server: Server, *options: str) -> str:
    """What ``deniably register`` says, which verified every entry."""
    done = CliRunner().invoke(register_command, [server.url, *options])
    assert done.exit_code == 0, done.output
    return done.output
