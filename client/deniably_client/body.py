"""What a server answers, read up to a size: one that sends without end fills no device."""

from __future__ import annotations

from types import TracebackType
from typing import Self

import requests
from urllib3 import BaseHTTPResponse
from urllib3.connectionpool import ConnectionPool
from urllib3.exceptions import InvalidHeader
from urllib3.util.retry import Retry

from deniably.core.errors import Refused
from deniably.trust.register import LARGEST_REGISTER

DEFINITION = 16 << 20
"""Bytes, once decompressed. Authors write at most 1 MiB; the mechanisms come to it."""
REGISTER = LARGEST_REGISTER
PROBLEM = 64 << 10
"""A sentence or two."""

LONGEST_WAIT = 300.0
"""Seconds that a server may ask for between two tries."""

_SOME = 60
"""Seconds to wait where a server asks for it and says nothing usable of how long."""

_PIECE = 1 << 16


def body(response: requests.Response, most: int) -> bytes:
    """The body of a streamed response. Raises Refused above ``most`` bytes, without reading on."""
    found = bytearray()
    for piece in response.iter_content(_PIECE):
        found += piece
        if len(found) > most:
            response.close()
            raise Refused(
                f"the server sends more than {most >> 10} KiB, and this device reads no further"
            )
    return bytes(found)


def seconds_in(header: str | None) -> int:
    """How long a server asks to wait (Retry-After, in whole seconds)."""
    text = header or ""
    return max(1, int(text)) if text.isascii() and text.isdecimal() and len(text) < 7 else _SOME


class Patience(Retry):
    """Retries that read no fault's body, and wait no longer than some minutes for a server."""

    def increment(
        self,
        method: str | None = None,
        url: str | None = None,
        response: BaseHTTPResponse | None = None,
        error: Exception | None = None,
        _pool: ConnectionPool | None = None,
        _stacktrace: TracebackType | None = None,
    ) -> Self:
        """One try less."""
        if response is not None:
            response.close()
        return super().increment(method, url, response, error, _pool, _stacktrace)

    def get_retry_after(self, response: BaseHTTPResponse) -> float | None:
        """Seconds; None where the server says nothing, or nothing that can be read."""
        try:
            wait = super().get_retry_after(response)
        except (InvalidHeader, ValueError, OverflowError):
            return None
        return None if wait is None else min(max(wait, 0.0), LONGEST_WAIT)
