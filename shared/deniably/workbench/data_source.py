"""Where a report set is from: a server, whose register says who published the survey and when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from deniably.core.errors import BadRegister
from deniably.core.languages.json import json_file
from deniably.results.document import SurveyResult
from deniably.results.writing.publication import Publication
from deniably.survey.survey import Survey
from deniably.trust.register import Register, RegisterEntry, signature_of
from deniably.trust.signing import fingerprint


@dataclass(frozen=True)
class Provenance:
    """What the register says about a survey: who published it, and when.

    ``entries`` are its own in the register: its publication, which its author signed, and its
    closing. ``head`` is the hash of the register's last entry when the reports were taken out.
    ``address`` is that of the survey's results, empty where they are not from a server.
    """

    entries: Sequence[RegisterEntry]
    head: str
    address: str = ""

    @property
    def author(self) -> str:
        """The author's public key."""
        return signature_of(self.entries[0]).author

    @property
    def published(self) -> str:
        """The day of publication, such as 2026-11-21."""
        return str(self.entries[0]["day"])

    @property
    def closed(self) -> str:
        """The day of closing; empty where the register has none."""
        days = [str(entry["day"]) for entry in self.entries if entry.get("event") == "closed"]
        return days[0] if days else ""

    @property
    def text(self) -> str:
        """A part of the register as JSON, for a file beside the reports."""
        where = {"address": self.address} if self.address else {}
        document = {"head": self.head, **where, "entries": self.entries}
        return json_file(document)


def provenance(register: Register, survey: Survey) -> Provenance:
    """Returns what a register says about a survey, after verifying the author's signature.

    Raises BadRegister where it does not list this definition.
    """
    entry = register.find(survey)
    closed = [
        entry
        for entry in register.entries
        if entry.get("event") == "closed" and entry.get("digest") == survey.digest
    ]
    return Provenance([entry, *closed[:1]], register.head)


def read_provenance(text: bytes, survey: Survey) -> Provenance:
    """Reads the file beside the reports; its signature can be verified without a server.

    The chain of the register cannot be checked by so small a part of it. Raises BadRegister unless
    an author signed this definition.
    """
    try:
        part = msgspec.json.decode(text, type=_PartOfRegister)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRegister(f"this is no part of a register: {error}") from None
    read = provenance(Register(part.entries, part.head), survey)
    return replace(read, address=part.address)


class _PartOfRegister(msgspec.Struct, frozen=True):
    head: str
    entries: list[RegisterEntry]
    address: str = ""


def publication(
    document: SurveyResult, survey: Survey, source: Provenance, warning: str = ""
) -> Publication:
    """Returns the publication of results: sentences and methods that name this source; ``warning``
    as in ``Publication``."""
    return Publication(
        document, survey, source.published, source.closed, fingerprint(source.author),
        source.address, warning,
    )  # fmt: skip
