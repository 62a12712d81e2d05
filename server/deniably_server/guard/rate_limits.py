"""Limits rates for each network address, and keeps no address.

A bucket is found by a keyed 16-bit hash of the address. The random key is in memory only, and is
discarded with the table at the end of each UTC day. Many addresses share a bucket, so the table is
of fixed size and does not identify anybody. A hash collision can only make a limit stricter.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from math import ceil
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from threading import Lock
from time import monotonic, time
from typing import TYPE_CHECKING

from deniably.survey.report import LARGEST_BODY
from deniably_server.errors import TooMany
from deniably_server.guard.client_network import network_behind, network_of
from deniably_server.web.body import Body

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

_PLACES = 1 << 16
CHECKS = 240
"""Checks of drafts that one token or browser may ask for in a minute: one after each change of a
slider."""
_WINDOW = 60.0  # seconds
_DAY = 86400
_FORGOTTEN, _LONGEST_MEMORY = 600.0, float(_DAY)


class Buckets:
    """A table of token buckets, found by the hash of an address.

    A bucket is stored as one number: the time at which it is full again. That is the generic cell
    rate algorithm (ITU-T I.371), and needs no task that refills buckets.
    """

    def __init__(self, clock: Callable[[], float], wall: Callable[[], float]) -> None:
        self._clock, self._wall = clock, wall
        self._lock = Lock()
        self._forget()

    def _place(self, address: str) -> int:
        if self._wall() // _DAY != self._day:
            self._forget()
        return int.from_bytes(blake2b(address.encode(), digest_size=2, key=self._salt).digest())

    def _forget(self) -> None:
        self._day: float = self._wall() // _DAY
        self._salt = secrets.token_bytes(32)
        # When each bucket is full again. Of such memory only pages with a bucket that was used take
        # room, and nothing is written at the start.
        self._full = memoryview(mmap(-1, 8 * _PLACES, flags=MAP_PRIVATE | MAP_ANONYMOUS)).cast("d")


class Limit(Buckets):
    """A token bucket for each address: ``rate`` tokens a minute, and at most ``rate`` at once.

    Every process has buckets of its own.
    """

    def __init__(
        self, rate: int, clock: Callable[[], float] = monotonic, wall: Callable[[], float] = time
    ) -> None:
        self._each = _WINDOW / rate  # seconds
        super().__init__(clock, wall)

    def take(self, address: str, wanted: int = 1) -> int:
        """Take up to ``wanted`` tokens from the bucket; returns how many were available."""
        place, now = self._place(address), self._clock()
        with self._lock:
            full = max(self._full[place], now)
            # A bucket that will be full at ``full`` lacks (full - now) / each of its window / each
            # tokens.
            free = int((now + _WINDOW - full) / self._each + 1e-6)  # rounding takes no token away
            taken = min(free, wanted)
            self._full[place] = full + taken * self._each
            return taken

    def wait(self, address: str) -> int:
        """Returns the seconds until the bucket has a token; 0 if it has one now."""
        place, now = self._place(address), self._clock()
        full = max(self._full[place], now)
        return max(0, ceil(full + self._each - _WINDOW - now - 1e-6))


class RecentUse(Buckets):
    """A record of how much of a scarce resource each address used lately, so that those who used
    less get their turn first.

    A use of s seconds is forgotten after ``_FORGOTTEN`` * s seconds, and after a day at the
    latest. The factor is large enough for 64 addresses that ask without end: each gets a 64th of
    the time, and its use still grows faster than it is forgotten.
    """

    def __init__(
        self, clock: Callable[[], float] = monotonic, wall: Callable[[], float] = time
    ) -> None:
        super().__init__(clock, wall)

    def add(self, address: str, seconds: float) -> None:
        """Records that an address used so many seconds."""
        place, now = self._place(address), self._clock()
        with self._lock:
            full = max(self._full[place], now) + _FORGOTTEN * seconds
            self._full[place] = min(full, now + _LONGEST_MEMORY)

    def of(self, address: str) -> float:
        """Returns the seconds until all use by an address is forgotten; 0 without recent use."""
        place = self._place(address)
        return max(0.0, self._full[place] - self._clock())


class DailyRoom(Buckets):
    """How many bytes each address has stored in the current UTC day: at most ``most``."""

    def __init__(
        self, most: int, clock: Callable[[], float] = monotonic, wall: Callable[[], float] = time
    ) -> None:
        self._most = most
        super().__init__(clock, wall)

    def take(self, address: str, size: int) -> bool:
        """Counts ``size`` bytes of an address; returns False, and counts nothing, where they are
        too many."""
        place = self._place(address)
        with self._lock:
            used = self._full[place] + size
            if used > self._most:
                return False
            self._full[place] = used
            return True

    def wait(self) -> int:
        """Returns the seconds until the day ends."""
        return ceil(_DAY - self._wall() % _DAY)


@dataclass(frozen=True)
class ServerLimits:
    """The rate limits of a server; None is no limit.

    Per network address, ``reports`` counts reports, ``trades`` invitations exchanged for tickets,
    and ``failures`` wrong tokens, links and codes. ``checks`` counts checks of drafts, per token or
    browser. ``room`` counts the bytes that a mixer stores. ``proxies`` is the number of trusted
    proxies.
    """

    reports: Limit | None
    trades: Limit | None
    failures: Limit | None
    proxies: int
    checks: Limit = field(default_factory=lambda: Limit(CHECKS), compare=False)
    room: DailyRoom | None = None

    def admit(self, environ: WSGIEnvironment) -> str | None:
        """Counts one request with reports. Returns the network address that it was counted for, or
        None if it is not limited.

        Raises TooMany where the address has reached its limit.
        """
        return self._count(environ, self.reports, "reports")

    def admit_from(self, peer: str, forwarded: str) -> None:
        """Counts one request with a report, given ``peer``, the address of the connection's other
        end, and ``forwarded``, the text of X-Forwarded-For.

        Raises TooMany where the network address has reached its limit.
        """
        if self.reports is not None:
            _take(self.reports, network_behind(peer, forwarded, self.proxies), "reports")

    def trade(self, environ: WSGIEnvironment) -> None:
        """Counts one request to exchange an invitation for a ticket. Repeated requests with the
        same invitation count, too, because every signature takes some milliseconds.

        Raises TooMany where the network address has reached its limit.
        """
        self._count(environ, self.trades, "invitations")

    def count_check(self, asker: str) -> None:
        """Counts one check of a draft for ``asker``, a name for who asks: a token's id, or a text
        that begins with the hash of a browser's cookie.

        Raises TooMany after ``CHECKS`` in a minute.
        """
        if not self.checks.take(asker):
            wait = self.checks.wait(asker)
            raise TooMany(f"you ask for more than {CHECKS} checks in a minute", wait)

    def count_bytes(self, environ: WSGIEnvironment, size: int) -> None:
        """Counts ``size`` bytes that are to be stored for the request's address.

        Raises TooMany where the address has stored as much as it may today.
        """
        address = None if self.room is None else network_of(environ, self.proxies)
        if self.room is not None and address is not None and not self.room.take(address, size):
            why = "your network has sent as much as is stored from one network in a day"
            raise TooMany(why, self.room.wait())

    def _count(self, environ: WSGIEnvironment, limit: Limit | None, what: str) -> str | None:
        """Take one token. Returns the address, or None if it is not limited. Raises TooMany."""
        return None if limit is None else _take(limit, network_of(environ, self.proxies), what)

    def check_failures(self, environ: WSGIEnvironment) -> None:
        """Raises TooMany if too many wrong tokens, links or codes came from the request's
        address."""
        limit, address = self.failures, network_of(environ, self.proxies)
        if limit and address is not None and (wait := limit.wait(address)):
            raise TooMany("too many wrong tokens or invitation codes come from your network", wait)

    def count_failure(self, environ: WSGIEnvironment) -> None:
        """Counts one wrong token, link or code from the request's address."""
        if self.failures and (address := network_of(environ, self.proxies)) is not None:
            self.failures.take(address)

    def metered(self, body: Body, address: str | None) -> MeteredBody:
        """Returns ``body``, cut after as many lines as ``address`` may still send; not cut if
        ``address`` is None."""
        return MeteredBody(body, self.reports if address is not None else None, address or "")


