"""A log that takes nothing more holds nobody up."""

from __future__ import annotations

import io
import logging
import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import requests

from deniably_server.watching import fault_log
from support.crowd import until
from support.material import Process, Server, a_report, survey_named
from support.nursery import the_nursery

SURVEY = survey_named()


@pytest.mark.slow
def test_a_fault_that_cannot_be_logged_holds_up_no_answer(database: Path, tmp_path: Path) -> None:
    """As where a terminal is stopped, or who reads the log is."""
    errors = tmp_path / "errors"
    os.mkfifo(errors)
    pipe = os.open(errors, os.O_RDWR | os.O_NONBLOCK)

    def begin(arguments: list[str], out: Path) -> Process:
        return the_nursery().begin(arguments, out, errors)

    server = Server(database, begin=begin)
    try:
        server.publish(SURVEY)
        assert server.post(SURVEY, a_report(SURVEY)).status_code == 201
        with suppress(BlockingIOError):
            while True:
                os.write(pipe, bytes(4096))
        for file in database.parent.glob(f"{database.name}*"):  # the disk goes bad
            file.write_bytes(b"x" * file.stat().st_size)
        for _ in range(3):
            assert server.post(SURVEY, a_report(SURVEY)).status_code == 500
        assert requests.get(f"{server.url}/healthz", timeout=20).status_code == 200
    finally:
        server.kill()
        os.close(pipe)


@pytest.mark.parametrize("by_thread", [False, True])
def test_what_an_exception_says_stays_out_of_the_log(
    by_thread: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may hold what a client sent. By a thread or not, a line is what the server calls it."""
    log, written = logging.getLogger("deniably"), io.StringIO()
    for name in ("handlers", "propagate"):
        monkeypatch.setattr(log, name, getattr(log, name))
    monkeypatch.setattr(logging, "raiseExceptions", logging.raiseExceptions)
    monkeypatch.setattr(sys, "stderr", written)
    fault_log.log_faults("text", by_thread=by_thread)

    try:
        raise ValueError("what a client sent")
    except ValueError:
        log.exception("%s", "a fault")
    until(lambda: written.getvalue().endswith("\n"))

    assert written.getvalue() == "ERROR a fault\n"
