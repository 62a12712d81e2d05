"""Ten people drag sliders in the studio: what respondents and readers feel of it meanwhile."""

from __future__ import annotations

import http.client
import json
import secrets
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from processes import cores
from service import fill, process_serving, survey_named
from sheet import Sheet, duration
from steady import quantile

from deniably.trust.sign_in_request import sign_in_message
from deniably.trust.signing import Key, new_key
from deniably_server.guard.admin_link import first_link
from deniably_server.guard.session import COOKIE
from deniably_server.storage.store import Store
from deniably_server.studio.fields import STOPS

PEOPLE = 10
PAUSE, MOVE = 0.25, 0.2
"""Seconds that the page waits after a change before it asks, and until the next change."""
GOAL_FELT, GOAL_BARE, GOAL_CORES, GOAL_MEANS = 1.3, 6.0, 0.4, 3.0
_SLOW = 95
_SURVEY = "studio"
_REPORTS = 10_000
_LOOKS = {"form": f"/s/{_SURVEY}", "results page": f"/surveys/{_SURVEY}", "bare": "/healthz"}


class Felt(NamedTuple):
    """Seconds that requests took, by what was asked for; and the server's cores meanwhile."""

    took: Mapping[str, Sequence[float]]
    cores: float

    def slow(self, what: str) -> float:
        """The time within which 95 of 100 were answered."""
        return quantile(list(self.took[what]), _SLOW / 100)


class Person:
    """A browser of the group, with a draft that it changes."""

    def __init__(self, port: int, key: Key, cookie: str) -> None:
        self.port, self.key, self.cookie = port, key, cookie
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self.draft = self.question = ""
        self.revision = 1

    def ask(self, method: str, path: str, value: object = None) -> http.client.HTTPResponse:
        """Send a request as the studio's page does. Raises RuntimeError unless it is done."""
        headers = {
            "Sec-Fetch-Site": "same-origin",
            "Cookie": f"{COOKIE}={self.cookie}",
            "Content-Type": "application/json",
        }
        body = None if value is None else json.dumps(value)
        self.connection.request(method, path, body, headers)
        answer = self.connection.getresponse()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {answer.read()[:300]!r}")
        return answer

    def post(self, path: str, value: object) -> Any:
        """Send JSON; returns the JSON of the answer."""
        return json.loads(self.ask("POST", path, value).read() or "null")

    def sign_in(self, path: str, **more: str) -> None:
        """Begin a session with the group's signature."""
        word = self.post("/studio/word", {})["word"]
        signature = self.key.sign_text(sign_in_message(f"http://127.0.0.1:{self.port}", word))
        signed = {"key": self.key.author, "word": word, "signature": signature.value}
        answer = self.ask("POST", path, signed | more)
        answer.read()
        self.cookie = (answer.headers["Set-Cookie"] or "").partition(";")[0].partition("=")[2]

    def begin(self, document: Mapping[str, Any]) -> None:
        """Begin a draft, whose first question is the one that is changed."""
        self.draft = self.post("/studio/drafts", {"document": document})["id"]
        operation = {"do": "put", "question": None, "key": "expect", "value": 600}
        answer = self.edit(operation)
        self.question = answer["document"]["questions"][0]["id"]

    def edit(self, operation: Mapping[str, Any]) -> Any:
        """Change the draft."""
        body = {"edit": secrets.token_hex(8), "revision": self.revision, "operation": operation}
        answer = self.post(f"/studio/drafts/{self.draft}/edits", body)
        self.revision = answer["revision"]
        return answer

    def drag(self, odds: str) -> None:
        """Move the slider of the question."""
        self.edit({"do": "put", "question": self.question, "key": "odds", "value": float(odds)})

    def balance(self) -> float:
        """Ask what the draft costs and shows; returns the seconds that it took."""
        start = time.perf_counter()
        self.ask("GET", f"/studio/d/{self.draft}/balance?question={self.question}").read()
        return time.perf_counter() - start


def measure(sheet: Sheet) -> None:
    """What a form, a results page and a bare answer take, alone and beside people who drag."""
    seconds = 0.3 if sheet.quick else 60.0
    people = 3 if sheet.quick else PEOPLE
    sheet.section(
        f"{people} people drag sliders in the studio, each of a draft; two have two means"
    )
    with tempfile.TemporaryDirectory() as folder, _server(Path(folder), sheet) as (port, pid, link):
        sheet.progress("nobody drags")
        alone = _felt(port, pid, seconds, [])
        group = _group(port, link, people)  # now: the server closes connections that are idle
        sheet.progress(f"{people} people drag")
        beside = _felt(port, pid, seconds, group)
        _show(sheet, alone, beside)
        _show_means(sheet, group[0], group[-1], 3 if sheet.quick else 60)


