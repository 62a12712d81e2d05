"""Nobody keeps others from publishing, from their results, or from a fair share of the rest."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import msgspec
import pytest

from deniably_server.api.computation_queue import ComputationQueue, Computed, Job, Reads
from deniably_server.deferred import ClientGone
from deniably_server.errors import Busy, TooMuch
from deniably_server.guard.asker import Asker
from deniably_server.guard.rate_limits import RecentUse
from deniably_server.guard.recent_use import Turns
from deniably_server.watching.metrics import Metrics
from deniably_server.web.worker_process import Starved, TookTooLong, TookTooMuchMemory
from support.crowd import until

AUTHOR = Asker("0123456789ab", True)


def network(number: int) -> Asker:
    return Asker(f"203.0.113.{number}")


def job(target: object) -> Job:
    return Job(str(target), "", "0" * 16)


class Process:
    """Does one job whenever it is let, and notes what."""

    def __init__(self) -> None:
        self.did: list[str] = []
        self._may = threading.Semaphore(0)
        self.failure: type[Exception] | None = None

    def __call__(self, question: bytes) -> bytes:
        self.did.append(msgspec.msgpack.decode(question, type=Job).target)
        assert self._may.acquire(timeout=30)
        if self.failure:
            raise self.failure
        return msgspec.msgpack.encode(Computed([], self.did[-1].encode()))

    def let(self, jobs: int = 1) -> None:
        self._may.release(jobs)


class Counted(ComputationQueue):
    """A queue that counts who came, and was let in or refused."""

    arrivals = 0

    def _enter(self, *args: Any) -> Any:
        try:
            return super()._enter(*args)
        finally:
            self.arrivals += 1


class Crowd:
    """Askers of a queue, each in a thread."""

    def __init__(self, queue: Counted, threads: ThreadPoolExecutor) -> None:
        self.queue, self._threads = queue, threads

    def ask(self, asker: Asker, key: object, reads: Reads = "tallies") -> Future[Computed]:
        """Ask, and return once it waits or is refused."""
        before = self.queue.arrivals
        asked = self._threads.submit(self.queue.answer, key, job(key), reads, asker)
        until(lambda: self.queue.arrivals > before)
        return asked


@pytest.fixture
def process() -> Iterator[Process]:
    process = Process()
    yield process
    process.let(1000)


@pytest.fixture
def reserved() -> Iterator[Process]:
    process = Process()
    yield process
    process.let(1000)


@pytest.fixture
def stack(process: Process, reserved: Process) -> Iterator[ExitStack]:
    """Threads in it end once every job is let."""
    with ExitStack() as stack:
        yield stack
        process.let(1000)
        reserved.let(1000)


def crowd(stack: ExitStack, queue: Counted) -> Crowd:
    return Crowd(queue, stack.enter_context(ThreadPoolExecutor(100)))


def refused(asked: Future[Computed]) -> Busy:
    with pytest.raises(Busy) as busy:
        asked.result(30)
    return busy.value


def test_whoever_has_a_token_waits_for_nobody_without_one(
    stack: ExitStack, process: Process, reserved: Process
) -> None:
    """However many they are, and however long what they ask for takes."""
    people = crowd(stack, Counted(process, 30, 64, reserved=reserved))
    for number in range(70):
        people.ask(network(number), number, ("tallies", "reports", "nothing")[number % 3])
    reserved.let(2)

    assert people.ask(AUTHOR, "results").result(30).body == b"results"
    assert people.ask(AUTHOR, "survey", "definition").result(30).body == b"survey"
    assert reserved.did == ["results", "survey"]
    assert len(process.did) == 1


def test_a_holder_who_asks_for_what_others_wait_for_takes_it_along(
    stack: ExitStack, process: Process, reserved: Process
) -> None:
    people = crowd(stack, Counted(process, 30, 64, reserved=reserved))
    waiting = [people.ask(network(1), name) for name in ("first", "second", "third")]
    reserved.let()

    assert people.ask(AUTHOR, "third").result(30).body == b"third"
    assert waiting[2].result(30).body == b"third"
    assert reserved.did == ["third"]


def test_one_token_takes_half_of_the_room_of_holders_at_most(
    stack: ExitStack, process: Process, reserved: Process
) -> None:
    people = crowd(stack, Counted(process, 30, 16, reserved=reserved))
    for number in range(4):
        people.ask(AUTHOR, number)

    refused(people.ask(AUTHOR, "one more"))
    reserved.let(20)
    process.let(20)
    assert people.ask(Asker("another", True), "theirs").result(30).body == b"theirs"


def test_one_network_takes_half_of_the_room_and_others_the_rest(
    stack: ExitStack, process: Process
) -> None:
    people = crowd(stack, Counted(process, 30, 8))
    asked = [people.ask(network(1), number) for number in range(4)]

    refused(people.ask(network(1), "one more"))
    asked += [people.ask(network(number), f"of {number}") for number in range(2, 6)]
    process.let(20)
    assert [each.result(30) for each in asked]


def test_where_no_room_is_left_whoever_waits_for_most_makes_room(
    stack: ExitStack, process: Process
) -> None:
    people = crowd(stack, Counted(process, 30, 4))
    people.ask(network(1), "begun")
    until(lambda: process.did)
    many = [people.ask(network(2), number) for number in range(2)]
    people.ask(network(3), "third")

    visitor = people.ask(network(4), "visitor")

    until(lambda: many[1].done())
    assert refused(many[1]).wait >= 1
    assert not many[0].done()
    process.let(20)
    assert visitor.result(30).body == b"visitor"


def test_a_visitor_among_64_who_never_stop_is_the_next(stack: ExitStack, process: Process) -> None:
    """Everybody who got an answer lately comes after somebody who got none."""
    people = crowd(stack, Counted(process, 30, 64, turns=Turns(lambda: 0.0)))
    asked = {number: people.ask(network(number), (number, 0)) for number in range(64)}
    for again in range(1, 65):  # each asks for something new as soon as it has its answer
        process.let()
        until(lambda: any(each.done() for each in asked.values()))
        for number in [number for number, each in asked.items() if each.done()]:
            asked[number] = people.ask(network(number), (number, again))
    before = len(process.did)

    visitor = people.ask(network(99), "visitor")
    process.let(2)

    assert visitor.result(30).body == b"visitor"
    assert process.did.index("visitor") == before


def test_whoever_comes_when_a_refusal_says_so_is_the_next(
    stack: ExitStack, process: Process
) -> None:
    """Also where everybody else is new each time, so that nobody has used anything."""
    now = [0.0]
    people = crowd(stack, Counted(process, 30, 4, turns=Turns(lambda: now[0])))
    people.ask(network(0), "begun")
    until(lambda: process.did)
    others = [people.ask(network(number), number) for number in range(1, 4)]
    busy = [refused(people.ask(network(100 + number), "refused")) for number in range(3)]
    assert [busy[0].wait < each.wait for each in busy[1:]] == [True] * 2, "one after the other"

    now[0] = busy[0].wait - 1
    early = refused(people.ask(network(100), "early"))
    assert early.wait == 1, "the promise stands"
    now[0] = busy[0].wait
    visitor = people.ask(network(100), "visitor")
    until(lambda: others[2].done())
    refused(others[2])
    refused(people.ask(network(150), "somebody new"))
    process.let(2)

    assert visitor.result(30).body == b"visitor"
    assert process.did[1] == "visitor"


def test_a_promise_lasts_for_a_minute_and_is_kept_once() -> None:
    now = [0.0]
    turns, visitor = Turns(lambda: now[0]), network(1)
    assert turns.wait(visitor, 9, 0.5) == 5
    now[0] = 64.9
    assert turns.is_promised(visitor)
    turns.keep(visitor)
    assert not turns.is_promised(visitor)
    assert turns.wait(visitor, 0, 0.01) == 1
    now[0] += 62
    assert not turns.is_promised(visitor)
    assert turns.wait(Asker(), 9, 0.5) == 5
    assert not turns.is_promised(Asker()), "there may be many behind it"


def test_levels_of_confidence_keep_no_result_waiting_and_push_none_out(
    stack: ExitStack, process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deniably_server.api.computation_queue._MOST_PLAYED", 3_000)
    people = crowd(stack, Counted(process, 30, 64))
    for number in range(20):
        people.ask(network(number), number, "variants")
    result = people.ask(network(30), "result")
    process.let(3)

    assert result.result(30).body == b"result"
    assert process.did.index("result") <= 1
    process.let(100)
    until(lambda: len(process.did) == 21)
    assert people.queue.kept("result")
    assert people.ask(network(1), 3, "variants").result(30).body == b"3"
    assert process.did.count("3") == 2, "pushed out by the other levels"


def test_nothing_is_computed_for_a_client_that_is_gone(stack: ExitStack, process: Process) -> None:
    queue = Counted(process, 30, 4)
    people, gone = crowd(stack, queue), [ClientGone() for _ in range(2)]
    people.ask(network(1), "begun")
    until(lambda: process.did)
    threads = stack.enter_context(ThreadPoolExecutor(2))
    left = [
        threads.submit(queue.answer, number, job(number), "tallies", network(2), one)
        for number, one in enumerate(gone)
    ]
    until(lambda: queue.lengths()["results"] == 3)
    for one in gone:
        one.set()
    for each in left:
        refused(each)
    process.let(10)

    assert queue.lengths()["results"] <= 1
    assert process.did == ["begun"]
    late = ClientGone()
    late.set()
    with pytest.raises(Busy):
        queue.answer("late", job("late"), "tallies", network(2), late)


@pytest.mark.parametrize(
    ("failure", "error", "says", "again"),
    [
        (TookTooLong, TooMuch, "30 seconds of processor time", 1),
        (TookTooMuchMemory, TooMuch, "1 GB of memory", 2),
        (Starved, Busy, "too much to do", 2),
    ],
)
def test_a_refusal_says_which_limit_it_was_and_only_too_much_work_is_remembered(
    process: Process, failure: type[Exception], error: type[Exception], says: str, again: int
) -> None:
    process.failure = failure
    process.let(3)
    queue = ComputationQueue(process, 30, 4)
    for _ in range(2):
        with pytest.raises(error, match=says) as refusal:
            queue.answer("key", job("key"), "reports")

    assert len(process.did) == again
    assert ("fewer choices" in str(refusal.value)) is (error is TooMuch)


def test_whoever_waits_long_for_what_has_begun_finds_it_later(process: Process) -> None:
    queue = ComputationQueue(process, 30, 4, stay=0)
    queue._seconds = 0.05
    with pytest.raises(Busy, match="still being computed"):
        queue.answer("key", job("key"), "reports")
    process.let()
    until(lambda: not queue._works)

    assert queue.answer("key", job("key"), "reports").body == b"key"


def test_use_is_forgotten_and_keeps_no_address() -> None:
    now = [0.0]
    use = RecentUse(lambda: now[0])
    use.add("203.0.113.7", 2)

    assert use.of("203.0.113.7") == 1200
    assert use.of("203.0.113.8") == 0
    now[0] = 1199
    assert use.of("203.0.113.7") == 1
    now[0] = 2000
    assert use.of("203.0.113.7") == 0
    use.add("203.0.113.7", 1e9)
    assert use.of("203.0.113.7") == 86400
    assert "203.0.113.7" not in repr(vars(use))


def test_metrics_say_what_became_of_requests_in_each_lane(process: Process) -> None:
    metrics = Metrics()
    queue = ComputationQueue(process, 30, 4, observe=metrics.computation)
    metrics.watch_lengths(queue.lengths)
    process.let(20)
    for number in range(10):
        queue.answer(number, job(number), "tallies", network(number))
        queue.answer(number, job(number), "tallies", network(number))

    page = metrics.page(lambda: 1.0).decode()

    assert 'deniably_computations_total{lane="results",outcome="computed"} 10.0' in page
    assert 'deniably_computations_total{lane="results",outcome="cached"} 10.0' in page
    assert 'deniably_computations_waiting{lane="publishing"} 0.0' in page
    assert "203.0.113" not in page
