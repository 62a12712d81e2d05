"""The lasting process: it keeps what it computed, and is a new one after a limit or a death."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from deniably_server.web.check_process import lasting_process
from deniably_server.web.worker_process import (
    MEMORY,
    Answerer,
    Starved,
    TookTooLong,
    TookTooMuchMemory,
    WorkerFailed,
    WorkerProcess,
)
from support.crowd import PATIENCE, until

SEEN: list[bytes] = []


def remembering() -> Answerer:
    """Answers with how much it was asked so far and who it is, or does what it is told."""

    def answer(question: bytes) -> bytes:
        SEEN.append(question)
        what, _, how = question.decode().partition(" ")
        match what:
            case "burn":
                while True:
                    pass
            case "work":
                began = time.process_time()
                while time.process_time() - began < float(how):
                    pass
            case "sleep":
                time.sleep(float(how))
            case "grow":
                SEEN.append(b"x" * (2 * MEMORY))
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)
            case "fail":
                raise RuntimeError
            case _:
                pass
        return f"{len(SEEN)} {os.getpid()} {os.getpriority(os.PRIO_PROCESS, 0)}".encode()

    return answer


@pytest.fixture
def process() -> Iterator[WorkerProcess]:
    with closing(lasting_process(remembering, 1, 10 * PATIENCE)) as process:
        yield process


def test_what_was_computed_is_there_for_the_next_question(process: WorkerProcess) -> None:
    first, second = (process.ask(b"look").split() for _ in range(2))

    assert (first[0], second[0]) == (b"1", b"2")
    assert first[1] == second[1] != str(os.getpid()).encode()
    assert int(first[2]) == min(19, os.getpriority(os.PRIO_PROCESS, 0) + 10)


@pytest.mark.parametrize(
    ("question", "failure"),
    [
        (b"burn", TookTooLong),
        (b"grow", TookTooMuchMemory),
        (b"die", WorkerFailed),
        (b"fail", WorkerFailed),
    ],
)
@pytest.mark.thorough
def test_after_a_limit_or_a_death_the_next_question_is_answered(
    process: WorkerProcess, question: bytes, failure: type[Exception]
) -> None:
    before = process.ask(b"look").split()
    with pytest.raises(failure):
        process.ask(question)

    after = process.ask(b"look").split()
    assert after[0] == b"1"
    assert after[1] != before[1]


@pytest.mark.thorough
def test_each_question_has_the_whole_limit(process: WorkerProcess) -> None:
    """Three of 0.6 seconds of processor time, where one may take a second."""
    workers = {process.ask(b"work 0.6").split()[1] for _ in range(3)}

    assert len(workers) == 1


def test_a_question_may_not_wait_for_ever() -> None:
    with closing(lasting_process(remembering, 10, 0.5)) as process:
        with pytest.raises(Starved):
            process.ask(b"sleep 60")
        assert process.ask(b"look").startswith(b"1 ")


def test_a_worker_that_was_killed_between_two_questions_is_replaced(
    process: WorkerProcess,
) -> None:
    _, worker, _ = process.ask(b"look").split()
    os.kill(int(worker), signal.SIGKILL)
    with pytest.raises(WorkerFailed):  # nobody looked after it
        process.ask(b"look")

    assert process.ask(b"look").startswith(b"1 ")


def test_no_process_stays_behind(process: WorkerProcess) -> None:
    _, worker, _ = process.ask(b"look").split()
    process.close()

    until(lambda: not Path(f"/proc/{int(worker)}").exists())
