"""A load of requests over keep-alive connections, cheap enough to leave the server its core."""

from __future__ import annotations

import selectors
import socket
import time
from collections import deque
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

_END = b"\r\n\r\n"


class Load(NamedTuple):
    """What a round of load gave: requests answered with 201, and in how many seconds."""

    answered: int
    seconds: float

    @property
    def rate(self) -> float:
        return self.answered / self.seconds


def drive(port: int, requests: Iterable[bytes], connections: int, seconds: float) -> Load:
    """Send ``requests``, the next of a connection once the last was answered, for a while.

    Ends when the time is over or the requests are, and every answer has come. Raises
    RuntimeError for any answer but 201.
    """
    left = iter(requests)
    answered = 0
    with selectors.DefaultSelector() as selector:
        start = time.perf_counter()
        for request in islice(left, connections):
            opened = socket.create_connection(("127.0.0.1", port), timeout=10)
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            opened.sendall(request)
            selector.register(opened, selectors.EVENT_READ, bytearray())
        while selector.get_map():
            ready = selector.select(timeout=30)
            if not ready:
                raise RuntimeError("the server has not answered for 30 seconds")
            for key, _ in ready:
                connection, received = key.fileobj, key.data
                assert isinstance(connection, socket.socket)
                received += connection.recv(65536) or _broken()
                if not _complete(received):
                    continue
                received.clear()
                answered += 1
                following = next(left, None) if time.perf_counter() - start < seconds else None
                if following is None:
                    selector.unregister(connection)
                    connection.close()
                else:
                    connection.sendall(following)
        return Load(answered, time.perf_counter() - start)


def hold(port: int, requests: Iterable[bytes], connections: int, rate: float) -> list[float]:
    """Send ``requests``, so many a second whatever the server does; the seconds that each took.

    A request that finds no connection free waits, and its time counts from when it was due. Raises
    RuntimeError for any answer but 201.
    """
    left, took = iter(requests), list[float]()
    free = deque(
        socket.create_connection(("127.0.0.1", port), timeout=10) for _ in range(connections)
    )
    due: deque[tuple[float, bytes]] = deque()
    with selectors.DefaultSelector() as selector:
        following = next(left, None)
        start, number = time.perf_counter(), 0
        while following is not None or due or selector.get_map():
            now = time.perf_counter()
            while following is not None and start + number / rate <= now:
                due.append((start + number / rate, following))
                following, number = next(left, None), number + 1
            while due and free:
                since, request = due.popleft()
                opened = free.popleft()
                opened.sendall(request)
                selector.register(opened, selectors.EVENT_READ, (since, bytearray()))
            pause = max(0.0, start + number / rate - now) if following is not None else 30
            for key, _ in selector.select(timeout=pause):
                connection, (since, received) = key.fileobj, key.data
                assert isinstance(connection, socket.socket)
                received += connection.recv(65536) or _broken()
                if _complete(received):
                    took.append(time.perf_counter() - since)
                    selector.unregister(connection)
                    free.append(connection)
            if time.perf_counter() - now > 30:
                raise RuntimeError("the server has not answered for 30 seconds")
    for opened in free:
        opened.close()
    return took


def _complete(received: bytearray) -> bool:
    end = received.find(_END)
    if end < 0:
        return False
    if not received.startswith(b"HTTP/1.1 201"):
        raise RuntimeError(f"not stored: {bytes(received).decode(errors='replace')}")
    head = bytes(received[:end]).lower()
    length = int(head.partition(b"content-length:")[2].split(maxsplit=1)[0])
    return len(received) == end + len(_END) + length


def _broken() -> bytes:
    raise RuntimeError("the server closed a connection")
