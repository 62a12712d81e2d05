"""While others hammer the dearest address: how long a form takes, and how much memory it needs."""

from __future__ import annotations

import http.client
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event, Thread

from processes import process_tree
from service import fill, process_serving
from sheet import Sheet, duration

from deniably.authoring.compiling import compile_survey
from deniably.survey.survey import Survey
from deniably.trust.signing import new_key
from deniably_server.api.fine_parameters import LEVELS
from deniably_server.storage.store import Store

GOAL_FORM = 10
GOAL_MEMORY = 2
CONNECTIONS = 64
QUICK_CONNECTIONS = 3
SIZES = (20, 50)
"""Choices: a table of as many cells as there may be."""
QUICK_SIZES = (3, 4)
HAMMER = Path(__file__).with_name("hammer.py")
_TICK_SECONDS = 0.2


def measure(sheet: Sheet, folder: Path) -> None:
    n, seconds, looks = (500, 0.05, 10) if sheet.quick else (300_000, 30, 1000)
    sizes = QUICK_SIZES if sheet.quick else SIZES
    connections = QUICK_CONNECTIONS if sheet.quick else CONNECTIONS
    sheet.section(f"{connections} connections hammer cross-tables of {n:,} reports")
    database = folder / "hammered.db"
    sheet.progress(f"storing {n:,} reports")
    fill(database, asking("wide", sizes), n)
    with closing(Store(str(database))) as store:
        store.close_survey("wide")
        store.erase_order()
        form = asking("form")
        store.publish(form, new_key().sign(form.digest))
    page = "/api/surveys/wide/crosstab?rows=of_{}&columns=of_{}"
    same = [page.format(*sizes)]
    different = [
        f"{view}?rows=of_{pair[0]}&columns=of_{pair[1]}&of={of}&confidence={level}"
        for view in ("/surveys/wide/crosstab", "/api/surveys/wide/crosstab.svg")
        for pair in (sizes, sizes[::-1])
        for of in ("rows", "columns", "all")
        for level in LEVELS
    ]
    runs = [("one and the same", same), ("all different", different)]
    command = [sys.executable, "-m", "deniably_client", "serve"]
    for on_one_server in [runs] if sheet.quick else [[run] for run in runs]:
        with process_serving(command, database) as (port, pid), watched(pid) as memory:
            form_times(port, looks // 10)
            for title, paths in on_one_server:
                idle = percentile(form_times(port, looks))
                quiet = memory.now()
                memory.peak = 0
                sheet.progress(f"hammering {title} for {seconds} s")
                with hammering(port, seconds, connections, paths) as answers:
                    under = percentile(form_times(port, looks, seconds))
                sheet.note(f"{title}: {answers}")
                shown(sheet, (idle, under), (quiet, memory.peak))


def shown(sheet: Sheet, form: tuple[float, float], memory: tuple[int, int]) -> None:
    """What it was when nobody hammered, and what it became."""
    idle, under = form
    quiet, peak = memory
    sheet.figure("the form, p99, idle", duration(idle))
    sheet.figure("the form, p99, meanwhile", duration(under))
    ratio = under / idle
    sheet.figure("ratio", f"{ratio:.1f}", f"< {GOAL_FORM}", ratio < GOAL_FORM)
    sheet.figure("memory, idle and at most", f"{quiet >> 20} MB, {peak >> 20} MB")
    ratio = peak / quiet
    sheet.figure("ratio", f"{ratio:.2f}", f"< {GOAL_MEMORY}", ratio < GOAL_MEMORY)


def asking(name: str, sizes: tuple[int, ...] = (2, 5, 16)) -> Survey:
    """A survey with a question of each of these numbers of choices, at epsilon 1 each."""
    questions = [
        {
            "name": f"of_{k}",
            "type": "select_one",
            "label": f"One of {k}",
            "choices": [f"Choice {index}" for index in range(k)],
            "epsilon": 1,
        }
        for k in sizes
    ]
    given = {"name": name, "title": "Benchmark", "contact": "bench@example.org"}
    return compile_survey(given | {"results": {"minimum": 100}, "questions": questions})


def form_times(port: int, looks: int, seconds: float = 60) -> list[float]:
    """How long each of so many looks at a form took, until the time is over."""
    found: list[float] = []
    until = time.perf_counter() + seconds
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        while len(found) < looks and time.perf_counter() < until:
            start = time.perf_counter()
            connection.request("GET", "/s/form")
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200, answer.status
            found.append(time.perf_counter() - start)
            time.sleep(0.005)
    return found


def percentile(found: list[float]) -> float:
    return sorted(found)[int(len(found) * 0.99)]


class Memory:
    """What all processes of a server have, each shared page counted once; and the most of it."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.peak = 0

    def now(self) -> int:
        found = sum(map(_memory_of, process_tree(self._pid)))
        self.peak = max(self.peak, found)
        return found


@contextmanager
def watched(pid: int) -> Iterator[Memory]:
    memory, over = Memory(pid), Event()

    def watch() -> None:
        while not over.wait(_TICK_SECONDS):
            memory.now()

    thread = Thread(target=watch)
    thread.start()
    try:
        yield memory
    finally:
        over.set()
        thread.join()


def _memory_of(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has ended meanwhile
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))


class Responses:
    """What the hammer was told."""

    def __init__(self) -> None:
        self.text = ""

    def __str__(self) -> str:
        return self.text


@contextmanager
def hammering(port: int, seconds: float, connections: int, paths: list[str]) -> Iterator[Responses]:
    """Until the block ends, and for so many seconds at least."""
    command = [sys.executable, HAMMER, str(port), str(seconds), str(connections), *paths]
    answers = Responses()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as hammer:
        try:
            yield answers
            answers.text = hammer.communicate(timeout=seconds + 120)[0].strip()
        finally:
            hammer.kill()
