"""Fetches what analysts may see of a survey from a server, over HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit, urlunsplit

import msgspec
import requests

from deniably.core.bounded_files import DOCUMENT
from deniably.core.bounded_http import bounded_session, check_no_redirect, read_answer
from deniably.core.errors import BadInput, NoResults
from deniably.core.loopback import is_here
from deniably.core.steering import one_line
from deniably.results.document import SurveyResult
from deniably.results.result import CONFIDENCE

PROBLEM = 64 << 10
"""The largest number of bytes read of an error document (RFC 9457), which has a sentence or two."""
# Addresses of a survey's form (/s/), pages (/surveys/) and API, with or without its results.
_PATH = re.compile(r"(.*?)/(?:s|surveys|api/surveys)/([a-z0-9-]+)(?:/results(?:\.csv)?)?/?")


@dataclass(frozen=True)
class Remote:
    """The survey ``name`` on a ``server``, to be read over HTTP. ``token`` is an analyst's access
    token; None reads what everybody may see.

    Raises ValueError if ``server`` is not a web address, and if a token would be sent unencrypted:
    a token needs HTTPS, or a server on this machine.
    """

    server: str
    name: str
    token: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.server)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{self.server!r} is no server's address, such as https://example.org")
        if self.token is not None and not (parts.scheme == "https" or is_here(self.server)):
            raise ValueError("a token is sent over https:// or to this machine alone")

    @property
    def host(self) -> str:
        """The server's host name, with its port."""
        # Without "user:password@" in front.
        return urlsplit(self.server).netloc.rpartition("@")[2]

    @property
    def base(self) -> str:
        """The server's address, without a user name and password, which are never sent."""
        parts = urlsplit(self.server)
        return urlunsplit((parts.scheme, self.host, parts.path.rstrip("/"), "", ""))

    def got(
        self, path: str, query: Mapping[str, str] | None = None, limit: int = DOCUMENT
    ) -> bytes:
        """Returns the body that the server sends for a path of the survey, such as ``/results`` or
        ``/register``.

        Raises NoResults, with the reason, if the server cannot be reached, refuses, or sends more
        than ``limit`` bytes.
        """
        try:
            with self.session() as session, self.answer(session, path, query) as answer:
                return read_answer(answer, limit)
        except BadInput as error:
            raise NoResults(str(error)) from None
        except requests.RequestException as error:
            raise NoResults(unreached(self.host, error)) from None

    def session(self) -> requests.Session:
        """Returns an HTTP session for ``answer``. If the server is on this machine, the session
        uses no proxy, since a proxy would see the token."""
        return bounded_session(trust_env=not is_here(self.server))

    def answer(
        self,
        session: requests.Session,
        path: str,
        query: Mapping[str, str] | None = None,
        patience: float = 60,
    ) -> requests.Response:
        """Returns the server's response to a request for ``path`` of the survey. The caller reads
        the response piece by piece and closes it. ``patience`` is the timeout in seconds.

        Raises NoResults if the server refuses, BadInput if it redirects, and the errors of
        ``requests`` if it cannot be reached.
        """
        # The register belongs to the server and lists all its surveys.
        at = path if path == "/register" else f"/api/surveys/{quote(self.name, safe='')}{path}"
        answer = session.get(
            self.base + at,
            params=query,
            headers={"Authorization": f"Bearer {self.token}"} if self.token else {},
            timeout=patience,
            # A redirect would carry the token to another server.
            allow_redirects=False,
            # Read piece by piece, so that the limit of bytes holds while reading.
            stream=True,
            auth=_unchanged,
        )
        check_no_redirect(answer)
        if not answer.ok:
            with answer:
                raise NoResults(_why(answer))
        return answer


def unreached(host: str, error: requests.RequestException) -> str:
    """Returns a clause that says why a server gave no answer."""
    if isinstance(error, requests.Timeout):
        return f"{host} sends too slowly, and was not waited for any longer; try again later"
    return f"cannot reach {host} ({type(error).__name__})"


def remote_at(address: str, token: str | None = None) -> Remote:
    """Returns the survey at a web address, which may be that of the survey's form, its results or
    its API.

    Raises ValueError as ``Remote`` does, for an address that is not a survey's, and for an address
    with a query (such as that of a subgroup's page), because the query would be ignored.
    """
    parts = urlsplit(address)
    if parts.query:
        raise ValueError(
            f"leave out ?{parts.query[:64]} of the address: it is that of the whole survey;"
            " estimate(by=...) has the subgroups, and confidence is asked for by itself"
        )
    path_match = _PATH.fullmatch(parts.path)
    if parts.scheme not in ("http", "https") or not parts.hostname or not path_match:
        raise ValueError(
            f"{address!r} is no survey's address; one looks like https://example.org/surveys/name"
        )
    return Remote(
        urlunsplit((parts.scheme, parts.netloc, path_match[1], "", "")), path_match[2], token
    )


def fetch_results(
    remote: Remote,
    *,
    confidence: float = CONFIDENCE,
    smooth: bool = False,
    strata: Mapping[str, str] | None = None,
) -> SurveyResult:
    """Fetches the results of a survey from a server and returns them. With ``strata``, such as
    ``{"site": "north"}``, returns those of a subgroup.

    ``confidence`` is from 0.5 to 0.999, with up to three decimals. ``smooth`` asks for smoothed
    distributions. Raises NoResults, with the reason, if the server gives no results.
    """
    query = {"confidence": f"{confidence:g}", "smooth": str(int(smooth)), **(strata or {})}
    try:
        return msgspec.json.decode(remote.got("/results", query), type=SurveyResult)
    except msgspec.DecodeError:
        raise NoResults(f"no Deniably server of this version answers at {remote.host}") from None


def _unchanged(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Keeps requests from putting a password of ``~/.netrc`` in the place of the token."""
    return request


def _why(response: requests.Response) -> str:
    """The sentence in a server's problem document."""
    if response.status_code == 401 and "Authorization" not in response.request.headers:
        return "this needs an analyst's token, and none was given"
    try:
        problem = json.loads(read_answer(response, PROBLEM))
        return one_line(str(problem.get("detail") or problem["title"]))
    # The answer may come from anything that listens there, so its body may be anything.
    except (BadInput, ValueError, LookupError, AttributeError, TypeError, RecursionError):
        return f"no Deniably server answers there (status {response.status_code})"
