"""Reads response bodies up to a size limit, and retries requests for a bounded time."""

from __future__ import annotations

from types import TracebackType
from typing import Self

import requests
from urllib3 import BaseHTTPResponse
from urllib3.connectionpool import ConnectionPool
from urllib3.exceptions import InvalidHeader
from urllib3.util.retry import Retry

from deniably.core.bounded_http import read_answer
from deniably.core.errors import BadInput, Refused
from deniably.trust.register import LARGEST_REGISTER

DEFINITION = 16 << 20
"""The most bytes of a definition. All limits here are in bytes after decompression. An author's
text has at most 1 MiB; the mechanisms are added to it."""
REGISTER = LARGEST_REGISTER
RECEIVED = 512 << 20
"""The most bytes of the list of envelopes that a server received from a mixer: 32 each, so 16
million envelopes."""
PROBLEM = 64 << 10
"""The most bytes of problem details (RFC 9457), which hold a sentence or two."""

LONGEST_WAIT = 300.0
"""The most seconds that a device waits between two tries, whatever Retry-After says."""

_SOME = 60
"""Seconds to wait after a 429 without a usable Retry-After."""


def body(response: requests.Response, maximum: int) -> bytes:
    """Reads the body of a streamed response. Raises Refused once it exceeds ``maximum`` bytes, and
    the exceptions of ``requests``, such as ReadTimeout where it takes too long."""
    try:
        return read_answer(response, maximum)
    except BadInput as error:
        raise Refused(str(error.strerror)) from None


def seconds_in(header: str | None) -> int:
    """Returns the whole seconds to wait that the header Retry-After asks for, at least 1; 60 where
    the header is missing or unusable."""
    text = header or ""
    return max(1, int(text)) if text.isascii() and text.isdecimal() and len(text) < 7 else _SOME


class BoundedRetry(Retry):
    """A retry policy that skips the bodies of error responses and caps Retry-After at 5 minutes."""

    def increment(
        self,
        method: str | None = None,
        url: str | None = None,
        response: BaseHTTPResponse | None = None,
        error: Exception | None = None,
        _pool: ConnectionPool | None = None,
        _stacktrace: TracebackType | None = None,
    ) -> Self:
        """Closes the failed response, and returns the policy with one try less.

        The response is closed first because urllib3 would read its body to the end before the next
        try, and the body of a hostile server may have no end.
        """
        if response is not None:
            response.close()
        return super().increment(method, url, response, error, _pool, _stacktrace)

    def get_retry_after(self, response: BaseHTTPResponse) -> float | None:
        """Returns the seconds to wait, at most 5 minutes; None without a readable Retry-After."""
        try:
            wait = super().get_retry_after(response)
        except (InvalidHeader, ValueError, OverflowError):
            return None
        return None if wait is None else min(max(wait, 0.0), LONGEST_WAIT)
