"""Answers many small questions in one lasting worker process, which keeps what it has computed.

``worker_process`` forks a worker for each question, so every cache of a library ends with it. A
check of a draft takes a fraction of the time once such caches are full, and authors ask for one
after each change. Here the forking process keeps one worker, and hands it question after question.
Each question has its own limit of processor time. A worker that went beyond a limit, or died, is
replaced when the next question comes; it is forked from the forking process, which has no threads.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import NoReturn

from deniably_server.web.worker_process import (
    AT_LIMIT,
    BROKEN,
    DONE,
    LARGE,
    LONG,
    STARVED,
    Answerer,
    Bounds,
    WorkerProcess,
    begin_forker,
    limit_memory,
    receive,
    send,
)


def lasting_process(prepare: Callable[[], Answerer], seconds: float, clock: float) -> WorkerProcess:
    """Returns a process that answers question after question with one worker.

    ``prepare`` is called in the forking process before the first question, and returns the function
    that answers. Each question may take ``seconds`` of processor time, and ``clock`` seconds by the
    clock; the worker's memory is limited, too. Call this before the process has threads.
    """
    return WorkerProcess(prepare, seconds, clock, forker=_be_keeper)


def _be_keeper(
    line: socket.socket, prepare: Callable[[], Answerer], bounds: Bounds, niceness: int
) -> NoReturn:
    """Keep a worker, and ask it each question, until the serving process is gone."""
    with suppress(BaseException):
        begin_forker(line, niceness)
        answer: Answerer | None = None
        worker: _Worker | None = None
        try:
            while (question := receive(line)) is not None:
                # At the first question: a server whose authors ask nothing never pays for it.
                if answer is None:
                    answer = prepare()
                    gc.collect()
                    gc.freeze()  # keeps memory shared with the workers
                worker = worker or _Worker(answer, bounds)
                found = worker.ask(question, line)
                if not found.startswith(DONE):
                    worker.end()
                    worker = None
                send(line, found)
        finally:
            if worker is not None:
                worker.end()
    os._exit(0)


class _Worker:
    """The worker of a forking process."""

    def __init__(self, answer: Answerer, bounds: Bounds) -> None:
        self._clock = bounds.clock
        self._line, there = socket.socketpair()
        self._process = os.fork()
        if not self._process:
            self._line.close()  # the worker keeps its own end alone
            _be_worker(there, answer, bounds.processor)
        there.close()

    def ask(self, question: bytes, above: socket.socket) -> bytes:
        """Returns the worker's message: the answer after ``DONE``, or one of the other kinds (LONG,
        LARGE, STARVED, BROKEN), which says why there is none.

        ``above`` is the line to the serving process, which becomes readable when that is gone.
        """
        until, found = monotonic() + self._clock, None
        with suppress(OSError):  # it died before
            send(self._line, question)
            ready = select.select([self._line, above], [], [], max(0.0, until - monotonic()))[0]
            if not ready:
                return STARVED
            found = receive(self._line) if self._line in ready else None
        if found is not None:
            return found
        return LONG if self._signal() in AT_LIMIT else BROKEN

    def _signal(self) -> int | None:
        """Returns the signal that ended the worker; None where none did. Afterwards it is gone."""
        ended, status = os.waitpid(self._process, os.WNOHANG)
        if not ended:  # its line closes a moment before it is gone
            os.kill(self._process, signal.SIGKILL)
            _, status = os.waitpid(self._process, 0)
        self._process = 0
        return os.WTERMSIG(status) if os.WIFSIGNALED(status) else None

    def end(self) -> None:
        """Ends the worker, whatever it does."""
        self._line.close()
        if self._process:
            with suppress(ProcessLookupError):
                os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)


def _be_worker(line: socket.socket, answer: Answerer, seconds: float) -> NoReturn:
    with suppress(BaseException):
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        limit_memory()
        while (question := receive(line)) is not None:
            # It counts processor time alone, so a worker that waits for a question uses nothing up.
            signal.setitimer(signal.ITIMER_PROF, seconds)
            try:
                found = DONE + answer(question)
            except MemoryError:
                found = LARGE
            signal.setitimer(signal.ITIMER_PROF, 0)
            send(line, found)
    os._exit(0)
