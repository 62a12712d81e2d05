"""Costly work in a process of its own, so that nobody who answers a survey waits for it.

A thread would share the interpreter's lock with those who take reports; a process has its own, may
be given less of the machine, and can be ended in the middle of a sum. There are two: one that does
nothing but fork, from a moment at which there are no threads, and for each piece of work one that
it forks. That one ends with its work, and its memory with it.

A pool (concurrent.futures, Pebble) would fork from the process that serves, with its threads and
locks, or begin each piece of work by loading the application.

Nothing is left behind: where the process that asks is gone, whatever way it went, the pipe between
them ends, and the forking one ends its worker and itself.
"""

from __future__ import annotations

import gc
import os
import resource
import select
import signal
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import NoReturn

Answerer = Callable[[bytes], bytes]

_MEMORY = 1 << 30
"""Bytes that a piece of work may have for itself."""
_NICENESS = 10
"""What takes reports goes first."""
_LENGTH = struct.Struct("!Q")
_DONE, _SLOW, _BROKEN = b"d", b"s", b"b"
_FIRST_AFTER_STANDARD_STREAMS = 3


class Slow(Exception):
    """The work took longer, or more memory, than it may."""


class Broken(Exception):
    """The process that worked is gone, or failed."""


class Apart:
    """Does one piece of work at a time, in a process apart. ``prepare`` is called there, once it is
    needed, and gives what answers a question; ``seconds`` is what a piece of work may take.

    Make it before there are threads. It is asked by one thread at a time.
    """

    def __init__(self, prepare: Callable[[], Answerer], seconds: float) -> None:
        self._prepare, self._seconds = prepare, seconds
        self._line: socket.socket | None = None
        self._start()

    def ask(self, question: bytes) -> bytes:
        """The answer. Raises Slow, and Broken."""
        try:
            if self._line is None:
                self._start()
            assert self._line is not None
            _send(self._line, question)
            answer = _receive(self._line)
            if answer is None:
                raise Broken
        except (OSError, Broken) as error:
            self.close()
            raise Broken from error
        kind, rest = answer[:1], answer[1:]
        if kind == _DONE:
            return rest
        raise Slow if kind == _SLOW else Broken

    def close(self) -> None:
        """Let the processes go; they end by themselves. Asked again, there are new ones."""
        if self._line is not None:
            self._line.close()
            self._line = None

    def _start(self) -> None:
        here, there = socket.socketpair()
        if not os.fork():
            _be_forker(there, self._prepare, self._seconds)
        there.close()
        self._line = here


def _be_forker(line: socket.socket, prepare: Callable[[], Answerer], seconds: float) -> NoReturn:
    """Fork for each question, until whoever asks is gone."""
    with suppress(BaseException):
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_IGN)  # it ends with who asks
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        with suppress(OSError):  # a sandbox may forbid it
            os.nice(_NICENESS)
        _let_go_of_all_but(line.fileno())
        answer: Answerer | None = None
        while (question := _receive(line)) is not None:
            if answer is None:
                answer = prepare()
                gc.collect()
                gc.freeze()  # what is shared stays shared
            _send(line, _worked(line, answer, question, seconds))
    os._exit(0)


def _worked(line: socket.socket, answer: Answerer, question: bytes, seconds: float) -> bytes:
    """What a process of its own makes of the question, with its kind in front."""
    result, there = os.pipe()
    worker = os.fork()
    if not worker:
        _be_worker(there, answer, question, seconds)
    os.close(there)
    try:
        return _waited_for(result, line, seconds)
    finally:
        os.close(result)
        with suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)
        os.waitpid(worker, 0)


def _waited_for(result: int, line: socket.socket, seconds: float) -> bytes:
    until, parts = monotonic() + seconds, list[bytes]()
    while True:
        left = until - monotonic()
        ready = select.select([result, line.fileno()], [], [], max(0.0, left))[0]
        if not ready:
            return _SLOW
        if line.fileno() in ready:  # who asks is gone: it asks one thing at a time
            return _BROKEN
        if result in ready:
            part = os.read(result, 1 << 20)
            if not part:
                return b"".join(parts) or _BROKEN
            parts.append(part)


def _be_worker(there: int, answer: Answerer, question: bytes, seconds: float) -> NoReturn:
    with suppress(BaseException):
        _limit(seconds)
        try:
            found = _DONE + answer(question)
        except MemoryError:
            found = _SLOW
        with open(there, "wb") as out:
            out.write(found)
    os._exit(0)


def _limit(seconds: float) -> None:
    """What bounds it even where nobody watches."""
    most = int(seconds) + 2
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (used + _MEMORY, used + _MEMORY))
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")  # where memory is short, this goes first


def _let_go_of_all_but(kept: int) -> None:
    """Of the sockets and locks of who asks; a copy would keep them from ending."""
    most = os.sysconf("SC_OPEN_MAX")
    os.closerange(_FIRST_AFTER_STANDARD_STREAMS, kept)
    os.closerange(kept + 1, most)


def _send(line: socket.socket, message: bytes) -> None:
    line.sendall(_LENGTH.pack(len(message)) + message)


def _receive(line: socket.socket) -> bytes | None:
    """The next message; None where the other side is gone."""
    head = _exactly(line, _LENGTH.size)
    return None if head is None else _exactly(line, _LENGTH.unpack(head)[0])


def _exactly(line: socket.socket, size: int) -> bytes | None:
    found = bytearray()
    while len(found) < size:
        part = line.recv(min(size - len(found), 1 << 20))
        if not part:
            return None
        found += part
    return bytes(found)
