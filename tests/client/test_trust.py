"""A device answers only what the server's register shows to everybody: a real server, and
somebody between who changes what it says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import requests

from deniably.authoring.compiling import publish_text
from deniably.core.canonical import digest
from deniably.core.errors import AuthorChanged, Refused
from deniably.device.memory import Memory, RegisterCheckpoint, replace
from deniably.trust.register import NOTHING
from deniably.trust.signing import Key
from deniably_client import Device
from deniably_client.device import _address, session
from deniably_client.storage import Storage, Transient
from support.intercepting_proxy import Entries, InterceptingProxy, listing_text
from support.keys import key_of
from support.material import AUTHOR, Server, register_of, signed
from support.register_attacks import (
    FIRST_CONTACT_ATTACKS,
    LATER_ATTACKS,
    STRANGER,
    WHOLE_ATTACKS,
    signed_by_a_stranger,
)

TEXT = """
name: w
title: At work
questions:
  - {name: stolen, type: yes_no, label: Ever, odds: 3}
  - {name: often, type: select_one, label: How often, choices: [never, once, often], epsilon: 1}
"""
SURVEY = publish_text(TEXT)
FIRST, LAST = (publish_text(TEXT.replace("name: w", f"name: {name}")) for name in ("first", "last"))
ANSWERS = {"stolen": "yes", "often": "never"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("trust") / "deniably.db")
    for survey in (FIRST, SURVEY, LAST):
        server.publish(survey)
    yield server
    server.kill()


@pytest.fixture
def meet(proxy: InterceptingProxy) -> Iterator[Callable[..., Device]]:
    """A device that has not fetched anything yet."""
    with session(retries=0) as connections:

        def made(
            memory: Storage | Transient | None = None, name: str = "w", **options: Any
        ) -> Device:
            return Device(f"{proxy.url}/s/{name}", memory=memory, session=connections, **options)

        yield made


def test_an_honest_register_is_believed_with_one_request_more(
    proxy: InterceptingProxy, meet: Callable[..., Device]
) -> None:
    receipt = meet().answer(ANSWERS)

    assert proxy.asked == [
        "GET /api/surveys/w", "GET /register/w", "GET /api/surveys/w",
        "POST /api/surveys/w/reports",
    ]  # fmt: skip
    assert receipt.author == signed(SURVEY).fingerprint
    assert len(receipt.register) == 64
    assert f"register  {receipt.register}" in str(receipt)
    assert f"author    {receipt.author}" in str(receipt)


@pytest.mark.parametrize("attack", FIRST_CONTACT_ATTACKS, ids=lambda attack: attack.__name__)
def test_a_lie_is_seen_through_at_the_first_contact(
    proxy: InterceptingProxy, meet: Callable[..., Device], attack: Callable[[Entries], None]
) -> None:
    proxy.register(attack)
    memory = Transient()

    with pytest.raises(Refused, match=FIRST_CONTACT_ATTACKS[attack]):
        meet(memory).answer(ANSWERS)
    assert not proxy.posted
    assert memory.read() == Memory(), "nothing of it is remembered"


SERVER = key_of(b"server".ljust(32))


@pytest.mark.parametrize("key", [SERVER, None], ids=["by its key", "by another key"])
@pytest.mark.parametrize("attack", LATER_ATTACKS, ids=lambda attack: attack.__name__)
def test_a_lie_about_the_past_is_seen_through_later(
    proxy: InterceptingProxy,
    meet: Callable[..., Device],
    attack: Callable[[Entries], None],
    key: Key | None,
) -> None:
    memory = Transient()
    proxy.register(lambda _: None, key=SERVER)
    assert meet(memory).survey == SURVEY
    before = memory.read()
    proxy.register(attack, key=key)

    with pytest.raises(Refused, match=LATER_ATTACKS[attack]):
        meet(memory).answer(ANSWERS)
    assert not proxy.posted
    assert memory.read() == before
    assert meet().survey == SURVEY, "at a first contact nobody can know: the limit that is stated"


def of_before(proxy: InterceptingProxy, count: int) -> Transient:
    """The memory of a device of before, which read the whole register and saw no head."""
    entries = requests.get(f"{proxy.url}/register", timeout=30).json()["entries"]
    seen = RegisterCheckpoint(count, digest(entries[count - 1]))
    memory = Transient()
    memory.update(lambda now: replace(now, registers={proxy.url: seen}))
    return memory


def test_a_device_of_before_reads_the_whole_register_once(
    proxy: InterceptingProxy, meet: Callable[..., Device]
) -> None:
    memory = of_before(proxy, 2)
    proxy.asked.clear()

    assert meet(memory).survey == SURVEY
    assert proxy.asked == ["GET /api/surveys/w", "GET /register/w", "GET /register"]
    proxy.asked.clear()
    assert meet(memory).survey == SURVEY
    assert proxy.asked == ["GET /api/surveys/w", "GET /register/w"]


@pytest.mark.parametrize("attack", LATER_ATTACKS | WHOLE_ATTACKS, ids=lambda one: one.__name__)
def test_a_device_of_before_is_not_lied_to_when_it_is_renewed(
    proxy: InterceptingProxy, meet: Callable[..., Device], attack: Callable[[Entries], None]
) -> None:
    memory = of_before(proxy, 3 if attack in LATER_ATTACKS else 1)
    before = memory.read()
    proxy.register(attack)

    with pytest.raises(Refused, match=(WHOLE_ATTACKS | LATER_ATTACKS)[attack]):
        meet(memory).answer(ANSWERS)
    assert memory.read() == before


def test_a_server_whose_key_is_new_is_believed_where_its_entries_go_on(
    proxy: InterceptingProxy, meet: Callable[..., Device]
) -> None:
    memory = Transient()
    proxy.register(lambda entries: entries.__delitem__(slice(2, None)), key=SERVER)
    assert meet(memory).survey == SURVEY
    proxy.honest()
    proxy.asked.clear()

    assert meet(memory).survey == SURVEY

    assert proxy.asked[-1] == "GET /register"
    (seen,) = memory.read().registers.values()
    assert (seen.count, seen.key == SERVER.author) == (3, False)


def test_a_device_that_was_here_long_ago_asks_for_hashes_and_finds_any_fork(
    proxy: InterceptingProxy, meet: Callable[..., Device]
) -> None:
    def fill(entries: Entries, last: str = "") -> None:
        filling = {"event": "blessed", "day": "2026-11-21", "survey": "none"}
        entries += [filling | {"note": str(number)} for number in range(200)]
        if last:
            entries[2]["note"] = last

    memory = Transient()
    proxy.register(lambda _: None, key=SERVER)
    assert meet(memory).survey == SURVEY
    before = memory.read()
    proxy.register(fill, key=SERVER)
    proxy.asked.clear()

    assert meet(memory).survey == SURVEY
    assert proxy.asked[-1] == "GET /register/hashes/0"
    (seen,) = memory.read().registers.values()
    assert seen.count == 203

    memory.update(lambda _: before)
    proxy.register(lambda entries: fill(entries, "forked"), key=SERVER)
    with pytest.raises(Refused, match="history was rewritten"):
        meet(memory).answer(ANSWERS)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda entries: entries[1].update(day="2020-02-20"), "entry 3 does not continue"),
        (lambda entries: entries[0].update(number=7), "entry 1 does not continue"),
        (lambda entries: entries.pop(0), "entry 1 does not continue"),
        (lambda entries: entries[2].update(day="2020-02-20"), "last entry is not its head"),
    ],
)
def test_a_chain_that_does_not_hold_is_refused_by_those_who_read_it(
    proxy: InterceptingProxy,
    meet: Callable[..., Device],
    change: Callable[[Entries], object],
    why: str,
) -> None:
    memory = of_before(proxy, 1)
    proxy.register(change, chained=False)

    with pytest.raises(Refused, match=why):
        meet(memory).answer(ANSWERS)
    assert not proxy.posted


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"{}", b'{"entry":{},"head":""}', b'{"entries":[{}],"head":0}', b"\xff",
     b'{"entry":{"number":1.5},"head":"x"}', b'{"entry":{},"entry":{},"head":"x"}'],
)  # fmt: skip
def test_what_is_no_register_is_refused(
    proxy: InterceptingProxy, meet: Callable[..., Device], body: bytes
) -> None:
    proxy.changes["/register/w"] = lambda _: body

    with pytest.raises(Refused, match="cannot be trusted"):
        meet().answer(ANSWERS)
    assert not proxy.posted


def test_a_survey_made_for_one_person_is_not_in_the_register_of_others(
    proxy: InterceptingProxy, meet: Callable[..., Device]
) -> None:
    """The one between asks this device a sharper question under the survey's name."""
    sharper = publish_text(TEXT.replace("odds: 3", "odds: 9"))
    proxy.changes["/api/surveys/w"] = lambda _: sharper.canonical

    with pytest.raises(Refused, match="shows others another version of this survey"):
        meet().answer(ANSWERS)
    assert not proxy.posted