def _show(sheet: Sheet, alone: Felt, beside: Felt) -> None:
    for what in ("form", "results page"):
        sheet.figure(f"{what}, {_SLOW} of 100 within, alone", duration(alone.slow(what)))
        times = beside.slow(what) / alone.slow(what)
        name = f"{what}, {_SLOW} of 100 within, beside them"
        goal, met = f"<= {GOAL_FELT} times", times <= GOAL_FELT
        sheet.figure(name, f"{duration(beside.slow(what))} ({times:.2f})", goal, met)
    checks = beside.took["check"]
    sheet.figure("checks of drafts", f"{len(checks)}")
    bare = beside.slow("bare")
    sheet.figure(f"GET /healthz, {_SLOW} of 100 within, beside them", duration(bare))
    times = beside.slow("check") / bare
    goal, met = f"<= {GOAL_BARE:.0f} times", times <= GOAL_BARE
    shown = f"{duration(beside.slow('check'))} ({times:.1f})"
    sheet.figure(f"a check, {_SLOW} of 100 within", shown, goal, met)
    used = beside.cores - alone.cores
    sheet.figure("cores that they cost", f"{used:.2f}", f"<= {GOAL_CORES}", used <= GOAL_CORES)


def _show_means(sheet: Sheet, without: Person, two_means: Person, rounds: int) -> None:
    """The second look at a draft costs no design."""
    took = [[person.balance() for _ in range(rounds)] for person in (without, two_means)]
    plain, means = (quantile(seconds, 0.5) for seconds in took)
    sheet.figure("a draft without means, again", duration(plain))
    goal, met = f"<= {GOAL_MEANS:.0f} times", means <= GOAL_MEANS * plain
    sheet.figure(
        "a draft with two means, again", f"{duration(means)} ({means / plain:.1f})", goal, met
    )


@contextmanager
def _server(folder: Path, sheet: Sheet) -> Iterator[tuple[int, int, str]]:
    """A server with an open survey whose results are shown; its port, process and first link."""
    database = folder / "studio.db"
    fill(database, survey_named(_SURVEY), 500 if sheet.quick else _REPORTS)
    with closing(Store(str(database))) as store:
        link = first_link(store)
    assert link is not None
    command = [sys.executable, "-m", "deniably_client", "serve"]
    with process_serving(command, database) as (port, pid):
        yield port, pid, link


def _group(port: int, link: str, size: int) -> Sequence[Person]:
    """Browsers of one group, each with a draft; the last two have two means."""
    key = new_key()
    group = [Person(port, key, "") for _ in range(size)]
    name = {"secret": link, "name": "Harbour Workers' Union", "contact": "survey@union.example"}
    group[0].sign_in("/studio/start", **name)
    for person in group[1:]:
        person.sign_in("/studio/in")
    for number, person in enumerate(group):
        person.begin(_draft(number, means=2 if number >= size - 2 else 0))
    return group


def _draft(number: int, means: int) -> Mapping[str, Any]:
    yes_no = [
        {"name": f"q{i}", "type": "yes_no", "label": f"Question {i}?", "odds": 3} for i in range(4)
    ]
    hours = [
        {"name": f"m{i}", "type": "number", "label": f"Hours {i}?", "odds": 2,
         "minimum": 0, "maximum": 20 + 10 * number + i}
        for i in range(means)
    ]  # fmt: skip
    return {"name": f"draft-{number}", "title": "Made up", "questions": yes_no[means:] + hours}


def _felt(port: int, pid: int, seconds: float, group: Sequence[Person]) -> Felt:
    """What requests take while these people drag."""
    took: dict[str, list[float]] = {"form": [], "results page": [], "bare": [], "check": []}
    until = time.perf_counter() + seconds
    work: list[Callable[[], None]] = [partial(_look, port, took, until)]
    work += [partial(_drag, person, took["check"], until) for person in group]
    failed: list[BaseException] = []
    threads = [threading.Thread(target=_guarded, args=(each, failed)) for each in work]
    before, start = cores(pid), time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return Felt(took, (cores(pid) - before) / (time.perf_counter() - start))


def _guarded(work: Callable[[], None], failed: list[BaseException]) -> None:
    try:
        work()
    except BaseException as error:
        failed.append(error)


def _look(port: int, took: Mapping[str, list[float]], until: float) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        while time.perf_counter() < until:
            for what, path in _LOOKS.items():
                start = time.perf_counter()
                connection.request("GET", path)
                answer = connection.getresponse()
                answer.read()
                took[what].append(time.perf_counter() - start)
                if answer.status != 200:
                    raise RuntimeError(f"GET {path}: {answer.status}")
                time.sleep(0.02)


def _drag(person: Person, took: list[float], until: float) -> None:
    for move in count():
        if time.perf_counter() >= until:
            return
        person.drag(STOPS[move % len(STOPS)].odds)
        time.sleep(PAUSE)
        took.append(person.balance())
        time.sleep(MOVE)
