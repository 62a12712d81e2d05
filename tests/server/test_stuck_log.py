"""A log that takes nothing more holds nobody up."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest
import requests

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
