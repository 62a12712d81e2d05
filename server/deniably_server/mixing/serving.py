"""Runs a mixer: one process around its application, which another one replaces if it dies."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import cast

from deniably_server.mixing.app import create_mixer
from deniably_server.mixing.batch_thread import make_batches_after_closings
from deniably_server.mixing.server_thread import attend_servers
from deniably_server.order_erasure_thread import erase_order_after_closings
from deniably_server.storage.engines.database_urls import await_database, engine_at
from deniably_server.storage.mixer_store import MixerStore
from deniably_server.watching.fault_log import log_faults
from deniably_server.watching.journal import Form, Journal
from deniably_server.watching.periodic import every_minute
from deniably_server.wire.bridge import Bridge
from deniably_server.wire.patience import protocol
from deniably_server.wire.processes import Processes, follow_parent
from deniably_server.wire.uvicorn_server import (
    ServerLayers,
    most_connections,
    run_until_stopped,
)


def serve_mixer(config: Mapping[str, object], held: Sequence[socket.socket]) -> None:
    """Serves a mixer on the listening sockets ``held`` until a signal to stop; accepted envelopes
    are stored first.

    ``config`` has the settings by their names in capitals. Raises SystemExit where the process
    keeps crashing.
    """
    try:
        Processes(lambda: _work(config, held)).keep(1)
    finally:
        # Closing the last connection merges SQLite's log into the file.
        database = str(config["DATABASE"])
        with suppress(OSError, *engine_at(database, mixer=True).errors):
            MixerStore(database).close()


def _work(config: Mapping[str, object], held: Sequence[socket.socket]) -> None:
    """Serve the application in this process until a signal to stop."""
    form, patience = cast(Form, config["LOG"]), cast(int, config["PATIENCE"])
    log_faults(form, by_thread=True)
    journal = Journal(form)
    every_minute(journal.write)
    await_database(str(config["DATABASE"]))
    store = MixerStore(str(config["DATABASE"]))
    app = create_mixer(config, store, journal.add)
    make_batches_after_closings(store)
    attend_servers(store)
    erase_order_after_closings(store)
    follow_parent()
    bridge = Bridge(app, cast(int, config["THREADS"]), _never, _no_other_way)
    run_until_stopped(ServerLayers(protocol(patience, most_connections()), bridge), held, patience)


def _never(method: str, path: str) -> bool:
    """No body of a mixer's is read as it arrives."""
    return False


def _no_other_way(*_: object) -> None:
    """Every request takes a thread."""
