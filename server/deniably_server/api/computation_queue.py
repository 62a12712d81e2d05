"""The queue of computations: few run at a time, and their answers are cached.

Equal requests share one computation. The length of the queue, the wait in it and the time of a
computation are bounded.

Computations wait in lanes, which take turns: by cost, so that a dashboard does not wait for all the
cross-tables before it, and no result for more than one experiment; and by whom they are for.
Publishing, and requests of holders of tokens, have lanes, room and a process of their own, so that
nobody without a token can fill them or keep them waiting.

Within a lane it is the turn of the account that used least lately (``guard.recent_use``). Where no
room is left, a request of an account that has more of them waiting, or used more, makes room for
one of an account with less. So many requests from one network address, or a few from each of many,
keep nobody else out.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from functools import partial
from threading import Condition, Event, Thread
from time import monotonic
from typing import Literal

import msgspec

from deniably_server import errors
from deniably_server.deferred import ClientGone
from deniably_server.errors import Busy, Refusal, TooMuch, Unavailable, Uncomputed
from deniably_server.guard.asker import ANYBODY, Asker
from deniably_server.guard.recent_use import Turns
from deniably_server.web.worker_process import (
    MEMORY,
    Starved,
    TookTooLong,
    TookTooMuchMemory,
    generous,
)

Reads = Literal[
    "tallies", "variants", "reports", "report variants", "nothing", "definition", "file", "designs"
]
"""What a computation reads, which decides its cost: "tallies" or "reports"; the two "variants" of
these, for an answer that is one of hundreds (``cached_view``); "nothing", for the lab;
"definition", to compile one; "file", to write one of every report; or "designs", to find best
mechanisms for means. Files and designs are kept elsewhere."""
Lane = Literal["publishing", "holders", "designs", "results", "variants", "reports", "lab", "files"]
"""A queue of computations of its own. Lanes take turns."""
Outcome = Literal["computed", "cached", "failed", "refused"]
"""What became of a request for a computation."""
Room = Literal["publishing", "holders", "designs", "anybody"]
"""A group of requests that share a limit on how many of them wait."""

_LANES: dict[Reads, Lane] = {
    "tallies": "results", "variants": "variants", "reports": "reports",
    "report variants": "reports", "nothing": "lab", "definition": "publishing", "file": "files",
    "designs": "designs",
}  # fmt: skip
"""The lanes of those without a token."""
_OF_HOLDERS: tuple[Lane, ...] = ("publishing", "holders", "designs")
_OF_ALL: tuple[Lane, ...] = (*_OF_HOLDERS, "results", "variants", "reports", "lab", "files")
_PARTS: dict[Room, int] = {"anybody": 1, "holders": 2, "publishing": 4, "designs": 4}
"""Each room may have the number of requests that may wait, divided by this."""
_OF_ONE = 2
"""One network address or token may have the requests of a room, divided by this."""
_MOST_KEPT = 16 << 20
"""Bytes of cached answers."""
_MOST_PLAYED = 2 << 20
"""Bytes of each further cache. Of experiments, and of answers at any level of confidence, anybody
can ask for ever new ones, which push out no result."""
_SLOW_SECONDS = 600
"""Seconds for which a computation that took too much processor time is refused at once."""
_STARVED_SECONDS = 60
_FRAME = 500
"""Bytes that a cached answer takes besides its body; an estimate."""
_WEIGHT = 0.2
"""The weight of the last computation in the running mean of how long one takes."""


class Job(msgspec.Struct, frozen=True):
    """A computation for a worker process. It is a GET of ``target`` unless one of three fields is
    set: ``definition`` is a text to compile, ``file`` is the (survey, ending) of a file of reports
    to write, and ``designs`` are keys of best mechanisms for means to compute.

    ``authorization`` is the request's header and ``request`` its id. ``instead`` is what the
    client is advised to ask for if the computation takes too much time or memory.
    """

    target: str
    authorization: str
    request: str
    definition: bytes = b""
    instead: str = "ask for questions with fewer choices, or take the shares from results.csv"
    file: tuple[str, str] | None = None
    designs: tuple[tuple[int, int, int], ...] = ()


class Computed(msgspec.Struct, frozen=True, tag="computed"):
    """An answer of a worker process as it is sent to the client: headers and body."""

    headers: list[tuple[str, str]]
    body: bytes

    @property
    def size(self) -> int:
        """The bytes that the answer takes in a cache."""
        return len(self.body) + _FRAME


class RefusedJob(msgspec.Struct, frozen=True, tag="refused"):
    """A refusal of a worker process: the name of an exception class in ``errors``, and its text."""

    kind: str
    why: str


def refused(error: Refusal | Unavailable) -> RefusedJob:
    """Returns an exception in the form in which it passes between processes."""
    return RefusedJob(type(error).__name__, error.why if isinstance(error, Refusal) else str(error))


def _raised(refused: RefusedJob) -> Exception:
    exception: Exception = getattr(errors, refused.kind)(refused.why)
    return exception


_decode = msgspec.msgpack.Decoder(Computed | RefusedJob).decode


class _Work:
    """A computation in its lane, with the requests that wait for it."""

    def __init__(self, key: Hashable, job: Job, reads: Reads, lane: Lane) -> None:
        self.key, self.job = key, job
        self.reads: Reads = reads
        self.lane: Lane = lane
        self.waiting: list[_Waiting] = []
        self.begun = False
        self.answer: Computed | None = None
        self.failure: Callable[[], Exception] | None = None

    def result(self) -> Computed:
        """Returns the answer. Raises the exception of a computation that failed."""
        if self.failure is not None:
            raise self.failure()
        assert self.answer is not None
        return self.answer


class _Waiting:
    """A request that waits for a computation. ``over`` is set once it is done, or once the request
    has ``given_up``."""

    def __init__(self, asker: Asker, work: _Work) -> None:
        self.asker, self.work = asker, work
        self.over, self.given_up = Event(), False
        self.promised = False

    @property
    def room(self) -> Room:
        """The room that the request takes a place in."""
        if self.work.reads == "definition":
            return "publishing"
        if self.work.reads == "designs":
            return "designs"
        return "holders" if self.asker.has_token else "anybody"


class _Cache:
    """A least recently used cache: answers of at most ``maximum`` bytes together."""

    def __init__(self, maximum: int) -> None:
        self._most, self._size = maximum, 0
        self._kept: OrderedDict[Hashable, Computed] = OrderedDict()

    def __contains__(self, key: Hashable) -> bool:
        return key in self._kept

    def get(self, key: Hashable) -> Computed | None:
        """Returns the cached answer; None where there is none."""
        if answer := self._kept.get(key):
            self._kept.move_to_end(key)
        return answer

    def keep(self, key: Hashable, answer: Computed) -> None:
        """Adds an answer that is not in the cache."""
        self._kept[key] = answer
        self._size += answer.size
        while self._size > self._most:
            self._size -= self._kept.popitem(last=False)[1].size


def _caches() -> dict[Reads, _Cache]:
    results, variants = _Cache(_MOST_KEPT), _Cache(_MOST_PLAYED)
    return {
        "tallies": results,
        "variants": variants,
        "reports": results,
        "report variants": variants,
        "nothing": _Cache(_MOST_PLAYED),
        "definition": _Cache(_MOST_PLAYED),
        "file": _Cache(0),
        "designs": _Cache(0),
    }


def _unobserved(lane: Lane, outcome: Outcome) -> None:
    """Ignores what became of a request."""


Ask = Callable[[bytes], bytes]
"""Does an encoded job in a worker process and returns its encoded answer; raises as
``WorkerProcess.ask`` does."""


class ComputationQueue:
    """Runs one job at a time with ``ask``. A second process, ``reserved``, runs jobs for holders
    of tokens alone.

    ``seconds`` is the limit of a job's processor time, and also how long a request waits for its
    job to begin. Once the job has begun, the request waits ``stay`` more seconds, by default as
    long as a job can last. At most ``maximum`` requests without a token wait, and at most half of
    these places are for the lab; half as many requests with a token wait, and a quarter as many to
    publish. ``observe`` is called with the lane and the outcome of each request.
    """

    def __init__(
        self,
        ask: Ask,
        seconds: float,
        maximum: int,
        *,
        reserved: Ask | None = None,
        stay: float | None = None,
        observe: Callable[[Lane, Outcome], None] = _unobserved,
        turns: Turns | None = None,
    ) -> None:
        self._processes: list[tuple[Ask, Sequence[Lane]]] = [(ask, _OF_ALL)]
        if reserved is not None:
            self._processes.append((reserved, _OF_HOLDERS))
        self._seconds, self._most = seconds, maximum
        self._stay = generous(seconds) if stay is None else stay
        self._observe, self._turns = observe, turns or Turns()
        self._news = Condition()
        self._works: dict[Hashable, _Work] = {}
        self._lanes: dict[Lane, list[_Work]] = {lane: [] for lane in _OF_ALL}
        self._kept = _caches()
        self._slow: dict[Hashable, float] = {}
        self._takes = 1.0  # seconds, in the mean
        self._threads: list[Thread] = []

    def answer(
        self,
        key: Hashable,
        job: Job,
        reads: Reads,
        asker: Asker = ANYBODY,
        gone: ClientGone | None = None,
    ) -> Computed:
        """Returns the answer to a job, from the cache or computed in its turn; equal keys have
        equal answers. Stops waiting once the client is ``gone``.

        Raises Busy if too many requests wait or this one waited too long, TooMuch if the job takes
        too much time or memory, Uncomputed if the worker process failed, and what the job itself
        raised.
        """
        lane = _lane(reads, asker)
        with self._news:
            if computed := self._kept[reads].get(key):
                self._observe(lane, "cached")
                return computed
            if self._slow.get(key, 0.0) > monotonic():
                self._observe(lane, "refused")
                raise self._too_long(job)
            waiting = self._enter(key, job, reads, asker)
        if (
            gone is not None
        ):  # the client may be gone already, and this gives the request up at once
            gone.then(partial(self._abandon, waiting))
        try:
            computed = self._result(waiting)
        except Busy:
            self._observe(lane, "refused")
            raise
        except Exception:
            self._observe(lane, "failed")
            raise
        self._observe(lane, "computed")
        return computed

    def soon(
        self,
        key: Hashable,
        job: Job,
        reads: Reads,
        seconds: float,
        asker: Asker = ANYBODY,
    ) -> Computed | None:
        """Returns the answer if it is there within ``seconds``, else None; never raises.

        A job that has begun goes on, and its answer is kept for the next request.
        """
        with self._news:
            if key in self._kept[reads] or self._slow.get(key, 0.0) > monotonic():
                return self._kept[reads].get(key)
            try:
                waiting = self._enter(key, job, reads, asker)
            except Busy:
                return None
        waiting.over.wait(seconds)
        with self._news:
            self._leave(waiting)
        return waiting.work.answer

    def begin(self, key: Hashable, job: Job, reads: Reads, asker: Asker) -> None:
        """Puts a job into the queue and returns at once; never raises.

        The job replaces a waiting job with an equal key. It is dropped if the queue is full.
        """
        with self._news:
            work = self._works.get(key)
            if work is None:
                with suppress(Busy):
                    self._enter(key, job, reads, asker)
            elif not work.begun:
                work.job = job

    def kept(self, key: Hashable) -> Computed | None:
        """Returns a result from the cache; None where it has none under this key."""
        with self._news:
            return self._kept["tallies"].get(key)

    def lengths(self) -> dict[str, int]:
        """Returns {lane: number of waiting requests}. A lane is a queue for jobs of similar cost,
        such as "results" or "lab"."""
        with self._news:
            lanes = [work.lane for work in self._works.values() for _ in work.waiting]
            return {lane: lanes.count(lane) for lane in _OF_ALL}

    # --- waiting ------------------------------------------------------------------------------

    def _enter(self, key: Hashable, job: Job, reads: Reads, asker: Asker) -> _Waiting:
        """Joins the work with this key, or adds it. Raises Busy."""
        lane = _lane(reads, asker)
        work = self._works.get(key) or _Work(key, job, reads, lane)
        waiting = _Waiting(asker, work)
        waiting.promised = self._turns.is_promised(asker)
        self._make_room(waiting)
        self._turns.keep(asker)
        if self._works.get(key) is not work:  # new, or it was given up to make this room
            self._works[key] = work
            self._lanes[work.lane].append(work)
        elif not work.begun and _OF_ALL.index(lane) < _OF_ALL.index(work.lane):
            self._lanes[work.lane].remove(work)  # somebody joins whose lane is better
            work.lane = lane
            self._lanes[lane].append(work)
        work.waiting.append(waiting)
        if not self._threads:
            self._start()
        self._news.notify_all()
        return waiting

    def _make_room(self, coming: _Waiting) -> None:
        """Makes room for a request, if need be by giving up another one. Raises Busy where that is
        not fair."""
        # At least one of each room, unless no request at all may wait.
        maximum = max(min(1, self._most), self._most // _PARTS[coming.room])
        requests = [each for work in self._works.values() for each in work.waiting]
        rivals = [each for each in requests if each.room == coming.room]
        if coming.work.reads == "nothing":
            # Anybody can ask for ever new experiments, so they get half of the room.
            experiments = [each for each in rivals if each.work.reads == "nothing"]
            self._fit(coming, experiments, -(-maximum // 2))
        self._fit(coming, rivals, maximum)

    def _fit(self, coming: _Waiting, rivals: Sequence[_Waiting], maximum: int) -> None:
        """Makes one place among ``maximum``: gives up the most burdensome request that has not
        begun. Raises Busy where that is ``coming`` itself, or its asker waits for too much."""
        counts = Counter(waiting.asker for waiting in rivals)
        own = counts[coming.asker] + 1
        # One account alone never fills a room.
        if coming.asker.name and own > max(1, maximum // _OF_ONE):
            raise self._busy(coming.asker)
        if len(rivals) < maximum:
            return
        # The newest first, so that of equal burdens the request that waited least gives way.
        candidates = [waiting for waiting in reversed(rivals) if not waiting.work.begun]
        victim = max(
            candidates,
            key=lambda waiting: self._burden(waiting, counts[waiting.asker]),
            default=None,
        )
        if victim is None or self._burden(victim, counts[victim.asker]) <= self._burden(
            coming, own
        ):
            raise self._busy(coming.asker)
        self._give_up(victim)

    def _burden(self, waiting: _Waiting, count: int) -> tuple[bool, int, float]:
        """Returns a sort key: how much a request's asker, who has ``count`` requests here, takes
        from others."""
        return not waiting.promised, count, self._turns.used(waiting.asker)

    def _result(self, waiting: _Waiting) -> Computed:
        """Wait for the answer. Raises as ``answer`` does."""
        waiting.over.wait(self._seconds)
        if waiting.work.begun:
            waiting.over.wait(self._stay)
        with self._news:
            work = waiting.work
            if waiting.given_up or not waiting.over.is_set():
                self._leave(waiting)
                if work.begun and not waiting.given_up:
                    raise Busy("this is still being computed", self._rest())
                raise self._busy(waiting.asker)
        return work.result()

    def _abandon(self, waiting: _Waiting) -> None:
        """Give up a request whose client is gone; what has begun goes on, and is kept."""
        with self._news:
            if not waiting.over.is_set():
                self._give_up(waiting)

    def _give_up(self, waiting: _Waiting) -> None:
        waiting.given_up = True
        self._leave(waiting)
        waiting.over.set()

    def _leave(self, waiting: _Waiting) -> None:
        """Stop waiting; a job that no request waits for is not begun."""
        work = waiting.work
        if waiting not in work.waiting:
            return
        work.waiting.remove(waiting)
        if not work.waiting and not work.begun:
            del self._works[work.key]
            self._lanes[work.lane].remove(work)

    def _busy(self, asker: Asker) -> Busy:
        wait = self._turns.wait(asker, len(self._works), self._takes)
        return Busy("more results are asked for than can be computed", wait)

    def _rest(self) -> int:
        """Returns the seconds until a computation that has begun may be done."""
        return max(1, round(self._takes))

    # --- computing ----------------------------------------------------------------------------

    def _start(self) -> None:
        for number, (ask, lanes) in enumerate(self._processes):
            name = f"deniably-results-{number}"
            thread = Thread(target=self._run, args=(ask, lanes), name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def _run(self, ask: Ask, lanes: Sequence[Lane]) -> None:
        turns = deque(lanes)
        while True:
            with self._news:
                self._news.wait_for(lambda: any(self._lanes[lane] for lane in lanes))
                while not self._lanes[turns[0]]:
                    turns.rotate(-1)
                work = min(self._lanes[turns[0]], key=self._turn)
                self._lanes[turns[0]].remove(work)
                # One of the requests that share the work pays for all: the one whose turn it was.
                work.begun, payer = True, min(work.waiting, key=self._turn_of).asker
            turns.rotate(-1)  # the lane that was served comes last
            begun = monotonic()
            self._do(ask, work)
            took = monotonic() - begun
            self._turns.add(payer, took)  # before those who wait wake up and ask again
            self._takes += _WEIGHT * (took - self._takes)
            with self._news:
                for waiting in work.waiting:
                    waiting.over.set()

    def _turn(self, work: _Work) -> tuple[bool, float]:
        """Returns a sort key; the work with the least is next."""
        return min(map(self._turn_of, work.waiting))

    def _turn_of(self, waiting: _Waiting) -> tuple[bool, float]:
        return not waiting.promised, self._turns.used(waiting.asker)

    def _do(self, ask: Ask, work: _Work) -> None:
        try:
            outcome = _decode(ask(msgspec.msgpack.encode(work.job)))
            if isinstance(outcome, Computed):
                work.answer = outcome
            else:
                work.failure = partial(_raised, outcome)
        except TookTooLong:
            work.failure = partial(self._too_long, work.job)
            self._remember_slow(work.key)
        except TookTooMuchMemory:
            work.failure = partial(_too_large, work.job)
        except Starved:
            work.failure = partial(
                Busy,
                "this server has too much to do: it could not give this computation its"
                f" {self._seconds:g} seconds of processor time",
                _STARVED_SECONDS,
            )
        except Exception:  # the other process failed; this thread goes on
            work.failure = partial(Uncomputed, "the process that computed is gone")
        with self._news:  # in one step: an equal request finds either the work or its answer
            del self._works[work.key]
            if work.answer is not None:
                self._kept[work.reads].keep(work.key, work.answer)

    def _remember_slow(self, key: Hashable) -> None:
        now = monotonic()
        with self._news:
            self._slow = {each: until for each, until in self._slow.items() if until > now}
            self._slow[key] = now + _SLOW_SECONDS

    def _too_long(self, job: Job) -> TooMuch:
        return TooMuch(
            f"this takes more than the {self._seconds:g} seconds of processor time that this server"
            f" gives one computation; {job.instead}; its operator may set more (--longest)"
        )


def _too_large(job: Job) -> TooMuch:
    return TooMuch(
        f"this takes more than the {MEMORY >> 30} GB of memory that this server gives one"
        f" computation; {job.instead}"
    )


def _lane(reads: Reads, asker: Asker) -> Lane:
    lane = _LANES[reads]
    return "holders" if asker.has_token and lane not in ("publishing", "designs") else lane
