"""The form asks only what the server's register shows to everybody: a real server, and somebody
between who changes what it says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import BrowserContext

from deniably.authoring.compiling import publish_text
from deniably.core.canonical import canonical, digest
from deniably.trust.heads import head_of, sign_head
from deniably.trust.signing import Key, fingerprint
from support.intercepting_proxy import Entries, InterceptingProxy, listing_text, rechained
from support.keys import key_of
from support.material import AUTHOR, Server, register_of, register_text
from support.modules import Modules
from support.phone import SURVEY, Watched, answer, as_new, memory, new_tab
from support.register_attacks import (
    FIRST_CONTACT_ATTACKS,
    LATER_ATTACKS,
    STRANGER,
    WHOLE_ATTACKS,
    a_wrong_signature,
    forked,
    listed_twice,
    missing,
    signed_by_a_stranger,
)

pytestmark = pytest.mark.browser

FIRST, ASKED, LAST = (
    publish_text(SURVEY.replace("name: workplace", f"name: {name}"))
    for name in ("first", "w", "last")
)

NO_REGISTER = (b"<html></html>", b'{"entries":[],"head":""}', b"", b"{}")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server") / "deniably.db")
    for survey in (FIRST, ASKED, LAST):
        server.publish(survey)
    yield server
    server.kill()


@pytest.fixture
def phone(handed_on: BrowserContext, proxy: InterceptingProxy) -> Iterator[Watched]:
    """A phone that was never here, on whose way somebody may stand."""
    yield Watched(new_tab(handed_on), proxy)
    as_new(handed_on, proxy.url)


def refusal(phone: Watched) -> str:
    """Why the form does not go on; and nobody can have answered anything."""
    phone.wait("refused")
    assert phone.shown("form") == 0
    assert phone.posts() == []
    assert "Your device has checked the survey and does not trust it." in phone.words("#why")
    return phone.words("#detail")


def test_who_asks_and_the_seal_of_the_register_are_on_the_start_page_and_the_receipt(
    phone: Watched, proxy: InterceptingProxy, server: Server
) -> None:
    phone.open("/s/w")
    phone.press(("summary", "Is everybody asked the same?"))
    signed = phone.page.evaluate("async () => (await (await fetch('/register/w')).json()).head")
    seal = digest({key: signed[key] for key in ("count", "day", "head", "log", "map")})
    shown = phone.see("[data-step=start] code")
    assert shown == [fingerprint(AUTHOR.author), seal]

    answer(phone, "w")
    receipt = phone.text("[data-step=receipt]")
    assert fingerprint(AUTHOR.author) in receipt
    assert seal in receipt
    kept = memory(phone)
    assert kept["authors"] == {proxy.url: [AUTHOR.author]}
    today = datetime.now(UTC).date().isoformat()
    assert (signed["count"], signed["day"]) == (3, today)
    assert kept["registers"] == {proxy.url: signed}
    assert {charge["author"] for charge in kept["ledger"]} == {AUTHOR.author}


CONTACT = """
  const { verifyListing } = await import("/trust/register.js");
  const { verify } = await import("/survey/survey.js");
  const definition = await verify(given.definition, given.digest);
  const more = async (path) => given.more[path];
  const { known, digest, text } = given;
  return verifyListing(known, "https://there", definition, digest, text, undefined, more);
