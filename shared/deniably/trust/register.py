"""The register (SPEC 10): a public hash chain of every survey that a server published.

Each entry holds the digest of the one before it. Two people who see the same last digest (the head)
therefore see the same history. This module makes, reads and checks entries; the server stores them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from deniably.core.canonical import digest, parse
from deniably.core.errors import BadRegister, BadSignature
from deniably.survey.mixer import Mixer
from deniably.survey.privacy import to_decimal_text
from deniably.survey.survey import Survey
from deniably.trust.blind_rsa import KEY_PATTERN
from deniably.trust.signing import Signature, verify

RegisterEntry = dict[str, Any]
"""An entry of the register: the JSON object of SPEC 10."""

NOTHING = "0" * 64
"""64 zeros: what the first entry states as the digest of the entry before it."""

LARGEST_REGISTER = 64 << 20
"""The maximum of bytes that a device reads of a register: thousands of large surveys, or a hundred
thousand small ones."""

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True)
class ChainHead:
    """The length of a chain of entries, and the hash of its last entry."""

    count: int = 0
    head: str = NOTHING


@dataclass(frozen=True)
class Register:
    """The entries of a register, first to last, after its chain of hashes was checked.

    ``head`` is the hash of the last entry.
    """

    entries: Sequence[RegisterEntry]
    head: str

    def find(self, survey: Survey) -> RegisterEntry:
        """Returns the ``published`` entry of a survey, after verifying its signature.

        Raises BadRegister where the survey has no such entry or several, or where the entry differs
        from the survey's definition.
        """
        name = survey.name
        matches = [
            entry
            for entry in self.entries
            if entry.get("event") == "published" and entry.get("survey") == name
        ]
        if not matches:
            raise BadRegister(f"the register does not list the survey {name}")
        if len(matches) > 1:
            raise BadRegister(f"the register lists {len(matches)} surveys of the name {name}")
        check_entry(matches[0], survey)
        return matches[0]


def published_entry(
    survey: Survey,
    signature: Signature,
    day: str,
    number: int,
    previous: str,
    invitations: str | None = None,
) -> RegisterEntry:
    """Returns the entry that a survey gets when it is published.

    ``day`` is a date such as 2026-11-21. ``number`` is that of the entry, counted from 1, and
    ``previous`` the hash of the entry before it. ``invitations`` is the public key that signs the
    survey's tickets, None for a survey without invitations.
    """
    total = survey.total
    key = {"invitations": invitations} if survey.invited else {}
    history = {"history": survey.history.epsilon_text()} if survey.waves else {}
    mixer = survey.mixer
    through = (
        {"mixed": msgspec.to_builtins(mixer.claim), "mixer": mixer.signing}
        if isinstance(mixer, Mixer)
        else {}
    )
    return {
        "number": number,
        "previous": previous,
        "event": "published",
        "day": day,
        "survey": survey.name,
        "digest": survey.digest,
        "author": signature.author,
        "signature": signature.value,
        "epsilon": total.epsilon_text(),
        "delta": to_decimal_text(total.delta),
        "questions": [
            {
                "name": question.name,
                # The tag of a mechanism's struct is its name in SPEC 2.
                "mechanism": str(question.mechanism.__struct_config__.tag),
                "epsilon": question.mechanism.loss.epsilon_text(),
            }
            for question in survey.questions
        ],
        **history,
        **key,
        **through,
    }


def closing_digest(version: str) -> str:
    """Returns the digest that an author signs to close the survey whose digest is ``version``
    (SPEC 10)."""
    return digest({"close": version})


def closed_entry(survey: str, version: str, day: str, number: int, previous: str) -> RegisterEntry:
    """Returns the entry that a survey gets when it is closed.

    ``survey`` is the name of the survey and ``version`` its digest. ``day`` is a date such as
    2026-11-21. ``number`` is that of the entry, counted from 1, and ``previous`` the hash of the
    entry before it.
    """
    return {
        "number": number,
        "previous": previous,
        "event": "closed",
        "day": day,
        "survey": survey,
        "digest": version,
    }


def read_register(text: str | bytes, seen: ChainHead | None = None) -> Register:
    """Returns the register in a JSON text, after checking its chain of hashes.

    Raises BadRegister where the chain is broken, or does not continue the register that was
    ``seen`` before.
    """
    try:
        document = parse(text)
    except (ValueError, UnicodeDecodeError):
        raise BadRegister("the register is not JSON; fetch it again from the server") from None
    return check_register(document, seen)


def check_register(document: object, seen: ChainHead | None = None) -> Register:
    """Returns the register in a parsed JSON document, after checking its chain of hashes.

    Raises BadRegister where the chain is broken, or does not continue the register that was
    ``seen`` before.
    """
    known = seen or ChainHead()
    entries, head = _parts(document)
    hashes = [NOTHING]
    for number, entry in enumerate(entries, start=1):
        # bool is a subclass of int: true would pass for the number 1.
        numbered = type(entry.get("number")) is int and entry["number"] == number
        if not numbered or entry.get("previous") != hashes[-1]:
            raise BadRegister(
                f"entry {number} does not continue the one before it: its number has to be {number}"
                f" and its previous {hashes[-1]}"
            )
        hashes.append(_hash(entry, number))
    if hashes[-1] != head:
        raise BadRegister(
            f"the register's last entry is not its head: its hash is {hashes[-1]}, and the head is"
            f" {head[:64]!r}"
        )
    if known.count >= len(hashes):  # hashes begins with that of no entry, so that it is one longer
        raise BadRegister(
            f"the register was cut: it had {known.count} entries before and has {len(entries)} now"
        )
    if hashes[known.count] != known.head:
        raise BadRegister(
            f"the register's history was rewritten: its first {known.count} entries are others than"
            " before"
        )
    return Register(entries, head)


def signature_of(entry: RegisterEntry) -> Signature:
    """Returns the author and signature that a ``published`` entry states, without verifying
    them."""
    return Signature(str(entry.get("author")), str(entry.get("signature")))


def differ(register: Register, other: Register) -> int | None:
    """Returns the number of the first entry that differs between two registers; None where the
    shorter register is the beginning of the other."""
    pairs = zip(register.entries, other.entries, strict=False)
    for number, (mine, theirs) in enumerate(pairs, start=1):
        # Equal in JSON is not equal in Python, where 1 == True; digests are of the canonical text.
        if digest(mine) != digest(theirs):
            return number
    return None


def _parts(document: object) -> tuple[list[RegisterEntry], str]:
    if isinstance(document, Mapping):
        members = cast(Mapping[str, object], document)
        entries, head = members.get("entries"), members.get("head")
        if isinstance(entries, list) and isinstance(head, str):
            listed = cast(list[object], entries)
            if all(isinstance(entry, dict) for entry in listed):
                return cast(list[RegisterEntry], listed), head
    raise BadRegister("a register is an object with a list of entries and a head")


def _hash(entry: RegisterEntry, number: int) -> str:
    try:
        return digest(entry)
    except ValueError as error:
        raise BadRegister(f"entry {number} has no canonical form: {error}") from None


def check_entry(entry: RegisterEntry, survey: Survey) -> None:
    """Raises BadRegister unless the entry is exactly the one for this survey, signed by its author.

    The entry's ``number`` and ``previous`` are not checked here; the chain or the log proves them.
    """
    signature, day = signature_of(entry), str(entry.get("day"))
    if not _DAY.fullmatch(day):
        raise BadRegister(f"an entry's day is {day[:64]!r}; it must be a date such as 2026-11-21")
    key = entry.get("invitations")
    if survey.invited and not (isinstance(key, str) and re.fullmatch(KEY_PATTERN, key)):
        raise BadRegister(f"the register has no key of the invitations of {survey.name}")
    # Taken from the entry itself, so that both compare equal below.
    number, previous = entry.get("number"), entry.get("previous")
    own = published_entry(survey, signature, day, cast(int, number), cast(str, previous), key)
    if entry.get("digest") != own["digest"]:
        raise BadRegister(
            "the register shows others another version of this survey: its digest is"
            f" {str(entry.get('digest'))[:64]!r}, not {own['digest']}"
        )
    # Also members that an entry has beyond ours: they could tell others something else.
    for key in sorted(own.keys() | entry.keys()):
        if key not in entry or entry[key] != own.get(key):
            raise BadRegister(
                f"the register tells others another {_WORDS.get(key, key)}"
                f" than the definition of {survey.name} has"
            )
    try:
        verify(survey.digest, signature)
    except BadSignature as error:
        raise BadRegister(str(error)) from None


_WORDS = {
    "epsilon": "epsilon",
    "questions": "mechanism or epsilon of a question",
    "delta": "delta",
    "history": "epsilon of all waves",
    "mixed": "claim of the mixer",
}
