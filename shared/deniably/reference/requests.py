"""States every byte that a device sends in its HTTP requests (SPEC 6.1)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Request:
    """An HTTP request. The headers are in the order in which the Python device sends them."""

    method: str
    target: str
    headers: Headers
    body: bytes = b""


def of_python(host: str, *more: tuple[str, str], body: bytes = b"") -> Headers:
    """Returns the headers of the Python device, with ``more`` after those of every request. The
    headers of a body come last, if there is one."""
    own = (
        ("Host", host),
        ("Accept-Encoding", "identity"),
        ("User-Agent", "deniably"),
        ("Accept", "application/json"),
    )
    sized = (("Content-Type", "application/json"), ("Content-Length", str(len(body))))
    return (*own, *more, *(sized if body else ()))


def meeting(host: str, name: str) -> list[Request]:
    """Returns the two requests of a device that meets a survey: for its definition and its register
    entry."""
    return [
        Request("GET", f"/api/surveys/{name}", of_python(host)),
        Request("GET", f"/register/{name}", of_python(host)),
    ]


def looking(host: str, name: str, version: str) -> Request:
    """Returns the request that asks, before anything is randomised, whether the survey is still the
    same."""
    known = ("If-None-Match", f'"{version}"')
    return Request("GET", f"/api/surveys/{name}", of_python(host, known))


def trading(host: str, name: str, trade: Mapping[str, str]) -> Request:
    """Returns the request that trades an invitation for a ticket. It closes its connection
    afterwards, so that it shares none with the report."""
    body = json.dumps({"invitation": trade["code"], "blinded": trade["blinded"]}).encode()
    headers = of_python(host, ("Connection", "close"), body=body)
    return Request("POST", f"/api/surveys/{name}/tickets", headers, body)


def sending(host: str, name: str, text: str, ticket: str | None = None) -> Request:
    """Returns the request that sends a report, with a ``ticket`` if the survey is by invitation."""
    body = text.encode()
    more = (("Deniably-Ticket", ticket),) if ticket else ()
    return Request("POST", f"/api/surveys/{name}/reports", of_python(host, *more, body=body), body)