"""
REGISTER = register_of(FIRST, ASKED, LAST)
SERVER = key_of(b"server".ljust(32))
BEFORE = {"count": 3, "head": REGISTER.head}
"""What a device of before remembers that saw the true register."""
BEGUN = {"count": 1, "head": digest(REGISTER.entries[0])}
"""What it remembers that saw the first entry of it."""
SEEN = sign_head(head_of(REGISTER), SERVER).document
"""What a device remembers that saw the true listing."""


def known_of(seen: dict[str, Any] | None) -> dict[str, Any]:
    registers = {"https://there": seen} if seen else {}
    return {"authors": {"https://there": [AUTHOR.author]} if seen else {}, "registers": registers}


def met(modules: Modules, text: bytes, seen: dict[str, Any] | None, whole: bytes = b"") -> Any:
    """What the script makes of a listing: a contact, or an error."""
    return modules.run(
        CONTACT,
        {
            "known": known_of(seen),
            "definition": json.loads(ASKED.canonical),
            "digest": ASKED.digest,
            "text": text.decode(),
            "more": {"/register": whole.decode()},
        },
    )


@pytest.mark.parametrize(
    ("attack", "seen", "key"),
    [
        *((attack, None, SERVER) for attack in FIRST_CONTACT_ATTACKS),
        *((attack, SEEN, SERVER) for attack in LATER_ATTACKS),
        *((attack, SEEN, STRANGER) for attack in LATER_ATTACKS),
        *((attack, BEFORE, SERVER) for attack in LATER_ATTACKS),
        (listed_twice, BEGUN, SERVER),
        (missing, BEGUN, SERVER),
    ],
)
def test_every_attack_is_detected(
    modules: Modules, attack: Callable[[Entries], None], seen: dict[str, Any] | None, key: Key
) -> None:
    """Those about the past where it was seen; and the truth is taken at all times."""
    text = register_text(REGISTER)
    entries = json.loads(text)["entries"]
    own = entries[1]
    truth = met(modules, listing_text(entries, "w", key), seen, text)
    assert truth["fingerprint"] == fingerprint(AUTHOR.author)
    attack(entries)
    whole = canonical(rechained(entries))

    error = met(modules, listing_text(entries, "w", key, own), seen, whole)

    assert error["name"] == "Refused"
    assert re.search((WHOLE_ATTACKS | LATER_ATTACKS)[attack], error["message"])


@pytest.mark.parametrize("text", NO_REGISTER)
def test_what_is_no_register_is_refused(modules: Modules, text: bytes) -> None:
    assert met(modules, text, None)["name"] == "Refused"


FOR_A_PAGE = {
    "missing": NO_REGISTER[0],
    "empty": NO_REGISTER[1],
    "without end": b" " * (1 << 20) + b"{}",
}


def test_a_lie_is_seen_through_before_anything_is_asked(
    phone: Watched, proxy: InterceptingProxy
) -> None:
    """Without a register nothing is asked, and one without end is not read to its end."""
    details: dict[str, str] = {}
    for name, register in FOR_A_PAGE.items():
        proxy.changes["/register/w"] = lambda _, text=register: text  # type: ignore[misc]
        phone.open("/s/w")
        details[name] = refusal(phone)
    assert "more than 1024 KiB" in details["without end"]
    proxy.honest()

    for attack in (missing, a_wrong_signature):
        proxy.register(attack)
        phone.open("/s/w")
        assert re.search(FIRST_CONTACT_ATTACKS[attack], refusal(phone)), attack.__name__


OLD = """const { importKey } = SubtleCrypto.prototype;
SubtleCrypto.prototype.importKey = function (format, key, kind, ...others) {
  if (kind === "Ed25519") return Promise.reject(new DOMException("no", "NotSupportedError"));
  return importKey.call(this, format, key, kind, ...others);
};"""


def test_a_phone_that_cannot_verify_signatures_itself_answers(phone: Watched) -> None:
    """As it is on Android 6 and 7, and on iPhones up to the X."""
    phone.page.add_init_script(OLD)

    answer(phone, "w")

    assert fingerprint(AUTHOR.author) in phone.text("[data-step=receipt]")


def test_a_phone_that_cannot_verify_signatures_itself_is_not_lied_to(
    phone: Watched, proxy: InterceptingProxy
) -> None:
    phone.page.add_init_script(OLD)
    proxy.register(a_wrong_signature)

    phone.open("/s/w")

    assert re.search(FIRST_CONTACT_ATTACKS[a_wrong_signature], refusal(phone))


AS_OF_BEFORE = """async () => {
  const { update } = await import("/web/device/storage.js");
  await update((memory) => {
    const [[origin, { count, head, day }]] = Object.entries(memory.registers);
    return { ...memory, registers: { [origin]: { count, head, day } } };
  });
}"""


@pytest.mark.parametrize("key", [SERVER, STRANGER], ids=["by its key", "by another key"])
@pytest.mark.thorough
def test_a_lie_about_the_past_is_seen_through_later(
    phone: Watched, proxy: InterceptingProxy, key: Key
) -> None:
    """With another key, the page fetches the whole register, and the module that reads it."""
    proxy.register(lambda _: None, key=SERVER)
    answer(phone, "first")
    phone.requests.clear()
    proxy.register(forked, key=key)

    phone.open("/s/w")

    assert LATER_ATTACKS[forked] in refusal(phone)
    whole = [one.url for one in phone.requests if one.url.endswith("/register")]
    assert bool(whole) == (key is STRANGER)


def test_a_phone_that_was_here_long_ago_answers_and_asks_for_hashes_once(
    phone: Watched, proxy: InterceptingProxy
) -> None:
    filling = {"event": "later", "day": "2026-11-21"}
    proxy.register(lambda _: None, key=SERVER)
    answer(phone, "first")
    proxy.register(lambda entries: entries.extend(dict(filling) for _ in range(200)), key=SERVER)
    phone.requests.clear()

    answer(phone, "w")

    assert [one.url for one in phone.requests if "/register/hashes/" in one.url]
    phone.requests.clear()
    answer(phone, "last")
    assert not [one.url for one in phone.requests if "/register/hashes/" in one.url]


def test_a_phone_of_before_answers_when_its_page_is_renewed(
    phone: Watched, proxy: InterceptingProxy
) -> None:
    """It remembers no head, and reads the whole register once."""
    proxy.register(lambda _: None, key=SERVER)
    answer(phone, "first")
    phone.page.evaluate(AS_OF_BEFORE)
    phone.requests.clear()

    answer(phone, "w")

    assert [one.url for one in phone.requests if one.url.endswith("/register")]
    assert memory(phone)["registers"][proxy.url]["key"] == SERVER.author


def test_a_survey_that_others_are_not_asked_is_not_asked_here(
    phone: Watched, proxy: InterceptingProxy
) -> None:
    """The one between asks this phone a sharper question under the survey's name."""
    sharper = publish_text(
        SURVEY.replace("name: workplace", "name: w").replace("epsilon: 0.5", "epsilon: 2")
    )
    before, after = (survey.canonical.decode() for survey in (ASKED, sharper))

    def change(page: bytes) -> bytes:
        text = page.decode().replace(ASKED.digest, sharper.digest)
        assert before in text
        return text.replace(before, after).encode()

    proxy.changes["/s/w"] = change

    phone.open("/s/w")

    assert refusal(phone) == "the register shows others another version of this survey"


