"""Results take turns: one computation at a time, apart from what takes reports, and kept."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from pathlib import Path
from threading import Event

import msgspec
import pytest
import requests

from deniably.authoring.compiling import compile_survey
from deniably.survey.survey import Survey
from deniably_server.api import computation_queue as module
from deniably_server.api.computation_queue import ComputationQueue, Computed, Job, RefusedJob
from deniably_server.app import create_app
from deniably_server.errors import BadParameter, Busy, TooMuch, Uncomputed
from deniably_server.storage.store import Store
from deniably_server.web.worker_process import (
    TookTooLong,
    TookTooMuchMemory,
    WorkerFailed,
    WorkerProcess,
)
from support.material import Server, a_report, new_token, signed, survey_named

Make = Callable[..., WorkerProcess]
JOB = Job("/surveys/workplace", "", "0" * 16)
SURVEY = survey_named(results={"minimum": 5, "while_open": True})
PATHS = [
    "/api/surveys/workplace/results",
    "/api/surveys/workplace/results.csv",
    "/api/surveys/workplace/checks",
    "/api/surveys/workplace/crosstab?rows=stolen&columns=often",
    "/api/surveys/workplace/difference?question=stolen&choice=yes&share=0.1",
    "/api/surveys/workplace/differences?question=often",
    "/surveys/workplace",
    "/surveys/workplace?smooth=1",
    "/surveys/workplace/checks",
    "/surveys/workplace/crosstab?rows=stolen&columns=often",
]
"""Everything that computes."""
REFUSED = [
    "/api/surveys/nothing/results",
    "/api/surveys/workplace/results?smooth=2",
    "/api/surveys/workplace/crosstab?rows=stolen&columns=stolen",
    "/surveys/workplace/crosstab?rows=nothing&columns=stolen",
    "/api/surveys/workplace/difference?question=stolen&choice=yes&survey=nothing",
]


# --- queue --------------------------------------------------------------------------------------


class Work:
    """Stands for the process apart: counts what it is asked, and waits to be let go."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.go = Event()
        self.answer: Computed | RefusedJob | Exception = Computed([], b"answer")

    def __call__(self, question: bytes) -> bytes:
        self.asked.append(msgspec.msgpack.decode(question, type=Job).target)
        assert self.go.wait(30)
        if isinstance(self.answer, Exception):
            raise self.answer
        return msgspec.msgpack.encode(self.answer)


@pytest.fixture
def work() -> Iterator[Work]:
    work = Work()
    yield work
    work.go.set()


def job(target: str) -> Job:
    return Job(target, "", "0" * 16)


def until(true: Callable[[], object]) -> None:
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_who_asks_for_the_same_shares_one_computation(work: Work) -> None:
    queue = ComputationQueue(work, 30, 50)
    with ThreadPoolExecutor(8) as threads:
        asking = [threads.submit(queue.answer, "key", JOB, "reports") for _ in range(8)]
        until(lambda: work.asked)
        work.go.set()

        assert {each.result().body for each in asking} == {b"answer"}

    assert queue.answer("key", JOB, "reports").body == b"answer"  # and it is kept
    assert len(work.asked) == 1


