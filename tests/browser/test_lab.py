"""The lab in a browser: sliders are an addition to a form that needs no script."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from deniably.lab.catalogue import entries
from support.material import Server
from support.phone import PHONE, new_tab

pytestmark = pytest.mark.browser


@pytest.mark.thorough
def test_a_slider_shows_the_new_picture_in_place_and_a_form_does_without(
    chromium: Browser, desktop: BrowserContext, server: Server
) -> None:
    entry = entries()["one-report"]
    page = new_tab(desktop)
    page.set_viewport_size(PHONE)
    page.goto(f"{server.url}/lab/one-report")
    slider, field = page.locator("input[type=range]").first, page.locator("#i-epsilon")
    shown, said = page.locator("#found .finding"), page.locator("#said")
    expect(slider).to_have_attribute(
        "aria-label", "Epsilon, the protection of an answer, or ln odds"
    )
    expect(said).to_be_empty()
    page.locator("#found details").first.evaluate("(one) => { one.open = true; }")
    before = page.locator("#found svg").first.inner_html()

    slider.focus()
    slider.press("End")

    expect(field).to_have_value("10")
    text = entry.run(epsilon=10).answer
    expect(shown).to_have_text(text)
    expect(said).to_have_text(text)  # which is read aloud when the person stops
    expect(said).to_have_attribute("role", "status")
    expect(slider).to_be_focused()
    assert page.locator("#found svg").first.inner_html() != before
    assert page.locator("#found details").first.evaluate("(one) => one.open")
    assert "epsilon=10" in page.url
    assert page.context.cookies() == []

    field.fill("ln 9")
    expect(shown).to_have_text(entry.run(epsilon="ln 9").answer)
    assert 0 < int(slider.input_value()) < int(slider.get_attribute("max") or 0)
    expect(slider).to_have_attribute("aria-valuetext", "ln 9")
    field.fill("a lot")
    expect(page.locator("#why")).to_contain_text("“epsilon” is a number from")
    expect(shown).to_have_text(entry.run(epsilon="ln 9").answer)  # and nothing is lost
    field.fill("ln 9")
    expect(page.locator("#why")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") == 390

    page.locator("#found a", has_text="Draw again").press("Enter")
    expect(page.locator("#found a", has_text="Draw again")).to_have_attribute("data-seed", "3")
    expect(page.locator("#found a", has_text="Draw again")).to_be_focused()
    expect(page.locator("#i-seed")).to_have_value("2")

    page.emulate_media(media="print")
    expect(page.locator("#inputs")).to_be_hidden()
    expect(shown).to_be_visible()
    page.close()

    plain = chromium.new_page(java_script_enabled=False)
    plain.goto(f"{server.url}/lab/one-report")
    assert plain.locator("input[type=range]").count() == 0
    plain.fill("#i-epsilon", "ln 9")
    plain.click("button")
    expect(plain.locator("#found .finding")).to_have_text(entry.run(epsilon="ln 9").answer)
    plain.close()
