"""Senders that keep a thread waiting for the rest of a body: their connections are ended.

granian ends a connection whose head is not there in time, but reads a body in the thread of its
request, as WSGI has it, for as long as that takes; nothing in Python can break such a read off, and
an answer meanwhile does not end it either. So whoever sends a byte an hour would hold a thread for
ever. The kernel, however, counts what each connection received and what of our answers arrived
(TCP_INFO, Linux). While a read takes long, a connection that in the seconds of our patience neither
sent 10 KB nor had an answer is shut down: the read ends, and its thread is free.

Other systems than Linux count otherwise; there this does nothing, and a reverse proxy that takes in
bodies before it passes them on has to do it all.
"""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from deniably_server.web.body import Body

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

BYTES = 10_000
_LOOKS = 10
"""How often to look while patience lasts; a read that is seen twice takes long."""
_FDS = "/proc/self/fd"
_COUNTS = struct.Struct("=120xQQ")
"""Where the kernel's struct tcp_info has bytes_acked and bytes_received."""


class SlowBodies:
    """WSGI middleware: knows what is being read, and ends what takes too long."""

    def __init__(self, app: WSGIApplication, port: int, seconds: float) -> None:
        self._app = app
        self._port = port
        self._seconds = seconds
        self._reads: dict[int, float] = {}
        self._seen: dict[int, _Stretch] = {}

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Serve one request."""
        environ["wsgi.input"] = _Watched(environ["wsgi.input"], self._reads)
        return self._app(environ, start_response)

    def watch(self) -> None:
        """Look, from now on, in a thread of its own."""

        def run() -> None:
            while True:
                self.look(monotonic())
                pause.wait(self._seconds / _LOOKS)

        pause = threading.Event()
        threading.Thread(target=run, name="deniably-slow", daemon=True).start()

    def look(self, now: float) -> None:
        """End the connections that are too slow, if a read takes long."""
        if not any(now - began > self._seconds / _LOOKS for began in list(self._reads.values())):
            self._seen.clear()
            return
        before, self._seen = self._seen, {}
        for each in _connections(self._port):
            stretch = _continued(before.get(each.key), each, now, self._seconds)
            if stretch is None:
                with suppress(OSError):  # it may have ended meanwhile
                    each.line.shutdown(socket.SHUT_RDWR)
            else:
                self._seen[each.key] = stretch


class _Watched:
    """A body that is known while it is read."""

    __slots__ = ("_body", "_reads")

    def __init__(self, body: Body, reads: dict[int, float]) -> None:
        self._body = body
        self._reads = reads

    def read(self, size: int = -1, /) -> bytes:
        """As the body does."""
        self._reads[id(self)] = monotonic()
        try:
            return self._body.read(size)
        finally:
            del self._reads[id(self)]


class _Connection(NamedTuple):
    line: socket.socket
    key: int
    acked: int
    """Bytes of answers that arrived."""
    received: int


@dataclass(frozen=True)
class _Stretch:
    """A connection as it was when we began to wait for it."""

    since: float
    acked: int
    received: int


def _continued(
    stretch: _Stretch | None, now_is: _Connection, now: float, seconds: float
) -> _Stretch | None:
    """What we wait for from now on; None where we have waited long enough."""
    fresh = _Stretch(now, now_is.acked, now_is.received)
    if stretch is None or now_is.acked != stretch.acked:
        return fresh
    if now - stretch.since <= seconds:
        return stretch
    return fresh if now_is.received - stretch.received >= BYTES else None


def _connections(port: int) -> Iterator[_Connection]:
    """The connections of this process to its port."""
    for fd in _open_files():
        with _borrowed(fd) as line:
            found = line and _counted(line, port)
            if found:
                yield found


@contextmanager
def _borrowed(fd: int) -> Generator[socket.socket | None]:
    """The socket of a descriptor that belongs to granian; None where it is something else.

    It is neither closed nor duplicated: closing a copy of a database's descriptor would drop every
    lock that SQLite holds on it in this process (a rule of POSIX).
    """
    try:
        line = socket.socket(fileno=fd)
    except OSError:
        yield None
        return
    try:
        yield line
    finally:
        line.detach()


def _counted(line: socket.socket, port: int) -> _Connection | None:
    try:
        if line.family not in (socket.AF_INET, socket.AF_INET6) or line.getsockname()[1] != port:
            return None
        line.getpeername()  # the one that listens has none
        info = line.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        acked, received = _COUNTS.unpack_from(info)
        return _Connection(line, os.fstat(line.fileno()).st_ino, acked, received)
    except (OSError, struct.error):
        return None


def _open_files() -> list[int]:
    try:
        return [int(name) for name in os.listdir(_FDS)]
    except OSError:
        return []
