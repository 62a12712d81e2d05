"""Checks that a server's register lists a survey, and updates what the device knows of the server.

A device trusts the first register that it sees of a server (trust on first use). Every later one
must continue it. Before a device answers another author at a known server it asks the respondent
(SPEC sections 9 and 10).
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from deniably.core.errors import AuthorChanged, BadRegister, Refused
from deniably.device.ledger import is_date
from deniably.device.memory import Memory, RegisterCheckpoint, replace
from deniably.survey.survey import Survey
from deniably.trust.register import ChainHead, Register, read_register, signature_of
from deniably.trust.signing import fingerprint


@dataclass(frozen=True)
class VerifiedSurvey:
    """What a device has verified of a survey that it may answer.

    ``author`` is the author's public key and ``head`` the head of the register, both hexadecimal.
    ``invitations`` is the public key of the survey's invitations, None for an open survey.
    """

    author: str
    head: str
    invitations: str | None = None


def verify_listing(
    memory: Memory, origin: str, survey: Survey, register: bytes, expected: str | None = None
) -> tuple[Memory, VerifiedSurvey]:
    """Find a survey in the register of the server at ``origin``; returns the memory after that.

    ``register`` is the register's JSON text. ``expected`` is the author's fingerprint, if the
    respondent knows it or has just accepted it. Raises Refused where the survey cannot be trusted,
    and AuthorChanged where only the author differs from those known.
    """
    before = memory.registers.get(origin)
    try:
        found = read_register(register, ChainHead(before.count, before.head) if before else None)
        entry = found.find(survey)
        author = signature_of(entry).author
    except BadRegister as error:
        raise Refused(f"this survey cannot be trusted: {error}") from None
    known = memory.authors.get(origin, [])
    _check_author(author, known, origin, expected)
    after = replace(
        memory,
        authors=memory.authors | {origin: known if author in known else [*known, author]},
        registers=memory.registers | {origin: _checkpoint(found)},
    )
    return after, VerifiedSurvey(author, found.head, entry.get("invitations"))


def _checkpoint(register: Register) -> RegisterCheckpoint:
    """How far the register was read; with the day of its last entry, where that is a date."""
    day = register.entries[-1].get("day")
    dated = day if isinstance(day, str) and is_date(day) else msgspec.UNSET
    return RegisterCheckpoint(len(register.entries), register.head, dated)


def _check_author(author: str, known: list[str], origin: str, expected: str | None) -> None:
    if expected is not None:
        if _plain(expected) != _plain(fingerprint(author)):
            raise Refused(
                f"the survey's author has the fingerprint {fingerprint(author)}, not {expected}"
            )
    elif known and author not in known:
        raise AuthorChanged(origin, fingerprint(author), tuple(fingerprint(each) for each in known))


def _plain(text: str) -> str:
    return "".join(text.split()).lower()
