"""The link says the group of its respondent: what the form tells, sends, keeps and does again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Page

from deniably.authoring.compiling import publish_text
from deniably_server.storage.store import Store
from support.material import Server
from support.phone import ANSWERS, SURVEY, Watched

pytestmark = pytest.mark.browser

TEXT = SURVEY.replace("intro:", "strata: {site: [north, south], shift: [day, night]}\nintro:")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server") / "deniably.db")
    server.publish(publish_text(TEXT))
    yield server
    server.kill()


def told(phone: Watched) -> str:
    return phone.page.locator("p:visible", has_text="They know your group").inner_text()


def counts(server: Server) -> list[int]:
    with closing(Store(str(Path(server.database)))) as store:
        return [max(each) for each in store.counts_by_stratum("workplace")]


@pytest.mark.thorough
def test_one_device_is_in_the_group_of_its_first_link_and_no_other(
    phone: Watched, server: Server, axe: Callable[[Page], list[str]]
) -> None:
    phone.open("/s/workplace?site=north&shift=night")
    assert told(phone).endswith("beside your randomised answers: shift night, site north")
    assert axe(phone.page) == []
    phone.page.locator("details.languages summary").click()
    phone.page.click("text=Deutsch")
    phone.page.wait_for_selector("text=Ihre Gruppe ist bekannt")
    assert (
        phone.page.locator("p:visible", has_text="Ihre Gruppe").inner_text().endswith("site north")
    )

    phone.open("/s/workplace?site=north&shift=night")
    phone.click("Start")
    for label in ANSWERS:
        phone.choose(label)
    phone.send()
    phone.wait("receipt")
    (post,) = phone.posts()
    assert json.loads(post.post_data or "")["strata"] == {"shift": "night", "site": "north"}
    assert not post.headers.get("referer")
    slip = phone.page.locator(".receipt div", has_text="Your group, sent as it is").inner_text()
    assert slip.endswith("shift night, site north")
    assert counts(server) == [0, 0, 1, 0]

    phone.open("/s/workplace?site=south&shift=day")  # a second link changes nothing
    assert told(phone).endswith("shift night, site north")
    phone.click("Send the same again")
    phone.wait("receipt")
    assert phone.posts()[-1].post_data == post.post_data
    phone.open("/s/workplace?site=south&shift=day")
    phone.page.click("summary:has-text('Some of my answers have changed')")
    phone.page.locator("#changed label").first.click()
    phone.click("Ask these again")
    phone.choose("No")
    phone.send()
    phone.wait("receipt")
    changed = json.loads(phone.posts()[-1].post_data or "")
    assert changed["strata"] == {"shift": "night", "site": "north"}
    assert changed["id"] != json.loads(post.post_data or "")["id"]
    assert counts(server) == [0, 0, 2, 0]
    assert [line for line in phone.console if "Failed to load" not in line] == []


def test_without_a_network_the_page_is_for_the_group_of_the_link(phone: Watched) -> None:
    phone.open("/s/workplace?site=north&shift=night")
    phone.see("#survey[data-kept=true]")
    phone.page.wait_for_function("navigator.serviceWorker.controller !== null")
    phone.page.context.set_offline(True)

    for link, group in (
        ("?site=north&shift=night", "shift night, site north"),
        ("?site=south&shift=day", "shift day, site south"),
        ("", "shift night, site north"),
    ):
        phone.open(f"/s/workplace{link}")
        assert told(phone).endswith(group)
