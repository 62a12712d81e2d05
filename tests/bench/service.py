"""The server: what a look at the results costs, and how many reports it acknowledges."""

from __future__ import annotations

import http.client
import io
import os
import secrets
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple
from urllib.parse import urlsplit

import load
import msgspec
import numpy as np
from processes import cores
from sheet import Sheet, duration, rate

from deniably.authoring.compiling import compile_survey
from deniably.estimation.tally import Tally, tally_packed
from deniably.simulation.bulk import randomise_many
from deniably.survey.report import Report
from deniably.survey.survey import Survey
from deniably.trust.signing import new_key
from deniably_server.api.report_lines import take_lines
from deniably_server.storage.store import Store
from deniably_server.storage.writing.commit import report_write

GOAL_INGEST = 1.0
GOAL_TIMES = 2.0
"""The processor's time for a report, against an application that only stores it."""
GOAL_BATCH = 0.7
GOAL_DASHBOARD = 1.2
CONNECTIONS = 64
BEHIND_A_PROXY = ("--proxies", "1")
"""So that the limits count whom reports come from, as they do where a server is public."""
SIZES = (2, 5, 16)


def measure(sheet: Sheet) -> None:
    with tempfile.TemporaryDirectory() as folder:
        dashboard(sheet, Path(folder))
        ingest(sheet, Path(folder))
        batches(sheet, Path(folder))


def survey_named(name: str) -> Survey:
    """Three questions, of 2, 5 and 16 choices, at epsilon 1 each."""
    questions = [
        {
            "name": f"of_{k}",
            "type": "select_one",
            "label": f"One of {k}",
            "choices": [f"Choice {chr(ord('a') + index)}" for index in range(k)],
            "epsilon": 1,
        }
        for k in SIZES
    ]
    return compile_survey(
        {
            "name": name,
            "title": "Benchmark",
            "contact": "bench@example.org",
            "results": {"minimum": 100, "while_open": True},
            "questions": questions,
        }
    )


def perturbed(survey: Survey, n: int) -> tuple[list[list[list[int]]], dict[str, Tally]]:
    """n reports, each a list of values, and their tally; of uniform answers."""
    columns, tallies = [], {}
    for question in survey.questions:
        channel = question.mechanism
        packed = randomise_many(channel, np.random.default_rng().integers(0, channel.k, n))
        tallies[question.name] = tally_packed(packed, channel.k)
        chosen = np.nonzero(np.unpackbits(packed, axis=1, bitorder="little"))[1]
        columns.append(chosen.reshape(n, channel.omega).tolist())
    return [list(values) for values in zip(*columns, strict=True)], tallies


# Looking at the results --------------------------------------------------------------------------


def dashboard(sheet: Sheet, folder: Path) -> None:
    few, many = (1000, 2000) if sheet.quick else (1000, 1_000_000)
    sheet.section(f"GET of the results with {few:,} and {many:,} reports, 3 questions")
    database = folder / "dashboard.db"
    surveys = {n: survey_named(f"reports-{n}") for n in (few, many)}
    for n, survey in surveys.items():
        sheet.progress(f"storing {n:,} reports")
        fill(database, survey, n)
    with serving([sys.executable, "-m", "deniably_client", "serve"], database) as port:
        for title, pattern in [
            ("results as JSON", "/api/surveys/{}/results"),
            ("results as a page", "/surveys/{}/results"),
            ("dashboard", "/surveys/{}"),
        ]:
            names = [survey.name for survey in surveys.values()]
            looks = look(port, [pattern.format(name) for name in names], 3 if sheet.quick else 200)
            if looks is None:
                continue
            for n, seconds in zip(surveys, looks, strict=True):
                sheet.figure(f"{title}, {n:,} reports", duration(seconds))
            ratio = looks[1] / looks[0]
            goal = f"<= {GOAL_DASHBOARD}"
            sheet.figure(f"{title}, ratio", f"{ratio:.2f}", goal, ratio <= GOAL_DASHBOARD)


def fill(database: Path, survey: Survey, n: int) -> None:
    """Reports and tallies as n requests would have left them."""
    store = Store(str(database))
    store.publish(survey, new_key().sign(survey.digest))
    reports, tallies = perturbed(survey, n)
    keys = sorted(secrets.token_bytes(16) for _ in range(n))
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.executemany(
            "INSERT INTO reports (id, survey, report) VALUES (?, ?, ?)",
            (
                (key, survey.name, msgspec.json.encode(values).decode())
                for key, values in zip(keys, reports, strict=True)
            ),
        )
        connection.execute("UPDATE totals SET reports = ? WHERE survey = ?", [n, survey.name])
        connection.executemany(
            "INSERT INTO tallies (count, survey, stratum, question, choice) VALUES (?, ?, 0, ?, ?)",
            [
                (int(count), survey.name, question, choice)
                for question, found in tallies.items()
                for choice, count in enumerate(found.counts)
            ],
        )
        if not survey.complete:
            connection.executemany(
                "INSERT INTO answered (survey, stratum, question, reports) VALUES (?, 0, ?, ?)",
                [(survey.name, question, n) for question in tallies],
            )
    assert store.tally(survey.name) == store.recount(survey.name) == tallies
    store.close()


