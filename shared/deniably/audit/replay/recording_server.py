"""Serves HTTP on this machine, and records every byte that is asked of it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import responses

_PIECE = 1 << 16
_END = b"\r\n\r\n"


@dataclass(frozen=True)
class Asked:
    """A request as its bytes arrived.

    It has the parts of its first line, its headers in their order and spelling, and its body.
    """

    method: str
    target: str
    version: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


@dataclass(frozen=True)
class Reply:
    """An answer of the recording server: status, body and headers."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] | None = None


def read_request(head: bytes, body: bytes) -> Asked:
    """Returns the request in these bytes. Text is decoded as Latin-1, so that no byte is lost."""
    first, *lines = head.decode("latin-1").split("\r\n")
    method, _, rest = first.partition(" ")
    target, _, version = rest.rpartition(" ")
    headers = tuple((name, value[1:]) for name, _, value in (line.partition(":") for line in lines))
    return Asked(method, target, version, headers, body)


class Loopback:
    """A server in a thread of its own, as a context manager.

    ``reply(request)`` returns the answer to each request; ``asked`` has all requests so far.
    """

    def __init__(self, reply: Callable[[Asked], Reply]) -> None:
        self.asked: list[Asked] = []
        self._reply = reply
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self._server.getsockname()
        self.url = f"http://127.0.0.1:{self.address[1]}"

    def __enter__(self) -> Loopback:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # wakes whoever waits in accept
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._server.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        # Without it the kernel delays small answers, and an audit makes thousands of requests.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection, suppress(OSError, ValueError):
            come = b""
            while True:
                while _END not in come:
                    if not (piece := connection.recv(_PIECE)):
                        return
                    come += piece
                head, _, come = come.partition(_END)
                size = _size(head)
                while len(come) < size:
                    if not (piece := connection.recv(_PIECE)):
                        return
                    come += piece
                request = read_request(head, come[:size])
                come = come[size:]
                self.asked.append(request)
                connection.sendall(_bytes(self._reply(request)))


def _size(head: bytes) -> int:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


def _bytes(reply: Reply) -> bytes:
    lines = [f"HTTP/1.1 {reply.status} {responses.get(reply.status, '')}"]
    headers = {"Content-Length": str(len(reply.body)), **(reply.headers or {})}
    # A 304 has no body, whatever its length says; a client would wait for one.
    if reply.status == 304:
        del headers["Content-Length"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + _END + reply.body
