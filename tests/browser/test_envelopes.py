"""Chromium seals, and Python opens: what a phone sends through a mixer is what the survey's server
reads."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Browser

from deniably.trust.envelope import inner_size, new_opening_key, open_inner, open_outer, outer_size

pytestmark = pytest.mark.browser

LENGTH, DIGEST = 192, "5" * 64
SEAL = """
async ({ server, mixer, digest, reports, length, code }) => {
  const { sealInner, sealOuter } = await import("/trust/envelope.js");
  const { hexadecimal } = await import("/core/canonical.js");
  const inner = await Promise.all(reports.map((text) => sealInner(server, digest, text, length)));
  const outer = await sealOuter(mixer, digest, inner, code);
  return [hexadecimal(outer), inner.map(hexadecimal)];
}
"""
# An audit replays what this gives to the mechanisms, byte for byte.
WITHOUT_COINS = """() => {
  crypto.getRandomValues = () => { throw new Error("these are the bytes of the mechanisms"); };
}"""


@pytest.mark.parametrize("code", ["", "000000000000000000"])
def test_six_answers_of_a_phone_arrive(code: str, chromium: Browser, web_url: str) -> None:
    server, mixer = new_opening_key(), new_opening_key()
    reports = [f'{{"values":{{"question_{number}":[1]}}}}' for number in range(6)]
    given: dict[str, Any] = {
        "server": server.public,
        "mixer": mixer.public,
        "digest": DIGEST,
        "reports": reports,
        "length": LENGTH,
        "code": code,
    }
    page = chromium.new_page()
    page.goto(web_url)
    page.evaluate(WITHOUT_COINS)

    outer, inner = page.evaluate(SEAL, given)
    again, _ = page.evaluate(SEAL, given)
    page.close()

    sealed = bytes.fromhex(outer)
    assert len(sealed) == outer_size(LENGTH, 6) == 1739
    opened = open_outer(mixer, DIGEST, sealed, LENGTH, 6)
    assert opened.code == code
    assert [each.hex() for each in opened.inner] == inner
    assert {len(each) for each in opened.inner} == {inner_size(LENGTH)}
    found = [open_inner(server, DIGEST, each, LENGTH).decode() for each in opened.inner]
    assert found == reports
    keys = [each[:65] for each in (*opened.inner, sealed, bytes.fromhex(again))]
    assert len(set(keys)) == 8, "each has an ephemeral key of its own"
