"""The running server: real processes, real sockets, real signals."""

from __future__ import annotations

import os
import re
import secrets
import signal
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import pytest
import requests

from deniably.survey.report import LARGEST_BODY
from deniably_server.guard.headers import SECURITY_HEADERS
from deniably_server.storage.store import Store
from deniably_server.wire.listening import AddressTaken, claim
from support.crowd import Crowd, until
from support.material import Process, Server, a_report, assert_kept, new_token, survey_named
from support.nursery import CLOSED, Nursery, the_nursery

SURVEY = survey_named()
Serve = Callable[..., Server]


@pytest.mark.slow
def test_a_stopped_server_finishes_what_it_accepted(serve: Serve, database: Path) -> None:
    """Single reports and small batches."""
    server = serve()
    server.publish(SURVEY)
    with Crowd(SURVEY, server.port, people=12, batches=4, token=server.token) as crowd:
        crowd.wait_for(300)

        assert server.stop() == 0

    assert crowd.statuses == {200, 201}
    assert not list(database.parent.glob("*-wal"))  # all is in the one file
    crowd.check_all(database)


@pytest.mark.slow
def test_a_stopped_server_finishes_a_batch_that_has_begun(nursery: Nursery, database: Path) -> None:
    """However long this machine takes for it."""
    server = Server(database, begin=partial(nursery.begin, uvicorn_server_PATIENCE=60))
    server.publish(SURVEY)
    one = a_report(SURVEY).canonical
    many = [one.replace(one[7:39], secrets.token_hex(16).encode()) for _ in range(60_000)]

    with ThreadPoolExecutor(1) as threads, closing(Store(str(database))) as store:
        sending = threads.submit(server.send_lines, SURVEY, b"\n".join(many))
        last = time.monotonic() + 60
        while not 0 < store.tally("workplace")["stolen"].n < len(many):
            assert time.monotonic() < last, "the batch was over at once, or never began"
        server.stop()
        answer = sending.result()

    assert answer.json()["lines"] == [[1, len(many), "stored"]]


@pytest.mark.slow
def test_processes_share_the_file(serve: Serve, database: Path) -> None:
    server = serve("--workers", "2")
    server.publish(SURVEY)
    crowd = Crowd(SURVEY, server.port)
    crowd.wait_for(500)
    server.stop()
    crowd.leave()

    assert crowd.statuses == {201}
    assert_kept(database, crowd.acknowledged, SURVEY.name)


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0, 0.01, 0.02, 0.05])
def test_a_server_that_is_stopped_while_it_starts_stops(
    nursery: Nursery, database: Path, delay: float
) -> None:
    log = database.with_suffix(".log")
    log.touch()
    serve = ["serve", "--port", "0", "--workers", "2", "--database", str(database)]
    process = nursery.begin(serve, log)
    while "listens" not in log.read_text():
        assert process.poll() is None, log.read_text()
        time.sleep(0.001)
    time.sleep(delay)
    process.terminate()
    try:
        assert process.wait(timeout=25) in (0, -signal.SIGTERM)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.slow
def test_a_process_that_dies_is_replaced(server: Server) -> None:
    server.publish(SURVEY)
    (worker,) = server.workers
    os.kill(worker, signal.SIGKILL)

    last = time.monotonic() + 30
    while time.monotonic() < last:
        with suppress(requests.ConnectionError):
            if server.post(SURVEY, a_report(SURVEY)).status_code == 201:
                break
        time.sleep(0.1)

    assert len(server.workers) == 1
    assert server.workers != [worker]


def test_twins_at_the_same_moment_count_once(server: Server, database: Path) -> None:
    """They wait for the disk together, and no thread waits for each."""
    server.publish(SURVEY)
    assert server.post(SURVEY, a_report(SURVEY)).status_code == 201
    (worker,) = server.workers
    before = set(os.listdir(f"/proc/{worker}/task"))
    for _ in range(5):
        report = a_report(SURVEY)
        with ThreadPoolExecutor(8) as threads:
            answers = list(
                threads.map(lambda _, r=report: server.post(SURVEY, r).status_code, range(8))
            )
        assert sorted(answers) == [200] * 7 + [201]
    assert set(os.listdir(f"/proc/{worker}/task")) <= before
    server.stop()

    with closing(Store(str(database))) as store:
        assert store.tally("workplace")["stolen"].n == 6


