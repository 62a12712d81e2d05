"""Closes connections whose clients are too slow, which defends against Slowloris attacks.

uvicorn limits only how long a connection may be idle. This module adds one rule. Within the
server's patience, in seconds, a client must send its whole header, then each 10 KB of its body. Of
an answer it must have read 10 KB for each time of patience that has passed. Otherwise the
connection is closed. The time in which the server works on a request does not count. When all
connections are taken, a new one replaces the oldest that waits for its client. A proxy in front
does the same, but many authors serve a survey without one.

What a client has read is what its system acknowledged (TCP_INFO of Linux). It is counted from the
beginning of an answer, and not between two looks: the client's system takes tens of kilobytes at
once and then nothing until the program has read most of them, so a steady reader looks like one
that stops and goes. Counted from the beginning, a client that reads fast enough never has less
acknowledged than the rule demands.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from deniably_server.deferred import EncodedAnswer

if TYPE_CHECKING:
    from uvicorn.config import Config
    from uvicorn.server import ServerState

WHOLE = "deniably.whole"
"""The key of ``scope["state"]`` with the coroutine function that sends an ``EncodedAnswer``."""
BYTES = 10_000
"""Bytes that a client has to send or read within the patience."""
LARGEST_HEAD = 1 << 16
"""Bytes of a request's address and header fields; a browser's have less than 2 KB."""
HIGH, LOW = 1 << 14, 1 << 12
"""Limits of the send buffer, in bytes: writing pauses above the first and resumes below the
second."""
_CREDIT = 1 << 20
"""Bytes of an answer, read ahead of time, that count: no client's system holds more unread."""
_INFO_BYTES = 128
_ACKNOWLEDGED = struct.Struct("Q")
_ACKNOWLEDGED_AT = 120
"""The place of ``tcpi_bytes_acked`` in ``struct tcp_info`` (linux/tcp.h, since 4.1)."""
_LOOKS = 10
"""The number of checks within the patience."""
_AHEAD = 8
"""Requests that a connection may pipeline before the first is answered."""
_AROUND = 4
"""Bytes of a header field besides its name and value: a colon, a space and the line's end."""
_TOO_LONG = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"Connection: close\r\nContent-Length: 0\r\n\r\n"
)


class HeldConnection(Protocol):
    """A connection that counts against the limit of its process."""

    @property
    def waits(self) -> bool:
        """Whether the server waits for the connection's client."""
        ...

    def end(self) -> None:
        """Closes the connection at once, without a response."""
        ...

    def look(self, now: float, seconds: float) -> None:
        """Closes the connection if its client has kept the server waiting for more than
        ``seconds`` without enough progress. ``now`` is the event loop's time."""
        ...


class Connections:
    """The open connections of a process, from the oldest to the newest: at most ``maximum``. A
    client may keep the server waiting for ``seconds`` without progress before its connection is
    closed."""

    def __init__(self, seconds: float, maximum: int) -> None:
        self._seconds, self._most = seconds, maximum
        self._open: dict[HeldConnection, None] = {}
        self._looking = False

    def __call__(
        self, config: Config, server_state: ServerState, **options: Any
    ) -> MeasuredConnection:
        """Creates a connection; uvicorn calls this as its protocol class."""
        return MeasuredConnection(self, config, server_state, **options)

    def add(self, connection: HeldConnection) -> None:
        """Registers a new connection. If there are ``maximum`` connections already, closes the
        oldest of those that wait for their client; if none does, closes the new connection."""
        if len(self._open) >= self._most:
            slow = next((held for held in self._open if held.waits), None)
            (slow or connection).end()
        self._open[connection] = None
        if not self._looking:
            self._look_later()

    def remove(self, connection: HeldConnection) -> None:
        """Forgets a closed connection."""
        self._open.pop(connection, None)

    def _look_later(self) -> None:
        self._looking = True
        asyncio.get_running_loop().call_later(self._seconds / _LOOKS, self._look)

    def _look(self) -> None:
        self._looking = False
        now = asyncio.get_running_loop().time()
        for connection in list(self._open):
            connection.look(now, self._seconds)
        if self._open:
            self._look_later()


class TooFast(Exception):
    """The client pipelined too many requests."""


class TooLong(Exception):
    """A request's head has more than ``LARGEST_HEAD`` bytes."""


class _Seen(NamedTuple):
    """The state of a connection when it last made progress, or was first looked at.

    ``waited`` is for how many seconds it has waited for its client since then, up to ``at``, when
    it was ``waiting`` or not.
    """

    stage: int
    received: int
    read: int
    waited: float
    waiting: bool
    at: float