def test_the_register_goes_on_and_the_device_goes_with_it(
    proxy: InterceptingProxy, meet: Callable[..., Device]
) -> None:
    memory = Transient()
    proxy.register(lambda entries: entries.__delitem__(slice(2, None)))
    assert meet(memory).survey == SURVEY
    (seen,) = memory.read().registers.values()
    assert seen.count == 2
    proxy.honest()

    assert meet(memory, "last").survey == LAST

    (seen,) = memory.read().registers.values()
    assert seen.count == 3
    signed = {"key", "signature"}
    head = {key: each for key, each in msgspec.to_builtins(seen).items() if key not in signed}
    assert digest(head) == meet(memory).answer(ANSWERS).register


MEET = """
import pathlib, sys
from deniably_client import Device
from deniably_client.storage import Storage
Device(sys.argv[1], memory=Storage(pathlib.Path(sys.argv[2]))).survey
"""


def test_a_register_that_was_on_its_way_when_another_process_saw_a_longer_one_is_no_lie(
    proxy: InterceptingProxy, meet: Callable[..., Device], tmp_path: Path
) -> None:
    def overtaken(body: bytes) -> bytes:
        proxy.changes.clear()
        subprocess.run([sys.executable, "-c", MEET, f"{proxy.url}/s/last", tmp_path], check=True)
        entry = json.loads(body)["entry"]
        return listing_text([entry], "first", SERVER)

    proxy.changes["/register/first"] = overtaken

    device = meet(Storage(tmp_path), "first")

    assert device.survey == FIRST
    assert proxy.changes == {}
    (seen,) = Storage(tmp_path).read().registers.values()
    assert seen.count == 3


