"""Running the server: its processes, each of them uvicorn around the application, without a word
about who asks."""

from __future__ import annotations

import logging
import multiprocessing
import os
import resource
import signal
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from multiprocessing.context import ForkProcess
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import cast

import click
from flask import Flask
from uvicorn import Config, Server

from deniably_server.api.computation_queue import ComputationQueue
from deniably_server.api.costly import answerer, use_queue
from deniably_server.app import create_app
from deniably_server.layers import server_layers
from deniably_server.order_eraser import erase_order_after_closings
from deniably_server.storage.engines.addresses import await_database, engine_at
from deniably_server.storage.store import Store
from deniably_server.watching.folder import shared_folder
from deniably_server.watching.journal import Faults, Form, Journal
from deniably_server.watching.metrics import Metrics
from deniably_server.watching.periodic import every_minute
from deniably_server.web.worker_process import Answerer, WorkerProcess

_PATIENCE = 8
"""Seconds that a process gets to finish what it accepted."""
_LEAVE = 2
"""Seconds more to leave, before it is killed."""
_SOON = 5
"""Seconds: a process that takes the place of another and ends so soon has a fault that repeats."""
_BACKLOG = 1024
"""Connections that the kernel holds until they are accepted."""
_AHEAD = 1 << 16
"""Bytes that the kernel takes of an answer, for a connection, while nobody reads them."""
_CONNECTIONS = 4096
"""Connections that a process has at once, each of which has a file."""
_FILES = 256
"""Files that a process has besides."""
_NOTHING = logging.CRITICAL + 1
"""The level of uvicorn's and asyncio's logs, which have room for addresses; ours has not."""


class AddressTaken(Exception):
    """The address cannot be listened on."""


def claim(host: str, port: int) -> socket.socket:
    """A socket that listens on the address, and knows the real port; all processes share it.

    Raises AddressTaken.
    """
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with ExitStack() as stack:
            held = stack.enter_context(socket.socket(family, kind, number))
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            held.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _AHEAD)
            held.bind(address)
            held.listen(_BACKLOG)
            stack.pop_all()
    except OSError as error:
        raise AddressTaken(f"cannot listen on {host}, port {port}: {error.strerror}") from None
    return held


def serve(config: Mapping[str, object], held: socket.socket) -> None:
    """Serve until a signal says stop; what was accepted is finished and stored. Raises SystemExit
    where the processes end again and again."""
    workers = cast(int, config["WORKERS"])
    with ExitStack() as stack:
        shared = _shared(stack) if workers > 1 else None
        try:
            _Processes(lambda: _work(config, held, shared)).keep(workers)
        finally:
            # The last connection to leave folds SQLite's log into the file.
            database = str(config["DATABASE"])
            with suppress(OSError, *engine_at(database).errors):  # it may be gone before us
                Store(database).close()


def _shared(stack: ExitStack) -> Path | None:
    """The folder in which several processes keep what they count. None where there can be none:
    they work without, too."""
    try:
        return stack.enter_context(shared_folder())
    except OSError as error:
        click.echo(f"/metrics has the counts of one process: {error.strerror}", err=True)
        return None


# --- processes ----------------------------------------------------------------------------------


class _Processes:
    """Forks of this one that do the same ``work``. One that dies is replaced."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._begun: dict[ForkProcess, float] = {}
        wanted = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        self._stops = {each for each in wanted if signal.getsignal(each) is not signal.SIG_IGN}

    def keep(self, count: int) -> None:
        """Keep so many until a signal says stop. Raises SystemExit where one that took the place of
        another dies soon."""
        # Waited for instead of handled, no signal comes at the wrong time.
        awaited = {*self._stops, signal.SIGCHLD}
        before = signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
        try:
            for _ in range(count):
                self._begin(first=True)
            while signal.sigwait(awaited) is signal.SIGCHLD:
                for each in [each for each in self._begun if not each.is_alive()]:
                    if monotonic() - self._begun.pop(each) < _SOON:
                        raise SystemExit(1)
                    self._begin()
        finally:
            self._end()
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _begin(self, *, first: bool = False) -> None:
        process = multiprocessing.get_context("fork").Process(target=self._be)
        process.start()
        self._begun[process] = float("-inf") if first else monotonic()

    def _be(self) -> None:
        """The work, in a process of its own."""
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # its parent has it, too
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {*self._stops, signal.SIGCHLD})
        self._work()

    def _end(self) -> None:
        until = monotonic() + _PATIENCE + _LEAVE
        for each in self._begun:
            each.terminate()
        for each in self._begun:
            each.join(max(0, until - monotonic()))
            each.kill()
            each.join()


def _follow_parent() -> None:
    """Stop where the parent was killed, so that nobody serves whom nobody looks after."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def run() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=run, name="deniably-parent", daemon=True).start()


# --- one process --------------------------------------------------------------------------------


def _work(config: Mapping[str, object], held: socket.socket, shared: Path | None) -> None:
    """Serve the application in this process, until it is told to stop."""
    patience = cast(int, config["PATIENCE"])
    app = _application(config, shared)
    _follow_parent()
    outer = server_layers(app, cast(int, config["THREADS"]), patience, _most_connections())
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
        proxy_headers=False,  # our limits know better whom to believe
        backlog=_BACKLOG,
        timeout_keep_alive=patience,
        timeout_graceful_shutdown=_PATIENCE,
    )
    logging.getLogger("asyncio").setLevel(_NOTHING)
    server = Server(settings)

    def stop(number: int, frame: FrameType | None) -> None:
        """Before uvicorn listens for signals and after: it raises anew those that it had."""
        if not server.started:
            raise SystemExit(0)

    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, stop)
    server.run([held])


def _most_connections() -> int:
    """As many as there can be, up to those that we want."""
    files, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _CONNECTIONS + _FILES
    if files < wanted:
        more = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with suppress(OSError):  # a sandbox may forbid it
            resource.setrlimit(resource.RLIMIT_NOFILE, (more, hard))
            files = more
    return min(_CONNECTIONS, max(files - _FILES, files // 2))


def _application(config: Mapping[str, object], shared: Path | None) -> Flask:
    """The application of one server process, made in that process."""
    longest = cast(int, config["LONGEST"])
    worker = WorkerProcess(partial(_answers, config), longest)  # before there are threads
    form = cast(Form, config["LOG"])
    _log_faults(form)
    journal, metrics = Journal(form), Metrics(shared)
    every_minute(journal.write, metrics.count)
    await_database(str(config["DATABASE"]))
    app = create_app(config, journal, metrics)
    use_queue(
        app, ComputationQueue(worker.ask, longest, most=max(1, cast(int, config["THREADS"]) // 4))
    )
    erase_order_after_closings(app.extensions["deniably"])
    return app


def _answers(config: Mapping[str, object]) -> Answerer:
    """What computes results, in the process that does nothing else."""
    _log_faults(cast(Form, config["LOG"]))
    await_database(str(config["DATABASE"]))
    return answerer(create_app(config))


def _log_faults(form: Form) -> None:
    logging.raiseExceptions = False  # where the log cannot be written to, nobody reads why
    handler = logging.StreamHandler()  # to stderr
    handler.setFormatter(Faults(form))
    log = logging.getLogger("deniably")
    log.handlers = [handler]
    log.propagate = False
