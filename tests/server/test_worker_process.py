"""The process that computes: how it is ended, and what it may take."""

from __future__ import annotations

import os
import resource
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from deniably_server.web.worker_process import (
    Answerer,
    Starved,
    WorkerFailed,
    WorkerProcess,
    generous,
)
from support.crowd import PATIENCE, until

NOBODY = 65534


def begun_then_sleep(file: bytes) -> bytes:
    Path(file.decode()).touch()
    time.sleep(10 * PATIENCE)
    return b""


def test_who_asks_a_process_that_is_ended_fails_at_once(tmp_path: Path) -> None:
    worker = WorkerProcess(lambda: begun_then_sleep, 10 * PATIENCE)

    with ThreadPoolExecutor(1) as thread:
        asked = thread.submit(worker.ask, bytes(tmp_path / "begun"))
        until((tmp_path / "begun").exists)
        worker.end()
        with pytest.raises(WorkerFailed):
            asked.result(PATIENCE)
    with pytest.raises(WorkerFailed):
        worker.ask(b"")


def slept(seconds: bytes) -> bytes:
    time.sleep(float(seconds))
    return b"done"


def test_time_in_which_the_machine_does_something_else_is_not_that_of_the_work() -> None:
    """The limit is on processor time; that by the clock is far above, and says what it is."""
    with closing(WorkerProcess(lambda: slept, 0.2)) as worker:
        assert worker.ask(b"0.6") == b"done"
    with closing(WorkerProcess(lambda: slept, 30, clock=2)) as worker:
        with pytest.raises(Starved):
            worker.ask(b"60")
        assert worker.ask(b"0") == b"done"


def test_the_time_by_the_clock_is_generous() -> None:
    assert generous(30) == 300
    assert generous(1) == 60


def allowed_less_than_a_piece_of_work() -> Answerer:
    """What answers where the system allows less memory and time, and nobody may ask for more."""
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[5])
    memory = pages * resource.getpagesize() + (1 << 29)  # more than the tests before have reserved
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
    if os.geteuid() == 0:
        os.setuid(NOBODY)
    return bytes.upper


def test_it_answers_where_the_system_allows_less_than_it_would() -> None:
    with closing(WorkerProcess(allowed_less_than_a_piece_of_work, 30)) as worker:
        assert worker.ask(b"yes") == b"YES"
