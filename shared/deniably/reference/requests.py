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


JSON, OCTETS = "application/json", "application/octet-stream"


def of_python(host: str, *more: tuple[str, str], body: bytes = b"", kind: str = JSON) -> Headers:
    """Returns the headers of a request of the Python device.

    The headers in ``more`` come after those that every request has; the headers of a body come
    last, if there is a body, which is of this ``kind``.
    """
    own = (
        ("Host", host),
        ("Accept-Encoding", "identity"),
        ("User-Agent", "deniably"),
        ("Accept", "application/json"),
    )
    sized = (("Content-Type", kind), ("Content-Length", str(len(body))))
    return (*own, *more, *(sized if body else ()))


def meeting(host: str, name: str) -> list[Request]:
    """Returns the two requests by which a device gets a survey: for its definition and register
    entry."""
    return [
        Request("GET", f"/api/surveys/{name}", of_python(host)),
        Request("GET", f"/register/{name}", of_python(host)),
    ]


def looking(host: str, name: str, version: str) -> Request:
    """Returns the request that asks whether the survey is still unchanged.

    A device sends it before anything is randomised.
    """
    known = ("If-None-Match", f'"{version}"')
    return Request("GET", f"/api/surveys/{name}", of_python(host, known))


def trading(host: str, name: str, trade: Mapping[str, str]) -> Request:
    """Returns the request that exchanges an invitation for a ticket.

    The connection is closed afterwards, so that the report is not sent over the same one.
    """
    body = json.dumps({"invitation": trade["code"], "blinded": trade["blinded"]}).encode()
    headers = of_python(host, ("Connection", "close"), body=body)
    return Request("POST", f"/api/surveys/{name}/tickets", headers, body)


def sending(host: str, name: str, text: str, ticket: str | None = None) -> Request:
    """Returns the request that sends a report, with a ``ticket`` if the survey is by invitation."""
    body = text.encode()
    more = (("Deniably-Ticket", ticket),) if ticket else ()
    return Request("POST", f"/api/surveys/{name}/reports", of_python(host, *more, body=body), body)


def asking_mixer(host: str, version: str) -> Request:
    """Returns the request for what a mixer states about a survey, before anything is sealed."""
    return Request("GET", f"/mix/{version}", of_python(host))


def sending_to_mixer(host: str, version: str, sealed: bytes) -> Request:
    """Returns the request that sends an envelope to a mixer."""
    headers = of_python(host, body=sealed, kind=OCTETS)
    return Request("POST", f"/mix/{version}", headers, sealed)
