"""What goes wrong around a running server: disks, locks, clocks, clients, copies. Whatever it is,
nothing acknowledged is lost, the answer says 503, and it is over when it is over."""

from __future__ import annotations

import os
import random
import re
import resource
import socket
import sqlite3
import subprocess
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path

import psycopg
import pytest
import requests

from deniably_server.storage.maintenance.doctor import examine
from deniably_server.storage.store import Store
from support.crowd import PATIENCE, Crowd, until
from support.material import Server, a_report, begin, signed, survey_named
from support.nursery import Nursery

SURVEY = survey_named()
Start = Callable[..., Server]
ROOT = os.geteuid() == 0


@pytest.fixture
def start(nursery: Nursery) -> Iterator[Start]:
    """Starts servers; whatever still runs at the end is killed."""
    servers: list[Server] = []

    def start(database: Path | str, log: Path, **changes: object) -> Server:
        servers.append(Server(database, log=log, begin=partial(nursery.begin, **changes)))
        return servers[-1]

    yield start
    for server in servers:
        server.kill()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own; where none can be had, a folder."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if not ROOT:
        yield folder
        return
    mounted = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder]
    if subprocess.run(mounted, capture_output=True).returncode:
        yield folder
        return
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def is_ready(server: Server) -> bool:
    answer = requests.get(f"{server.url}/readyz", timeout=PATIENCE)
    if answer.status_code != 200:
        assert answer.status_code == 503
        assert answer.json()["type"] == "/problems/unavailable"
    return answer.status_code == 200


def assert_refused_and_over(server: Server, crowd: Crowd, mend: Callable[[], object]) -> None:
    """Reports are refused with 503, the server says that it is not ready but alive, and once the
    fault is mended all of them are taken."""
    until(lambda: 503 in crowd.statuses)
    until(lambda: not is_ready(server))
    assert requests.get(f"{server.url}/healthz", timeout=PATIENCE).status_code == 200
    mend()
    crowd.finish()
    until(lambda: is_ready(server))
    assert crowd.statuses == {200, 201, 503}
    crowd.check_all(server.database)
    assert "Traceback" not in server.log


# --- disks --------------------------------------------------------------------------------------


def test_a_full_disk_refuses_reports_until_there_is_room(
    start: Start, disk: Path, tmp_path: Path
) -> None:
    """On a disk of 2 MB; where none can be mounted, by a limit for the size of files."""
    server = start(disk / "deniably.db", tmp_path / "log")
    server.publish(SURVEY)
    assert is_ready(server)
    fill, mend = _filler(disk, server) if os.path.ismount(disk) else _limit(disk, server)
    with Crowd(SURVEY, server.port, people=4, batches=1, token=server.token, stays=True) as crowd:
        crowd.wait_for(20)
        fill()
        assert_refused_and_over(server, crowd, mend)
        assert server.stop() == 0
        crowd.check_all(server.database)


def _filler(disk: Path, server: Server) -> tuple[Callable[[], object], Callable[[], object]]:
    filler = disk / "filler"
    return partial(_fill, filler), filler.unlink


def _fill(filler: Path, spare: int = 0) -> None:
    """Until the disk is full, but for some bytes."""
    with filler.open("wb", buffering=0) as out:
        with suppress(OSError):
            while out.write(bytes(1 << 12)):
                pass
        out.truncate(out.tell() - spare)


def _limit(disk: Path, server: Server) -> tuple[Callable[[], object], Callable[[], object]]:
    (worker,) = server.workers
    _, hard = resource.prlimit(worker, resource.RLIMIT_FSIZE)

    def limit(size: int) -> None:
        resource.prlimit(worker, resource.RLIMIT_FSIZE, (size, hard))

    return partial(limit, 1 << 12), partial(limit, hard)


