"""A server that answers every request as a test says: endless, a byte at a time, or with lies."""

from __future__ import annotations

import gzip
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache

MOST = 400 << 20
"""Bytes of an endless body: what reads it to its end is found out, and this machine lives on."""
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
Answer = Callable[[socket.socket], None]


@contextmanager
def hostile_server(answer: Answer) -> Iterator[str]:
    """The address of a server on a free port."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                line, _ = listening.accept()
                threading.Thread(target=_one, args=(line, answer), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()


def _one(line: socket.socket, answer: Answer) -> None:
    with line, suppress(OSError):
        if was_asked(line):
            answer(line)


def was_asked(line: socket.socket) -> bool:
    """Whether a request came before the end. A thread that waited on beyond it would be busy with
    that until the last test."""
    while piece := line.recv(65536):
        if b"\r\n\r\n" in piece:
            return True
    return False


def fixed(body: bytes, *headers: bytes, length: int | None = None, status: bytes = b"") -> Answer:
    """A body with a Content-Length, its own or another."""

    def send(line: socket.socket) -> None:
        size = len(body) if length is None else length
        head = HEAD.replace(b"200 OK", status or b"200 OK")
        fields = b"".join(header + b"\r\n" for header in headers)
        line.sendall(head + fields + b"Content-Length: %d\r\n\r\n" % size + body)

    return send


def endless(line: socket.socket) -> None:
    """A body without an end: a chunk of 1 MB after another."""
    line.sendall(HEAD + b"Deniably-Reports: 5\r\nTransfer-Encoding: chunked\r\n\r\n")
    piece = b" " * (1 << 20)
    for _ in range(MOST >> 20):
        line.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))


def endless_until_closed(line: socket.socket) -> None:
    """The same, without chunks and length."""
    line.sendall(HEAD + b"Connection: close\r\n\r\n")
    for _ in range(MOST >> 20):
        line.sendall(b" " * (1 << 20))


def dripping(line: socket.socket, first: bytes = HEAD + b"\r\n", count: int = 100) -> None:
    """``count`` bytes, ten a second; then the connection is closed in order."""
    line.sendall(first)
    for _ in range(count):
        time.sleep(0.1)
        line.sendall(b"1")


def dripping_head(line: socket.socket) -> None:
    """So slow is the header already."""
    dripping(line, b"HTTP/1.1 200 OK\r\nX: ")


def dripping_chunk(line: socket.socket) -> None:
    """So slow is a chunk of which all was promised."""
    dripping(line, HEAD + b"Transfer-Encoding: chunked\r\n\r\nfffff\r\n")


@cache
def bomb() -> Answer:
    """100 MB of spaces, in some 100 KB of gzip."""
    return fixed(gzip.compress(b" " * (100 << 20), 6), b"Content-Encoding: gzip")
