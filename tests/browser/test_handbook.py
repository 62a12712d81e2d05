"""The handbook fits a phone, and its contents lead where they say."""

from __future__ import annotations

import pytest

from deniably_server.api.handbook import texts
from support.phone import Watched

pytestmark = pytest.mark.browser


# Each page in the place of the first, in the same window and the same style.
WIDE = """async (addresses) => {
  const found = [];
  for (const address of addresses) {
    const answer = await fetch(address);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const sheets = (one) => [...one.querySelectorAll("link[rel=stylesheet]")]
      .map((link) => link.getAttribute("href")).join();
    if (!answer.ok || sheets(page) !== sheets(document)) throw new Error(address);
    document.documentElement.lang = page.documentElement.lang;
    document.body.replaceWith(page.body);
    const { scrollWidth } = document.documentElement;
    found.push([address, scrollWidth, document.querySelectorAll("h1").length]);
  }
  return found;
}"""


@pytest.mark.thorough
def test_contents_lead_to_their_sections_and_no_page_is_wider_than_a_phone(phone: Watched) -> None:
    phone.open("/handbook/authors")
    links = phone.page.locator("nav.contents a")
    assert links.count() >= 3

    links.nth(2).click()

    heading = phone.page.locator(f"[id='{phone.page.url.partition('#')[2]}']")
    assert heading.inner_text() == links.nth(2).inner_text()
    assert heading.bounding_box()["y"] < 200  # type: ignore[index]

    phone.page.set_viewport_size({"width": 320, "height": 640})
    names = ["/handbook" if name == "index" else f"/handbook/{name}" for name in texts()]
    assert len(names) > 9
    assert phone.page.evaluate(WIDE, names) == [[name, 320, 1] for name in names]
