"""The cases of mixing.json: what a mixer signs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from deniably.reference.canonical import canonical, parse
from deniably.reference.refusal import Invalid, require
from spec.cases.envelopes import DIGEST, OTHER_DIGEST, inner_of
from spec.cases.tapes import label_bytes
from spec.ed25519 import check_signature, public, sign
from spec.vector_types import Case, Made

NOTES = {
    "Forged": "the signature is another key's, of another text, or of another kind of text",
    "Members": "a member too few, too many, or of another type",
}
MIXER, OTHER = label_bytes("mixer's seed", 32), label_bytes("another seed", 32)
STATEMENT = {
    "by": "Works council of Example Ltd",
    "invitations": 0,
    "senders": 120,
    "survey": DIGEST,
    "until": "2026-12-24",
}
TYPES = {"by": str, "invitations": int, "senders": int, "survey": str, "until": str}


def cases() -> Made:
    return NOTES, [
        {"type": "statement", "tests": [_statement(*case) for case in _statements()]},
        {"type": "batch", "tests": [_batch(*case) for case in _batches()]},
    ]


# --- statements ---


def stated(members: dict[str, Any], seed: bytes = MIXER, first: str = "mixer") -> dict[str, Any]:
    """A statement with its signature (SPEC 14.2)."""
    message = f"deniably {first} 1\n{canonical(members)}"
    return members | {"signature": sign(seed, message.encode()).hex()}


def check_statement(text: str, key: bytes) -> dict[str, Any]:
    """Returns the members of a statement. Raises Invalid for any fault."""
    found = parse(text)
    require(type(found) is dict and set(found) == {*TYPES, "signature"}, "another set of members")
    signature = found.pop("signature")
    require(type(signature) is str and len(signature) == 128, "no signature")
    require(signature == signature.lower(), "small digits")
    right = all(type(found[name]) is kind for name, kind in TYPES.items())
    require(right, "a member of another type")
    message = f"deniably mixer 1\n{canonical(found)}"
    check_signature(key, bytes.fromhex(signature), message.encode())
    return found


def _statements() -> Iterator[tuple[Any, ...]]:
    """(comment, flags, text)"""
    good = stated(STATEMENT)
    yield "any", [], canonical(good)
    yield "by invitation", [], canonical(stated(STATEMENT | {"invitations": 2000}))
    names = ("\u00dcber & <Co> \U0001f511", '\u2028 \u007f " \\ /', "")
    for number, name in enumerate(names):
        yield f"a name of all kinds, {number}", [], canonical(stated(STATEMENT | {"by": name}))
    yield "with spaces, in another order", [], json.dumps(dict(reversed(good.items())), indent=1)
    yield "another key's", ["Forged"], canonical(stated(STATEMENT, OTHER))
    yield "as a batch is signed", ["Forged"], canonical(stated(STATEMENT, first="batch"))
    yield "as a survey is signed", ["Forged"], canonical(stated(STATEMENT, first="survey"))
    for name, value in (
        ("by", "Works council of Example"),
        ("invitations", 1),
        ("senders", 130),
        ("survey", OTHER_DIGEST),
        ("until", "2026-12-25"),
    ):
        yield f"another {name}", ["Forged"], canonical(good | {name: value})
    flipped = f"{int(good['signature'][-1], 16) ^ 1:x}"
    yield "a bit of it is another", ["Forged"], canonical(
        good | {"signature": good["signature"][:-1] + flipped}
    )  # fmt: skip
    yield "capitals", ["Forged"], canonical(good | {"signature": good["signature"].upper()})
    yield "half of it", ["Forged"], canonical(good | {"signature": good["signature"][:64]})
    for name in good:
        less = {key: value for key, value in good.items() if key != name}
        yield f"without {name}", ["Members"], canonical(less)
    yield "with more", ["Members"], canonical(good | {"state": "open"})
    yield "with more that is signed", ["Members"], canonical(stated(STATEMENT | {"state": "open"}))
    yield "a number as a text", ["Members"], canonical(stated(STATEMENT | {"senders": "120"}))
    yield "a list", ["Members"], "[]"


def _statement(comment: str, flags: list[str], text: str) -> dict[str, Any]:
    case: Case = {"comment": comment, "flags": flags, "key": public(MIXER).hex(), "text": text}
    try:
        return case | {"members": check_statement(text, public(MIXER)), "result": "valid"}
    except Invalid as error:
        return case | {"result": "invalid", "reason": str(error)}


# --- batches ---


def _batches() -> Iterator[tuple[Any, ...]]:
    """(comment, blanks, senders, envelopes)"""
    some = [inner_of(number) for number in range(6)]
    yield "two people, one blank, two questions", 1, 2, some
    yield "in another order", 1, 2, some[::-1]
    yield "without blanks", 0, 3, some[:3]
    yield "the same first bytes", 0, 2, [some[0][:-1] + b"\xff", some[0][:-1] + b"\x00"]


def _batch(comment: str, blanks: int, senders: int, envelopes: list[bytes]) -> dict[str, Any]:
    body = b"".join(sorted(envelopes))
    manifest = canonical(
        {
            "blanks": blanks,
            "envelopes": len(envelopes),
            "senders": senders,
            "sha256": hashlib.sha256(body).hexdigest(),
            "survey": DIGEST,
        }
    )
    signature = sign(MIXER, f"deniably batch 1\n{manifest}".encode())
    check_signature(public(MIXER), signature, f"deniably batch 1\n{manifest}".encode())
    return {
        "comment": comment,
        "flags": [],
        "seed": MIXER.hex(),
        "key": public(MIXER).hex(),
        "survey": DIGEST,
        "blanks": blanks,
        "senders": senders,
        "envelopes": [each.hex() for each in envelopes],
        "body": body.hex(),
        "manifest": manifest,
        "signature": signature.hex(),
        "result": "valid",
    }
