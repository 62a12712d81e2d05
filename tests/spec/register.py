"""Sections 9 and 10, signatures and the register."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

from deniably.reference.canonical import canonical, digest
from deniably.reference.claims import at_most_exp
from deniably.reference.definition import total, whole_history
from deniably.reference.invitations import read_modulus
from deniably.reference.losses import loss
from deniably.reference.refusal import Invalid, require
from deniably.reference.values import Definition, Document, Json, Loss, Mechanism
from deniably.reference.waves import memoised_loss
from spec.ed25519 import check_signature

NOTHING = "0" * 64


class OtherAuthor(Invalid):
    """Only the author is not one that is known."""


# --- the author's signature ---


def message(version: str) -> bytes:
    return f"deniably survey 1\n{version}\n".encode()


def check_author(version: str, author: Json, signature: Json) -> None:
    for text, length in ((author, 64), (signature, 128)):
        fits = type(text) is str and re.fullmatch(f"[0-9a-f]{{{length}}}", text)
        require(fits, "is not so many lower-case hexadecimal digits")
    check_signature(bytes.fromhex(author), bytes.fromhex(signature), message(version))


def fingerprint(author: str) -> str:
    short = hashlib.sha256(author.encode()).hexdigest()[:32]
    return " ".join(re.findall("....", short))


# --- the register ---


@cache
def epsilon(found: Loss) -> str:
    """The smallest h/100 that is enough, by counting up."""
    odds, exponent, _ = found
    h = 0
    while not _enough(odds, Fraction(h, 100) - exponent):
        h += 1
    return f"{h / 100:.2f}"


def _enough(odds: Fraction, rest: Fraction) -> bool:
    if odds == 1 or rest <= 0:
        return odds == 1 and rest >= 0
    return at_most_exp(odds, rest)


def plain(value: Fraction) -> str:
    places = 0
    while value * 10**places % 1:
        places += 1
    digits = str(int(value * 10**places)).zfill(places + 1)
    return f"{digits[:-places]}.{digits[-places:]}" if places else digits


def published(
    definition: Definition,
    author: str,
    signature: str,
    day: str,
    number: int,
    previous: str,
    invitations: str | None = None,
) -> dict[str, Any]:
    whole = total(definition)
    of_all_waves = {"history": epsilon(whole_history(definition))}
    mixer = definition.get("mixer")
    return {
        "number": number,
        "previous": previous,
        "event": "published",
        "day": day,
        "survey": definition["name"],
        "digest": digest(definition),
        "author": author,
        "signature": signature,
        "epsilon": epsilon(whole),
        "delta": plain(whole[2]),
        "questions": [
            {
                "name": question["name"],
                "mechanism": question["mechanism"]["name"],
                "epsilon": epsilon(_of_one_report(question["mechanism"])),
            }
            for question in definition["questions"]
        ],
        **(of_all_waves if "waves" in definition else {}),
        **({"invitations": invitations} if "invited" in definition else {}),
        **({"mixed": mixer["claim"], "mixer": mixer["signing"]} if mixer else {}),
    }


def _of_one_report(mechanism: Mechanism) -> Loss:
    return memoised_loss(mechanism) if mechanism["name"] == "memoised" else loss(mechanism)


def check_register(
    document: Document,
    definition: Definition,
    seen: dict[str, Any],
    known: Sequence[str],
    accepted: str | None,
) -> tuple[Any, ...]:
    """(author, head, key of its invitations) of a survey that a device may answer."""
    require(type(document) is dict, "no object")
    entries: Json = document.get("entries")
    head: Json = document.get("head")
    require(type(entries) is list and all(type(e) is dict for e in entries), "no list of objects")
    hashes = [NOTHING]
    for number, entry in enumerate(entries, start=1):
        require(type(entry.get("number")) is int and entry["number"] == number, "another number")
        require(entry.get("previous") == hashes[-1], "the chain is broken")
        hashes.append(digest(entry))
    require(head == hashes[-1], "another head")
    require(seen["count"] < len(hashes) and hashes[seen["count"]] == seen["head"], "rewritten")
    found = [
        e
        for e in entries
        if e.get("event") == "published" and e.get("survey") == definition["name"]
    ]
    require(len(found) == 1, "not listed exactly once")
    (entry,) = found
    day = entry.get("day")
    require(type(day) is str and re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", day), "no day")
    author = entry.get("author")
    rest: tuple[Json, ...] = (
        author,
        entry.get("signature"),
        day,
        entry["number"],
        entry["previous"],
    )
    check_author(digest(definition), *rest[:2])
    key = entry.get("invitations")
    if "invited" in definition:
        read_modulus(key)
        rest += (key,)
    require(canonical(published(definition, *rest)) == canonical(entry), "says something else")
    if known and author not in known and fingerprint(author) != accepted:
        raise OtherAuthor("another author than those that are known")
    return author, head, key
