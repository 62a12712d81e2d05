"""Collects the server's metrics for its operator, at ``/metrics``: load, speed and failures.

A counter that grows when somebody answers reveals when they answered. So counts of people's
activity are rounded to whole tens, and the page changes at most once in five minutes: see
``coarse_counts``. A reader then learns only that one of ten people answered within five minutes.
The page counts nothing by survey. It has no sum of durations, which would change with every
request. Faults of the server are counted exactly: nothing was stored, and somebody has to look.

The numbers cover all processes of a server. Once a minute each process writes its counts into a
file of its own, in a folder that vanishes with the server.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from uuid import uuid4

import msgspec

from deniably_server.storage.writing.commit import Outcome
from deniably_server.watching.coarse_counts import Seldom, replace_file, tens
from deniably_server.watching.prometheus import Counts, exposed
from deniably_server.watching.request_facts import AnsweredRequest, milliseconds

_MOST = 10_000
"""Answers may wait for the next count up to this number."""
_INGEST = "/api/surveys/<name>/reports"

_decode = msgspec.json.Decoder(list[tuple[tuple[str, ...], int]]).decode


class Metrics:
    """The metrics of an application; with a ``folder``, those of all processes that share the
    folder."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._name = uuid4().hex
        self._lock = Lock()
        self._answers: list[AnsweredRequest] = []
        self._counts: Counts = Counter()
        self._seldom = Seldom(folder)
        self._lengths: Callable[[], Mapping[str, int]] = dict

    # --- what is counted ----------------------------------------------------------------------

    def add(self, answer: AnsweredRequest) -> None:
        """Notes an answered request. ``count`` counts it later, so no respondent waits for that."""
        self._answers.append(answer)
        if len(self._answers) >= _MOST:
            self.count()

    def committed(self, outcomes: Sequence[Outcome], seconds: float, waiting: int) -> None:
        """Counts a committed transaction: its ``outcomes``, one for each report, and its duration
        in ``seconds``. ``waiting`` is the number of writes that wait for the next one."""
        added = {("reports", outcome.value): count for outcome, count in Counter(outcomes).items()}
        with self._lock:
            self._counts["commit", str(milliseconds(seconds))] += 1
            self._counts["waiting",] = waiting
            self._counts.update(added)

    def failed(self) -> None:
        """Count a transaction that failed."""
        with self._lock:
            self._counts["commit_failures",] += 1

    def lines(self, counts: Mapping[str, int]) -> None:
        """Counts the lines of a batch of reports. ``counts`` is {outcome: number of lines}."""
        with self._lock:
            self._counts.update({("batch_lines", word): count for word, count in counts.items()})

    def computation(self, lane: str, outcome: str) -> None:
        """Counts a request for a computation: the ``lane`` in which it waited, and its ``outcome``,
        as ``api.computation_queue`` names them."""
        with self._lock:
            self._counts["computations", lane, outcome] += 1

    def watch_lengths(self, lengths: Callable[[], Mapping[str, int]]) -> None:
        """Makes every later ``count`` record the numbers of waiting requests, which ``lengths``
        returns as {lane: number}."""
        self._lengths = lengths

    def count(self) -> None:
        """Counts the noted requests, and shares the counts with the other processes."""
        lengths = self._lengths()  # it has a lock of its own
        with self._lock:
            for lane, count in lengths.items():
                self._counts["computing", lane] = count
            answers, self._answers = self._answers, []
            self._counts.update(("requests", each.route, _class(each)) for each in answers)
            self._counts.update(
                ("ingest", str(each.milliseconds))
                for each in answers
                if each.route == _INGEST and _class(each) == "2xx"
            )
            if self._folder is not None:
                counts = list(self._counts.items())
                with suppress(OSError):  # a full disk: those of the last time stay
                    replace_file(self._folder / f"{self._name}.counts", msgspec.json.encode(counts))

    # --- what is shown ------------------------------------------------------------------------

    def page(self, register_room: Callable[[], float], now: float | None = None) -> bytes:
        """Returns the page for Prometheus, at most five minutes old.

        ``register_room`` returns the share of the register that is free, from 0 to 1. Anybody can
        work it out from the register, so it is not rounded.
        """
        return self._seldom.look("page", lambda: self._page(register_room()), now)

    def reports_of(self, survey: str, count: Callable[[], int], now: float | None = None) -> int:
        """Returns a survey's number of reports for its author: in whole tens, and up to five
        minutes old. ``count`` returns the exact number."""
        return int(self._seldom.look(f"of-{survey}", lambda: b"%d" % tens(count()), now))

    def _page(self, room: float) -> bytes:
        self.count()
        if self._folder is not None:
            with suppress(OSError):  # a full disk, or a cleaner of /tmp
                if files := list(self._folder.glob("*.counts")):
                    return exposed(_sum(files), room)
        return exposed(self._counts.copy(), room)


def _sum(files: Sequence[Path]) -> Counts:
    together: Counts = Counter()
    for file in files:
        # Lengths of queues are added, too: each process has its own.
        together.update(dict(_decode(file.read_bytes())))
    return together


def _class(answer: AnsweredRequest) -> str:
    return f"{answer.status // 100}xx"
