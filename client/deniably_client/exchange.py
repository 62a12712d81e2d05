"""Sends one HTTP request of a device, and says what the answer means: within limits of size and
time, and without a trace of the device's owner."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from http.cookiejar import DefaultCookiePolicy
from types import MappingProxyType
from typing import Any, cast
from urllib.parse import urlsplit

import requests

from deniably.core.bounded_http import BoundedAdapter, BoundedSession
from deniably.core.errors import Refused
from deniably_client.errors import (
    AskedToWait,
    InvitationUnknown,
    InvitationUsed,
    NobodyInvited,
    Rejected,
    SurveyClosed,
    Unreachable,
)
from deniably_client.response_body import PROBLEM, BoundedRetry, body, seconds_in

NOT_MODIFIED, NOT_FOUND, TOO_MANY = 304, 404, 429

RETRIES = 6
"""How often a request is tried again. Waits double from 0.5 to 16 seconds; a Retry-After, capped at
5 minutes, replaces them."""


class _Session(BoundedSession):
    """A session that looks for the proxies of an address once.

    requests searches the whole environment for them, twice for every request: a quarter of the time
    of a device.
    """

    @cached_property
    def _settings(self) -> Callable[..., Any]:
        look_up = super().merge_environment_settings
        return cache(lambda *key: look_up(key[0], {}, *key[1:]))

    def merge_environment_settings(
        self, url: Any, proxies: Any, stream: Any, verify: Any, cert: Any
    ) -> Any:
        """Returns the settings (proxies, certificates) of one request, looked up once for each
        server: no request of a device names proxies of its own."""
        parts = urlsplit(str(url))
        return self._settings(f"{parts.scheme}://{parts.netloc}", stream, verify, cert)


def session(retries: int = RETRIES) -> requests.Session:
    """Returns a requests session that reveals nothing about its owner, and that retries failed
    requests.

    It sends no cookies, no credentials (not even from ~/.netrc) and a fixed User-Agent. Connection
    faults, 429 and 5xx are retried with the same bytes after growing, jittered waits. Give one
    session to many devices to share connections.
    """
    new_session = _Session()
    new_session.auth = _nobody
    # In the order of SPEC 6.1: the names and order of headers could tell devices apart.
    new_session.headers.clear()
    new_session.headers.update({"User-Agent": "deniably", "Accept": "application/json"})
    new_session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    policy = BoundedRetry(
        total=retries,
        # A POST, too: a report that comes twice has one id, and counts once.
        allowed_methods=None,
        status_forcelist=[429, 500, 502, 503, 504],
        backoff_factor=0.5,
        backoff_jitter=0.5,
        raise_on_status=False,
    )
    for scheme in ("http://", "https://"):
        new_session.mount(scheme, BoundedAdapter(max_retries=policy))
    return new_session


@dataclass(frozen=True)
class Answer:
    """What a server answered: a status that is no error, headers and body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def _answer(response: requests.Response, maximum: int, version: str | None) -> Answer:
    """Check a response. Raises Unreachable, Rejected, and Refused where it is too long."""
    status = response.status_code
    if status in (200, 201) or (version and status == NOT_MODIFIED):
        return Answer(status, response.headers, body(response, maximum))
    if status == TOO_MANY:
        raise AskedToWait(_host(response.url), seconds_in(response.headers.get("Retry-After")))
    if status >= 500:
        raise Unreachable(f"{_host(response.url)} cannot answer now (status {status})")
    raise _refusal(response)


def exchange(
    session: requests.Session,
    timeout: float,
    method: str,
    url: str,
    maximum: int,
    payload: bytes | None = None,
    version: str | None = None,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> Answer:
    """Sends one request and returns the answer, of at most ``maximum`` bytes.

    ``payload`` is JSON unless ``headers`` say otherwise. ``version`` is the digest of a definition
    that need not be sent again. ``timeout`` is in seconds. Raises Unreachable where no usable
    answer comes, Rejected for a problem, and Refused where the answer is too long.
    """
    headers = dict(headers)
    if payload is not None:
        headers.setdefault("Content-Type", "application/json")
    if version is not None:
        headers["If-None-Match"] = f'"{version}"'
    try:
        with session.request(
            method, url, data=payload, headers=headers, timeout=timeout,
            allow_redirects=False, stream=True,  # a redirect could lead to another server
        ) as response:  # fmt: skip
            return _answer(response, maximum, version)
    except requests.RequestException as error:
        raise Unreachable(f"{_host(url)} gave no answer ({type(error).__name__})") from None


def _nobody(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Return the request unchanged. Without it, requests sends credentials from ~/.netrc."""
    return request


def _refusal(response: requests.Response) -> Rejected:
    try:
        document: Any = json.loads(body(response, PROBLEM))
    except (Refused, ValueError, RecursionError):  # too long, or no JSON
        document = None
    problem = cast(dict[str, object], document) if isinstance(document, dict) else {}
    kind = _REJECTIONS.get(str(problem.get("type")), Rejected)
    return kind(response.status_code, problem)


_REJECTIONS: dict[str, type[Rejected]] = {
    "/problems/closed": SurveyClosed,
    "/problems/gone": SurveyClosed,
    "/problems/uninvited": InvitationUnknown,
    "/problems/used": InvitationUsed,
    "/problems/nobody-invited": NobodyInvited,
}


def _host(url: str) -> str:
    return urlsplit(url).netloc