def look(port: int, paths: list[str], times: int) -> list[float] | None:
    """The median duration of a GET of each path, in turns; None where there is no such page."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        durations: list[list[float]] = [[] for _ in paths]
        for _ in range(times):
            for path, found in zip(paths, durations, strict=True):
                start = time.perf_counter()
                connection.request("GET", path)
                response = connection.getresponse()
                response.read()
                found.append(time.perf_counter() - start)
                if response.status != 200:
                    return None
    return [median(found) for found in durations]


# Taking reports ----------------------------------------------------------------------------------


def ingest(sheet: Sheet, folder: Path) -> None:
    rounds, seconds = (1, 0.05) if sheet.quick else (7, 4.0)
    sheet.section(f"Reports acknowledged over HTTP, 3 questions, {CONNECTIONS} connections")
    survey, database = survey_named("ingest"), folder / "ingest.db"
    store = Store(str(database))
    store.publish(survey, new_key().sign(survey.digest))
    store.close()
    ours = [sys.executable, "-m", "deniably_client", "serve", *BEHIND_A_PROXY]
    bare, asgi = (
        [sys.executable, str(Path(__file__).with_name(name))]
        for name in ("bare.py", "bare_asgi.py")
    )
    with (
        process_serving(ours, database) as our_server,
        process_serving(bare, folder / "bare.db") as bare_server,
        process_serving(asgi, folder / "asgi.db") as asgi_server,
    ):
        servers = (our_server, bare_server, asgi_server)
        rest = [in_turn(sheet, survey, servers, rounds, seconds)]
        if not sheet.quick:
            sheet.progress("again on a busy machine")
            with hogs():
                rest.append(in_turn(sheet, survey, servers, rounds, seconds))
    store = Store(str(database))
    kept = store.tally(survey.name)[survey.questions[0].name].n
    store.close()
    answered = sum(one[0].load.answered for found in rest for one in found)
    assert kept == answered, "an acknowledged report is not in the tally"
    for found, where in zip(rest, ("", ", busy machine"), strict=False):
        shown(sheet, found[1:], where)
    sheet.note(f"{answered:,} reports were acknowledged, and the tally holds {kept:,}.")


class Taken(NamedTuple):
    """What a server took in a round, and the seconds of a core that it used for that."""

    load: load.Load
    cpu: float

    @property
    def each(self) -> float:
        return self.cpu / self.load.answered


def in_turn(
    sheet: Sheet,
    survey: Survey,
    servers: Sequence[tuple[int, int]],
    rounds: int,
    seconds: float,
) -> list[list[Taken]]:
    """Rounds in which each server takes reports for a while; the first only warms up."""
    found: list[list[Taken]] = []
    for number in range(-1, rounds):
        sheet.progress(f"round {number + 1} of {rounds}" if number >= 0 else "warming up")
        lasting = seconds if number >= 0 else min(seconds, 1)
        found.append([])
        for port, pid in servers:
            enough = requests(survey, int(20_000 * seconds))
            before = cores(pid)
            taken = load.drive(port, enough, CONNECTIONS, lasting)
            found[-1].append(Taken(taken, cores(pid) - before))
    return found


def shown(sheet: Sheet, found: Sequence[Sequence[Taken]], where: str) -> None:
    """Rates and processor time of Deniably, the bare Flask route and the bare ASGI application."""
    ours, flask, asgi = (list(column) for column in zip(*found, strict=True))
    for name, taken in (
        ("Deniably, on disk before the answer", ours),
        ("bare Flask route, parses JSON", flask),
        ("bare ASGI, on disk before the answer", asgi),
    ):
        sheet.figure(name + where, rate(median(one.load.rate for one in taken)))
    ratio = median(a.load.rate / b.load.rate for a, b in zip(ours, flask, strict=True))
    sheet.figure(f"times the bare Flask route{where}", f"{ratio:.2f}", f">= {GOAL_INGEST}",
                 ratio >= GOAL_INGEST)  # fmt: skip
    ratio = median(a.load.rate / b.load.rate for a, b in zip(ours, asgi, strict=True))
    sheet.figure(f"times the bare ASGI application{where}", f"{ratio:.2f}")
    if all(one.cpu for one in asgi):
        costs = median(a.each / b.each for a, b in zip(ours, asgi, strict=True))
        sheet.figure(f"processor a report, times that of bare ASGI{where}", f"{costs:.2f}",
                     f"<= {GOAL_TIMES}", costs <= GOAL_TIMES)  # fmt: skip


@contextmanager
def hogs() -> Iterator[None]:
    """As many processes as there are cores that do nothing but use them, until the block ends."""
    command = [sys.executable, "-c", "while True: pass"]
    running = [subprocess.Popen(command) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


def batches(sheet: Sheet, folder: Path) -> None:
    """Lines of reports against the bare insert of the same rows into the same tables."""
    n, rounds = (500, 1) if sheet.quick else (200_000, 5)
    sheet.section(f"{n:,} reports as lines, 3 questions, all on disk")
    survey = survey_named("batches")
    names = [question.name for question in survey.questions]
    reports = [
        Report(secrets.token_hex(16), survey.digest, dict(zip(names, values, strict=True)))
        for values in perturbed(survey, n)[0]
    ]
    body = b"".join(report.canonical + b"\n" for report in reports)
    rows = [report_write(survey, report).row for report in reports]
    found: list[tuple[float, float, float]] = []
    for number in range(rounds):
        sheet.progress(f"round {number + 1} of {rounds}")
        ours = _empty(folder / f"ours-{number}.db", survey)
        start = time.perf_counter()
        assert take_lines(ours, survey, io.BytesIO(body)).document["stored"] == n
        middle = time.perf_counter()
        ours.close()
        bare, ordered = (
            inserted(_empty(folder / f"{name}-{number}.db", survey), those)
            for name, those in (("raw", rows), ("ordered", sorted(rows)))
        )
        found.append((middle - start, bare, ordered))
    sheet.figure(
        "Deniably, checked, tallied and stored", rate(median(n / each for each, *_ in found))
    )
    sheet.figure("executemany of the same rows", rate(median(n / each for _, each, _ in found)))
    sheet.figure("executemany, sorted before", rate(median(n / each for *_, each in found)))
    ratio = median(each / our for our, each, _ in found)
    sheet.figure("times executemany", f"{ratio:.2f}", f">= {GOAL_BATCH}", ratio >= GOAL_BATCH)
    sheet.figure("times executemany, sorted before", f"{median(c / a for a, _, c in found):.2f}")


def inserted(store: Store, rows: Sequence[Sequence[object]]) -> float:
    """How long the bare insert of these rows takes; sorting them is not counted."""
    with closing(store), closing(store.engine.connect()) as connection:
        began = time.perf_counter()
        connection.begin_writing()
        connection.executemany("INSERT INTO reports VALUES (?, ?, ?, ?)", rows)
        connection.commit()
        return time.perf_counter() - began


def _empty(path: Path, survey: Survey) -> Store:
    store = Store(str(path))
    store.publish(survey, new_key().sign(survey.digest))
    return store


def requests(survey: Survey, n: int) -> Iterator[bytes]:
    """n requests with distinct valid reports, made before the first is given, as a proxy passes
    them on: from a network each, which the server's limits count."""
    names = [question.name for question in survey.questions]
    bodies = [
        Report(secrets.token_hex(16), survey.digest, dict(zip(names, values, strict=True)))
        for values in perturbed(survey, n)[0]
    ]
    head = (
        f"POST /api/surveys/{survey.name}/reports HTTP/1.1\r\nHost: localhost\r\n"
        "Content-Type: application/json\r\n"
    )
    return iter(
        [
            f"{head}X-Forwarded-For: 2001:db8:{number >> 16:x}:{number & 0xFFFF:x}::1\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode()
            + body
            for number, body in enumerate(report.canonical for report in bodies)
        ]
    )


# Processes ---------------------------------------------------------------------------------------


@contextmanager
def serving(command: list[str], database: Path) -> Iterator[int]:
    """A server process, until the block ends; gives its port."""
    with process_serving(command, database) as (port, _):
        yield port


@contextmanager
def process_serving(command: list[str], database: Path) -> Iterator[tuple[int, int]]:
    """A server process, until the block ends; gives its port and its process id."""
    if "serve" in command:
        command = [*command, "--port", "0", "--database"]
    command = [*command, str(database)]
    path = database.with_suffix(".log")
    with (
        path.open("w") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            assert process.stdout
            address = process.stdout.readline().split()[-1:]
            if not address:
                raise RuntimeError(f"the server did not start: {path.read_text()}")
            port = urlsplit(address[0]).port
            assert port
            wait(port)
            yield port, process.pid
        finally:
            process.terminate()


def wait(port: int) -> None:
    for _ in range(200):
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
            try:
                connection.request("GET", "/")
                connection.getresponse()
                return
            except OSError:
                time.sleep(0.05)
    raise RuntimeError("the server does not answer")
