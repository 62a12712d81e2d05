"""What a server may send: so much, so compressed, and in so much time; real servers that lie."""

from __future__ import annotations

import gzip
import json
import os
import threading
from collections.abc import Iterator
from functools import partial
from socket import socket
from typing import Any

import pytest
import requests

from deniably.core import bounded_http
from deniably.core.bounded_http import (
    answer_lines,
    bounded_session,
    check_no_redirect,
    read_answer,
)
from deniably.core.errors import BadInput
from support import hostile_http
from support.hostile_http import Answer, bomb, fixed, hostile_server, was_asked


def read(answer: Answer, most: int = 1 << 20, timeout: float = 20) -> bytes:
    with (
        hostile_server(answer) as url,
        bounded_session() as session,
        session.get(url, timeout=timeout, stream=True, allow_redirects=False) as response,
    ):
        check_no_redirect(response)
        return read_answer(response, most)


def test_an_answer_within_its_limits_is_read_whole() -> None:
    body = json.dumps(list(range(10_000))).encode()

    assert read(fixed(body)) == body
    assert read(fixed(body), most=len(body)) == body
    assert read(fixed(gzip.compress(body), b"Content-Encoding: gzip")) == body
    assert read(fixed(b"")) == b""


@pytest.mark.parametrize("answer", [hostile_http.endless, hostile_http.endless_until_closed])
def test_an_endless_answer_is_read_up_to_the_limit(answer: Answer) -> None:
    with pytest.raises(BadInput, match=r"^127.0.0.1:\d+: the server sends more than 1 MiB, .*look"):
        read(answer)


@pytest.mark.parametrize("most", [1 << 20, 1 << 40])
def test_a_bomb_is_stopped_by_its_size_or_its_ratio(most: int) -> None:
    with pytest.raises(BadInput, match=r"more than 1 MiB|200 times as large"):
        read(bomb(), most)


@pytest.mark.parametrize("encoding", [b"br", b"zstd", b"deflate", b"gzip, gzip", b"x"])
def test_only_the_compression_that_was_asked_for_is_undone(encoding: bytes) -> None:
    """A few bytes of Brotli can become gigabytes before anybody is asked."""
    with pytest.raises(BadInput, match="gzip was asked for"):
        read(fixed(b"xxxxxxxx", b"Content-Encoding: " + encoding))


@pytest.mark.parametrize(
    "answer", [hostile_http.dripping, hostile_http.dripping_head, hostile_http.dripping_chunk]
)
def test_a_byte_now_and_then_does_not_hold_a_request_up(answer: Answer) -> None:
    """Each byte comes within the timeout, which used to begin again with it."""
    with pytest.raises(requests.exceptions.Timeout):
        read(answer, timeout=0.5)


def test_what_comes_fast_enough_has_all_the_time_that_it_needs() -> None:
    """A second for each 32 KiB: here twice as fast, for longer than the timeout."""

    def steady(line: hostile_http.socket.socket) -> None:
        line.sendall(hostile_http.HEAD + b"Content-Length: %d\r\n\r\n" % (16 * 16_384))
        for _ in range(16):
            line.sendall(b" " * 16_384)
            hostile_http.time.sleep(0.1)

    assert len(read(steady, timeout=1)) == 16 * 16_384


def test_a_connection_that_is_kept_is_timed_anew_for_each_request() -> None:
    def twice(line: hostile_http.socket.socket) -> None:
        fixed(b"{}")(line)
        while was_asked(line):
            fixed(b"{}")(line)

    with hostile_server(twice) as url, bounded_session() as session:
        for _ in range(3):
            with session.get(url, timeout=0.5, stream=True) as response:
                assert read_answer(response, 10) == b"{}"
            hostile_http.time.sleep(0.4)


@pytest.mark.parametrize(
    "answer",
    [fixed(b"{}", length=100), fixed(gzip.compress(b"x" * 99)[:-9], b"Content-Encoding: gzip"),
     fixed(b"no gzip", b"Content-Encoding: gzip")],
)  # fmt: skip
def test_a_length_or_a_compression_that_is_wrong_is_an_error(answer: Answer) -> None:
    with pytest.raises(requests.RequestException):
        read(answer)


def test_more_than_the_length_says_is_not_read() -> None:
    assert read(fixed(b"{}and more", length=2)) == b"{}"


@pytest.mark.parametrize("status", [b"301 Moved", b"302 Found", b"307 Go", b"308 Go", b"304 No"])
def test_a_token_goes_nowhere_else(status: bytes) -> None:
    sent_on = fixed(b"", b"Location: http://127.0.0.1:9/\x1b[31m", status=status)

    with pytest.raises(BadInput, match="sends you on") as raised:
        read(sent_on)

    assert "\x1b" not in str(raised.value)


def test_the_body_of_a_redirect_is_not_read() -> None:
    """requests does, to find out where it leads."""

    def endless(line: hostile_http.socket.socket) -> None:
        line.sendall(b"HTTP/1.1 302 Found\r\nLocation: /\r\nConnection: close\r\n\r\n")
        for _ in range(400):
            line.sendall(b" " * (1 << 20))
            sent.append(1)

    sent = list[int]()
    with pytest.raises(BadInput, match="sends you on to /"):
        read(endless)

    assert len(sent) < 100


def test_lines_are_read_one_by_one_however_many_and_none_is_endless() -> None:
    def lines(answer: Answer) -> Iterator[bytes]:
        with (
            hostile_server(answer) as url,
            bounded_session() as session,
            session.get(url, timeout=20, stream=True) as response,
        ):
            yield from answer_lines(response, 1 << 16)

    some = [b"%d" % number * 9 for number in range(40_000)]
    assert list(lines(fixed(b"\n".join(some)))) == some
    assert list(lines(fixed(b"\n".join(some) + b"\n"))) == some
    with pytest.raises(BadInput, match="a line of more than 64 KiB"):
        list(lines(hostile_http.endless))


def test_an_old_connection_that_is_collected_keeps_no_new_one_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The collector may run whenever something is made: so also where a request is being begun."""
    old, new = bounded_http._Request(socket()), bounded_http._Request(socket())
    looks: list[threading.Thread] = []

    class Collecting(threading.Thread):
        def __init__(self, **options: Any) -> None:
            old.close()
            looks.append(self)
            super().__init__(**options)

    monkeypatch.setattr(bounded_http, "_WATCH", bounded_http._Watch())
    begin = threading.Thread(target=new.begin, args=(5,), daemon=True)
    monkeypatch.setattr(bounded_http.threading, "Thread", Collecting)
    begin.start()
    begin.join(20)

    assert not begin.is_alive()
    new.close()
    for each in looks:
        each.join(20)
    assert len(looks) == 1


def test_the_watch_survives_a_fork_and_ends_with_its_requests() -> None:
    assert read(fixed(b"{}")) == b"{}"
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        try:
            read(partial(hostile_http.dripping), timeout=0.3)
        except requests.Timeout:
            os.write(writing, b"in time")
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as told:
        assert told.read() == b"in time"
    os.waitpid(child, 0)
    hostile_http.time.sleep(0.5)
    assert "deniably-patience" not in {each.name for each in threading.enumerate()}