def test_a_survey_that_changes_while_the_page_is_open_gets_no_answer(
    phone: Watched, proxy: InterceptingProxy
) -> None:
    phone.open("/s/w")
    phone.answer("Yes", "Weeklyish")
    proxy.changes["/api/surveys/w"] = lambda _: FIRST.canonical

    phone.send()
    phone.wait("refused")

    assert "The survey was changed while this page was open." in phone.words("#why")
    assert phone.posts() == []
    assert not proxy.posted
    assert phone.checked() == 0
    assert memory(phone)["ledger"] == [], "what was not sent costs nothing"


# --- authors ------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_another_author_at_a_known_server_is_shown_and_known_once_a_report_was_made_for_it(
    phone: Watched, proxy: InterceptingProxy
) -> None:
    """Before anything is asked; and no other way than accepting leads past it."""
    proxy.register(lambda entries: entries.__delitem__(slice(1, None)))
    answer(phone, "first")
    phone.requests.clear()
    proxy.asked.clear()
    proxy.register(lambda entries: signed_by_a_stranger(entries, ASKED))
    phone.open("/s/w")

    assert phone.heading() == "Another author than before"
    assert phone.page.evaluate("document.activeElement.tagName") == "H1"
    assert phone.words("#before") == fingerprint(AUTHOR.author)
    assert phone.words("#asks") == fingerprint(STRANGER.author)
    assert phone.shown("form") == 0
    assert not proxy.posted
    assert memory(phone)["authors"] == {proxy.url: [AUTHOR.author]}

    phone.page.evaluate("history.pushState({ step: 1 }, '')")
    phone.page.evaluate("history.back()")
    phone.page.evaluate("history.forward()")
    phone.page.keyboard.press("Enter")
    assert phone.heading() == "Another author than before"
    assert phone.posts() == []

    phone.open("/s/w")
    phone.click("Go on with this author")
    phone.click("Start")
    assert memory(phone)["authors"] == {proxy.url: [AUTHOR.author]}
    phone.choose("Yes", "Weeklyish")
    phone.send()
    phone.wait("receipt")

    assert fingerprint(STRANGER.author) in phone.text("[data-step=receipt]")
    assert memory(phone)["authors"] == {proxy.url: [AUTHOR.author, STRANGER.author]}
    phone.open("/s/w")
    assert phone.shown("[data-before]"), "answered, and trusted"
