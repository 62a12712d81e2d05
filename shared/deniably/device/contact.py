"""Whether a device trusts a survey: what it remembers of a server, and how a contact changes it.

The first contact with a server is trusted as it is found; every later one has to continue it. A
device asks before it answers another author at a server that it knows (SPEC sections 9 and 10).
"""

from __future__ import annotations

from dataclasses import dataclass

from deniably.core.errors import AuthorChanged, BadRegister, Refused
from deniably.device.memory import Memory, Seen, replace
from deniably.survey.survey import Survey
from deniably.trust.register import Seen as Progress
from deniably.trust.register import read_register, signature_of
from deniably.trust.signing import fingerprint


@dataclass(frozen=True)
class Contact:
    """A survey that may be answered: who asks, the head of the register that lists it, and the
    public key of its ``invitations``, where it has such."""

    author: str
    head: str
    invitations: str | None = None


def contact(
    memory: Memory, origin: str, survey: Survey, register: bytes, expected: str | None = None
) -> tuple[Memory, Contact]:
    """The memory after a survey was found in the register of the server at ``origin``.

    ``expected`` is the fingerprint of the author, if the respondent knows it or has just accepted
    it. Raises Refused, and AuthorChanged where only the author is not the one that was known.
    """
    before = memory.registers.get(origin)
    try:
        found = read_register(register, Progress(before.count, before.head) if before else None)
        entry = found.find(survey)
        author = signature_of(entry).author
    except BadRegister as error:
        raise Refused(f"this survey cannot be trusted: {error}") from None
    known = memory.authors.get(origin, [])
    _check_author(author, known, origin, expected)
    after = replace(
        memory,
        authors=memory.authors | {origin: known if author in known else [*known, author]},
        registers=memory.registers | {origin: Seen(found.seen.count, found.head)},
    )
    return after, Contact(author, found.head, entry.get("invitations"))


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
