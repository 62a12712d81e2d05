"""Says where a set of reports comes from: the server whose register proves who published the
survey."""

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
    """What the register of a server proves about a survey: who published it, and when.

    ``entries`` are the register's entries about this survey: its publication, which its author
    signed, and its closing if there is one. ``head`` is the hash of the register's last entry at
    the time when the reports were fetched or exported. ``address`` is the web address of the
    results, empty where the reports are not from a server.
    """

    entries: Sequence[RegisterEntry]
    head: str
    address: str = ""

    @property
    def author(self) -> str:
        """Returns the author's public key."""
        return signature_of(self.entries[0]).author

    @property
    def published(self) -> str:
        """Returns the day of publication, such as "2026-11-21"."""
        return str(self.entries[0]["day"])

    @property
    def closed(self) -> str:
        """Returns the day of closing, such as "2026-12-05"; empty where the register has none."""
        days = [str(entry["day"]) for entry in self.entries if entry.get("event") == "closed"]
        return days[0] if days else ""

    @property
    def text(self) -> str:
        """Returns the entries and the head as JSON text, to be kept in a file beside the
        reports."""
        where = {"address": self.address} if self.address else {}
        document = {"head": self.head, **where, "entries": self.entries}
        return json_file(document)


def provenance(register: Register, survey: Survey) -> Provenance:
    """Returns the entries of a register about a survey, after verifying the author's signature.

    Raises BadRegister where the register does not list exactly this definition.
    """
    entry = register.find(survey)
    closed = [
        entry
        for entry in register.entries
        if entry.get("event") == "closed" and entry.get("digest") == survey.digest
    ]
    # The digest tells entries of this definition from those of another version under the same
    # name.
    return Provenance([entry, *closed[:1]], register.head)


def read_provenance(text: bytes, survey: Survey) -> Provenance:
    """Reads the JSON that ``Provenance.text`` wrote, and verifies the author's signature, without
    a server.

    The hash chain of the register cannot be checked from so few entries. Raises BadRegister unless
    the text has the form of a register and an author signed this definition.
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
    """Returns the results with their source, ready to be written up as sentences and a methods
    section.

    ``warning`` is the sentence with which files of data begin.
    """
    return Publication(
        document, survey, source.published, source.closed, fingerprint(source.author),
        source.address, warning,
    )  # fmt: skip
