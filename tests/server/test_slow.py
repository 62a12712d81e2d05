"""Who sends or reads slowly, or nothing any more, keeps nobody else waiting: real sockets."""

from __future__ import annotations

import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from functools import partial
from pathlib import Path
from ssl import SSLError, SSLWantReadError

import pytest
import requests

from deniably_server.storage.store import Store
from deniably_server.storage.writing.commit import BatchWrite
from deniably_server.wire import uvicorn_server
from support.material import PublicServer, Server, a_report, signed, survey_named
from support.nursery import Nursery

SURVEY = survey_named()
HOST = b" HTTP/1.1\r\nHost: x\r\n"
REPORT = b"POST /api/surveys/workplace/reports" + HOST
BATCH = b"POST /api/surveys/workplace/batches" + HOST
JSON, LINES = (b"Content-Type: application/%s\r\n" % kind for kind in (b"json", b"x-ndjson"))
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
HEADS = {"nothing": b"", "half a head": REPORT + JSON}
BODIES = {
    "no body": REPORT + JSON + b"Content-Length: 300\r\n\r\n",
    "half a body": REPORT + JSON + b"Content-Length: 300\r\n\r\n{",
    "half a chunk": REPORT + JSON + CHUNKED + b"100\r\n{",
    "half a batch": BATCH + LINES + CHUNKED + b"2\r\n{}\r\n",
    "half a definition": b"POST /api/surveys" + HOST + JSON + b"Content-Length: 9\r\n\r\n{",
}
LONGEST = "/web/form/page.js"
ASK = b"GET " + LONGEST.encode() + HOST
READS = {"answers that are not read": (ASK + b"\r\n") * 4}
SLOW = HEADS | BODIES | READS
HELLOS = [b"", b"\x16", b"\x16\x03\x01\x02\x00\x01", b"GET /healthz"]
"""Beginnings of a handshake of TLS, of which the last is none."""
MANY = 1100
LONG = "60"
"""Seconds of patience with which nobody is ended while a test goes on."""


@pytest.fixture(params=[Server, PublicServer], ids=["plain", "tls"])
def patient(request: pytest.FixtureRequest, nursery: Nursery, database: Path) -> Iterator[Server]:
    """A server that is not."""
    server: Server = request.param(database, "--patience", "1", begin=nursery.begin)
    server.publish(SURVEY)
    yield server
    assert "Traceback" not in server.log
    server.kill()


@pytest.fixture
def many_files() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def connected(server: Server, start: bytes) -> socket.socket:
    """A connection on which this was sent; it takes in next to nothing."""
    line = server.connect(receives=2048)
    line.sendall(start)
    return line


def shaking(server: PublicServer, start: bytes) -> socket.socket:
    """A connection on which a handshake of TLS goes so far."""
    line = server.bare()
    line.sendall(start)
    return line


def ended(line: socket.socket) -> bool:
    """Whether the server ends the connection, within a minute."""
    with suppress(ConnectionError, SSLError):
        while line.recv(65536):
            pass
    return True


@pytest.mark.parametrize(
    ("limits", "allowed", "most"),
    [((1024, 8192), True, 4096), ((1024, 8192), False, 768), ((256, 256), True, 128)],
)
def test_a_server_has_as_many_connections_as_it_may(
    monkeypatch: pytest.MonkeyPatch, limits: tuple[int, int], allowed: bool, most: int
) -> None:
    def raised(_: int, new: tuple[int, int]) -> None:
        if not allowed:
            raise PermissionError
        assert limits[0] <= new[0] <= new[1] == limits[1]

    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(resource, "setrlimit", raised)

    assert uvicorn_server.most_connections() == most


@pytest.mark.slow
@pytest.mark.usefixtures("many_files")
@pytest.mark.parametrize("slow", [HEADS, BODIES, READS], ids=["heads", "bodies", "reads"])
def test_1100_slow_connections_keep_nobody_waiting(
    serve: Callable[..., Server], slow: dict[str, bytes]
) -> None:
    """While they are there: nobody is ended so soon."""
    server = serve("--patience", LONG)
    server.publish(SURVEY)
    starts = list(slow.values()) * MANY
    with ExitStack() as opened:
        for start in starts[:MANY]:
            opened.enter_context(connected(server, start))
        for _ in range(3):
            assert requests.get(f"{server.url}/healthz", timeout=20).status_code == 200
            assert server.post(SURVEY, a_report(SURVEY)).status_code == 201


def test_slow_connections_of_every_kind_are_ended(patient: Server) -> None:
    with ExitStack() as opened:
        lines = [
            opened.enter_context(connected(patient, start)) for start in list(SLOW.values()) * 9
        ]
        if isinstance(patient, PublicServer):
            lines += [opened.enter_context(shaking(patient, each)) for each in HELLOS * 9]
        assert all(map(ended, lines))
    assert patient.post(SURVEY, a_report(SURVEY)).status_code == 201