def test_what_is_kept_is_bounded_and_the_oldest_goes_first(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_KEPT", 10_000)
    work.go.set()
    work.answer = Computed([], bytes(4000))
    queue = ComputationQueue(work, 30, 50)

    for key in ("a", "b", "a", "c", "a", "b"):
        queue.answer(key, job(key), "tallies")

    assert work.asked == ["a", "b", "c", "b"]


def test_a_refusal_is_passed_on_as_it_is_and_not_kept(work: Work) -> None:
    work.go.set()
    work.answer = RefusedJob("BadParameter", "“x” is none")
    queue = ComputationQueue(work, 30, 50)

    for _ in range(2):
        with pytest.raises(BadParameter, match="“x” is none"):
            queue.answer("key", JOB, "tallies")

    assert len(work.asked) == 2


def test_what_takes_too_long_says_so_and_is_not_tried_again_at_once(work: Work) -> None:
    work.go.set()
    work.answer = TookTooLong()
    queue = ComputationQueue(work, 30, 50)

    for _ in range(3):
        with pytest.raises(TooMuch, match=r"the 30 seconds of processor time.*results\.csv"):
            queue.answer("key", JOB, "reports")

    assert len(work.asked) == 1


def test_a_process_that_dies_is_a_fault_of_the_server_and_the_next_is_another(work: Work) -> None:
    work.go.set()
    work.answer = WorkerFailed()
    queue = ComputationQueue(work, 30, 50)
    with pytest.raises(Uncomputed):
        queue.answer("key", JOB, "reports")

    work.answer = Computed([], b"well")

    assert queue.answer("key", JOB, "reports").body == b"well"


def test_a_computation_that_waited_too_long_is_refused_with_a_time_to_retry(work: Work) -> None:
    """What nobody waits for any more is not begun; what has begun is waited for."""
    queue = ComputationQueue(work, 0.1, 50)
    with ThreadPoolExecutor(1) as threads:
        asking = threads.submit(queue.answer, "first", job("first"), "reports")
        until(lambda: work.asked)
        for _ in range(2):
            with pytest.raises(Busy) as busy:
                queue.answer("second", job("second"), "reports")
        assert busy.value.wait > 0
        work.go.set()

        assert asking.result().body == b"answer"

    assert queue.answer("third", job("third"), "reports").body == b"answer"
    assert work.asked == ["first", "third"]


def test_who_cannot_wait_long_gets_the_answer_next_time(work: Work) -> None:
    queue = ComputationQueue(work, 30, 50)

    assert queue.soon("key", JOB, "tallies", 0.05) is None
    assert queue.soon("later", job("later"), "tallies", 0.05) is None  # not begun: given up
    work.go.set()
    until(lambda: queue.kept("key"))

    found = queue.soon("key", JOB, "tallies", 0)
    assert found
    assert found.body == b"answer"
    assert not queue._works
    assert queue.kept("later") is None
    assert len(work.asked) == 1


@pytest.mark.parametrize("failure", [TookTooLong(), WorkerFailed(), RefusedJob("Hidden", "no")])
def test_who_cannot_wait_long_gets_nothing_from_a_failure(
    work: Work, failure: Exception | RefusedJob
) -> None:
    work.go.set()
    work.answer = failure
    queue = ComputationQueue(work, 30, 50)

    assert queue.soon("key", JOB, "tallies", 30) is None
    assert queue.soon("key", JOB, "tallies", 30) is None
    assert len(work.asked) == (1 if isinstance(failure, TookTooLong) else 2)


def test_who_cannot_wait_long_does_not_join_a_full_queue(work: Work) -> None:
    queue = ComputationQueue(work, 30, 0)

    assert queue.soon("key", JOB, "tallies", 30) is None
    assert work.asked == []


def test_no_more_wait_than_may(work: Work) -> None:
    queue = ComputationQueue(work, 30, 3)
    with ThreadPoolExecutor(3) as threads:
        asking = [threads.submit(queue.answer, n, job(str(n)), "reports") for n in range(3)]
        until(lambda: len(queue._works) == 3)

        with pytest.raises(Busy):
            queue.answer(3, job("3"), "reports")
        with pytest.raises(Busy):
            queue.answer(0, job("0"), "reports")
        work.go.set()

        assert {each.result().body for each in asking} == {b"answer"}


def test_a_dashboard_does_not_wait_for_all_the_cross_tables_before_it(work: Work) -> None:
    queue = ComputationQueue(work, 30, 50)
    with ThreadPoolExecutor(5) as threads:
        for number in range(4):
            threads.submit(queue.answer, number, job(f"crosstab {number}"), "reports")
            until(lambda: len(queue._works) == number + 1)  # noqa: B023
        threads.submit(queue.answer, "it", job("dashboard"), "tallies")
        until(lambda: len(queue._works) == 5)
        work.go.set()

    assert work.asked.index("dashboard") <= 2


def test_experiments_leave_half_of_the_waiting_room_to_results(work: Work) -> None:
    queue = ComputationQueue(work, 30, 4)
    with ThreadPoolExecutor(4) as threads:
        asking = [threads.submit(queue.answer, n, job(f"play {n}"), "nothing") for n in range(2)]
        until(lambda: len(queue._works) == 2)
        with pytest.raises(Busy):
            queue.answer(2, job("play 2"), "nothing")
        asking.append(threads.submit(queue.answer, "it", job("dashboard"), "tallies"))
        until(lambda: len(queue._works) == 3)
        work.go.set()

        assert {each.result().body for each in asking} == {b"answer"}

    assert work.asked.index("dashboard") <= 1


def test_experiments_push_no_result_out_of_what_is_kept(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_PLAYED", 10_000)
    work.go.set()
    work.answer = Computed([], bytes(4000))
    queue = ComputationQueue(work, 30, 4)
    queue.answer("it", job("result"), "tallies")

    for n in (0, 1, 2, 3, 3, 0):
        queue.answer(n, job(f"play {n}"), "nothing")
    queue.answer("it", job("result"), "tallies")

    assert work.asked == ["result", "play 0", "play 1", "play 2", "play 3", "play 0"]


# --- a process apart ----------------------------------------------------------------------------


@pytest.fixture
def apart() -> Iterator[Make]:
    """Makes processes that answer."""
    made: list[WorkerProcess] = []

    def make(answer: Callable[[bytes], bytes], seconds: float = 30) -> WorkerProcess:
        made.append(WorkerProcess(lambda: answer, seconds))
        return made[-1]

    yield make
    for each in made:
        each.close()


def gone(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return status.rpartition(")")[2].split()[0] == "Z"


def pid_then_work(file: bytes) -> bytes:
    Path(file.decode()).write_text(str(os.getpid()))
    while True:
        pass


def pid_in(file: Path) -> int:
    until(lambda: file.exists() and file.read_text())
    return int(file.read_text())


def test_a_question_is_answered_by_a_process_of_its_own(apart: Make) -> None:
    worker = apart(lambda question: question.upper() + str(os.getpid()).encode())

    one, two = worker.ask(b"a"), worker.ask(b"b" * 3_000_000)

    assert one[:1] == b"A"
    assert two[:3_000_000] == b"B" * 3_000_000
    assert len({one[1:], two[3_000_000:], str(os.getpid()).encode()}) == 3


def test_memory_that_was_reserved_before_is_not_what_the_work_takes(apart: Make) -> None:
    """A library may reserve a lot and use nothing of it."""
    with closing(mmap(-1, 3 << 30, MAP_PRIVATE | MAP_ANONYMOUS)):
        worker = apart(lambda question: question + bytes(len(bytearray(300 << 20)) >> 28))

        assert worker.ask(b"a") == b"a\0"


def test_what_one_had_to_import_is_there_for_all_that_come_later(
    apart: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A library is imported twice: where it was first needed, and where all are forked from. One
    that cannot be imported is nobody's trouble but its own."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "costly_library.py").write_text(
        f"open({str(tmp_path / 'count')!r}, 'a').write('imported ')"
    )

    def answer(question: bytes) -> bytes:
        there = "costly_library" in sys.modules
        importlib.import_module("costly_library")
        sys.modules["of_no_file"] = sys
        return question + (b" there" if there else b" new")

    worker = apart(answer)

    assert [worker.ask(b"1"), worker.ask(b"2"), worker.ask(b"3")] == [
        b"1 new", b"2 there", b"3 there"
    ]  # fmt: skip
    assert (tmp_path / "count").read_text() == "imported imported "


def test_it_answers_where_it_may_not_step_back(
    apart: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in the sandbox of the unit for systemd."""

    def refused(_: int) -> int:
        raise PermissionError

    monkeypatch.setattr(os, "nice", refused)

    assert apart(bytes.upper).ask(b"yes") == b"YES"


def test_what_takes_too_long_is_ended(apart: Make, tmp_path: Path) -> None:
    worker = apart(pid_then_work, 0.3)

    with pytest.raises(TookTooLong):
        worker.ask(bytes(tmp_path / "pid"))

    assert gone(pid_in(tmp_path / "pid"))


def test_what_needs_too_much_memory_is_ended(apart: Make) -> None:
    worker = apart(lambda size: bytes(bytearray(int(size))[:1]))

    with pytest.raises(TookTooMuchMemory):
        worker.ask(str(4 << 30).encode())
    assert worker.ask(b"1000") == b"\0"


def test_what_fails_is_reported_and_the_next_is_answered(apart: Make) -> None:
    worker = apart(lambda question: b"%d" % (1 // int(question)))

    with pytest.raises(WorkerFailed):
        worker.ask(b"0")
    assert worker.ask(b"1") == b"1"


def test_worker_processes_that_were_killed_are_replaced(apart: Make) -> None:
    worker = apart(lambda _: b"%d" % os.getppid())
    forker = int(worker.ask(b"1"))
    os.kill(forker, signal.SIGKILL)
    os.waitpid(forker, 0)

    with suppress(WorkerFailed):
        worker.ask(b"1")

    assert int(worker.ask(b"1")) != forker


# --- a real server ------------------------------------------------------------------------------


def fill(database: Path | str, *surveys: Survey) -> None:
    with closing(Store(str(database))) as store:
        for survey in surveys:
            store.publish(survey, signed(survey))
            for _ in range(9):
                store.add(survey, a_report(survey))
            store.close_survey(survey.name)


def tree(pid: int) -> list[int]:
    """A process and all below it."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(each for child in children for each in tree(int(child)))]


@pytest.mark.slow
@pytest.mark.thorough
def test_a_real_server_answers_what_the_application_alone_does(
    address: str, serve_at: Callable[..., Server]
) -> None:
    """Results, refusals and pages, in both encodings, the first time and from what is kept."""
    fill(address, SURVEY)
    server = serve_at(address, "--workers", "2" if address.startswith("postgres") else "1")
    alone = create_app({"DATABASE": address})
    client = alone.test_client()
    asked = [*PATHS, *REFUSED]
    wanted = {path: client.get(path, headers={"Accept": "text/html"}) for path in asked}

    for path in [*asked, *PATHS]:
        expected = wanted[path]
        for encoding in ("gzip", "identity"):
            headers = {"Accept-Encoding": encoding, "Accept": "text/html"}
            answer = requests.get(server.url + path, headers=headers, timeout=60)
            assert answer.status_code == expected.status_code, path
            assert answer.headers["Content-Type"] == expected.headers["Content-Type"]
            assert answer.headers.get("Content-Disposition") == expected.headers.get(
                "Content-Disposition"
            )
            assert answer.headers["Cache-Control"] == "no-store"
            if answer.status_code == 200 or "html" in expected.headers["Content-Type"]:
                assert answer.content == expected.data, path
            if encoding == "identity":
                assert "Content-Encoding" not in answer.headers
        head = requests.head(server.url + path, timeout=60)
        assert head.status_code == expected.status_code
        assert head.content == b""
    alone.extensions["deniably"].close()


@pytest.mark.slow
def test_what_is_kept_for_analysts_is_for_analysts_alone(
    serve: Callable[..., Server], database: Path
) -> None:
    private = survey_named("private", results={"minimum": 3, "while_open": True, "to": "analysts"})
    fill(database, SURVEY, private)
    server = serve()
    with closing(Store(str(database))) as store:
        token, other = new_token(store, "analyst"), new_token(store, "analyst", "workplace")
    for path in (
        "/api/surveys/private/results",
        "/surveys/private/crosstab?rows=stolen&columns=often",
        "/api/surveys/workplace/difference?question=stolen&choice=yes&survey=private",
    ):
        for secret, status in ((token, 200), (other, 403), ("", 401), (token, 200)):
            headers = {"Authorization": f"Bearer {secret}"} if secret else {"Accept": "*/*"}
            answer = requests.get(server.url + path, headers=headers, timeout=60)
            page_that_asks = path.startswith("/surveys") and not secret
            assert answer.status_code == (200 if page_that_asks else status), path
            assert ("independen" in answer.text) <= (status == 200)


@pytest.mark.slow
def test_recounted_tallies_are_shown(serve: Callable[..., Server], database: Path) -> None:
    fill(database, SURVEY)
    server = serve()
    path = f"{server.url}/api/surveys/workplace/results"
    right = requests.get(path, timeout=60).json()
    with closing(Store(str(database))) as store:
        with closing(store.engine.connect()) as connection:
            connection.execute("UPDATE tallies SET count = count + 1 WHERE question = 'stolen'")
        assert requests.get(path, timeout=60).json() == right  # kept
        store.rebuild_tallies("workplace")
        with closing(store.engine.connect()) as connection:
            connection.execute("UPDATE tallies SET count = count + 1 WHERE question = 'stolen'")

    assert requests.get(path, timeout=60).json() != right  # read again


@pytest.mark.slow
def test_a_killed_server_leaves_no_process_behind(
    serve: Callable[..., Server], database: Path
) -> None:
    """Also where only the one that serves is killed."""
    fill(database, SURVEY)
    server = serve()
    assert requests.get(server.url + PATHS[0], timeout=60).ok
    (worker,) = server.workers
    below = tree(worker)
    assert len(below) > 1

    os.kill(worker, signal.SIGKILL)

    until(lambda: all(map(gone, below)))


@pytest.mark.slow
@pytest.mark.thorough
def test_what_is_more_than_the_server_computes_is_refused_and_the_form_goes_on(
    serve: Callable[..., Server], database: Path
) -> None:
    """Thirty maps of a thousand cells each are dear, however few report: some seconds."""
    axes = [{"name": name, "label": name, "minimum": 0, "maximum": 999} for name in "xy"]
    where = {"type": "point", "label": "Where?", "epsilon": 0.3, "grid": 32, "parts": axes}
    rules = {"minimum": 3, "while_open": True}
    given = {"name": "map", "title": "Map", "contact": "a@example.org", "results": rules}
    maps = [where | {"name": f"map{number}"} for number in range(30)]
    survey = compile_survey(given | {"questions": maps})
    fill(database, survey)
    form = survey_named("other")
    server = serve("--longest", "1")
    server.publish(form)

    with ThreadPoolExecutor(1) as threads:
        path = f"{server.url}/api/surveys/map/results"
        asking = threads.submit(requests.get, path, timeout=60)
        while not asking.done():
            assert requests.get(f"{server.url}/s/other", timeout=60).ok
            assert server.post(form, a_report(form)).status_code == 201
            time.sleep(0.05)
        answer = asking.result()

    assert answer.status_code == 422
    assert answer.json()["type"] == "/problems/too-much"
    assert "the 1 seconds of processor time" in answer.json()["detail"]
