"""Runs the server's processes, each with uvicorn around the application.

uvicorn's logs are off, because they would contain client addresses.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import multiprocessing
import os
import resource
import signal
import socket
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from logging.handlers import QueueHandler, QueueListener
from multiprocessing.context import ForkProcess
from multiprocessing.util import Finalize
from pathlib import Path
from queue import Queue
from ssl import SSLContext
from time import monotonic
from types import FrameType
from typing import cast

import click
from flask import Flask
from uvicorn import Config, Server

from deniably_server.api.cached_views import answerer, use_file_queue, use_queue
from deniably_server.api.computation_queue import ComputationQueue
from deniably_server.api.quick_checks import CheckTurns, checker, use_checks
from deniably_server.app import create_app
from deniably_server.layers import server_layers
from deniably_server.order_erasure_thread import erase_order_after_closings
from deniably_server.storage.engines.database_urls import await_database, engine_at
from deniably_server.storage.store import Store
from deniably_server.watching.journal import Faults, Form, Journal
from deniably_server.watching.metrics import Metrics
from deniably_server.watching.periodic import every_minute
from deniably_server.watching.shared_folder import shared_folder
from deniably_server.web.check_process import lasting_process
from deniably_server.web.worker_process import Answerer, WorkerProcess

_PATIENCE = 8
"""Seconds that a process has to finish accepted requests when the server stops."""
_LEAVE = 2
"""Further seconds until a process is killed."""
_TICK = 0.1
"""Seconds between two looks for connections while a process stops."""
_SOON = 5
"""Seconds. A replacement process that ends sooner has a fault that would repeat."""
_BACKLOG = 1024
"""The kernel's queue of connections that are not yet accepted."""
_AHEAD = 1 << 16
"""The kernel's send buffer for each connection, in bytes."""
_CONNECTIONS = 4096
"""The number of open connections of a process; each needs a file descriptor."""
_FILES = 256
"""The number of a process's other file descriptors."""
_WORKERS = "deniably_workers"
"""The extension of the application that computes: for everybody, for holders of tokens alone, files
of reports, and checks of drafts."""
_STAY = 60
"""Seconds that a request stays for a computation that has begun, at least: on a busy machine one
takes many times its processor time. Then it is refused, and finds the answer when it comes back."""
_FILE, _FILES_AWAITED, _FOR_FILES = 20, 16, 15
"""To make a file of reports may take so many times as long as a result; so many requests wait for
files that are made; and the process that makes them steps back so far."""
_CHECK, _CHECK_BY_CLOCK = 2, 30
"""A check of a draft may take so many seconds of processor time, and so many by the clock: on a
busy machine the process steps back for those that take reports."""
_FOR_HOLDERS = 5
"""How far the process of holders steps back; that of everybody steps back further."""
_LINES = 10_000
"""The number of lines about faults that wait for a log that takes none; further ones are lost."""
_NOTHING = logging.CRITICAL + 1
"""Turns off the logs of uvicorn and asyncio, which would contain client addresses."""


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
            held.listen(_BACKLOG)
            stack.pop_all()  # it listens: from here on the caller closes it
    except OSError as error:
        mend = "; choose another one with --port" if error.errno == errno.EADDRINUSE else ""
        raise AddressTaken(
            f"cannot listen on {host}, port {port}: {error.strerror}{mend}"
        ) from None
    return held


def serve(
    config: Mapping[str, object], held: Sequence[socket.socket], tls: SSLContext | None = None
) -> None:
    """Serves on the listening sockets ``held`` until a signal to stop; accepted requests are
    finished and stored first.

    ``config`` has the settings by their names in capitals. With ``tls``, all connections except
    those from this machine speak TLS. Raises SystemExit where processes keep crashing.
    """
    workers = cast(int, config["WORKERS"])
    with ExitStack() as stack:
        shared = None
        if workers > 1:
            shared = _shared(stack, "counts", "/metrics has the counts of one process")
        files = _shared(stack, "reports", "each process makes files of reports for itself")
        try:
            _Processes(lambda: _work(config, held, tls, shared, files)).keep(workers)
        finally:
            # Closing the last connection merges SQLite's log into the file.
            database = str(config["DATABASE"])
            with suppress(OSError, *engine_at(database).errors):  # the database may be gone
                Store(database).close()


def _shared(stack: ExitStack, purpose: str, otherwise: str) -> Path | None:
    """Returns a folder for several processes; None, with a warning, if there is none."""
    try:
        return stack.enter_context(shared_folder(purpose))
    except OSError as error:
        click.echo(f"{otherwise}: {error.strerror}", err=True)
        return None


# --- processes ----------------------------------------------------------------------------------


