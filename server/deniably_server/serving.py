"""Running the server: granian around the application, without a word about who asks."""

from __future__ import annotations

import logging
import signal
import socket
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import cast

import click
from flask import Flask
from granian import Granian
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings

from deniably_server.app import create_app
from deniably_server.guard.slow import SlowBodies
from deniably_server.results.costly import answerer, take_turns
from deniably_server.results.turns import Turns
from deniably_server.storage.addresses import await_database, engine_at
from deniably_server.storage.store import Store
from deniably_server.tidier import keep_tidy
from deniably_server.watching.folder import shared_folder
from deniably_server.watching.journal import Faults, Form, Journal
from deniably_server.watching.metrics import Metrics
from deniably_server.watching.minute import every_minute
from deniably_server.web.apart import Answerer, Apart

_PATIENCE = 8
"""Seconds that a process gets to finish what it accepted. Requests take milliseconds, but a
process that is told to stop just when it starts may not hear of it."""


# Limits of granian, with their reasons; those of bodies are in ``slow`` and ``body``. The setting
# ``patience`` is the time for a head, and for the next one of a connection that is kept: a slow
# phone needs two or three seconds. Who trickles a head holds no thread, only a connection.
_BUFFER = 1 << 16
"""Bytes of a connection that wait to be read. A head that is longer is answered 431; ours have less
than 2 KB. Of a body the rest waits with its sender."""
_BACKLOG = 1024
"""Connections that the kernel holds until they are accepted."""
_CONNECTIONS = 1024
"""Connections that a process has at once; more wait in the backlog."""


class AddressTaken(Exception):
    """The address cannot be listened on."""


def claim(host: str, port: int) -> socket.socket:
    """A socket that holds the address until granian listens there, and tells the real port.

    granian shares its port between its own processes, and so would a second server with another
    file: half of the reports would go to each. Binding first, unshared, finds that out.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            free = probe.getsockname()
        held = socket.socket(family, kind, protocol)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.bind(free)
    except OSError as error:
        raise AddressTaken(f"cannot listen on {host}, port {port}: {error.strerror}") from None
    return held


def serve(config: Mapping[str, object], address: tuple[str, int]) -> None:
    """Serve until a signal says stop; what was accepted is finished and stored."""
    host, port = address
    patience = cast(int, config["PATIENCE"])
    server = Granian(
        target="deniably_server",
        address=host,
        port=port,
        interface=Interfaces.WSGI,
        http=HTTPModes.http1,
        websockets=False,
        backlog=_BACKLOG,
        backpressure=_CONNECTIONS,
        http1_settings=HTTP1Settings(
            header_read_timeout=patience * 1000, keep_alive=True, max_buffer_size=_BUFFER
        ),
        workers=cast(int, config["WORKERS"]),
        blocking_threads=cast(int, config["THREADS"]),
        respawn_failed_workers=True,
        workers_kill_timeout=_PATIENCE,
        log_enabled=False,  # its log has room for addresses; ours has not
        log_access=False,
    )
    with ExitStack() as stack:
        shared = _shared(stack) if cast(int, config["WORKERS"]) > 1 else None
        try:
            load = partial(_application, dict(config), port, shared)
            server.serve(target_loader=load, wrap_loader=False)
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


def _application(config: Mapping[str, object], port: int, shared: Path | None) -> Flask:
    """The application of one server process, made in that process."""
    longest = cast(int, config["LONGEST"])
    apart = Apart(partial(_answers, config), longest)  # before there are threads
    # Until granian listens for them here, the parent's handlers would swallow these.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_DFL)
    form = cast(Form, config["LOG"])
    _log_faults(form)
    journal, metrics = Journal(form), Metrics(shared)
    every_minute(journal.write, metrics.count)
    await_database(str(config["DATABASE"]))
    app = create_app(config, journal, metrics)
    take_turns(app, Turns(apart.ask, longest, most=max(1, cast(int, config["THREADS"]) // 4)))
    keep_tidy(app.extensions["deniably"])
    slow = SlowBodies(app.wsgi_app, port, cast(int, config["PATIENCE"]))
    slow.watch()
    app.wsgi_app = slow  # type: ignore[method-assign]
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
