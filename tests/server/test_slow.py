"""Who sends slowly, or nothing any more, keeps nobody else waiting: real sockets."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
import requests

from deniably_server.guard import slow
from deniably_server.guard.slow import BYTES, SlowBodies
from server.material import Server, a_report, survey_named

SURVEY = survey_named()
PATH = b"POST /api/surveys/workplace/reports HTTP/1.1\r\nHost: x\r\n"
JSON, LINES = (b"Content-Type: application/%s\r\n" % kind for kind in (b"json", b"x-ndjson"))
SLOW = {
    "nothing": b"",
    "half a head": PATH + JSON,
    "no body": PATH + JSON + b"Content-Length: 300\r\n\r\n",
    "half a body": PATH + JSON + b"Content-Length: 300\r\n\r\n{",
    "half a chunk": PATH + JSON + b"Transfer-Encoding: chunked\r\n\r\n100\r\n{",
    "half a batch": PATH + LINES + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
    "a definition": b"POST /api/surveys HTTP/1.1\r\nHost: x\r\n"
    + JSON
    + b"Content-Length: 9\r\n\r\n",
}


@pytest.fixture
def patient(serve: Callable[..., Server]) -> Iterator[Server]:
    """A server that is not."""
    server = serve("--patience", "1")
    server.publish(SURVEY)
    yield server
    assert "Traceback" not in server.log


def connected(server: Server, start: bytes) -> socket.socket:
    line = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    line.sendall(start)
    return line


def ended(line: socket.socket) -> bool:
    """Whether the server ends the connection, within a minute."""
    with suppress(ConnectionError):
        while line.recv(65536):
            pass
    return True


def trickle(line: socket.socket, stop: threading.Event) -> None:
    """A byte at a time, for as long as it is taken."""
    with suppress(OSError):
        while not stop.wait(0.05):
            line.send(b"0")


def test_200_slow_connections_keep_nobody_waiting_and_are_ended(patient: Server) -> None:
    with ExitStack() as opened:
        lines = [
            opened.enter_context(connected(patient, start)) for start in list(SLOW.values()) * 29
        ]
        assert len(lines) > 200
        answers = [patient.post(SURVEY, a_report(SURVEY)).status_code for _ in range(10)]

        assert answers == [201] * 10
        assert all(map(ended, lines))
    assert patient.post(SURVEY, a_report(SURVEY)).status_code == 201


@pytest.mark.parametrize("start", ["half a head", "half a body", "half a chunk"])
def test_a_byte_now_and_then_does_not_help(patient: Server, start: str) -> None:
    stop = threading.Event()
    with connected(patient, SLOW[start].replace(b"300", b"300000")) as line:
        thread = threading.Thread(target=trickle, args=(line, stop))
        thread.start()
        try:
            assert ended(line)
        finally:
            stop.set()
            thread.join()


def test_who_sends_steadily_is_waited_for(patient: Server) -> None:
    """A batch that takes three times our patience."""

    def body() -> Iterator[bytes]:
        until = time.monotonic() + 3
        while time.monotonic() < until:
            for _ in range(10):
                yield b"".join(a_report(SURVEY).canonical + b"\n" for _ in range(50))
            time.sleep(0.1)

    with connected(patient, SLOW["half a body"]) as line:  # so that somebody is looked for
        answer = requests.post(
            f"{patient.url}/api/surveys/workplace/reports",
            body(),
            headers={"Content-Type": "application/x-ndjson"},
            timeout=60,
        )
        assert ended(line)

    assert answer.status_code == 200, patient.log
    assert answer.json()["stored"] == answer.json()["read"] >= 500


def test_looking_drops_no_lock_of_a_database(tmp_path: Path) -> None:
    """Closing any descriptor of a file, also a copy, drops every lock on it of the process."""
    path = tmp_path / "deniably.db"
    before = len(os.listdir("/proc/self/fd"))
    with path.open("wb") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)

        assert list(slow._connections(1)) == []

        other = (
            f"import fcntl; fcntl.lockf(open({str(path)!r}, 'wb'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
        )
        taken = subprocess.run([sys.executable, "-c", other], capture_output=True, text=True)
    assert "BlockingIOError" in taken.stderr
    assert len(os.listdir("/proc/self/fd")) == before


def after(first: tuple[int, int], then: tuple[int, int], seconds: float) -> str:
    """What becomes of a connection: of which so many bytes were (acked, received)."""
    one, two = (slow._Connection(None, 0, *counts) for counts in (first, then))  # type: ignore[arg-type]
    begun = slow._continued(None, one, 0, 15)
    assert begun is not None
    found = slow._continued(begun, two, seconds, 15)
    return "ended" if found is None else "waited for" if found == begun else "anew"


@pytest.mark.parametrize(
    ("then", "seconds", "becomes"),
    [
        ((0, 200), 14, "waited for"),
        ((0, 200), 16, "ended"),
        ((0, 100 + BYTES), 16, "anew"),
        ((1, 100), 16, "anew"),
    ],
)
def test_a_connection_is_ended_that_neither_sends_nor_is_answered(
    then: tuple[int, int], seconds: float, becomes: str
) -> None:
    assert after((0, 100), then, seconds) == becomes


def test_nothing_is_looked_at_while_nobody_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_: int) -> Any:
        raise AssertionError

    monkeypatch.setattr(slow, "_connections", never)

    SlowBodies(lambda environ, start: [], 8000, 15).look(time.monotonic())
