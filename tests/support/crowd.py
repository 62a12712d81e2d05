"""A crowd that sends reports to running servers, one by one and in batches, and keeps the account
of what it sent and what it was told."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

import pytest

from deniably.survey.report import Report
from deniably.survey.survey import Survey
from deniably_server.storage.engines.database_urls import engine_at
from deniably_server.storage.maintenance.doctor import examine
from deniably_server.storage.store import Store
from support.material import Server, a_report, lines_headers
from support.nursery import Nursery

_Server = TypeVar("_Server", bound=Server)

PATIENCE = 60
"""Seconds until a crowd that waits says so. Nothing takes that long, on a slow machine neither."""
_AT_ONCE = 2000


def until(done: Callable[[], bool]) -> None:
    """Wait until it is so."""
    last = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < last
        time.sleep(0.02)


class Work(NamedTuple):
    """What goes in one request: reports, as lines where they are a batch."""

    reports: list[Report]
    batch: bool

    @property
    def body(self) -> bytes:
        return b"\n".join(report.canonical for report in self.reports)

    @property
    def end(self) -> str:
        """Of the address."""
        return "batches" if self.batch else "reports"

    def headers(self, token: str) -> dict[str, str]:
        return lines_headers(token) if self.batch else {"Content-Type": "application/json"}


class Crowd:
    """People and, with ``batches``, programs with a ``token`` that keep sending to ``ports``, which
    may change.

    They leave when a server breaks off. With ``stays`` they send again what was not acknowledged,
    not always at once, and now and then what was; ``finish`` waits until all is.
    """

    def __init__(
        self,
        survey: Survey,
        *ports: int,
        people: int = 16,
        batches: int = 0,
        token: str = "",
        stays: bool = False,
        seed: object = 0,
    ) -> None:
        self.ports = list(ports)
        self.sent: dict[str, Report] = {}
        self.acknowledged: list[Report] = []
        self.statuses: set[int] = set()
        self._survey, self._token, self._stays, self._seed = survey, token, stays, seed
        self._checked = 0
        self._over, self._gone = threading.Event(), threading.Event()
        self._threads = [
            threading.Thread(target=self._live, args=(number, number >= people), daemon=True)
            for number in range(people + batches)
        ]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Crowd:
        return self

    def __exit__(self, *_: object) -> None:
        """Everybody leaves, whatever happened."""
        self._gone.set()
        self.leave()

    def wait_for(self, reports: int, or_else: Callable[[], bool] = lambda: False) -> None:
        """Until so many are acknowledged, or something else has happened."""
        self._wait(lambda: len(self.acknowledged) >= reports or or_else())

    def leave(self) -> None:
        """Until everybody has noticed that the server is gone."""
        for thread in self._threads:
            thread.join(PATIENCE)

    def finish(self) -> None:
        """Nothing new from now on; until all that was sent is acknowledged."""
        self._over.set()
        self._wait(lambda: not any(map(threading.Thread.is_alive, self._threads)))
        assert self.sent.keys() == {report.id for report in self.acknowledged}

    def check(self, address: str | Path) -> None:
        """That what was acknowledged since the last check is there, and as much is counted as is
        there."""
        fresh = self.acknowledged[self._checked :]
        self._checked += len(fresh)
        keys = list({bytes.fromhex(report.id) for report in fresh})
        with closing(engine_at(str(address)).connect()) as database:
            for start in range(0, len(keys), _AT_ONCE):
                some = keys[start : start + _AT_ONCE]
                marks = ", ".join("?" * len(some))
                query = f"SELECT count(*) FROM reports WHERE id IN ({marks})"
                assert database.execute(query, some).fetchone() == (len(some),)
            name = self._survey.name
            kept, total, cells = database.execute(
                "SELECT (SELECT count(*) FROM reports WHERE survey = ?),"
                " (SELECT CAST(sum(reports) AS BIGINT) FROM totals WHERE survey = ?),"
                " (SELECT sum(count) FROM tallies WHERE survey = ?)",
                [name, name, name],
            ).fetchone()
        each = sum(question.mechanism.omega for question in self._survey.questions)
        assert (total, cells or 0) == (kept, kept * each)

    def check_all(self, address: str | Path) -> None:
        """That every acknowledged report is there once, nothing that nobody sent, and every tally
        is what these reports give."""
        acknowledged = {report.id for report in list(self.acknowledged)}
        survey = self._survey
        with closing(Store(str(address))) as store:
            assert examine(store) == []
            tallies = store.tally(survey.name)
        with closing(engine_at(str(address)).connect()) as database:
            query = "SELECT id, report FROM reports WHERE survey = ?"
            rows = database.execute(query, [survey.name]).fetchall()
        kept = {key.hex(): json.loads(text) for key, text in rows}
        assert acknowledged <= kept.keys() <= self.sent.keys()
        names = [question.name for question in survey.questions]
        assert all(
            values == [self.sent[key].values[name] for name in names]
            for key, values in kept.items()
        )
        for index, name in enumerate(names):
            cells = Counter(cell for values in kept.values() for cell in values[index])
            assert tallies[name].n == len(kept)
            found = tallies[name].counts.tolist()
            assert found == [cells[cell] for cell in range(len(found))]

    def _wait(self, done: Callable[[], bool]) -> None:
        until = time.monotonic() + PATIENCE
        while not done():
            waiting = sum(map(threading.Thread.is_alive, self._threads))
            assert time.monotonic() < until, (
                f"{len(self.acknowledged)} of {len(self.sent)} reports are acknowledged, statuses"
                f" {self.statuses}, {waiting} people wait"
            )
            time.sleep(0.005)

    def _live(self, number: int, batch: bool) -> None:
        chance = random.Random(f"{self._seed} {number}")
        waiting: deque[Work] = deque()
        line = Line(lambda: chance.choice(self.ports), self._token)
        with closing(line):
            while (waiting or not self._over.is_set()) and not self._gone.is_set():
                # What was not answered is sent again, at once or after something else.
                fresh = not self._over.is_set() and (not waiting or chance.random() < 0.2)
                work = self._work(chance, batch) if fresh else waiting.popleft()
                try:
                    told = self._told(work, *line.post(self._survey.name, work))
                except (OSError, http.client.HTTPException):
                    if not self._stays:
                        return  # the server is gone
                    waiting.append(work)
                    time.sleep(chance.uniform(0.005, 0.05))
                else:
                    self.acknowledged += told
                    if len(told) < len(work.reports) or (self._stays and chance.random() < 0.05):
                        waiting.append(work)

    def _work(self, chance: random.Random, batch: bool) -> Work:
        size = chance.choice((1, 5, 20, 50)) if batch else 1
        reports = [a_report(self._survey, **_values(self._survey, chance)) for _ in range(size)]
        self.sent |= {report.id: report for report in reports}
        return Work(reports, batch)

    def _told(self, work: Work, status: int, body: bytes) -> list[Report]:
        """The reports that an answer says are stored."""
        self.statuses.add(status)
        if status == 200 and work.batch:
            return stored(work.reports, json.loads(body)["lines"])
        return work.reports if status in (200, 201) else []


class Line:
    """A connection that reconnects when it broke off."""

    def __init__(self, port: Callable[[], int], token: str) -> None:
        self._port, self._token = port, token
        self._open: http.client.HTTPConnection | None = None

    def post(self, survey: str, work: Work) -> tuple[int, bytes]:
        """Status and body of the answer."""
        if self._open is None:
            self._open = http.client.HTTPConnection("127.0.0.1", self._port(), timeout=PATIENCE)
        try:
            path = f"/api/surveys/{survey}/{work.end}"
            self._open.request("POST", path, work.body, work.headers(self._token))
            answer = self._open.getresponse()
            return answer.status, answer.read()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None


def stored(reports: list[Report], lines: Iterable[tuple[int, int, str]]) -> list[Report]:
    """The reports of a batch whose lines were stored."""
    return [
        report
        for first, last, word in lines
        if word in ("stored", "stored before")
        for report in reports[first - 1 : last]
    ]


def _values(survey: Survey, chance: random.Random) -> dict[str, list[int]]:
    """Values that a device could have sent."""
    found: dict[str, list[int]] = {}
    for question in survey.questions:
        channel = question.mechanism
        found[question.name] = sorted(chance.sample(range(channel.k), channel.omega))
    return found


@contextmanager
def restarting(
    kind: Callable[..., _Server], nursery: Nursery, log: Path
) -> Generator[Callable[[str], _Server]]:
    """Starts servers on a database, again after each kill; kills them at the end."""
    begun: list[_Server] = []

    def start(address: str) -> _Server:
        last = time.monotonic() + PATIENCE
        while True:  # as a service manager does; where the database still recovers, it refuses
            with suppress(pytest.fail.Exception):
                begun.append(kind(address, log=log, begin=nursery.begin))
                return begun[-1]
            assert time.monotonic() < last

    yield start
    for each in begun:
        each.kill()
