"""Where a report set is from: a server, whose register says who published the survey and when."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote, urlsplit

import msgspec
import requests

from deniably.core.errors import BadRegister, DeniablyError, NoResults
from deniably.core.loopback import is_here
from deniably.core.steering import printable
from deniably.results.document import SurveyResult
from deniably.results.writing.publication import Publication
from deniably.survey.survey import Survey, read_survey
from deniably.trust.register import Register, RegisterEntry, read_register, signature_of
from deniably.trust.signing import fingerprint
from deniably.workbench.files.lines import read_ndjson
from deniably.workbench.report_set import ReportSet

_PATIENCE = 600  # seconds: a server reads and sorts every report before it begins to answer
_PIECE = 1 << 16


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


def fetch_reports(
    server: str,
    name: str,
    token: str | None = None,
    read: Callable[[int], None] = lambda number: None,
) -> tuple[ReportSet, Provenance]:
    """Fetches the reports of a closed survey from the server at an address.

    ``token`` is an analyst's; it travels over HTTPS or to this machine alone. ``read`` is called
    with the number of each report as it comes. The definition is the one that its author signed and
    the register lists. Raises NoResults, with the reason; ValueError for a bad address.
    """
    base = server.rstrip("/")
    if urlsplit(base).scheme not in ("http", "https") or not urlsplit(base).hostname:
        raise ValueError(f"{server!r} is no server's address, such as https://example.org")
    if token is not None and not (base.startswith("https:") or is_here(base)):
        raise ValueError("a token is sent over https:// or to this machine alone")
    address = f"{base}/api/surveys/{quote(name, safe='')}"
    try:
        with requests.Session() as session:
            session.trust_env = not is_here(base)  # else a proxy would see the token
            survey = read_survey(_got(session, address, None))
            register = read_register(_got(session, f"{base}/register", None))
            found = replace(provenance(register, survey), address=f"{base}/surveys/{survey.name}")
            with _answer(session, f"{address}/reports.ndjson", token) as answer:
                lines = answer.iter_lines(_PIECE)
                return read_ndjson(survey, _counted(lines, read)), found
    except requests.RequestException as error:
        raise NoResults(f"cannot read all of {base} ({type(error).__name__})") from None
    except NoResults:
        raise
    except DeniablyError as error:
        raise NoResults(f"{base}: {error}") from None


def _got(session: requests.Session, address: str, token: str | None) -> bytes:
    with _answer(session, address, token) as answer:
        return answer.content


def _answer(session: requests.Session, address: str, token: str | None) -> requests.Response:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    answer = session.get(
        address, headers=headers, timeout=_PATIENCE, allow_redirects=False, stream=True,
        auth=_unchanged,
    )  # fmt: skip
    if not answer.ok:
        raise NoResults(_why(answer))
    return answer


def _unchanged(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Keeps requests from putting a password of ``~/.netrc`` in the place of the token."""
    return request


def _why(answer: requests.Response) -> str:
    try:
        problem = answer.json()
        return printable(str(problem.get("detail") or problem["title"]))
    except (ValueError, KeyError, AttributeError, TypeError):
        return f"no Deniably server answers there (status {answer.status_code})"


def _counted(lines: Iterator[bytes], read: Callable[[int], None]) -> Iterator[bytes]:
    for number, line in enumerate(lines, 1):
        read(number)
        yield line
