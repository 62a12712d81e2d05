"""Limits on how much may come from one network address. Nobody's address is kept for them.

An address is a place in a table, by a keyed hash of 16 bits under a random salt that is in memory
alone, and thrown away, with the table, at the end of each UTC day. Many addresses share a place; so
the table neither grows nor tells who was here, and a limit errs, seldom, to the strict side.
"""

from __future__ import annotations

import secrets
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from math import ceil
from threading import Lock
from time import monotonic, time
from typing import TYPE_CHECKING

from deniably.survey.report import LARGEST_BODY
from deniably_server.errors import TooMany
from deniably_server.guard.peer import network_of
from deniably_server.web.body import Body

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

_PLACES = 1 << 16
_WINDOW = 60.0  # seconds
_DAY = 86400


class Limit:
    """At most ``rate`` a minute from one address, and at most as many at once: a bucket that
    fills evenly. Kept by one process for itself."""

    def __init__(
        self, rate: int, clock: Callable[[], float] = monotonic, wall: Callable[[], float] = time
    ) -> None:
        self._each = _WINDOW / rate  # seconds
        self._clock, self._wall = clock, wall
        self._lock = Lock()
        self._forget()

    def take(self, address: str, wanted: int = 1) -> int:
        """How many of those that are wanted may come now; these are counted."""
        place, now = self._place(address), self._clock()
        with self._lock:
            full = max(self._full[place], now)
            free = int((now + _WINDOW - full) / self._each + 1e-6)
            taken = min(free, wanted)
            self._full[place] = full + taken * self._each
            return taken

    def wait(self, address: str) -> int:
        """Seconds until one more may come; 0 where it may now."""
        place, now = self._place(address), self._clock()
        full = max(self._full[place], now)
        return max(0, ceil(full + self._each - _WINDOW - now - 1e-6))

    def _place(self, address: str) -> int:
        if self._wall() // _DAY != self._day:
            self._forget()
        return int.from_bytes(blake2b(address.encode(), digest_size=2, key=self._salt).digest())

    def _forget(self) -> None:
        self._day: float = self._wall() // _DAY
        self._salt = secrets.token_bytes(32)
        self._full = array("d", bytes(8 * _PLACES))  # when each bucket is full again


@dataclass(frozen=True)
class Limits:
    """The limits of a server; None is no limit."""

    reports: Limit | None
    trades: Limit | None
    failures: Limit | None
    proxies: int

    def admit(self, environ: WSGIEnvironment) -> str | None:
        """Count one request with reports; the address, or None where none is counted.

        Raises TooMany.
        """
        return self._counted(environ, self.reports, "reports")

    def trade(self, environ: WSGIEnvironment) -> None:
        """Count one invitation, also one that was traded before: to sign takes some milliseconds
        each time. Raises TooMany."""
        self._counted(environ, self.trades, "invitations")

    def _counted(self, environ: WSGIEnvironment, limit: Limit | None, what: str) -> str | None:
        """The address, once one more from there is counted; None where none is. Raises TooMany."""
        if limit is None or (address := network_of(environ, self.proxies)) is None:
            return None
        if not limit.take(address):
            raise TooMany(f"too many {what} come from your network", limit.wait(address))
        return address

    def guess(self, environ: WSGIEnvironment) -> None:
        """Raise TooMany where too many wrong tokens, links or codes came from this address."""
        limit, address = self.failures, network_of(environ, self.proxies)
        if limit and address is not None and (wait := limit.wait(address)):
            raise TooMany("too many wrong tokens or invitation codes come from your network", wait)

    def wrong(self, environ: WSGIEnvironment) -> None:
        """Count a wrong token, link or code."""
        if self.failures and (address := network_of(environ, self.proxies)) is not None:
            self.failures.take(address)

    def lines(self, body: Body, address: str | None) -> Metered:
        """The body, up to as many lines as may come from its address."""
        return Metered(body, self.reports if address is not None else None, address or "")


def limits_of(reports: int, failures: int, proxies: int) -> Limits:
    """Limits by the numbers in the settings, where 0 is none."""
    return Limits(
        reports=Limit(reports) if reports else None,
        trades=Limit(reports) if reports else None,  # everybody who is invited trades once
        failures=Limit(failures) if failures else None,
        proxies=proxies,
    )


class Metered:
    """A body of lines that ends where the limit does; ``cut`` says whether it did.

    Each line counts as a report, whatever is in it, and so does each MiB, which is the most that a
    report may have: a line that never ends is not free.
    """

    def __init__(self, body: Body, limit: Limit | None, address: str) -> None:
        self._body, self._limit, self._address = body, limit, address
        self._lines = self._bytes = self._counted = 0
        self.cut = False

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes; none at the end."""
        if self.cut:
            return b""
        found = self._body.read(size)
        if self._limit is None:
            return found
        before = self._lines
        self._lines += found.count(b"\n")
        self._bytes += len(found)
        due = max(self._lines, self._bytes // LARGEST_BODY)
        self._counted += self._limit.take(self._address, due - self._counted)
        if self._counted == due:
            return found
        self.cut = True
        return found[: len(found) - len(found.split(b"\n", self._counted - before)[-1])]
