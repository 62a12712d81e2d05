"""A mixer's offer: what its signature holds together."""

from __future__ import annotations

import json

import msgspec
import pytest

from deniably.core.canonical import digest
from deniably.core.errors import BadSignature
from deniably.trust.mixer_offer import make_offer, read_offer
from deniably.trust.signing import Signature, verify_text
from spec.cases.mixers import KEY, OPEN
from support.cases import for_each
from support.keys import key_of

SIGNING = key_of(b"mixer".ljust(32))
OFFER = make_offer(SIGNING, "https://mixer.example.net", "Works council", KEY)
MEMBERS = msgspec.to_builtins(OFFER)


def test_an_offer_is_read_back_from_its_json() -> None:
    assert read_offer(json.loads(msgspec.json.encode(OFFER))) == OFFER
    assert OFFER.signing == SIGNING.author


def test_it_is_signed_as_the_specification_says() -> None:
    rest = {name: text for name, text in MEMBERS.items() if name != "signature"}
    signed = f"deniably offer 1\n{digest(rest)}\n".encode()

    verify_text(signed, Signature(OFFER.signing, OFFER.signature))


@for_each(
    ("member", "text"),
    [
        ("address", "https://mixer.example.com"),
        ("by", "Works councils"),
        ("key", OPEN),
        ("signing", key_of(b"another".ljust(32)).author),
        ("signature", "0" * 128),
    ],
)
def test_an_offer_that_was_changed_is_refused(member: str, text: str) -> None:
    with pytest.raises(BadSignature, match="did not sign this offer, or it was changed since"):
        read_offer(MEMBERS | {member: text})


@for_each(
    "value",
    [
        None, [], "offer.json", {}, MEMBERS | {"until": "2026-12-24"}, MEMBERS | {"by": ""},
        MEMBERS | {"address": "http://mixer.example.net"}, MEMBERS | {"key": KEY[2:]},
        MEMBERS | {"signature": 5},
    ],
)  # fmt: skip
def test_what_is_no_offer_is_refused(value: object) -> None:
    with pytest.raises(BadSignature, match="this is no offer of a mixer"):
        read_offer(value)


def test_the_signature_of_a_survey_is_none_of_an_offer() -> None:
    rest = {name: text for name, text in MEMBERS.items() if name != "signature"}

    with pytest.raises(BadSignature):
        read_offer(rest | {"signature": SIGNING.sign(digest(rest)).value})
