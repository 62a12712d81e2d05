"""Fetches the results of a survey from a server over HTTP."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote, urlsplit, urlunsplit

import msgspec
import requests

from deniably.core.errors import NoResults
from deniably.core.loopback import is_here
from deniably.core.steering import printable
from deniably.results.document import SurveyResult
from deniably.results.result import CONFIDENCE
from deniably.results.results import Results, as_results

_PATH = re.compile(r"(.*?)/(?:s|surveys|api/surveys)/([a-z0-9-]+)(?:/results(?:\.csv)?)?/?")
_PATIENCE = 60  # seconds


def open_results(
    address: str,
    *,
    token: str | None = None,
    confidence: float = CONFIDENCE,
    smooth: bool = False,
    strata: Mapping[str, str] | None = None,
) -> Results:
    """Fetches the results of a survey from a server.

    ``address`` is the address of the survey's form or of its results, such as
    https://example.org/surveys/workplace. ``token`` is an analyst's token, for a survey whose
    results are not public; it travels over HTTPS or to this machine alone. ``confidence`` is from
    0.5 to 0.999, with up to three decimals. ``strata``, such as ``{"site": "north"}``, asks for
    a subgroup; the ``document`` of everybody names those that there are. Raises ValueError if the
    address is not that of a survey or a token would be sent in the clear. Raises NoResults, with
    the reason, if there are no results.
    """
    parts = urlsplit(address)
    found = _PATH.fullmatch(parts.path)
    if parts.scheme not in ("http", "https") or not parts.hostname or not found:
        raise ValueError(
            f"{address!r} is no survey's address; one looks like https://example.org/surveys/name"
        )
    if token is not None and not (parts.scheme == "https" or is_here(address)):
        raise ValueError("a token is sent over https:// or to this machine alone")
    host = parts.netloc.rpartition("@")[2]  # a name and a password in the address are not sent
    base = urlunsplit((parts.scheme, host, found[1], "", ""))
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    query = {"confidence": f"{confidence:g}", "smooth": str(int(smooth))}
    query |= strata or {}
    try:
        with requests.Session() as session:
            session.trust_env = not is_here(address)  # else a proxy would see the token
            response = session.get(
                f"{base}/api/surveys/{quote(found[2])}/results",
                params=query, headers=headers, timeout=_PATIENCE, allow_redirects=False,
                auth=_unchanged,
            )  # fmt: skip
    except requests.RequestException as error:
        raise NoResults(f"cannot reach {host} ({type(error).__name__})") from None
    if not response.ok:
        raise NoResults(_why(response))
    try:
        return as_results(msgspec.json.decode(response.content, type=SurveyResult))
    except msgspec.DecodeError:
        raise NoResults(f"no Deniably server of this version answers at {host}") from None


def _unchanged(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Keeps requests from putting a password of ``~/.netrc`` in the place of the token."""
    return request


def _why(response: requests.Response) -> str:
    """The sentence in a server's problem document."""
    try:
        problem = response.json()
        return printable(str(problem.get("detail") or problem["title"]))
    except (ValueError, KeyError, AttributeError, TypeError):
        return f"no Deniably server answers there (status {response.status_code})"