def _take(limit: Limit, address: str | None, what: str) -> str | None:
    """Take one token of an address, which is returned. Raises TooMany."""
    if address is not None and not limit.take(address):
        raise TooMany(f"too many {what} come from your network", limit.wait(address))
    return address


def limits_of(reports: int, failures: int, proxies: int, room: int = 0) -> ServerLimits:
    """Returns the limits of a server: at most ``reports`` reports and ``failures`` wrong tokens a
    minute from each network address, and of a mixer at most ``room`` bytes a day, where 0 means no
    limit. ``proxies`` is the number of trusted proxies."""
    return ServerLimits(
        reports=Limit(reports) if reports else None,
        trades=Limit(reports) if reports else None,  # everybody who is invited trades once
        failures=Limit(failures) if failures else None,
        proxies=proxies,
        room=DailyRoom(room) if room else None,
    )


class MeteredBody:
    """A body of lines that is cut where the rate limit of its address is reached; ``cut`` says
    whether that happened.

    Every line counts as a report. So does every MiB, the largest size of a report, so that an
    endless line is counted, too.
    """

    def __init__(self, body: Body, limit: Limit | None, address: str) -> None:
        self._body, self._limit, self._address = body, limit, address
        self._lines = self._bytes = self._counted = 0
        self.cut = False

    def read(self, size: int, /) -> bytes:
        """Returns at most ``size`` bytes; empty at the end."""
        if self.cut:
            return b""
        piece = self._body.read(size)
        if self._limit is None:
            return piece
        before = self._lines
        self._lines += piece.count(b"\n")
        self._bytes += len(piece)
        due = max(self._lines, self._bytes // LARGEST_BODY)
        self._counted += self._limit.take(self._address, due - self._counted)
        if self._counted == due:
            return piece
        # To the end of the last line that was counted: a line cut in two would be a bad report.
        self.cut = True
        return piece[: len(piece) - len(piece.split(b"\n", self._counted - before)[-1])]
