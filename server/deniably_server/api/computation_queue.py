"""The queue of computations: one runs at a time, and its answer is cached.

Equal requests share one computation. The length of the queue, the wait in it and the time of a
computation are bounded. Computations that read every report, those that read only tallies, and
those of the lab, which read no data, take turns: a dashboard does not wait for all the cross-tables
before it, and no result for more than one experiment.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from functools import partial
from threading import Condition, Event, Thread
from time import monotonic
from typing import Literal

import msgspec

from deniably_server import errors
from deniably_server.errors import Busy, Refusal, TooMuch, Unavailable, Uncomputed
from deniably_server.web.worker_process import TookTooLong

Reads = Literal["tallies", "reports", "nothing"]

_TURNS: tuple[Reads, ...] = ("tallies", "reports", "nothing")
_MOST_KEPT = 16 << 20
"""Bytes of cached answers."""
_MOST_PLAYED = 2 << 20
"""Bytes of cached experiments: anybody can ask for ever new ones, which push out no result."""
_AGAIN_SECONDS = 10
_SLOW_SECONDS = 600
"""How long a computation that took too long is refused at once."""
_FRAME = 500
"""Bytes that a cached answer takes besides its body."""


class Job(msgspec.Struct, frozen=True):
    """One computation for the worker process: a GET of ``target``, or a ``definition`` to compile.

    ``authorization`` is the request's header and ``request`` its id. ``instead`` says what to ask
    for if this takes too long.
    """

    target: str
    authorization: str
    request: str
    definition: bytes = b""
    instead: str = "ask for questions with fewer choices, or take the shares from results.csv"


class Computed(msgspec.Struct, frozen=True, tag="computed"):
    """The answer as it is sent."""

    headers: list[tuple[str, str]]
    body: bytes

    @property
    def size(self) -> int:
        """Bytes that it takes in the cache."""
        return len(self.body) + _FRAME


class RefusedJob(msgspec.Struct, frozen=True, tag="refused"):
    """A refusal: the name of an exception in ``errors``, and its text."""

    kind: str
    why: str


def refused(error: Refusal | Unavailable) -> RefusedJob:
    """An exception in the form in which it passes between processes."""
    return RefusedJob(type(error).__name__, error.why if isinstance(error, Refusal) else str(error))


def _raised(refused: RefusedJob) -> Exception:
    found: Exception = getattr(errors, refused.kind)(refused.why)
    return found


_decode = msgspec.msgpack.Decoder(Computed | RefusedJob).decode


class _Work:
    """One computation, with the number of requests that wait for it."""

    def __init__(self, key: Hashable, job: Job, reads: Reads) -> None:
        self.key, self.job = key, job
        self.reads: Reads = reads
        self.waiting = 0
        self.begun, self.done = Event(), Event()
        self.answer: Computed | None = None
        self.failure: Callable[[], Exception] | None = None

    def result(self) -> Computed:
        """The answer. Raises the exception of a computation that failed."""
        if self.failure is not None:
            raise self.failure()
        assert self.answer is not None
        return self.answer


class _Cache:
    """Answers of at most ``most`` bytes; that which was not asked for the longest goes first."""

    def __init__(self, most: int) -> None:
        self._most, self._size = most, 0
        self._kept: OrderedDict[Hashable, Computed] = OrderedDict()

    def __contains__(self, key: Hashable) -> bool:
        return key in self._kept

    def get(self, key: Hashable) -> Computed | None:
        """The answer if it is kept."""
        if found := self._kept.get(key):
            self._kept.move_to_end(key)
        return found

    def keep(self, key: Hashable, answer: Computed) -> None:
        """Keep an answer that was not kept."""
        self._kept[key] = answer
        self._size += answer.size
        while self._size > self._most:
            self._size -= self._kept.popitem(last=False)[1].size


class ComputationQueue:
    """Runs one job at a time by ``ask``, which raises TookTooLong after ``seconds``.

    A request waits as many seconds for its job to begin. At most ``most`` requests wait, and no
    more than half as many for what reads nothing.
    """

    def __init__(self, ask: Callable[[bytes], bytes], seconds: float, most: int) -> None:
        self._ask, self._seconds, self._most = ask, seconds, most
        self._news = Condition()
        self._works: dict[Hashable, _Work] = {}
        self._queues: dict[Reads, deque[_Work]] = {reads: deque() for reads in _TURNS}
        results = _Cache(_MOST_KEPT)
        self._kept: dict[Reads, _Cache] = {
            "tallies": results, "reports": results, "nothing": _Cache(_MOST_PLAYED)
        }  # fmt: skip
        self._slow: dict[Hashable, float] = {}
        self._thread: Thread | None = None

    def answer(self, key: Hashable, job: Job, reads: Reads) -> Computed:
        """The answer to a job; equal keys have equal answers.

        Raises Busy if too many requests wait or this one waited too long, TooMuch if the job takes
        too long, Uncomputed if the worker process failed, and what the job itself raised.
        """
        with self._news:
            if found := self._kept[reads].get(key):
                return found
            if self._slow.get(key, 0.0) > monotonic():
                raise self._too_slow(job)
            work = self._enter(key, job, reads)
            work.waiting += 1
        work.begun.wait(self._seconds)
        with self._news:
            begun = work.begun.is_set()
            if not begun:
                self._leave(work)
        if not begun:
            raise Busy("more results are asked for than can be computed", _AGAIN_SECONDS)
        work.done.wait()
        return work.result()

    def soon(self, key: Hashable, job: Job, reads: Reads, seconds: float) -> Computed | None:
        """The answer if it is there within ``seconds``, else None; never raises.

        A job that has begun goes on, and its answer is kept for the next request.
        """
        with self._news:
            if key in self._kept[reads] or self._slow.get(key, 0.0) > monotonic():
                return self._kept[reads].get(key)
            try:
                work = self._enter(key, job, reads)
            except Busy:
                return None
            work.waiting += 1
        work.done.wait(seconds)
        with self._news:
            if not work.begun.is_set():
                self._leave(work)
        return work.answer

    def kept(self, key: Hashable) -> Computed | None:
        """The result if it was computed before."""
        with self._news:
            return self._kept["tallies"].get(key)

    def _enter(self, key: Hashable, job: Job, reads: Reads) -> _Work:
        waiting = [each.reads for each in self._works.values() for _ in range(each.waiting)]
        playing = reads == "nothing" and 2 * waiting.count(reads) >= self._most
        if playing or len(waiting) >= self._most:
            raise Busy("more results are asked for than can be computed", _AGAIN_SECONDS)
        work = self._works.get(key)
        if work is None:
            work = self._works[key] = _Work(key, job, reads)
            self._queues[reads].append(work)
            if self._thread is None:
                self._thread = Thread(target=self._run, name="deniably-results", daemon=True)
                self._thread.start()
            self._news.notify()
        return work

    def _leave(self, work: _Work) -> None:
        """Stop waiting; a job that no request waits for is not begun."""
        work.waiting -= 1
        if not work.waiting:
            del self._works[work.key]
            self._queues[work.reads].remove(work)

    def _run(self) -> None:
        turns: deque[Reads] = deque(_TURNS)
        while True:
            with self._news:
                self._news.wait_for(lambda: any(self._queues.values()))
                while not self._queues[turns[0]]:
                    turns.rotate(-1)
                work = self._queues[turns[0]].popleft()
                work.begun.set()
            turns.rotate(-1)
            self._do(work)

    def _do(self, work: _Work) -> None:
        try:
            found = _decode(self._ask(msgspec.msgpack.encode(work.job)))
            if isinstance(found, Computed):
                work.answer = found
            else:
                work.failure = partial(_raised, found)
        except TookTooLong:
            work.failure = partial(self._too_slow, work.job)
            self._remember_slow(work.key)
        except Exception:  # the other process failed; this thread goes on
            work.failure = partial(Uncomputed, "the process that computed is gone")
        with self._news:
            del self._works[work.key]
            if work.answer is not None:
                self._kept[work.reads].keep(work.key, work.answer)
        work.done.set()

    def _remember_slow(self, key: Hashable) -> None:
        now = monotonic()
        with self._news:
            self._slow = {each: until for each, until in self._slow.items() if until > now}
            self._slow[key] = now + _SLOW_SECONDS

    def _too_slow(self, job: Job) -> TooMuch:
        return TooMuch(
            f"this takes longer than the {self._seconds:g} seconds, or more memory, than this"
            f" server gives it; {job.instead}; its operator may set more seconds (--longest)"
        )
