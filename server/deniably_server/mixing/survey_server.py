"""Asks the server of a survey: for its definition, register and state, and to take a batch.

Every answer is read within limits of size and time. No error names an address, so that it may be
logged.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, cast
from urllib.parse import urlsplit

import msgspec

from deniably.core.bounded_files import SMALL
from deniably.core.bounded_http import bounded_session, read_answer
from deniably.core.errors import BadInput, DeniablyError
from deniably.core.steering import one_line
from deniably.survey.mixer import is_address
from deniably.trust.listing import LARGEST_LISTING
from deniably.trust.register import LARGEST_REGISTER
from deniably_server.errors import Malformed
from deniably_server.storage.mixer_store import SurveySource

if TYPE_CHECKING:
    from requests import PreparedRequest, Response

LARGEST_DEFINITION = 16 << 20
"""The most bytes that are read of a definition, as devices have it."""
_SECONDS = 30
_NOT_MODIFIED = 304
_PATH = re.compile(r"(.*?)/(?:s|surveys|api/surveys)/([a-z0-9-]+)/?")
_PROBLEMS = "/problems/"
_JSON, _OCTETS = "application/json", "application/octet-stream"


class NoAnswer(DeniablyError):
    """The survey's server gave no usable answer; asking again later is safe."""


class ServerRefused(DeniablyError):
    """The survey's server refused a request.

    ``kind`` is the name of the problem (SPEC 6), empty where it sent none, and ``why`` its detail.
    ``held`` is how many bytes of a batch the server holds, where the problem says so.
    """

    def __init__(self, status: int, problem: Mapping[str, object]) -> None:
        self.kind = str(problem.get("type", "")).removeprefix(_PROBLEMS)
        self.why = one_line(str(problem.get("detail") or problem.get("title") or f"{status}"))
        held = problem.get("bytes")
        self.held = held if type(held) is int and held >= 0 else None
        super().__init__(f"the survey's server refused: {self.why}")


class Progress(msgspec.Struct, frozen=True):
    """How far a server has taken a batch: it holds ``bytes`` of all ``of``. The ``state`` is
    "open", "taken" or "refused"."""

    bytes: int
    of: int
    state: str


class Definition(NamedTuple):
    """A published definition as the server sends it, and whether the survey is "open" or
    "closed"."""

    text: bytes
    state: str


def source_at(url: str) -> SurveySource:
    """Returns where a survey is published, from its address (``/s/<name>`` or
    ``/api/surveys/<name>``).

    Raises Malformed for another address, and for one without TLS that is not on this machine.
    """
    refusal = Malformed("a survey's address looks like https://survey.example.org/s/name")
    try:
        parts = urlsplit(url.strip())
    except ValueError:  # such as https://[::::]
        raise refusal from None
    origin = f"{parts.scheme}://{parts.netloc}".lower()
    match = _PATH.fullmatch(parts.path)
    if not (is_address(origin) and match):
        raise refusal
    return SurveySource(f"{origin}{match[1]}", match[2])


class SurveyServer:
    """The server of one survey."""

    def __init__(self, source: SurveySource) -> None:
        self._source = source
        self._survey = f"{source.server}/api/surveys/{source.name}"

    def definition(self) -> Definition:
        """Returns the survey's definition. Raises NoAnswer and ServerRefused."""
        answer = self._ask("GET", self._survey, LARGEST_DEFINITION)
        return Definition(answer.body, _state(answer))

    def listing(self) -> bytes:
        """Returns the survey's listing in the register. Raises NoAnswer and ServerRefused."""
        path = f"{self._source.server}/register/{self._source.name}"
        return self._ask("GET", path, LARGEST_LISTING).body

    def register(self) -> bytes:
        """Returns the whole register. Raises NoAnswer and ServerRefused."""
        return self._ask("GET", f"{self._source.server}/register", LARGEST_REGISTER).body

    def state(self, digest: str) -> str:
        """Returns whether the survey with this digest is "open" or "closed".

        Raises ServerRefused, and NoAnswer also where the server has another definition now.
        """
        headers = {"If-None-Match": f'"{digest}"'}
        answer = self._ask("GET", self._survey, LARGEST_DEFINITION, headers)
        if answer.status != _NOT_MODIFIED and hashlib.sha256(answer.body).hexdigest() != digest:
            raise NoAnswer("the survey's server has another definition than before")
        return _state(answer)

    def announce(self, manifest: str, signature: str) -> Progress:
        """Sends the manifest of the batch; returns how far the server has the batch. Raises
        NoAnswer and ServerRefused."""
        body = f'{{"manifest":{manifest},"signature":"{signature}"}}'.encode()
        return self._progress("PUT", "", _JSON, body)

    def send(self, start: int, piece: bytes, signature: str) -> Progress:
        """Sends the bytes of the batch from byte ``start`` on, with the ``signature`` of its
        manifest. Raises NoAnswer and ServerRefused."""
        shown = {"Deniably-Signature": signature}
        return self._progress("PATCH", f"?from={start}", _OCTETS, piece, shown)

    def why_refused(self) -> str:
        """Returns why the server refused the whole batch. Raises NoAnswer."""
        try:
            self._ask("GET", f"{self._survey}/mixed", SMALL)
        except ServerRefused as error:
            return error.why
        return "it does not say why"

    def _progress(
        self, method: str, query: str, kind: str, body: bytes, more: Mapping[str, str] | None = None
    ) -> Progress:
        headers = {"Content-Type": kind} | dict(more or {})
        answer = self._ask(method, f"{self._survey}/mixed{query}", SMALL, headers, body)
        try:
            return msgspec.json.decode(answer.body, type=Progress)
        except msgspec.MsgspecError:
            raise NoAnswer("the survey's server did not say what it has of the batch") from None

    def _ask(
        self,
        method: str,
        url: str,
        most: int,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> _Answer:
        """Send a request; returns the answer, of at most so many bytes. A redirect is an answer
        that cannot be used: it could lead to another server."""
        import requests

        try:
            with (
                bounded_session() as session,
                session.request(
                    method, url, data=body, headers=dict(headers or {}), timeout=_SECONDS,
                    stream=True, allow_redirects=False, auth=_as_it_is,
                ) as response,
            ):  # fmt: skip
                return _answered(response, most)
        except requests.RequestException as error:
            why = type(error).__name__
            raise NoAnswer(f"the survey's server gave no answer ({why})") from None
        except BadInput as error:
            raise NoAnswer(f"the survey's server cannot be read: {error.strerror}") from None


class _Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes


def _answered(response: Response, most: int) -> _Answer:
    status = response.status_code
    if status in (200, _NOT_MODIFIED):
        return _Answer(status, response.headers, read_answer(response, most))
    if not 400 <= status < 500:
        raise NoAnswer(f"the survey's server cannot answer now (status {status})")
    try:
        document: object = json.loads(read_answer(response, SMALL))
    except (ValueError, RecursionError, BadInput):
        document = None
    problem = cast("dict[str, object]", document) if isinstance(document, dict) else {}
    raise ServerRefused(status, problem)


def _state(answer: _Answer) -> str:
    state = answer.headers.get("Deniably-State", "")
    if state not in ("open", "closed"):
        raise NoAnswer("this is no server of surveys: it does not say whether the survey is open")
    return state


def _as_it_is(request: PreparedRequest) -> PreparedRequest:
    """Send no credentials; without this, requests adds those in ~/.netrc."""
    return request
