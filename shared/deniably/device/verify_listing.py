"""Checks that a server's register lists a survey, and updates what the device knows of the server.

A device trusts the first register that it sees of a server (trust on first use). Every later one
must continue it. Before a device answers another author at a known server it asks the respondent
(SPEC 9 and 10).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from deniably.core.errors import AuthorChanged, BadRegister, Refused
from deniably.device.memory import Memory, RegisterCheckpoint, replace
from deniably.survey.survey import Survey
from deniably.trust.heads import dated
from deniably.trust.listing import Listing, SeenRegister, read_listing
from deniably.trust.register import (
    ChainHead,
    Register,
    RegisterEntry,
    check_entry,
    read_register,
    signature_of,
)
from deniably.trust.signing import fingerprint


@dataclass(frozen=True)
class VerifiedSurvey:
    """What a device has verified of a survey that it may answer.

    ``author`` is the author's public key and ``seal`` the digest of the register's head, both
    hexadecimal. ``invitations`` is the public key that signs the survey's tickets, None for a
    survey without invitations.
    """

    author: str
    seal: str
    invitations: str | None = None


def what_more(memory: Memory, origin: str, listing: bytes) -> str | None:
    """Returns the server's path of what a device needs besides a ``listing``; None if it needs
    nothing.

    It needs more where it last saw the register of ``origin`` a long time ago, or with another key.
    Raises Refused where the text is no listing.
    """
    before = memory.registers.get(origin)
    try:
        return read_listing(listing).further(_seen(before)) if before else None
    except BadRegister as error:
        raise _untrusted(error) from None


def verify_listing(
    memory: Memory,
    origin: str,
    survey: Survey,
    listing: bytes,
    expected: str | None = None,
    more: Mapping[str, bytes] | None = None,
) -> tuple[Memory, VerifiedSurvey]:
    """Verifies that a survey is in the register of the server at ``origin``.

    Returns the memory with the register's new state and the author, and what was verified.
    ``listing`` is the JSON text of the survey's listing. ``more`` maps the path from ``what_more``
    to the text that the server has at that path. ``expected`` is the author's fingerprint, if the
    respondent knows it or has just accepted it. Raises Refused where the survey cannot be trusted,
    and AuthorChanged where only the author differs from the authors known at this server.
    """
    before = memory.registers.get(origin)
    try:
        verified = read_listing(listing)
        verified.check(survey.name)
        whole = verified.check_continues(_seen(before), more or {}) if before else None
        # The whole register was fetched because a proof by the new key alone proves nothing.
        if whole:
            whole.find(survey)
        check_entry(verified.entry, survey)
    except BadRegister as error:
        raise _untrusted(error) from None
    after = _met(memory, origin, verified.entry, expected, _of_listing(verified))
    return after, _verified(verified.entry, verified.head.seal)


def verify_in_whole(
    memory: Memory, origin: str, survey: Survey, register: bytes, expected: str | None = None
) -> tuple[Memory, VerifiedSurvey]:
    """Verifies that a survey is in a register, from the JSON text of the whole ``register``.

    It returns what ``verify_listing`` does. The seal is the hash of the last entry, because no head
    was signed.
    """
    before = memory.registers.get(origin)
    try:
        verified = read_register(register, _seen(before).chain if before else None)
        entry = verified.find(survey)
    except BadRegister as error:
        raise _untrusted(error) from None
    after = _met(memory, origin, entry, expected, _of_register(verified))
    return after, _verified(entry, verified.head)


def _untrusted(error: BadRegister) -> Refused:
    return Refused(f"this survey cannot be trusted: {error}")


def _verified(entry: RegisterEntry, seal: str) -> VerifiedSurvey:
    return VerifiedSurvey(signature_of(entry).author, seal, entry.get("invitations"))


def _met(
    memory: Memory,
    origin: str,
    entry: RegisterEntry,
    expected: str | None,
    checkpoint: RegisterCheckpoint,
) -> Memory:
    """The memory with the author of an entry and the register. Raises Refused, AuthorChanged."""
    author, known = signature_of(entry).author, memory.authors.get(origin, [])
    _check_author(author, known, origin, expected)
    return replace(
        memory,
        authors=memory.authors | {origin: known if author in known else [*known, author]},
        registers=memory.registers | {origin: checkpoint},
    )


def _seen(before: RegisterCheckpoint) -> SeenRegister:
    return SeenRegister(
        ChainHead(before.count, before.head), *map(_known, (before.log, before.map, before.key))
    )


def _known(text: str | msgspec.UnsetType) -> str | None:
    return text if isinstance(text, str) else None


def _of_listing(listing: Listing) -> RegisterCheckpoint:
    head, signature = listing.head, listing.signed.signature
    day = head.day or msgspec.UNSET
    trees = head.log, head.map, signature.author, signature.value
    return RegisterCheckpoint(head.count, head.head, day, *trees)


def _of_register(register: Register) -> RegisterCheckpoint:
    """How far the register was read; with the day of its last entry, where that is a date."""
    day = dated(register.entries[-1].get("day"))
    return RegisterCheckpoint(len(register.entries), register.head, day or msgspec.UNSET)


def _check_author(author: str, known: list[str], origin: str, expected: str | None) -> None:
    if expected is not None:
        # What the respondent compared outweighs what this device has met, so `known` is not asked.
        if _plain(expected) != _plain(fingerprint(author)):
            raise Refused(
                f"the survey's author has the fingerprint {fingerprint(author)}, not {expected}"
            )
    elif known and author not in known:
        raise AuthorChanged(origin, fingerprint(author), tuple(fingerprint(each) for each in known))


def _plain(text: str) -> str:
    return "".join(text.split()).lower()
