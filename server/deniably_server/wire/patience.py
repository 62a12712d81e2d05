"""Connections that keep us waiting are ended; nobody else notices.

uvicorn bounds how long a connection may be idle, and nothing else. One rule bounds the rest: within
the seconds of our patience a head is there as a whole, and 10 KB of a body have come or of an
answer have gone, or else the connection is ended. While a request is worked on nobody is waited
for. Where there are as many connections as there may be, a new one takes the place of the oldest
that keeps us waiting. (A proxy in front does the same; but a survey is often served without one, on
a machine of the author's.)
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    from uvicorn.config import Config
    from uvicorn.server import ServerState

BYTES = 10_000
LARGEST_HEAD = 1 << 16
"""Bytes; ours have less than 2 KB."""
_HIGH, _LOW = 1 << 14, 1 << 12
"""Bytes of an answer that wait to be sent: above the first we wait for who reads, until the second
is reached. Between them are more than ``BYTES``."""
_LOOKS = 10
"""How often to look while patience lasts."""
_AHEAD = 8
"""Requests that a connection may send before the first is answered. Nobody needs more."""
_TOO_LONG = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"Connection: close\r\nContent-Length: 0\r\n\r\n"
)


class Connections:
    """Those of a process, from the oldest to the newest."""

    def __init__(self, seconds: float, most: int) -> None:
        self._seconds, self._most = seconds, most
        self._open: dict[Connection, None] = {}
        self._looking = False

    def __call__(self, config: Config, server_state: ServerState, **more: Any) -> Connection:
        """A new one, as uvicorn makes them."""
        return Connection(self, config, server_state, **more)

    def add(self, connection: Connection) -> None:
        """One more is open."""
        if len(self._open) >= self._most:
            slow = next((each for each in self._open if each.waits), None)
            (slow or connection).end()
        self._open[connection] = None
        if not self._looking:
            self._look_later()

    def remove(self, connection: Connection) -> None:
        """It is closed."""
        self._open.pop(connection, None)

    def _look_later(self) -> None:
        self._looking = True
        asyncio.get_running_loop().call_later(self._seconds / _LOOKS, self._look)

    def _look(self) -> None:
        self._looking = False
        now = asyncio.get_running_loop().time()
        for each in list(self._open):
            each.look(now, self._seconds)
        if self._open:
            self._look_later()


class TooFast(Exception):
    """Too many requests were sent ahead."""


class _Seen(NamedTuple):
    """Where a connection was when we began to wait for it."""

    stage: int
    moved: int
    since: float


class Connection(HttpToolsProtocol):
    """A connection of uvicorn's that knows whom it waits for."""

    def __init__(
        self, connections: Connections, config: Config, server_state: ServerState, **more: Any
    ) -> None:
        super().__init__(config, server_state, **more)
        self._among = connections
        self._stage = 0  # a new one with every head, body and answer
        self._moved = 0  # bytes of bodies and answers, at least
        self._head = 0  # bytes of a head that is not complete
        self._in_head = self._in_body = False
        self._seen: _Seen | None = None

    @property
    def waits(self) -> bool:
        """Whether it waits for the other side: to read, to ask, or to go on sending."""
        if self.flow.write_paused or self.transport.get_write_buffer_size():
            return True
        if self._in_body:
            return not self.flow.read_paused
        return not self.cycle or self.cycle.response_complete

    def end(self) -> None:
        """Now, without a word."""
        self._among.remove(self)
        self.transport.abort()

    def look(self, now: float, seconds: float) -> None:
        """End it if it has kept us waiting for so many seconds."""
        if not self.waits:
            self._seen = None
        elif (
            self._seen is None
            or self._seen.stage != self._stage
            or self._moved - self._seen.moved >= BYTES
        ):
            self._seen = _Seen(self._stage, self._moved, now)
        elif now - self._seen.since > seconds:
            self.end()

    # --- what asyncio tells -------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """It is open."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(_HIGH, _LOW)
        self._among.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is closed, by whomever."""
        self._among.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        if self._in_body:
            self._moved += len(data)
        super().data_received(data)
        self._head = self._head + len(data) if self._in_head else 0
        if self._head > LARGEST_HEAD and not self.transport.is_closing():
            if not self.cycle or self.cycle.response_complete:
                self.transport.write(_TOO_LONG)
            self.transport.close()

    def resume_writing(self) -> None:
        """What waited to be sent is sent but for a rest."""
        self._moved += _HIGH - _LOW
        super().resume_writing()

    # --- what the parser tells ----------------------------------------------------------------

    def on_message_begin(self) -> None:
        """A head begins."""
        if len(self.pipeline) >= _AHEAD:
            raise TooFast  # answered 400
        self._in_head = True
        self._stage += 1
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A field of a head. One after a body (a trailer) is nothing that anybody asks for."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """A head is complete."""
        self._in_head, self._in_body = False, True
        self._stage += 1
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """A body is complete."""
        self._in_body = False
        self._stage += 1
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """An answer is on its way. What still comes of the body counts for nothing."""
        self._in_body = False
        self._stage += 1
        super().on_response_complete()


def protocol(seconds: float, most: int) -> type[asyncio.Protocol]:
    """What uvicorn makes its connections by: patient for so many seconds, and at most so many."""
    return cast("type[asyncio.Protocol]", Connections(seconds, most))