@pytest.mark.thorough
def test_who_goes_on_steadily_is_waited_for_and_a_byte_now_and_then_does_not_help(
    patient: Server,
) -> None:
    """A batch, and an answer, that take three times our patience, and a byte now and then in
    whichever part of a request or of an answer: all at once, to wait once."""
    with ThreadPoolExecutor(4) as threads:
        sent, read = threads.submit(send_steadily, patient), threads.submit(read_steadily, patient)
        dripped = threads.submit(send_a_byte_now_and_then, patient)
        received = threads.submit(read_a_byte_now_and_then, patient)

        answer = sent.result()
        assert answer.status_code == 200, patient.log
        assert answer.json()["stored"] == answer.json()["read"] >= 500
        whole, answers = read.result()
        assert answers.count(whole) == 3
        assert dripped.result(), "all are ended"
        assert received.result() < 4 * len(whole)


PEOPLE = 40_000


@pytest.fixture
def long_file(database: Path) -> str:
    """The address of a file of megabytes, which everybody may have."""
    rules = {"minimum": 1, "while_open": False, "reports": "public"}
    survey = survey_named("closed", results=rules)
    with closing(Store(str(database))) as store:
        store.publish(survey, signed(survey))
        batch = BatchWrite(survey)
        for _ in range(PEOPLE):
            batch.add(a_report(survey))
        store.begin(batch)
        batch.wait()
        store.close_survey(survey.name)
    return "/api/surveys/closed/reports.ndjson"


@pytest.mark.thorough
def test_whoever_reads_as_fast_as_is_promised_gets_the_whole_answer(
    serve: Callable[..., Server], long_file: str
) -> None:
    """10 KB in each time of patience are enough, also of a long file, and where the reader's system
    takes much at once and then nothing for seconds."""
    server = serve("--patience", "1")
    received = bytearray()
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as line:
        line.sendall(b"GET " + long_file.encode() + HOST)
        line.sendall(b"Accept-Encoding: identity\r\nConnection: close\r\n\r\n")
        begun = time.monotonic()
        while (rest := begun + 3 - time.monotonic()) > 0:
            received += line.recv(max(1, int((3 - rest) * 12_000) - len(received)))
            time.sleep(0.02)
        while part := line.recv(1 << 20):
            received += part

    assert received.count(b'"row"') == PEOPLE


@pytest.mark.thorough
def test_readers_of_a_file_that_stop_keep_nobody_from_it_or_from_the_form(
    serve: Callable[..., Server], long_file: str, nursery: Nursery
) -> None:
    """More of them than there are threads."""
    server = serve("--patience", LONG, "--threads", "16")
    server.publish(SURVEY)
    whole = requests.get(server.url + long_file, timeout=60).content
    (folder,) = (
        one
        for one in nursery.litter.glob("deniably-reports-*")
        if any(file.stat().st_size == len(whole) for file in one.iterdir())
    )
    with ExitStack() as opened:
        for _ in range(24):
            line = opened.enter_context(connected(server, b"GET " + long_file.encode() + HOST))
            line.sendall(b"\r\n")
            assert line.recv(15) == b"HTTP/1.1 200 OK"
        for _ in range(3):
            assert requests.get(server.url + long_file, timeout=60).content == whole
            assert requests.get(f"{server.url}/s/workplace", timeout=60).status_code == 200
        rest = requests.get(server.url + long_file, headers={"Range": "bytes=9-"}, timeout=60)
        assert (rest.status_code, rest.content) == (206, whole[9:])
    server.stop()

    assert whole.count(b'"row"') == PEOPLE
    assert not folder.exists()


def send_a_byte_now_and_then(server: Server) -> bool:
    """Whether the server ends them all."""
    stop = threading.Event()

    def trickle(line: socket.socket) -> None:
        with suppress(OSError):
            while not stop.wait(0.05):
                line.send(b"0")

    starts = [SLOW[each].replace(b"300", b"300000")
              for each in ("half a head", "half a body", "half a chunk")]  # fmt: skip
    with ExitStack() as opened, ThreadPoolExecutor(len(starts)) as threads:
        lines = [opened.enter_context(connected(server, start)) for start in starts]
        trickles = [threads.submit(trickle, line) for line in lines]
        try:
            return all(map(ended, lines))
        finally:
            stop.set()
            for each in trickles:
                each.result()


def read_a_byte_now_and_then(server: Server) -> int:
    """How much of eight answers there is to read in the end."""
    with connected(server, (ASK + b"\r\n") * 8) as line:
        received, until = 0, time.monotonic() + 3
        with suppress(ConnectionError):
            while time.monotonic() < until:
                received += len(line.recv(64))
                time.sleep(0.02)
            while part := line.recv(65536):  # what the kernel has
                received += len(part)
    return received


