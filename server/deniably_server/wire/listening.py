"""Opens the sockets that a server listens on, before its processes are forked."""

from __future__ import annotations

import errno
import socket
from contextlib import ExitStack

BACKLOG = 1024
"""The kernel's queue of connections that are not yet accepted."""
_AHEAD = 1 << 16
"""The kernel's send buffer for each connection, in bytes."""


class AddressTaken(Exception):
    """The server cannot listen on the address; the text says why."""


def claim(host: str, port: int) -> socket.socket:
    """Opens a socket that listens on the address; all processes share it.

    With ``port`` 0 the system picks a free port, which ``getsockname`` of the socket returns.
    Raises AddressTaken where the address is in use, or is not one of this machine.
    """
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with ExitStack() as stack:
            held = stack.enter_context(socket.socket(family, kind, number))
            # A restart need not wait for old connections to time out (TIME_WAIT).
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            # Linux gives the size to every connection that this socket accepts.
            held.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _AHEAD)
            held.bind(address)
            held.listen(BACKLOG)
            stack.pop_all()  # it listens: from here on the caller closes it
    except OSError as error:
        mend = "; choose another one with --port" if error.errno == errno.EADDRINUSE else ""
        raise AddressTaken(
            f"cannot listen on {host}, port {port}: {error.strerror}{mend}"
        ) from None
    return held