def test_the_link_of_the_first_start_is_shown_once(serve: Serve) -> None:
    serve().stop()
    again = serve()
    again.stop()

    assert again.log.count("/admin#") == 1


def test_the_link_of_the_first_start_names_a_host_that_the_server_answers_to(
    nursery: Nursery, tmp_path: Path
) -> None:
    """A server with names of its own refuses 127.0.0.1."""
    links = {}
    for hosts in ("localhost", "survey.example.org, localhost"):
        server = Server(tmp_path / f"{len(hosts)}.db", "--hosts", hosts, begin=nursery.begin)
        (links[hosts],) = re.findall(r"\S+/admin#\S+", server.log)
        if hosts == "localhost":
            assert links[hosts].startswith(f"http://localhost:{server.port}/admin#")
            assert requests.get(links[hosts], timeout=30).status_code == 200
            assert requests.get(f"{server.url}/admin", timeout=30).status_code == 421
        server.stop()

    assert links["survey.example.org, localhost"].startswith("https://survey.example.org/admin#")


def with_full_disk(arguments: list[str], out: Path) -> Process:
    return the_nursery().begin(arguments, out, Path("/dev/full"))


def with_closed_errors(arguments: list[str], out: Path) -> Process:
    return the_nursery().begin(arguments, out, CLOSED)


def replace_workers(server: Server) -> None:
    """Stop each process that answers, as a service manager stops the server."""
    before = set(server.workers)
    for each in before:
        os.kill(each, signal.SIGTERM)
    until(lambda: len(set(server.workers) - before) == len(before) == len(server.workers))


def stored_as_told(server: Server) -> int:
    """How many reports the numbers of all its processes together say were stored."""
    with closing(Store(str(server.database))) as store:
        headers = {"Authorization": f"Bearer {new_token(store, 'monitor')}"}
    page = requests.get(f"{server.url}/metrics", headers=headers, timeout=30).text
    (found,) = re.findall(r'deniably_reports_total\{outcome="stored"\} (\d+)', page)
    return int(found)


@pytest.mark.slow
@pytest.mark.parametrize("start", [with_full_disk, with_closed_errors])
def test_reports_are_taken_where_nothing_can_be_logged(
    database: Path, start: Callable[[list[str], Path], Process]
) -> None:
    """At the end everything is in order, too: what each process does once a minute, and once more
    when it ends, went on to its last part, which leaves its counts to the others."""
    log = database.with_suffix(".log")
    server = Server(database, "--workers", "2", log=log, begin=start)
    try:
        server.publish(SURVEY)
        for _ in range(20):
            assert server.post(SURVEY, a_report(SURVEY)).status_code == 201
        replace_workers(server)
        assert stored_as_told(server) == 20
        assert server.stop() == 0
    finally:
        server.kill()
    assert "Traceback" not in server.log


def test_two_servers_do_not_share_a_port(server: Server, nursery: Nursery, tmp_path: Path) -> None:
    """Half of the reports would go to each."""
    out, errors, other = tmp_path / "out", tmp_path / "errors", tmp_path / "other.db"
    second = nursery.begin(
        ["serve", "--port", str(server.port), "--database", str(other)], out, errors
    )

    assert second.wait(60) == 1
    assert re.fullmatch(
        rf"Error: cannot listen on 127\.0\.0\.1, port {server.port}: .+\n", errors.read_text()
    )
    assert out.read_text() == ""
    assert not other.exists()


def test_a_port_of_0_claims_a_free_one() -> None:
    with claim("127.0.0.1", 0) as first, claim("127.0.0.1", 0) as second:
        ports = {held.getsockname()[1] for held in (first, second)}
    assert len(ports) == 2
    assert 0 not in ports


