"""Runs the server's processes, each with the application, and what computes for it."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from ssl import SSLContext
from typing import cast

import click
from flask import Flask

from deniably_server.api.batch_taking import BatchTaker, taking, use_taker
from deniably_server.api.cached_views import answerer, use_file_queue, use_queue
from deniably_server.api.computation_queue import ComputationQueue
from deniably_server.api.quick_checks import CheckTurns, checker, use_checks
from deniably_server.app import create_app
from deniably_server.layers import server_layers
from deniably_server.order_erasure_thread import erase_order_after_closings
from deniably_server.storage.engines.database_urls import await_database, engine_at
from deniably_server.storage.store import Store
from deniably_server.watching.fault_log import log_faults
from deniably_server.watching.journal import Form, Journal
from deniably_server.watching.metrics import Metrics
from deniably_server.watching.periodic import every_minute
from deniably_server.watching.shared_folder import shared_folder
from deniably_server.web.check_process import lasting_process
from deniably_server.web.worker_process import Answerer, WorkerProcess
from deniably_server.wire.processes import Processes, follow_parent
from deniably_server.wire.uvicorn_server import most_connections, run_until_stopped

_WORKERS = "deniably_workers"
"""The extension of the application that computes: for everybody, for holders of tokens alone, files
of reports, the batches of mixers, and checks of drafts."""
_STAY = 60
"""Seconds that a request stays for a computation that has begun, at least: on a busy machine one
takes many times its processor time. Then it is refused, and finds the answer when it comes back."""
_FILE, _FILES_AWAITED, _FOR_FILES = 20, 16, 15
"""To make a file of reports may take so many times as long as a result; so many requests wait for
files that are made; and the process that makes them steps back so far."""
_CHECK, _CHECK_BY_CLOCK = 2, 30
"""A check of a draft may take so many seconds of processor time, and so many by the clock: on a
busy machine the process steps back for those that take reports."""
_BATCH = 3600
"""Seconds of processor time that it may take to open a mixer's batch: the largest takes minutes."""
_FOR_HOLDERS = 5
"""How far the process of holders steps back; that of everybody steps back further."""


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
            Processes(lambda: _work(config, held, tls, shared, files)).keep(workers)
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


# --- one process --------------------------------------------------------------------------------


def _work(
    config: Mapping[str, object], held: Sequence[socket.socket], tls: SSLContext | None,
    shared: Path | None, files: Path | None,
) -> None:  # fmt: skip
    """Serve the application in this process until a signal to stop."""
    patience = cast(int, config["PATIENCE"])
    app = _application(config, shared, files)
    follow_parent()
    layers = server_layers(app, cast(int, config["THREADS"]), patience, most_connections(), tls)
    workers: Sequence[WorkerProcess] = app.extensions.get(_WORKERS, ())

    def end_computations() -> None:
        for worker in workers:
            worker.end()

    run_until_stopped(layers, held, patience, end_computations)


def _application(config: Mapping[str, object], shared: Path | None, files: Path | None) -> Flask:
    """Creates the application of this server process, with its background threads."""
    longest = cast(int, config["LONGEST"])
    prepare = partial(_answers, config, files)
    worker = WorkerProcess(prepare, longest)  # it forks: before threads
    reserved = WorkerProcess(prepare, longest, niceness=_FOR_HOLDERS)
    maker = WorkerProcess(prepare, _FILE * longest, niceness=_FOR_FILES)
    taker = WorkerProcess(partial(_takes, config), _BATCH, niceness=_FOR_FILES)
    checks = lasting_process(partial(_checks, config), _CHECK, _CHECK_BY_CLOCK)
    form = cast(Form, config["LOG"])
    log_faults(form, by_thread=True)
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
    use_taker(app, BatchTaker(app.extensions["deniably"], taker.ask))
    app.extensions[_WORKERS] = (worker, reserved, maker, taker, checks)
    erase_order_after_closings(app.extensions["deniably"])
    return app


def _answers(config: Mapping[str, object], files: Path | None) -> Answerer:
    """Create what computes results, in the process that does nothing else."""
    log_faults(cast(Form, config["LOG"]))
    await_database(str(config["DATABASE"]))
    return answerer(create_app(config, files=files))


def _takes(config: Mapping[str, object]) -> Answerer:
    """Create what takes the batches of mixers, in the process that does nothing else."""
    log_faults(cast(Form, config["LOG"]))
    await_database(str(config["DATABASE"]))
    return taking(Store(str(config["DATABASE"])))


def _checks(config: Mapping[str, object]) -> Answerer:
    """Create what checks drafts, in the process that does nothing else."""
    log_faults(cast(Form, config["LOG"]))
    return checker()
