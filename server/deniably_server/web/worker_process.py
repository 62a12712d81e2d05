"""Does costly work in a separate process, so that respondents do not wait for it.

A thread would share the interpreter's lock with the threads that take reports. A process has its
own, runs at lower priority, and can be killed in the middle of a computation. A forking process is
made before there are threads. It forks one worker for each piece of work, and the worker's memory
is freed when it ends. What a worker had to import is imported for all that come later: a library
of statistics takes longer than most results.

A pool (concurrent.futures, Pebble) would fork from the serving process, with its threads and locks,
or load the application for each piece of work.

The limit is on processor time: at lower priority on a busy machine a second of work may take a
minute. A limit on the time by the clock is far above it, and only ends what waits for ever.

No process is left behind: when the serving process ends in any way, its socket closes, and the
forking process kills its worker and exits.
"""

from __future__ import annotations

import gc
import importlib
import os
import resource
import select
import signal
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import NamedTuple, NoReturn

Answerer = Callable[[bytes], bytes]

MEMORY = 1 << 30
"""Bytes of memory that a piece of work may use."""
_NICENESS = 10
"""The priority (as of ``nice``) of costly work: taking reports comes first."""
_GENEROUS, _FEWEST_BY_CLOCK = 10, 60
"""The limit by the clock is so many times that of processor time, and at least so many seconds."""
_LENGTH = struct.Struct("!Q")
DONE, LONG, LARGE, STARVED, BROKEN = b"d", b"l", b"m", b"s", b"b"
"""The first byte of a worker's message: DONE stands before the answer; the others say that there is
none, because of processor time, memory, the clock, or the worker's end."""
AT_LIMIT = {signal.SIGPROF, signal.SIGXCPU}
"""The signals that end a process at its limit of processor time."""
_FIRST_AFTER_STANDARD_STREAMS = 3


class TookTooLong(Exception):
    """The work took more processor time than its limit."""


class TookTooMuchMemory(Exception):
    """The work took more memory than its limit."""


class Starved(Exception):
    """The work was not done in time by the clock, within its limit of processor time: the machine
    is busy, or the database slow."""


class WorkerFailed(Exception):
    """The worker process failed or ended."""


_FAILURES = {LONG: TookTooLong, LARGE: TookTooMuchMemory, STARVED: Starved}


class Bounds(NamedTuple):
    """The limits of a piece of work, in seconds: ``processor`` of processor time, ``clock`` by the
    clock."""

    processor: float
    clock: float


Forker = Callable[[socket.socket, Callable[[], Answerer], Bounds, int], NoReturn]
"""Runs as the forking process, and never returns: answers the questions that come over the socket.

It gets the socket, what prepares the function that answers, the limits, and the niceness."""


def generous(processor: float) -> float:
    """Returns the limit by the clock, in seconds, that goes with a limit of ``processor`` seconds
    of processor time."""
    return max(_FEWEST_BY_CLOCK, _GENEROUS * processor)


class WorkerProcess:
    """A separate process that answers one question (bytes) at a time.

    Each answer may take ``seconds`` of processor time, and ``clock`` seconds by the clock, by
    default far more. ``prepare`` is called in the new process before the first question and
    returns the function that answers. ``niceness`` is added to the process's priority value, so
    that 0 gives it the priority of the serving process. ``forker`` is the main function of the new
    process; the default forks a worker for each question. Create this before there are threads,
    and call ``ask`` from one thread at a time.
    """

    def __init__(
        self,
        prepare: Callable[[], Answerer],
        seconds: float,
        clock: float | None = None,
        niceness: int = _NICENESS,
        forker: Forker | None = None,
    ) -> None:
        self._prepare, self._niceness = prepare, niceness
        self._forker = forker or _be_forker
        self._bounds = Bounds(seconds, generous(seconds) if clock is None else clock)
        self._line: socket.socket | None = None
        self._ended = False
        self._start()

    def ask(self, question: bytes) -> bytes:
        """Returns the worker's answer to a question.

        Raises TookTooLong beyond the limit of processor time, TookTooMuchMemory beyond ``MEMORY``,
        Starved beyond the limit by the clock, and WorkerFailed where a process failed or was ended.
        """
        try:
            if self._line is None:
                self._start()
            assert self._line is not None
            if self._ended:  # asked after the start: ``end`` may have found no line to cut
                raise WorkerFailed
            send(self._line, question)
            answer = receive(self._line)
            if answer is None:
                raise WorkerFailed
        except (OSError, WorkerFailed) as error:
            self.close()
            raise WorkerFailed from error
        kind, body = answer[:1], answer[1:]
        if kind == DONE:
            return body
        raise _FAILURES.get(kind, WorkerFailed)

    def end(self) -> None:
        """Ends the processes for good. Any thread may call this, also while another one waits in
        ``ask``. Every ``ask`` then raises WorkerFailed."""
        self._ended = True
        if (line := self._line) is not None:
            with suppress(OSError):  # it was just closed
                line.shutdown(socket.SHUT_RDWR)  # unlike close, this wakes a thread that reads

    def close(self) -> None:
        """Ends the processes. The next ``ask`` starts new ones."""
        if self._line is not None:
            self._line.close()
            self._line = None

    def _start(self) -> None:
        own_end, child_end = socket.socketpair()
        if not os.fork():
            # The child, which never comes back from here.
            self._forker(child_end, self._prepare, self._bounds, self._niceness)
        child_end.close()  # else the line would stay open when the forker ends
        self._line = own_end