def test_on_a_full_disk_a_survey_closes_and_its_order_is_erased_once_there_is_room(
    start: Start, disk: Path, tmp_path: Path
) -> None:
    """There is room for the closing, and not for the file once more."""
    if not disk.is_mount():
        pytest.skip("a disk cannot be mounted here")
    server = start(disk / "deniably.db", tmp_path / "log", order_erasure_thread_AGAIN_SECONDS=0.1)
    server.publish(SURVEY)
    lines = b"\n".join(a_report(SURVEY).canonical for _ in range(4000))
    assert server.send_lines(SURVEY, lines).status_code == 200
    assert server.token
    filler = disk / "filler"
    _fill(filler, spare=100_000)

    assert server.close(SURVEY).status_code == 200

    until(lambda: "ERROR of a closed survey" in server.log)
    with closing(Store(str(server.database))) as store:
        assert store.revealing_order() == ["workplace"]
        filler.unlink()
        until(lambda: store.revealing_order() == [])
        assert store.tally("workplace") == store.recount("workplace")
    assert server.stop() == 0
    assert "Traceback" not in server.log


def test_a_disk_that_is_read_only_refuses_reports_until_it_is_not(
    start: Start, disk: Path, tmp_path: Path
) -> None:
    if ROOT and not os.path.ismount(disk):
        pytest.skip("root writes everywhere, and may not mount a disk here")
    server = start(disk / "deniably.db", tmp_path / "log")
    server.publish(SURVEY)
    (report, *more) = [a_report(SURVEY) for _ in range(3)]

    with _read_only(disk):
        answer = server.post(SURVEY, report)
        assert answer.status_code == 503
        assert answer.json()["type"] == "/problems/unavailable"
        assert not is_ready(server)
        second = begin(["serve", "--database", str(server.database)], tmp_path / "second")
        assert second.wait(PATIENCE) == 1
    assert f"Error: cannot use {server.database} as" in (tmp_path / "second").read_text()

    until(lambda: is_ready(server))
    assert [server.post(SURVEY, each).status_code for each in (report, *more)] == [201] * 3
    assert server.stop() == 0


@contextmanager
def _read_only(disk: Path) -> Generator[None]:
    if os.path.ismount(disk):
        # Busy as long as the server has a file open to write, as it has just after publishing.
        remount = ["mount", "-o", "remount,ro", disk]
        until(lambda: subprocess.run(remount, capture_output=True).returncode == 0)
        yield
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        return
    for path in (*disk.iterdir(), disk):
        path.chmod(0o500)
    yield
    for path in (disk, *disk.iterdir()):
        path.chmod(0o700)


