"""Chromium seals, and Python opens: what a phone sends through a mixer is what the survey's server
reads."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from deniably.trust.envelope import inner_size, new_opening_key, open_inner, open_outer, outer_size
from deniably.trust.mixer_statement import read_statement
from deniably_server.mixing.batches import finish
from deniably_server.storage.mixer_store import MixerStore
from support.mixing import MixerServer, parties, whole

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


SEND = """
async ([address, bytes]) => {
  const body = Uint8Array.from(bytes.match(/../g) ?? [], (pair) => parseInt(pair, 16));
  const headers = { "Content-Type": "application/octet-stream" };
  const answer = await fetch(address, { method: "POST", body, headers });
  const { type, status } = await answer.json();
  return [answer.status, type ?? status];
}
"""


def test_a_page_of_another_origin_sends_to_a_mixer_and_reads_its_answers(
    chromium: Browser, web_url: str, tmp_path: Path
) -> None:
    """From the statement to the batch: what the phone sealed is in it, once."""
    mixer = MixerServer(tmp_path / "mixer.db")
    mix = mixer.accept(parties(blanks=2))
    address = f"{mixer.url}/mix/{mix.survey.digest}"
    reports = [f'{{"values":{{"q{number}":[1]}}}}' for number in range(2)]
    given = {
        "server": mix.survey.open,
        "mixer": mix.survey.key,
        "digest": mix.survey.digest,
        "reports": reports,
        "length": LENGTH,
        "code": "",
    }
    page = chromium.new_page()
    page.goto(web_url)

    statement = page.evaluate("async (address) => (await fetch(address)).text()", address)
    outer, inner = page.evaluate(SEAL, given)
    answers = [page.evaluate(SEND, [address, sealed]) for sealed in (outer, outer, outer[:-2])]
    page.close()

    assert read_statement(statement.encode(), mix.survey.signing).by == mix.survey.by
    assert answers == [[201, "stored"], [200, "stored before"], [400, "/problems/bad-envelope"]]
    mixer.kill()
    with closing(MixerStore(str(tmp_path / "mixer.db"))) as store:
        store.close_survey(mix.survey.digest)
        finish(store, mix.survey.digest)
        body = whole(store, mix.survey.digest)
    envelopes = [each.hex() for each in mix.envelopes(body)]
    assert [envelopes.count(each) for each in inner] == [1, 1]
    opened = [
        open_inner(mix.server, mix.survey.digest, bytes.fromhex(each), LENGTH) for each in inner
    ]
    assert [each.decode() for each in opened] == reports