def identity(server: Server) -> requests.Response:
    """A long answer, as it is without compression."""
    headers = {"Accept-Encoding": "identity"}
    return requests.get(server.url + LONGEST, headers=headers, timeout=30)


def send_steadily(server: Server) -> requests.Response:
    """The answer to a batch that takes three seconds."""

    def body() -> Iterator[bytes]:
        until = time.monotonic() + 3
        while time.monotonic() < until:
            for _ in range(10):
                yield b"".join(a_report(SURVEY).canonical + b"\n" for _ in range(50))
            time.sleep(0.1)

    return server.send_lines(SURVEY, body())


def read_steadily(server: Server) -> tuple[bytes, bytes]:
    """An answer, and three of them as they were read, one after the other, in three seconds."""
    whole = identity(server).content
    last = ASK + b"Connection: close\r\n\r\n"
    received = b""
    with connected(server, (ASK + b"\r\n") * 2 + last) as line:
        while part := line.recv(30_000):
            received += part
            if len(received) < 2 * len(whole):
                time.sleep(len(part) * 3 / (2 * len(whole)))
    return whole, received


@pytest.mark.parametrize("kind", [Server, PublicServer], ids=["plain", "tls"])
def test_a_new_connection_takes_the_place_of_one_that_is_slow(
    nursery: Nursery, database: Path, kind: type[Server]
) -> None:
    """Also where it has not even agreed on TLS."""
    few = partial(nursery.begin, uvicorn_server__CONNECTIONS=20)
    server = kind(database, "--patience", LONG, begin=few)
    server.publish(SURVEY)
    with ExitStack() as opened:
        lines = []
        if isinstance(server, PublicServer):
            lines = [opened.enter_context(shaking(server, each)) for each in HELLOS[:3] * 10]
        lines += [
            opened.enter_context(connected(server, start)) for start in list(SLOW.values()) * 5
        ]
        assert server.post(SURVEY, a_report(SURVEY)).status_code == 201
        until = time.monotonic() + 20
        while (left := sum(map(is_open, lines))) > 20:
            assert time.monotonic() < until, left
            time.sleep(0.05)


def is_open(line: socket.socket) -> bool:
    line.setblocking(False)
    try:
        while line.recv(65536):
            pass
        return False
    except (BlockingIOError, SSLWantReadError):
        return True
    except (ConnectionError, SSLError):
        return False


@pytest.mark.usefixtures("many_files")
def test_bodies_that_wait_take_little_memory(serve: Callable[..., Server]) -> None:
    server = serve("--patience", LONG)
    (worker,) = server.workers
    before = memory_of(worker)
    start = REPORT + JSON + b"Content-Length: 1000000\r\n\r\n"
    with ExitStack() as opened:
        lines = [opened.enter_context(connected(server, start)) for _ in range(200)]
        for _ in range(20):
            for line in lines:
                line.setblocking(False)
                with suppress(BlockingIOError):
                    line.send(b"x" * 45_000)
        assert requests.get(f"{server.url}/healthz", timeout=30).status_code == 200
        assert memory_of(worker) - before < 100 << 20


def memory_of(process: int) -> int:
    """Bytes that a process has now."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize()


def test_nobody_asks_a_thousand_things_before_the_first_is_answered(patient: Server) -> None:
    ahead = (b"GET /healthz" + HOST + b"\r\n") * 1000
    with patient.connect() as line:
        line.sendall(ahead)
        received = b""
        with suppress(ConnectionError):
            while part := line.recv(65536):
                received += part

    assert received.count(b"HTTP/1.1 200") < 20
    assert requests.get(f"{patient.url}/healthz", timeout=30).status_code == 200


def test_a_head_that_does_not_end_is_refused(patient: Server) -> None:
    with patient.connect() as line:
        received = b""
        with suppress(ConnectionError, SSLError):
            line.sendall(REPORT)
            for number in range(10_000):
                line.sendall(b"X-%d: %s\r\n" % (number, b"x" * 900))
        with suppress(ConnectionError, SSLError):
            received = line.recv(65536)

    assert received == b"" or received.startswith(b"HTTP/1.1 431"), received


def test_what_follows_a_body_is_no_header(patient: Server) -> None:
    """Trailers are read and dropped."""
    body = a_report(SURVEY).canonical
    with patient.connect() as line:
        line.sendall(REPORT + JSON + CHUNKED + b"%x\r\n%s\r\n0\r\n" % (len(body), body))
        line.sendall(b"".join(b"X-%d: %s\r\n" % (each, b"x" * 900) for each in range(100)))
        line.sendall(b"Connection: close\r\n\r\n")

        assert line.recv(65536).startswith(b"HTTP/1.1 201")
