"""A browser whose owner lets no site keep anything: in its settings, not by a script of ours."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from conftest import ARGUMENTS
from support.material import Server
from support.phone import PHONE, Watched, answer

BLOCKED = {"profile": {"default_content_setting_values": {"cookies": 2}}}
"""Chromium's setting "Block all cookies", which is about all site data."""


@pytest.fixture
def careful(chromium: Browser, server: Server, tmp_path: Path) -> Iterator[Watched]:
    """A phone with that setting, in the whole Chromium: the one without windows has no settings."""
    (tmp_path / "Default").mkdir()
    (tmp_path / "Default" / "Preferences").write_text(json.dumps(BLOCKED))
    context = chromium.browser_type.launch_persistent_context(
        tmp_path,
        executable_path=os.environ.get("DENIABLY_CHROMIUM") or shutil.which("chromium"),
        args=[*ARGUMENTS, "--headless=new"],
        viewport=PHONE,
    )
    yield Watched(context.new_page(), server)
    context.close()


OPENED = """new Promise((resolve) => {
    const request = indexedDB.open("x");
    request.onsuccess = () => resolve("opened");
    request.onerror = () => resolve(request.error.name);
})"""
REFUSED = (
    "() => { try { return String(localStorage.length); } catch (error) { return error.name; } }"
)


@pytest.mark.thorough
def test_the_form_is_answered_to_its_end_where_site_data_is_blocked(careful: Watched) -> None:
    careful.open()
    page = careful.page
    assert page.evaluate(OPENED) == "UnknownError"
    assert page.evaluate(REFUSED) == "SecurityError"
    assert "lets the page keep nothing" in careful.words("[data-transient]")
    assert page.locator("#kept").is_hidden()

    answer(careful)

    assert len(careful.posts()) == 1
    assert page.locator("[data-step=receipt]").is_visible()
    assert "encrypted, in this browser" not in page.inner_text("main")  # it is not
    # Nothing is left: the page asks again, and does not know that it was answered.
    careful.open()
    assert page.locator("[data-first]").first.is_visible()


FAULTY = """
IDBFactory.prototype.open = function () {
    const request = new EventTarget();
    request.error = new DOMException("Internal error opening backing store", "UnknownError");
    setTimeout(() => request.onerror());
    return request;
};
"""


def test_a_memory_that_the_disk_has_damaged_is_not_taken_for_none(phone: Watched) -> None:
    """Chromium calls this UnknownError, too. What was spent is unknown, so nothing is answered."""
    phone.page.add_init_script(FAULTY)

    phone.open()

    assert phone.page.locator("[data-transient]").is_hidden()
    assert phone.page.locator("[data-step=refused]").is_visible()


FRAME = "<!doctype html><iframe src='{}' width=390 height=780></iframe>"


def test_no_other_site_shows_the_form_in_a_frame(phone: Watched) -> None:
    """``frame-ancestors 'none'``: a page around the form could lie about it, or watch."""
    phone.page.route(
        "http://other.test/",
        lambda route: route.fulfill(
            body=FRAME.format(f"{phone.url}/s/workplace"), content_type="text/html"
        ),
    )
    with phone.page.expect_request("**/s/workplace"):
        phone.page.goto("http://other.test/")
    phone.page.wait_for_timeout(300)

    (frame,) = phone.page.frames[1:]
    assert frame.locator("#survey").count() == 0
