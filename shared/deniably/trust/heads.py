"""The head of a register (SPEC 10.1): what a server signs, and people compare as its seal.

Two signed heads that contradict each other prove that the server showed different registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from deniably.core.canonical import digest
from deniably.core.dates import is_date
from deniably.core.errors import BadRegister, BadSignature
from deniably.trust.register import NOTHING, Register, RegisterEntry
from deniably.trust.signing import Key, Signature, verify_text
from deniably.trust.trees import Trees, trees_of


@dataclass(frozen=True)
class Head:
    """A summary of a server's whole register in a few hashes.

    ``count`` is the number of entries. ``head`` is the hash of the last entry. ``log`` is the root
    of the hash tree over all entries, ``map`` the root of the hash tree over the names of surveys.
    ``day`` is the day of the last entry, None where the entry states no date.
    """

    count: int
    head: str
    log: str
    map: str
    day: str | None = None

    @property
    def document(self) -> dict[str, Any]:
        """The head as a JSON object; its digest is what is signed."""
        day = {} if self.day is None else {"day": self.day}
        return {"count": self.count, **day, "head": self.head, "log": self.log, "map": self.map}

    @property
    def seal(self) -> str:
        """The digest of the head, which receipts and the server's page show for people to
        compare."""
        return digest(self.document)


@dataclass(frozen=True)
class SignedHead:
    """The head of a server's register, with the server's signature. ``signature.author`` is the
    server's public key."""

    head: Head
    signature: Signature

    @property
    def document(self) -> dict[str, Any]:
        """The signed head as a JSON object, as servers send it and devices remember it."""
        signature = {"key": self.signature.author, "signature": self.signature.value}
        return {**self.head.document, **signature}

    def check(self) -> None:
        """Raises BadRegister unless the signature is that of this head by the server's key."""
        try:
            verify_text(_signed(self.head), self.signature)
        except BadSignature:
            raise BadRegister("the signature is not this server's, of this head") from None


def sign_head(head: Head, key: Key) -> SignedHead:
    """Returns a head with its signature, which is made with the server's ``key``."""
    return SignedHead(head, key.sign_text(_signed(head)))


def head_of_trees(trees: Trees, day: object) -> Head:
    """Returns the head of a register with these ``trees``.

    ``day`` is what the last entry of the register states as its day.
    """
    last = trees.hashes[-1] if trees.hashes else NOTHING
    return Head(len(trees.hashes), last, trees.log, trees.map, dated(day))


def head_of(register: Register, count: int | None = None) -> Head:
    """Returns the head of the first ``count`` entries of a register, or of all entries if that is
    None.

    Raises BadRegister where two of the entries publish the same name.
    """
    entries = register.entries[:count]
    named = ((digest(entry), published_name(entry)) for entry in entries)
    return head_of_trees(trees_of(named), entries[-1].get("day") if entries else None)


def published_name(entry: RegisterEntry) -> str | None:
    """Returns the name of the survey that an entry publishes; None for other entries.

    Raises BadRegister where the name is no text.
    """
    if entry.get("event") != "published":
        return None
    name = entry.get("survey")
    if not isinstance(name, str):
        raise BadRegister("the register publishes a survey whose name is no text")
    return name


def dated(day: object) -> str | None:
    """Returns ``day`` if it is a date such as "2026-11-21"; otherwise None."""
    return day if isinstance(day, str) and is_date(day) else None


def differences(signed: Head, made: Head) -> Sequence[str]:
    """Returns the names of what differs between two heads, in words for people.

    ``signed`` is a head that a server signed, ``made`` the head that the register's entries give.
    """
    words = {
        "count": "the number of entries",
        "head": "the last entry",
        "log": "the log of entries",
        "map": "the map of names",
        "day": "the day of the last entry",
    }
    return [text for key, text in words.items() if getattr(signed, key) != getattr(made, key)]


def _signed(head: Head) -> bytes:
    return f"deniably register 1\n{head.seal}\n".encode()