@pytest.mark.parametrize("host", ["203.0.113.7", "no.such.host.invalid"])
def test_an_address_of_somebody_else_is_refused_in_a_sentence(host: str) -> None:
    with pytest.raises(AddressTaken, match=f"cannot listen on {re.escape(host)}, port 8000: "):
        claim(host, 8000)


# --- on the wire --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for the tests that only talk to it."""
    server = Server(tmp_path_factory.mktemp("running") / "deniably.db")
    server.publish(SURVEY)
    yield server
    server.kill()


def _send(server: Server, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as line:
        received = b""
        with suppress(ConnectionError):  # it may refuse before all is sent
            line.sendall(request)
        with suppress(ConnectionError):
            while more := line.recv(65536):
                received += more
        return received


HEAD = (
    b"POST /api/surveys/workplace/reports HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    b"Content-Type: application/json\r\n"
)


def _chunked(body: bytes) -> bytes:
    return HEAD + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


def test_a_chunked_report_is_taken(running: Server) -> None:
    assert _send(running, _chunked(a_report(SURVEY).canonical)).startswith(b"HTTP/1.1 201")


@pytest.mark.parametrize("extra", [1, 5 << 20])
def test_a_body_that_is_too_large_is_refused_however_it_is_sent(
    running: Server, extra: int
) -> None:
    body = a_report(SURVEY).canonical.ljust(LARGEST_BODY + extra)

    for request in (_chunked(body), HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)):
        answer = _send(running, request)
        assert answer.startswith(b"HTTP/1.1 413"), answer[:200]
        assert b"/problems/too-large" in answer


@pytest.mark.parametrize(
    "start", [b"POST /nothing", b"POST /api/surveys", b"PATCH /", b"GET /healthz"]
)
def test_an_unread_request_body_is_drained_before_the_answer(running: Server, start: bytes) -> None:
    """Else the connection would be reset, and the answer lost with it."""
    body = b"x" * LARGEST_BODY
    head = b"%s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (start, len(body))
    with socket.create_connection(("127.0.0.1", running.port), timeout=30) as line:
        line.sendall(head)
        time.sleep(0.2)  # for whoever would answer at once
        line.sendall(body + b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        received = b""
        while more := line.recv(65536):
            received += more

    assert received.count(b"HTTP/1.1 ") == 2
    assert b"HTTP/1.1 200" in received


def test_a_report_that_breaks_off_is_not_stored(running: Server) -> None:
    def stored() -> int:
        with closing(sqlite3.connect(running.database)) as connection:
            return int(connection.execute("SELECT count(*) FROM reports").fetchone()[0])

    before = stored()
    body = a_report(SURVEY).canonical
    for request in (
        HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(body) + 1, body),
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s" % (len(body), body[:-1]),
    ):
        with socket.create_connection(("127.0.0.1", running.port), timeout=30) as line:
            line.sendall(request)
            time.sleep(0.2)

    assert running.post(SURVEY, a_report(SURVEY)).status_code == 201
    assert stored() == before + 1


@pytest.mark.parametrize(
    "request_line", [b"NONSENSE", b"GET / HTTP/9.9", b"GET /%ff%fe HTTP/1.1", b"GET //x HTTP/1.1"]
)
def test_a_strange_request_is_never_a_fault(running: Server, request_line: bytes) -> None:
    answer = _send(running, request_line + b"\r\nHost: x\r\nConnection: close\r\n\r\n")

    assert answer == b"" or answer.startswith(b"HTTP/1.1 4"), answer


def test_a_real_response_carries_the_headers_too(running: Server) -> None:
    for path in ("/api/surveys/workplace", "/nothing", "/problems/closed"):
        answer = requests.get(running.url + path, timeout=30)
        for name, value in SECURITY_HEADERS:
            assert answer.headers[name] == value
        assert "Set-Cookie" not in answer.headers