class MeasuredConnection(HttpToolsProtocol):
    """A connection of uvicorn that measures the progress of its client."""

    def __init__(
        self, connections: Connections, config: Config, server_state: ServerState, **options: Any
    ) -> None:
        super().__init__(config, server_state, **options)
        self._connections = connections
        self._stage = 0  # grows with every header, body and answer
        self._received = 0  # bytes of bodies
        self._head = 0  # bytes of the head that the parser has handed over
        self._unparsed = 0  # bytes that arrived since, while a field was not complete
        self._refused = False
        self._in_head = self._in_body = False
        self._seen: _Seen | None = None

    @property
    def waits(self) -> bool:
        """Whether the server waits for the client to read, to ask or to send."""
        if self.flow.write_paused or self.transport.get_write_buffer_size():
            return True
        if self._in_body:
            return not self.flow.read_paused
        return not self.cycle or self.cycle.response_complete

    def end(self) -> None:
        """Closes the connection at once, without a response."""
        self._connections.remove(self)
        self.transport.abort()

    def look(self, now: float, seconds: float) -> None:
        """Closes the connection if its client has kept the server waiting for more than
        ``seconds`` without sending or reading 10 KB, or beginning something new. A client that
        read faster than it had to gets more time. ``now`` is the event loop's time."""
        acknowledged, waiting, before = self._read(), self.waits, self._seen
        if (
            before is None
            or before.stage != self._stage
            or self._received - before.received >= BYTES
        ):
            # Progress: something else is waited for, or a piece of the body has come. Time begins
            # again.
            self._seen = _Seen(self._stage, self._received, acknowledged, 0.0, waiting, now)
            return
        # Between two looks at which the server waited, it waited all the time, at worst.
        waited = before.waited + (now - before.at if waiting and before.waiting else 0.0)
        self._seen = before._replace(waited=waited, waiting=waiting, at=now)
        # An answer that was read faster than it had to be leaves time for a pause.
        ahead = (
            0
            if self._in_head or self._in_body
            else min(acknowledged - before.read, _CREDIT) // BYTES
        )
        if waiting and waited > seconds * (1 + ahead):
            self.end()

    def _read(self) -> int:
        """Returns the bytes that the client's system has acknowledged."""
        line = self.transport.get_extra_info("socket")
        try:
            info: bytes = line.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
            return int(_ACKNOWLEDGED.unpack_from(info, _ACKNOWLEDGED_AT)[0])
        except OSError:  # it is being closed
            return 0

    # --- called by asyncio --------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Registers the open connection."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(HIGH, LOW)
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forgets the connection, which either side has closed."""
        self._connections.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Counts the bytes that arrived, parses them, and refuses a head that is too large."""
        if self._refused:
            return
        if self._in_body:
            self._received += len(data)
        # httptools hands over whole fields only: what it holds back is counted here.
        before = self._stage, self._head
        super().data_received(data)
        grew = self._in_head and before == (self._stage, self._head)
        self._unparsed = self._unparsed + len(data) if grew else 0
        if self._head + self._unparsed > LARGEST_HEAD:
            self._refuse_head()

    def send_400_response(self, msg: str) -> None:
        """Answers where the parser stopped: 431 for a head that is too large, else 400."""
        if self._head > LARGEST_HEAD:
            self._refuse_head()
        else:
            super().send_400_response(msg)

    def _refuse_head(self) -> None:
        """Answers 431 and reads no more. Unread bytes would reset the connection and the client
        would lose the answer, so they are discarded until it closes or patience ends."""
        if self._refused or self.transport.is_closing():
            return
        self._refused = True
        if self.cycle and not self.cycle.response_complete:
            self.transport.close()  # it waits for another answer, which would be mixed with this
            return
        self.transport.write(_TOO_LONG)
        if self.transport.can_write_eof():
            self.transport.write_eof()
        else:
            self.transport.close()  # TLS throws away what comes until the client closes, too

    # --- called by the parser -----------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Begins the count of a request's head. Raises TooFast where too many are pipelined."""
        if len(self.pipeline) >= _AHEAD:
            raise TooFast  # answered 400
        self._in_head, self._head = True, 0
        self._stage += 1
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Counts a part of the request's address. Raises TooLong where the head is too large."""
        self._head += len(url)
        if self._head > LARGEST_HEAD:
            raise TooLong  # the parser stops, and calls ``send_400_response``
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Counts one field of the request's head. Ignores trailers, the fields after a body. Raises
        TooLong where the head is too large."""
        if self._in_head:
            self._head += len(name) + len(value) + _AROUND
            if self._head > LARGEST_HEAD:
                raise TooLong  # see above
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Notes that the head is complete and the body begins."""
        self._in_head, self._in_body = False, True
        self._stage += 1
        super().on_headers_complete()
        self.cycle.scope.setdefault("state", {})[WHOLE] = partial(_send_whole, self.cycle)

    def on_message_complete(self) -> None:
        """Notes that the body is complete."""
        self._in_body = False
        self._stage += 1
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Notes that the answer was handed over. The rest of the request's body, if it still
        comes, no longer counts as progress."""
        self._in_body = False
        self._stage += 1
        super().on_response_complete()


async def _send_whole(cycle: RequestResponseCycle, answer: EncodedAnswer) -> None:
    """Sends an answer to a POST in one piece.

    uvicorn searches every field of an answer for forbidden characters, and sends head and body
    apart, which is more work than to make the answer. ``answer.fields`` must have no such
    characters.
    """
    if cycle.flow.write_paused and not cycle.disconnected:
        await cycle.flow.drain()
    if cycle.disconnected:
        return
    # The state in which uvicorn's own ``send`` leaves a cycle: keep-alive and shutdown read it.
    cycle.response_started = cycle.response_complete = True
    cycle.waiting_for_100_continue = False
    cycle.message_event.set()
    parts = [STATUS_LINE[answer.status]]
    for name, value in cycle.default_headers:
        parts += name, b": ", value, b"\r\n"
    if not cycle.keep_alive:
        parts.append(b"connection: close\r\n")
    parts += answer.fields, b"content-length: %d\r\n\r\n" % len(answer.body), answer.body
    cycle.transport.write(b"".join(parts))
    if not cycle.keep_alive:
        cycle.transport.close()
    cycle.on_response()


def protocol(seconds: float, maximum: int) -> type[asyncio.Protocol]:
    """Returns uvicorn's protocol class, which holds at most ``maximum`` connections. It closes the
    connections of clients that keep the server waiting for more than ``seconds`` without
    progress."""
    # uvicorn only calls its protocol class, so an object that makes connections will do.
    return cast("type[asyncio.Protocol]", Connections(seconds, maximum))
