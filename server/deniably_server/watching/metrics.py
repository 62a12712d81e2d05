"""Numbers about the server for its operator, at ``/metrics``: how much, how fast, what failed.

A counter that grows at the moment when somebody answers is the time at which they answered, in the
hands of whoever collects it. So what people do is told coarsely: of every count whole tens, and the
page is made anew once in five minutes at most (``seldom``). Of ten people one can then be placed
within five minutes, without a hint which one. Nothing on the page is counted by survey, and no sum
of durations is told, which would move with each request. Faults of the server are told one by one,
for nothing was stored and somebody has to look.

The numbers are those of all processes of a server. Each writes its counts, once a minute and under
a name of its own, into a folder that vanishes with the server.
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
from deniably_server.watching.prometheus import Counts, exposed
from deniably_server.watching.request_facts import Answer, milliseconds
from deniably_server.watching.seldom import Seldom, put, tens

_MOST = 10_000
"""Answers that wait to be counted, at most."""
_INGEST = "/api/surveys/<name>/reports"

_decode = msgspec.json.Decoder(list[tuple[tuple[str, ...], int]]).decode


class Metrics:
    """The numbers of an application, which is one process of several where there is a folder."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._name = uuid4().hex
        self._lock = Lock()
        self._answers: list[Answer] = []
        self._counts: Counts = Counter()
        self._seldom = Seldom(folder)

    # --- what is counted ----------------------------------------------------------------------

    def add(self, answer: Answer) -> None:
        """A request was answered. Counting it waits: a respondent does not."""
        self._answers.append(answer)
        if len(self._answers) >= _MOST:
            self.count()

    def committed(self, outcomes: Sequence[Outcome], seconds: float, waiting: int) -> None:
        """A transaction was written."""
        found = Counter(("reports", outcome.value) for outcome in outcomes)
        with self._lock:
            self._counts["commit", str(milliseconds(seconds))] += 1
            self._counts["waiting",] = waiting
            self._counts.update(found)

    def failed(self) -> None:
        """A transaction was not."""
        with self._lock:
            self._counts["commit_failures",] += 1

    def lines(self, counts: Mapping[str, int]) -> None:
        """A batch was read."""
        with self._lock:
            self._counts.update({("batch_lines", word): count for word, count in counts.items()})

    def count(self) -> None:
        """Count what waits, and tell the other processes."""
        with self._lock:
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
                    put(self._folder / f"{self._name}.counts", msgspec.json.encode(counts))

    # --- what is told -------------------------------------------------------------------------

    def page(self, now: float | None = None) -> bytes:
        """The numbers as Prometheus reads them, as of the last look."""
        return self._seldom.look("page", self._page, now)

    def reports_of(self, survey: str, count: Callable[[], int], now: float | None = None) -> int:
        """How many reports a survey has, for its author: in whole tens, as of the last look."""
        return int(self._seldom.look(f"of-{survey}", lambda: b"%d" % tens(count()), now))

    def _page(self) -> bytes:
        self.count()
        if self._folder is not None:
            with suppress(OSError):  # a full disk, or whoever tidies /tmp
                if files := list(self._folder.glob("*.counts")):
                    return exposed(_sum(files))
        return exposed(self._counts.copy())


def _sum(files: Sequence[Path]) -> Counts:
    together: Counts = Counter()
    for file in files:
        together.update(dict(_decode(file.read_bytes())))
    return together


def _class(answer: Answer) -> str:
    return f"{answer.status // 100}xx"