def test_a_database_that_turns_read_only_refuses_reports_until_it_is_not(
    start: Start, postgres: str, tmp_path: Path
) -> None:
    """As a PostgreSQL does that has become somebody's copy."""
    server = start(postgres, tmp_path / "log")
    server.publish(SURVEY)

    def turn(way: str) -> None:
        with psycopg.connect(postgres, autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only = off")
            (name,) = connection.execute("SELECT current_database()").fetchone() or ("",)
            connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = {way}")
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    with Crowd(SURVEY, server.port, people=4, batches=1, token=server.token, stays=True) as crowd:
        crowd.wait_for(20)
        turn("on")
        assert_refused_and_over(server, crowd, partial(turn, "off"))


# --- locks --------------------------------------------------------------------------------------


def test_a_database_that_somebody_keeps_locked_refuses_reports_until_it_is_free(
    start: Start, database: Path
) -> None:
    log = database.with_suffix(".log")
    server = start(database, log, sqlite__BUSY_SECONDS=0.5, writer__LONG_SECONDS=0.2)
    server.publish(SURVEY)
    with (
        closing(sqlite3.connect(database, isolation_level=None, timeout=PATIENCE)) as other,
        Crowd(SURVEY, server.port, people=4, batches=1, token=server.token, stays=True) as crowd,
    ):
        crowd.wait_for(20)
        other.execute("BEGIN IMMEDIATE")
        assert_refused_and_over(server, crowd, partial(other.execute, "ROLLBACK"))


# --- clients ------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunked", [False, True])
def test_of_a_batch_that_breaks_off_whole_lines_are_stored(
    start: Start, database: Path, chunked: bool
) -> None:
    """Its sender died. Sent again, it counts once."""
    server = start(database, database.with_suffix(".log"))
    server.publish(SURVEY)
    reports = [a_report(SURVEY) for _ in range(40)]
    body = b"".join(report.canonical + b"\n" for report in reports)
    half = body[: len(body) // 2 - 20]
    head = (
        "POST /api/surveys/workplace/batches HTTP/1.1\r\nHost: x\r\n"
        f"Content-Type: application/x-ndjson\r\nAuthorization: Bearer {server.token}\r\n"
    )
    head += "Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(body)}"
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as line:
        first = b"%x\r\n%s\r\n" % (len(half), half) if chunked else half
        line.sendall(head.encode() + b"\r\n\r\n" + first)

    again = server.send_lines(SURVEY, body).json()

    assert again.get("stored", 0) + again.get("stored before", 0) == 40
    server.stop()
    assert not re.search(r" 5\d\d \d+ ms", server.log)
    with closing(Store(str(database))) as store:
        assert examine(store) == []
        assert store.tally("workplace")["stolen"].n == 40


# --- clocks -------------------------------------------------------------------------------------


def test_a_clock_that_jumps_by_decades_loses_and_doubles_nothing(
    start: Start, database: Path
) -> None:
    """At every look, forwards and backwards. Only what has a date (a token's last day, the day
    of an entry in the register) goes by it; what waits goes by a clock that nobody can set."""
    server = start(database, database.with_suffix(".log"), jumping=True)
    server.publish(SURVEY)
    with Crowd(SURVEY, server.port, people=4, batches=1, token=server.token, stays=True) as crowd:
        crowd.wait_for(300)
        assert is_ready(server)
        crowd.finish()
    # A batch comes with a token, which is worth nothing while it is too late for it.
    assert {200, 201} <= crowd.statuses <= {200, 201, 401}
    assert server.stop() == 0
    crowd.check_all(database)


# --- copies -------------------------------------------------------------------------------------


def test_a_copy_whose_log_is_torn_anywhere_opens_as_it_was_at_some_moment(
    store: Store, database: Path, tmp_path: Path
) -> None:
    """What a power cut leaves: the file, and the log up to some byte. Reports go in one after the
    other, so that every moment is known by how many there were."""
    chance = random.Random(11)
    store.publish(SURVEY, signed(SURVEY))
    reports = [a_report(SURVEY) for _ in range(60)]
    copies: list[tuple[bytes, bytes]] = []
    for report in reports:
        store.add(SURVEY, report)
        if chance.random() < 0.2:
            copies.append((database.read_bytes(), _log_of(database).read_bytes()))
    assert len(copies) > 5
    moments: set[int] = set()
    for number in range(60):
        file, log = chance.choice(copies)
        copy = tmp_path / f"{number}.db"
        copy.write_bytes(file)
        _log_of(copy).write_bytes(log[: chance.choice((0, 31, 32, chance.randrange(len(log))))])
        with closing(sqlite3.connect(copy)) as connection:
            there = connection.execute(
                "SELECT count(*) FROM sqlite_master WHERE name = 'reports'"
            ).fetchone()
        if there == (0,):
            continue  # torn before the first table
        with closing(Store(str(copy))) as found:
            assert examine(found) == []
            if "workplace" not in found.names():
                continue
            kept = found.tally("workplace")["stolen"].n
        with closing(sqlite3.connect(copy)) as connection:
            ids = {key.hex() for (key,) in connection.execute("SELECT id FROM reports")}
        assert ids == {report.id for report in reports[:kept]}
        moments.add(kept)
    assert len(moments) > 10


def _log_of(database: Path) -> Path:
    return database.with_name(f"{database.name}-wal")
