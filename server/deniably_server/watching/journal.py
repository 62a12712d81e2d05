"""The log: one line for each answer. It is no record of who came when.

A line has the method, the template of the address, the status, the milliseconds in coarse steps and
the request's random id, and no time. But whoever collects a log notes the time of each line. So
lines are held for a minute (``minute``) and then written at once, in the order of the alphabet:
neither their order nor the collector's clock tells more than the minute. What the server did wrong
is written when it happens: nothing was stored then.
"""

from __future__ import annotations

import json
import logging
import sys
from contextlib import suppress
from threading import Lock, Thread
from typing import Literal, TextIO

from deniably_server.watching.request_facts import Answer

Form = Literal["text", "json", "off"]

_MOST = 10_000
"""Lines that wait until they are written without a minute's delay. Twice as many are all that wait:
where the log takes none, because a disk is full or a terminal stopped, lines are left out, and no
respondent waits."""


class Journal:
    """Holds the lines of a process and writes them, to the standard error unless told where."""

    def __init__(self, form: Form = "text", out: TextIO | None = None) -> None:
        self._form: Form = form
        self._out = out
        self._answers: list[Answer] = []
        self._lock, self._early = Lock(), Lock()

    def add(self, answer: Answer) -> None:
        """One more line."""
        if self._form == "off" or len(self._answers) >= 2 * _MOST:
            return
        self._answers.append(answer)
        if len(self._answers) >= _MOST and self._early.acquire(blocking=False):
            try:
                Thread(target=self._write_early, name="deniably-journal", daemon=True).start()
            except RuntimeError:  # no thread is to be had; the minute will do it
                self._early.release()

    def write(self) -> None:
        """Write what waits."""
        with self._lock:
            answers, self._answers = self._answers, []
            out = self._out or sys.stderr  # which is None where it was closed
            if answers and out:
                with suppress(OSError):
                    out.write("".join(f"{self._line(each)}\n" for each in sorted(answers)))
                    out.flush()

    def _write_early(self) -> None:
        try:
            self.write()
        finally:
            self._early.release()

    def _line(self, answer: Answer) -> str:
        if self._form == "json":
            return json.dumps(answer._asdict())
        method, route, status, took, request = answer
        return f"{method} {route} {status} {took} ms {request}"


class Faults(logging.Formatter):
    """What went wrong, in the form of the lines."""

    def __init__(self, form: Form) -> None:
        super().__init__()
        self._form: Form = form

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        told = {"level": record.levelname, "message": record.getMessage()}
        return json.dumps(told) if self._form == "json" else " ".join(told.values())
