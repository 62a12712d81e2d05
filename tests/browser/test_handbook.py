"""The handbook fits a phone, and its contents lead where they say."""

from __future__ import annotations

import pytest

from deniably_server.api.handbook import texts
from support.phone import Watched

pytestmark = pytest.mark.browser


def test_no_page_is_wider_than_a_phone(phone: Watched) -> None:
    phone.page.set_viewport_size({"width": 320, "height": 640})
    for name in texts():
        phone.open("/handbook" if name == "index" else f"/handbook/{name}")

        assert phone.page.evaluate("document.documentElement.scrollWidth") == 320, name
        assert phone.page.locator("h1").count() == 1


def test_its_contents_lead_to_their_sections(phone: Watched) -> None:
    phone.open("/handbook/authors")
    links = phone.page.locator("nav.contents a")
    assert links.count() >= 3

    links.nth(2).click()

    heading = phone.page.locator(f"[id='{phone.page.url.partition('#')[2]}']")
    assert heading.inner_text() == links.nth(2).inner_text()
    assert heading.bounding_box()["y"] < 200  # type: ignore[index]
