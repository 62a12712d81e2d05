"""Where a report set is from: a server, whose register says who published the survey and when."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec
import requests

from deniably.core.errors import BadRegister, DeniablyError, NoResults
from deniably.results.document import SurveyResult
from deniably.results.remote import Remote
from deniably.results.writing.publication import Publication
from deniably.survey.survey import Survey, read_survey
from deniably.trust.register import Register, RegisterEntry, read_register, signature_of
from deniably.trust.signing import fingerprint
from deniably.workbench.files.lines import read_ndjson
from deniably.workbench.report_set import ReportSet

_PATIENCE = 600  # seconds: a server reads and sorts every report before it begins to answer
_PIECE = 1 << 16
_EVERY = 1_000
"""Reports between two signs of progress."""
COUNT = "Deniably-Reports"
"""The header with how many reports a server gives out."""


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
        days = [str(one["day"]) for one in self.entries if one.get("event") == "closed"]
        return days[0] if days else ""

    @property
    def text(self) -> str:
        """A part of the register as JSON, for a file beside the reports."""
        where = {"address": self.address} if self.address else {}
        document = {"head": self.head, **where, "entries": self.entries}
        return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def provenance(register: Register, survey: Survey) -> Provenance:
    """What a register says about a survey, whose author's signature it has verified.

    Raises BadRegister where it does not list this definition.
    """
    entry = register.find(survey)
    closed = [
        one
        for one in register.entries
        if one.get("event") == "closed" and one.get("digest") == survey.digest
    ]
    return Provenance([entry, *closed[:1]], register.head)


def read_provenance(text: bytes, survey: Survey) -> Provenance:
    """What the file beside the reports says, which needs no server to verify the signature.

    The chain of the register cannot be checked by so small a part of it. Raises BadRegister unless
    an author signed this definition.
    """
    try:
        found = msgspec.json.decode(text, type=_PartOfRegister)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRegister(f"this is no part of a register: {error}") from None
    read = provenance(Register(found.entries, found.head), survey)
    return replace(read, address=found.address)


class _PartOfRegister(msgspec.Struct, frozen=True):
    head: str
    entries: list[RegisterEntry]
    address: str = ""


def publication(
    found: SurveyResult, survey: Survey, source: Provenance, warning: str = ""
) -> Publication:
    """What a paper says of results that are from this source; ``warning`` as in ``Publication``."""
    return Publication(
        found, survey, source.published, source.closed, fingerprint(source.author),
        source.address, warning,
    )  # fmt: skip


def fetch_survey(remote: Remote) -> tuple[Survey, Provenance]:
    """The definition of a survey on a server, which its author signed and the register lists.

    Raises NoResults, with the reason.
    """
    try:
        survey = read_survey(remote.got(""))
        found = provenance(read_register(remote.got("/register")), survey)
        return survey, replace(found, address=f"{remote.base}/surveys/{survey.name}")
    except NoResults:
        raise
    except DeniablyError as error:
        raise NoResults(f"{remote.host}: {error}") from None


def fetch_reports(
    remote: Remote,
    survey: Survey,
    read: Callable[[int, int], None] = lambda done, of: None,
) -> ReportSet:
    """The reports of a closed survey on a server, all of them or none.

    ``read`` is called now and then with how many have come, and how many there are. Raises
    NoResults, with the reason.
    """
    try:
        with (
            requests.Session() as session,
            remote.answer(session, "/reports.ndjson", patience=_PATIENCE) as answer,
        ):
            count = _count(answer)
            lines = _counted(answer.iter_lines(_PIECE), lambda done: read(done, count))
            found = read_ndjson(survey, lines)
    except requests.RequestException as error:
        raise NoResults(
            f"the connection to {remote.host} was cut before all reports had come"
            f" ({type(error).__name__}); fetch them again"
        ) from None
    except NoResults:
        raise
    except DeniablyError as error:
        raise NoResults(f"{remote.host}: {error}") from None
    if len(found) != count:
        raise NoResults(
            f"the connection to {remote.host} was cut after {len(found):,} of {count:,} reports;"
            " fetch them again"
        )
    return found


def _count(answer: requests.Response) -> int:
    count = answer.headers.get(COUNT, "")
    if not count.isdecimal():
        raise NoResults(f"the answer lacks the header {COUNT}: this is no Deniably server's")
    return int(count)


def _counted(lines: Iterator[bytes], read: Callable[[int], None]) -> Iterator[bytes]:
    number = 0
    for number, line in enumerate(lines, 1):
        if number % _EVERY == 0:
            read(number)
        yield line
    read(number)