# --- authors ------------------------------------------------------------------------------------


def other_author(proxy: InterceptingProxy) -> None:
    """From now on the survey w is a stranger's."""
    proxy.register(lambda entries: signed_by_a_stranger(entries, SURVEY))


def test_the_author_is_pinned_at_the_first_contact(
    proxy: InterceptingProxy, meet: Callable[..., Device]
) -> None:
    memory = Transient()

    assert meet(memory).author == AUTHOR.author

    assert memory.read().authors == {proxy.url: [AUTHOR.author]}


def test_another_author_at_a_known_server_is_refused_and_both_are_named(
    proxy: InterceptingProxy, meet: Callable[..., Device]
) -> None:
    memory = Transient()
    proxy.register(lambda entries: entries.__delitem__(slice(1, None)))
    assert meet(memory, "first").survey == FIRST
    before = memory.read()
    other_author(proxy)

    with pytest.raises(AuthorChanged) as told:
        meet(memory).answer(ANSWERS)

    assert told.value.known == (signed(SURVEY).fingerprint,)
    assert told.value.fingerprint == signed(SURVEY, STRANGER).fingerprint
    assert signed(SURVEY).fingerprint in str(told.value)
    assert signed(SURVEY, STRANGER).fingerprint in str(told.value)
    assert not proxy.posted
    assert memory.read() == before


def test_another_author_is_remembered_once_its_owner_accepted_it(
    proxy: InterceptingProxy, meet: Callable[..., Device]
) -> None:
    memory = Transient()
    proxy.register(lambda entries: entries.__delitem__(slice(1, None)))
    assert meet(memory, "first").survey == FIRST
    other_author(proxy)

    accepted = signed(SURVEY, STRANGER).fingerprint
    assert meet(memory, fingerprint=accepted).answer(ANSWERS).author == accepted

    assert memory.read().authors == {proxy.url: [AUTHOR.author, STRANGER.author]}
    assert meet(memory).author == STRANGER.author


@pytest.mark.parametrize("spelling", [str, str.upper, lambda text: text.replace(" ", "")])
def test_an_author_who_is_known_from_elsewhere_is_kept_to(
    proxy: InterceptingProxy, meet: Callable[..., Device], spelling: Callable[[str], str]
) -> None:
    """Also at the first contact, and however the fingerprint was written down."""
    assert meet(fingerprint=spelling(signed(SURVEY).fingerprint)).survey == SURVEY
    with pytest.raises(Refused, match="the survey's author has the fingerprint"):
        meet(fingerprint=spelling(signed(SURVEY, STRANGER).fingerprint)).answer(ANSWERS)
    assert not proxy.posted


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://Example.ORG/s/w", "https://example.org"),
        ("https://example.org:443/s/w", "https://example.org"),
        ("http://example.org:443/s/w", "http://example.org:443"),
        ("http://example.org:80/s/w", "http://example.org"),
        ("http://[::1]:8000/below/s/w", "http://[::1]:8000"),
    ],
)
def test_an_origin_is_written_as_browsers_write_it(url: str, origin: str) -> None:
    assert _address(url)[1] == origin


def test_an_empty_register_lists_nothing(
    proxy: InterceptingProxy, meet: Callable[..., Device]
) -> None:
    assert register_of().head == NOTHING
    proxy.register(lambda entries: entries.clear())

    with pytest.raises(Refused, match="no entry of the number"):
        meet().answer(ANSWERS)
