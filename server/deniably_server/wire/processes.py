"""Forks the processes of a server, and replaces those that die."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from multiprocessing.context import ForkProcess
from time import monotonic

from deniably_server.wire import uvicorn_server

_LEAVE = 2
"""Further seconds until a process is killed."""
_SOON = 5
"""Seconds. A replacement process that ends sooner has a fault that would repeat."""


class Processes:
    """Forks processes that do the same ``work``, and replaces those that die."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._begun: dict[ForkProcess, float] = {}
        # A signal that the parent shell ignores stays ignored: ``nohup`` does so with SIGHUP.
        stop_signals = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        self._stops = {
            each for each in stop_signals if signal.getsignal(each) is not signal.SIG_IGN
        }

    def keep(self, count: int) -> None:
        """Keeps ``count`` processes running until a signal to stop.

        Raises SystemExit where a replacement dies within ``_SOON`` seconds.
        """
        # sigwait instead of handlers: no signal interrupts at the wrong time.
        awaited = {*self._stops, signal.SIGCHLD}
        before = signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
        try:
            for _ in range(count):
                self._begin(first=True)
            while signal.sigwait(awaited) is signal.SIGCHLD:
                # One SIGCHLD may stand for several processes, so all are looked at.
                for process in [process for process in self._begun if not process.is_alive()]:
                    if monotonic() - self._begun.pop(process) < _SOON:
                        raise SystemExit(1)
                    self._begin()
        finally:
            self._end()
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _begin(self, *, first: bool = False) -> None:
        # By fork, because ``work`` is a closure over listening sockets, which cannot be pickled.
        process = multiprocessing.get_context("fork").Process(target=self._be)
        process.start()
        # A first process that dies soon may have been killed, and is replaced. If its replacement
        # dies soon, too, something is wrong that would repeat.
        self._begun[process] = float("-inf") if first else monotonic()

    def _be(self) -> None:
        """Do the work, in the forked process."""
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the parent gets it and stops this process
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {*self._stops, signal.SIGCHLD})
        self._work()

    def _end(self) -> None:
        until = monotonic() + uvicorn_server.PATIENCE + _LEAVE
        for process in self._begun:
            process.terminate()
        for process in self._begun:
            # All share one deadline, so stopping lasts no longer with many processes.
            process.join(max(0, until - monotonic()))
            process.kill()
            process.join()


def follow_parent() -> None:
    """Stop this process when its parent dies, so that no orphan goes on serving."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def run() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=run, name="deniably-parent", daemon=True).start()
