"""The link of the first start: opened, pressed, copied, and worth nothing afterwards."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests
from playwright.sync_api import Browser, Page

from support.material import Server
from support.phone import PHONE, Watched

pytestmark = pytest.mark.browser

WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Server]:
    """A server at its very first start."""
    server = Server(tmp_path / "deniably.db")
    yield server
    server.kill()


def link_of(server: Server) -> str:
    (link,) = re.findall(r"http://\S+/admin#\S+", server.log)
    return str(link).removeprefix(server.url)


@pytest.fixture
def page_of(chromium: Browser) -> Iterator[Callable[..., Watched]]:
    contexts = []

    def make(server: Server) -> Watched:
        context = chromium.new_context(
            viewport=PHONE,
            color_scheme="light",
            permissions=["clipboard-read", "clipboard-write"],
        )
        contexts.append(context)
        return Watched(context.new_page(), server)

    yield make
    for context in contexts:
        context.close()


def press(phone: Watched) -> None:
    phone.click("Show the tokens")
    phone.page.wait_for_selector("#tokens:visible, #why:visible")


def test_the_link_shows_two_tokens_that_work_and_then_nothing(
    fresh: Server, page_of: Callable[..., Watched]
) -> None:
    """And the secret of the link is in no address."""
    phone, link = page_of(fresh), link_of(fresh)
    secret = link.partition("#")[2]
    phone.open(link)
    assert requests.get(f"{fresh.url}/api/tokens", timeout=30).status_code == 401
    press(phone)
    sent = [request for request in phone.requests if secret in (request.post_data or "")]
    assert [(one.method, one.url) for one in sent] == [("POST", f"{fresh.url}/api/admin")]
    assert phone.page.url == f"{fresh.url}/admin"
    assert phone.page.evaluate("location.hash") == ""
    for request in phone.requests:
        headers = repr(request.all_headers())
        assert secret not in headers
        # Chromium reports the document's own address with its fragment, which it does not send.
        assert secret not in request.url or request.is_navigation_request()

    shown = {role: phone.words(f'[data-token="{role}"]') for role in ("operator", "author")}
    headers = {"Authorization": f"Bearer {shown['operator']}"}
    listed = requests.get(f"{fresh.url}/api/tokens", headers=headers, timeout=30).json()["tokens"]
    assert {each["id"]: each["role"] for each in listed} == {
        text.split("_")[1]: role for role, text in shown.items()
    }
    assert phone.page.evaluate("document.activeElement.textContent") == "Your tokens"
    phone.page.click('[data-copy="author"]')
    phone.page.wait_for_selector("#copied:text('The author’s token is copied.')")
    assert phone.page.evaluate("navigator.clipboard.readText()") == shown["author"]

    again = page_of(fresh)
    again.open(link)
    press(again)

    assert "This link was used already" in again.words("#why")
    assert not again.page.is_visible("#tokens")
    assert not again.page.is_visible("#show"), "there is nothing left to press"
    assert phone.console == []


def test_a_link_without_its_end_says_what_is_missing_and_a_press_without_a_network_is_repeated(
    fresh: Server, page_of: Callable[..., Watched]
) -> None:
    phone = page_of(fresh)
    phone.open("/admin")
    assert "behind the #" in phone.words("#why")
    assert phone.page.is_disabled("#show")

    phone.page.goto("about:blank")
    phone.open(link_of(fresh))
    phone.page.route("**/api/admin", lambda route: route.abort())
    press(phone)
    assert "try again" in phone.words("#why")
    phone.page.unroute("**/api/admin")

    phone.click("Show the tokens")
    phone.page.wait_for_selector("#tokens:visible")

    assert not phone.page.is_visible("#why")


def test_no_state_of_the_page_has_a_violation_that_axe_finds(
    fresh: Server,
    page_of: Callable[..., Watched],
    axe_light_and_dark: Callable[[Page], list[str]],
) -> None:
    phone = page_of(fresh)
    phone.page.set_viewport_size({"width": 320, "height": 640})
    for path in ("/admin", link_of(fresh)):
        phone.page.goto("about:blank")
        phone.open(path)
        assert axe_light_and_dark(phone.page) == []
        assert phone.page.evaluate(WIDE) <= 0
    press(phone)
    assert phone.page.is_visible("#tokens")
    assert axe_light_and_dark(phone.page) == []
    assert phone.page.evaluate(WIDE) <= 0
