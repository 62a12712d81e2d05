"""TLS on the connections of phones, which counts and ends slow handshakes as it does slow heads.

asyncio makes a connection known only after its handshake, and gives that a minute. Until then it
would count against no limit. So a connection begins here without TLS, and goes on with it.
Connections of this machine itself, by its loopback address, have none.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from ipaddress import ip_address
from ssl import SSLContext
from typing import TYPE_CHECKING, Any, cast

from deniably_server.wire.patience import HIGH, LOW, Connections, MeasuredConnection

if TYPE_CHECKING:
    from uvicorn.config import Config
    from uvicorn.server import ServerState


class Handshake(asyncio.Protocol):
    """A connection during its TLS handshake. Afterwards the protocol ``then`` handles the
    connection."""

    waits = True
    """Whether the server waits for the client: always, during a handshake."""

    def __init__(
        self,
        connections: Connections,
        then: MeasuredConnection,
        context: SSLContext,
        seconds: float,
    ) -> None:
        self._connections, self._then = connections, then
        self._context, self._seconds = context, seconds
        self._early, self._ended, self._lost, self._done = b"", False, False, False

    def end(self) -> None:
        """Closes the connection at once, without a response."""
        self._connections.remove(self)
        self._transport.abort()

    def look(self, now: float, seconds: float) -> None:
        """Does nothing, because the handshake itself ends after the same number of seconds."""

    # --- called by asyncio --------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begins the handshake; on a loopback address, goes on without TLS."""
        self._transport = cast(asyncio.Transport, transport)
        if ip_address(transport.get_extra_info("sockname")[0]).is_loopback:
            self._transport.set_protocol(self._then)
            self._then.connection_made(self._transport)
            return
        self._transport.pause_reading()  # the first bytes are for TLS
        self._transport.set_write_buffer_limits(HIGH, LOW)
        self._task = asyncio.get_running_loop().create_task(self._agree())
        self._connections.add(self)

    def data_received(self, data: bytes) -> None:
        """Keeps the first bytes of a request, which may come together with the end of the
        handshake."""
        self._early += data

    def eof_received(self) -> None:
        """Notes that the client ended its side of the connection before the handshake was over."""
        self._ended = True

    def connection_lost(self, exc: Exception | None) -> None:
        """Forgets the connection, which either side has closed."""
        self._lost = True
        self._connections.remove(self)
        if self._done:
            self._then.connection_lost(exc)
        else:
            self._task.cancel()

    async def _agree(self) -> None:
        loop = asyncio.get_running_loop()
        secured = None
        with suppress(OSError):  # TLS has errors of this class, too
            secured = await loop.start_tls(
                self._transport, self, self._context, server_side=True,
                ssl_handshake_timeout=self._seconds, ssl_shutdown_timeout=self._seconds,
            )  # fmt: skip
        self._connections.remove(self)  # before ``then`` is added: it is one connection, not two
        if secured is None or self._lost:
            self._transport.abort()
            return
        self._done = True
        secured.set_protocol(self._then)
        self._then.connection_made(secured)
        if self._early:
            self._then.data_received(self._early)
        if self._ended:
            secured.close()


class TlsConnections:
    """A callable that makes a server's TLS connections. uvicorn gets it in place of a protocol
    class."""

    def __init__(self, connections: Connections, context: SSLContext, seconds: float) -> None:
        self._connections, self._context, self._seconds = connections, context, seconds

    def __call__(self, config: Config, server_state: ServerState, **options: Any) -> Handshake:
        """Creates a connection, which begins with a handshake."""
        then = self._connections(config, server_state, **options)
        return Handshake(self._connections, then, self._context, self._seconds)


def secured(
    connections: type[asyncio.Protocol], context: SSLContext, seconds: float
) -> type[asyncio.Protocol]:
    """Returns a protocol class whose connections begin with a TLS handshake of at most
    ``seconds``. After the handshake they are connections of ``connections``, which
    ``patience.protocol`` returned."""
    tls_connections = TlsConnections(cast(Connections, connections), context, seconds)
    return cast("type[asyncio.Protocol]", tls_connections)
