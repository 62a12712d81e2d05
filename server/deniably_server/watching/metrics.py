"""Numbers about the server for its operator, at ``/metrics``: how much, how fast, what failed.

A counter that grows at the moment when somebody answers is the time at which they answered, in the
hands of whoever collects it. So what people do is told coarsely: of every count whole tens, and the
page is made anew once in five minutes at most. Of ten people one can then be placed within five
minutes, without a hint which one. Nothing is counted by survey, and no sum of durations is told,
which would move with each request. Faults of the server are told one by one, for nothing was stored
and somebody has to look.

The numbers are those of all processes of a server. Each writes its counts, once a minute and under
a name of its own, into a folder that vanishes with the server.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from uuid import uuid4

import msgspec

from deniably_server.storage.commit import Outcome
from deniably_server.watching.exposition import Counts, exposed
from deniably_server.watching.told import Answer, milliseconds

EVERY = 300
"""Seconds between two looks."""
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
        self._shown: tuple[int, bytes] = (-1, b"")

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
                    _put(self._folder / f"{self._name}.counts", msgspec.json.encode(counts))

    # --- what is told -------------------------------------------------------------------------

    def page(self, now: float | None = None) -> bytes:
        """The numbers as Prometheus reads them, as of some moment of these five minutes."""
        turn = int((time.time() if now is None else now) // EVERY)
        if self._shown[0] != turn:
            self.count()
            self._shown = (turn, self._page_of(turn))
        return self._shown[1]

    def _page_of(self, turn: int) -> bytes:
        if self._folder is not None:
            with suppress(OSError):  # a full disk, or whoever tidies /tmp
                return self._first_of(turn, self._folder)
        return exposed(self._counts.copy())

    def _first_of(self, turn: int, folder: Path) -> bytes:
        """The page of this turn: in all processes that of the one which was asked first."""
        shared = folder / f"{turn}.page"
        if not shared.exists():
            together: Counts = Counter()
            for file in folder.glob("*.counts"):
                together.update(dict(_decode(file.read_bytes())))
            _put(shared, exposed(together), once=True)
        return shared.read_bytes()


def _class(answer: Answer) -> str:
    return f"{answer.status // 100}xx"


def _put(path: Path, content: bytes, *, once: bool = False) -> None:
    """Write a file whole, or not at all where it is there and may be written ``once`` only."""
    part = path.with_name(f"{uuid4().hex}.part")
    part.write_bytes(content)
    try:
        (os.link if once else os.replace)(part, path)
    except FileExistsError:
        pass
    finally:
        part.unlink(missing_ok=True)
