"""Runs uvicorn in one process, around layers that answer its requests.

uvicorn's logs are off, because they would contain client addresses.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType
from typing import NamedTuple

from uvicorn import Config, Server

from deniably_server.wire.bridge import Bridge
from deniably_server.wire.listening import BACKLOG

PATIENCE = 8
"""Seconds that a process has to finish accepted requests when the server stops."""
_TICK = 0.1
"""Seconds between two looks for connections while a process stops."""
_CONNECTIONS = 4096
"""The number of open connections of a process; each needs a file descriptor."""
_FILES = 256
"""The number of a process's other file descriptors."""
_NOTHING = logging.CRITICAL + 1
"""Turns off the logs of uvicorn and asyncio, which would contain client addresses."""


class ServerLayers(NamedTuple):
    """The arguments for uvicorn: ``http`` makes connections, ``app`` answers their requests."""

    http: type[asyncio.Protocol]
    app: Bridge


def run_until_stopped(
    layers: ServerLayers,
    held: Sequence[socket.socket],
    patience: int,
    end_computations: Callable[[], None] = lambda: None,
) -> None:
    """Serves on the listening sockets ``held`` in this process until a signal to stop; accepted
    requests are finished first.

    ``patience`` is the seconds that a connection may stay idle. ``end_computations`` is called when
    nobody waits for what is computed any more.
    """
    settings = Config(
        layers.app,
        http=layers.http,
        loop="asyncio",
        ws="none",
        interface="asgi3",
        lifespan="off",
        log_config=None,
        log_level=_NOTHING,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # guard.client_network decides which proxies to trust
        backlog=BACKLOG,
        timeout_keep_alive=patience,
        timeout_graceful_shutdown=PATIENCE,
    )
    logging.getLogger("asyncio").setLevel(_NOTHING)
    server = _Stopping(settings, end_computations)

    def stop(number: int, frame: FrameType | None) -> None:
        """Handle a signal before uvicorn has started; later, uvicorn handles it and raises it here
        again, which must do nothing."""
        if not server.started:
            raise SystemExit(0)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    server.run([*held])


class _Stopping(Server):
    """Ends connections that come up while it stops, too, and what is computed for nobody.

    A connection that was accepted just before is made after uvicorn has gone through them. Its
    client would go on sending until time is up, and then get a 500. A computation whose client is
    gone would go on until time is up.
    """

    def __init__(self, config: Config, end_computations: Callable[[], None]) -> None:
        super().__init__(config)
        self._end_computations = end_computations

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        ending = asyncio.create_task(self._end_connections())
        try:
            await super().shutdown(sockets)
        finally:
            ending.cancel()
            self._end_computations()

    async def _end_connections(self) -> None:
        while True:
            await asyncio.sleep(_TICK)
            for connection in list(self.server_state.connections):
                connection.shutdown()
            if not self.server_state.connections:
                self._end_computations()


def most_connections() -> int:
    """Returns the limit on connections: ``_CONNECTIONS``, or fewer where the system allows fewer
    files."""
    files, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = _CONNECTIONS + _FILES
    if files < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        with suppress(OSError):  # a sandbox may forbid it
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            files = soft
    # Where there are hardly more files than ``_FILES``, half of them are for connections.
    return min(_CONNECTIONS, max(files - _FILES, files // 2))