class _Processes:
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
        until = monotonic() + _PATIENCE + _LEAVE
        for process in self._begun:
            process.terminate()
        for process in self._begun:
            # All share one deadline, so stopping lasts no longer with many processes.
            process.join(max(0, until - monotonic()))
            process.kill()
            process.join()


def _follow_parent() -> None:
    """Stop this process when its parent dies, so that no orphan goes on serving."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def run() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=run, name="deniably-parent", daemon=True).start()


# --- one process --------------------------------------------------------------------------------


def _work(
    config: Mapping[str, object], held: Sequence[socket.socket], tls: SSLContext | None,
    shared: Path | None, files: Path | None,
) -> None:  # fmt: skip
    """Serve the application in this process until a signal to stop."""
    patience = cast(int, config["PATIENCE"])
    app = _application(config, shared, files)
    _follow_parent()
    outer = server_layers(app, cast(int, config["THREADS"]), patience, _most_connections(), tls)
    settings = Config(
        outer.app,
        http=outer.http,
        loop="asyncio",
        ws="none",
        interface="asgi3",
        lifespan="off",
        log_config=None,
        log_level=_NOTHING,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # guard.client_network decides which proxies to trust
        backlog=_BACKLOG,
        timeout_keep_alive=patience,
        timeout_graceful_shutdown=_PATIENCE,
    )
    logging.getLogger("asyncio").setLevel(_NOTHING)
    workers: Sequence[WorkerProcess] = app.extensions.get(_WORKERS, ())

    def end_computations() -> None:
        for worker in workers:
            worker.end()

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


def _most_connections() -> int:
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


def _application(config: Mapping[str, object], shared: Path | None, files: Path | None) -> Flask:
    """Creates the application of this server process, with its background threads."""
    longest = cast(int, config["LONGEST"])
    prepare = partial(_answers, config, files)
    worker = WorkerProcess(prepare, longest)  # it forks: before threads
    reserved = WorkerProcess(prepare, longest, niceness=_FOR_HOLDERS)
    maker = WorkerProcess(prepare, _FILE * longest, niceness=_FOR_FILES)
    checks = lasting_process(partial(_checks, config), _CHECK, _CHECK_BY_CLOCK)
    form = cast(Form, config["LOG"])
    _log_faults(form, by_thread=True)
    journal, metrics = Journal(form), Metrics(shared)
    every_minute(journal.write, metrics.count)
    await_database(str(config["DATABASE"]))
    app = create_app(config, journal, metrics, files=files)
    queue = ComputationQueue(
        worker.ask,
        longest,
        max(1, cast(int, config["THREADS"]) // 4),  # each that waits holds a thread
        reserved=reserved.ask,
        stay=max(_STAY, 2 * longest),
        observe=metrics.computation,
    )
    use_queue(app, queue)
    making = ComputationQueue(
        maker.ask, _FILE * longest, _FILES_AWAITED, observe=metrics.computation
    )
    if files is not None:  # else each process has a folder of its own
        use_file_queue(app, making)
    use_checks(app, CheckTurns(checks.ask, max(1, cast(int, config["THREADS"]) // 4)))
    metrics.watch_lengths(lambda: Counter(queue.lengths()) + Counter(making.lengths()))
    app.extensions[_WORKERS] = (worker, reserved, maker, checks)
    erase_order_after_closings(app.extensions["deniably"])
    return app


def _answers(config: Mapping[str, object], files: Path | None) -> Answerer:
    """Create what computes results, in the process that does nothing else."""
    _log_faults(cast(Form, config["LOG"]))
    await_database(str(config["DATABASE"]))
    return answerer(create_app(config, files=files))


def _checks(config: Mapping[str, object]) -> Answerer:
    """Create what checks drafts, in the process that does nothing else."""
    _log_faults(cast(Form, config["LOG"]))
    return checker()


def _log_faults(form: Form, *, by_thread: bool = False) -> None:
    """Logs to stderr. The process that answers does it ``by_thread``: where a pipe is full, or a
    terminal is stopped, the line of one fault would hold up every answer."""
    logging.raiseExceptions = False  # if the log is not writable, neither is an error about it
    handler: logging.Handler = logging.StreamHandler()
    if by_thread:
        lines = Queue[object](_LINES)
        listener = QueueListener(lines, handler)
        listener.start()
        # A forked process ends without handlers of ``atexit``, but calls this.
        Finalize(None, listener.stop, exitpriority=0)
        handler = QueueHandler(lines)
    # Before the queue: that makes a text of what it takes, with what an exception says in it.
    handler.setFormatter(Faults(form))
    log = logging.getLogger("deniably")
    log.handlers = [handler]
    log.propagate = False