def _be_forker(
    line: socket.socket, prepare: Callable[[], Answerer], bounds: Bounds, niceness: int
) -> NoReturn:
    """Forks a worker for each question, until the serving process is gone."""
    with suppress(BaseException):
        begin_forker(line, niceness)
        answer: Answerer | None = None
        while (question := receive(line)) is not None:
            if answer is None:
                answer = prepare()
                gc.collect()
                gc.freeze()  # keeps memory shared with the workers
            message, imported = _parted(_worked(line, answer, question, bounds))
            send(line, message)
            _import(imported)
    os._exit(0)  # no cleanup: locks and buffers are copies of the serving process's


def begin_forker(line: socket.socket, niceness: int) -> None:
    """Prepares a forking process: ignores the signals that end the serving process, lowers the
    priority to ``niceness``, and closes all inherited files and sockets but ``line``.

    The process then ends when the serving process closes its end of ``line``.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    # The serving process may ignore it; then waitpid would find no child.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with suppress(OSError):  # a sandbox may forbid it
        os.nice(niceness)
    _let_go_of_all_but(line.fileno())


def _parted(message: bytes) -> tuple[bytes, list[str]]:
    """Splits a worker's message into the answer with its kind, and the names of the modules that
    the worker imported."""
    if not message.startswith(DONE):
        return message, []
    start = len(DONE) + _LENGTH.size
    end = start + _LENGTH.unpack(message[len(DONE) : start])[0]
    return DONE + message[end:], message[start:end].decode().split()


def _import(names: list[str]) -> None:
    for name in names:
        with suppress(Exception):  # then a worker imports it again
            importlib.import_module(name)
    if names:
        gc.collect()
        gc.freeze()


def _worked(line: socket.socket, answer: Answerer, question: bytes, bounds: Bounds) -> bytes:
    """Returns the message of a new worker: its kind, what it imported, and its answer."""
    # A pipe for each worker: its end shows that the worker is gone, whatever ended it.
    read_end, write_end = os.pipe()
    worker = os.fork()
    if not worker:
        _be_worker(write_end, answer, question, bounds.processor)
    os.close(write_end)  # else the pipe would not end with the worker
    try:
        message = _waited_for(read_end, line, bounds.clock)
    finally:
        os.close(read_end)
        with suppress(ProcessLookupError):
            # Whatever it still does: its message is complete, or it is too late.
            os.kill(worker, signal.SIGKILL)
        _, status = os.waitpid(worker, 0)
    ended = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    return LONG if message == BROKEN and ended in AT_LIMIT else message


def _waited_for(read_end: int, line: socket.socket, seconds: float) -> bytes:
    until, parts = monotonic() + seconds, list[bytes]()
    while True:
        remaining = until - monotonic()
        ready = select.select([read_end, line.fileno()], [], [], max(0.0, remaining))[0]
        if not ready:
            return STARVED
        if line.fileno() in ready:  # the serving process is gone: it asks one question at a time
            return BROKEN
        if read_end in ready:
            part = os.read(read_end, 1 << 20)
            if not part:
                return b"".join(parts) or BROKEN
            parts.append(part)


def _be_worker(write_end: int, answer: Answerer, question: bytes, seconds: float) -> NoReturn:
    with suppress(BaseException):
        _limit(seconds)
        before = set(sys.modules)
        try:
            answered = answer(question)
            imported = " ".join(name for name in sys.modules if name not in before).encode()
            message = b"".join((DONE, _LENGTH.pack(len(imported)), imported, answered))
        except MemoryError:
            message = LARGE
        with open(write_end, "wb") as out:
            out.write(message)
    os._exit(0)


def _limit(seconds: float) -> None:
    """Limits processor time and memory, even if the forking process is gone.

    The timer counts the processor time of all threads, and parts of seconds; its signal ends the
    process. The system's own limit, in whole seconds, is for code that takes the signal.
    """
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    # Later than the timer, so that the timer decides where nothing holds its signal back.
    _allow(resource.RLIMIT_CPU, int(seconds) + 2)
    limit_memory()


def limit_memory() -> None:
    """Limits this process to ``MEMORY`` more bytes of memory than it has reserved now."""
    _allow(resource.RLIMIT_DATA, _reserved() + MEMORY)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")  # if memory is short, this is killed first


def _allow(kind: int, limit: int) -> None:
    """Limits a resource to ``limit``, or to less where the system allows only that."""
    _, hard = resource.getrlimit(kind)
    limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(kind, (limit, limit))


def _reserved() -> int:
    """Bytes of memory that this process has reserved: what the limit counts, used or not."""
    with open("/proc/self/statm") as fields:
        return int(fields.read().split()[5]) * resource.getpagesize()


def _let_go_of_all_but(descriptor: int) -> None:
    """Closes the inherited sockets and locks; a copy would keep them open."""
    maximum = os.sysconf("SC_OPEN_MAX")
    os.closerange(_FIRST_AFTER_STANDARD_STREAMS, descriptor)
    os.closerange(descriptor + 1, maximum)


def send(line: socket.socket, message: bytes) -> None:
    """Sends one message to the other process: its length in 8 bytes, then its bytes."""
    line.sendall(_LENGTH.pack(len(message)) + message)


def receive(line: socket.socket) -> bytes | None:
    """Returns the next message that ``send`` sent; None if the other process is gone."""
    head = _exactly(line, _LENGTH.size)
    return None if head is None else _exactly(line, _LENGTH.unpack(head)[0])


def _exactly(line: socket.socket, size: int) -> bytes | None:
    received = bytearray()
    while len(received) < size:
        part = line.recv(min(size - len(received), 1 << 20))
        if not part:
            return None
        received += part
    return bytes(received)
