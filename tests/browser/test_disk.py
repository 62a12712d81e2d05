"""What is left on the respondent's disk: a real profile, searched byte by byte.

The browser's own history and its list of open tabs hold the address of the form, as they do of
every page; the form says so. Nothing else may be there to be read.
"""

from __future__ import annotations

import os
import shutil
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext

from conftest import ARGUMENTS
from deniably.authoring.compiling import publish_text
from deniably.trust.invitation_codes import code_in_groups
from deniably_server.storage.store import Store
from support.material import Server
from support.phone import PHONE, Watched, new_tab

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SURVEY = """
name: plainname
title: Xylographic honesty
intro: Quokkas are quiet.
results: {minimum: 1, while_open: true}
questions:
  - {name: pilferage, type: yes_no, label: Have you ever purloined a stapler, odds: 3}
  - {name: frequency, type: select_one, label: How oftentimes, epsilon: 1,
     choices: [Zilchwise, Onceonly, Weeklyish]}
  - {name: quantity, type: number, label: How many staplerfuls, minimum: 0, maximum: 999999,
     step: 1, epsilon: 1, unit: staplerfuls}
"""
INVITED = SURVEY.replace("plainname", "invited") + "invited: true\n"
OWN_LISTS = ("History", "Favicons", "Sessions/", "segmentation_platform/")
"""Where Chromium notes the addresses that it was sent to, before any page can do something."""
SECRETS = (
    "Xylographic", "Quokkas", "pilferage", "purloined", "oftentimes", "Zilchwise",
    "Onceonly", "Weeklyish", "staplerfuls", "314159",
)  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server") / "deniably.db")
    server.publish(publish_text(SURVEY))
    server.publish(publish_text(INVITED))
    server.publish(publish_text(INVITED.replace("invited\n", "invited-2\n", 1)))
    yield server
    server.kill()


@contextmanager
def profile(chromium: Browser, folder: Path) -> Iterator[BrowserContext]:
    """A browser that keeps its profile in this folder, as that of a respondent does."""
    path = os.environ.get("DENIABLY_CHROMIUM") or shutil.which("chromium")
    context = chromium.browser_type.launch_persistent_context(
        folder,
        executable_path=path,
        args=list(ARGUMENTS),
        viewport=PHONE,
    )
    yield context
    context.close()


def readable(content: bytes) -> bytes:
    """What a person with the file can read: its bytes, and what is compressed in it."""
    found, start = content, 0
    while (start := content.find(b"\x1f\x8b\x08", start)) >= 0:
        with suppress(zlib.error):
            found += zlib.decompressobj(31).decompress(content[start:])
        start += 3
    return found


def read_off(folder: Path, secrets: Sequence[str] = SECRETS) -> set[tuple[str, str]]:
    """Every secret that can be read, with the file in which it is."""
    found = set()
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    assert len(files) > 20
    for path in files:
        content = readable(path.read_bytes())
        for secret in secrets:
            if any(secret.encode(each) in content for each in ("utf-8", "utf-16-le")):
                found.add((secret, str(path.relative_to(folder))))
    return found


def answer(phone: Watched) -> None:
    phone.open("/s/plainname")
    phone.click("Start")
    phone.choose("Yes")
    phone.choose("Weeklyish")
    phone.page.fill("form.step:visible input", "314159")
    phone.click("Continue")


def leave_half_way(phone: Watched) -> None:
    answer(phone)
    phone.leave()


def send(phone: Watched) -> None:
    answer(phone)
    phone.send()
    phone.wait("receipt")


def close_half_way(phone: Watched) -> None:
    answer(phone)
    phone.page.close()


def just_stop(phone: Watched) -> None:
    answer(phone)


Used = tuple[Path, str, str]
"""A profile, an invitation whose link was opened in it, and one that was typed."""


@pytest.fixture(scope="module")
def used(chromium: Browser, server: Server, tmp_path_factory: pytest.TempPathFactory) -> Used:
    """A profile in which forms ended in every way. Leaving takes away what others left, so it
    comes before them."""
    folder = tmp_path_factory.mktemp("profile")
    with closing(Store(str(server.database))) as store:
        codes = (store.invite(name, 1)[0] for name in ("invited", "invited-2"))
        linked, typed = map(code_in_groups, codes)
    with profile(chromium, folder) as context:
        for end in (leave_half_way, close_half_way, just_stop, send):
            end(Watched(new_tab(context), server))
        for code, path in ((linked, f"/s/invited#{linked}"), (typed, "/s/invited-2")):
            phone = Watched(new_tab(context), server)
            phone.open(path)
            phone.see("#survey[data-settled]")
            phone.page.fill("#code", code)
            phone.click("Start")
            phone.see("[data-step=question]")
    return folder, linked, typed


def test_nothing_can_be_read_off_the_disk(used: Used) -> None:
    """However it ends."""
    assert read_off(used[0]) == set()


def test_of_an_invitation_the_browser_keeps_its_link_and_the_page_keeps_nothing(
    used: Used,
) -> None:
    folder, linked, typed = used
    assert read_off(folder, (typed, typed.replace("-", ""))) == set(), "for who wants no trace"
    places = {place for _, place in read_off(folder, (linked, linked.replace("-", "")))}
    assert places
    assert {place for place in places if not any(own in place for own in OWN_LISTS)} == set()


def test_what_could_be_read_would_be_found(
    chromium: Browser, server: Server, tmp_path: Path
) -> None:
    """In storage, compressed in the cache, in the tabs and titles that the browser remembers."""
    with profile(chromium, tmp_path) as context:
        page = context.new_page()
        page.goto(f"{server.url}/api/surveys/plainname")
        page.goto(f"{server.url}/measures")
        page.evaluate("localStorage.setItem('answer', 'Zilchwise')")
        page.evaluate("history.replaceState({answer: 'Onceonly'}, '')")
        page.evaluate("document.title = '314159'")

    found = read_off(tmp_path)
    for secret, place in (
        ("Xylographic", "Cache"),
        ("Zilchwise", "Local Storage"),
        ("Onceonly", "Sessions"),
        ("314159", "History"),
    ):
        assert any(place in path for word, path in found if word == secret), place
