"""Section 6.1: what a device asks of a server, every byte of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Request:
    """A request; the Python device sends its headers in this order."""

    method: str
    target: str
    headers: Headers
    body: bytes = b""


def of_python(host: str, *more: tuple[str, str], body: bytes = b"") -> Headers:
    """The headers of the Python device."""
    own = (
        ("Host", host),
        ("Accept-Encoding", "identity"),
        ("User-Agent", "deniably"),
        ("Accept", "application/json"),
    )
    sized = (("Content-Type", "application/json"), ("Content-Length", str(len(body))))
    return (*own, *more, *(sized if body else ()))


def meeting(host: str, name: str) -> list[Request]:
    """A device meets a survey."""
    return [
        Request("GET", f"/api/surveys/{name}", of_python(host)),
        Request("GET", f"/register/{name}", of_python(host)),
    ]


def looking(host: str, name: str, version: str) -> Request:
    """Before it randomises anything, it looks whether the survey was changed."""
    known = ("If-None-Match", f'"{version}"')
    return Request("GET", f"/api/surveys/{name}", of_python(host, known))


def trading(host: str, name: str, trade: Mapping[str, str]) -> Request:
    """An invitation, on a connection of its own."""
    body = json.dumps({"invitation": trade["code"], "blinded": trade["blinded"]}).encode()
    headers = of_python(host, ("Connection", "close"), body=body)
    return Request("POST", f"/api/surveys/{name}/tickets", headers, body)


def sending(host: str, name: str, text: str, ticket: str | None = None) -> Request:
    """A report, with its ticket where the survey is by invitation."""
    body = text.encode()
    more = (("Deniably-Ticket", ticket),) if ticket else ()
    return Request("POST", f"/api/surveys/{name}/reports", of_python(host, *more, body=body), body)
