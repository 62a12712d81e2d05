"""The access log: one line for each answer, without a record of who came when.

A line has the method, the route template, the status, the duration in coarse steps and the
request's random id. It has no time, but log collectors add one. So lines wait up to a minute
(``periodic``) and are then written together, in alphabetical order. Neither their order nor the
collector's clock reveals more than the minute. Faults of the server are logged at once: nothing was
stored then.
"""

from __future__ import annotations

import json
import logging
import sys
from contextlib import suppress
from threading import Lock, Thread
from typing import Literal, TextIO

from deniably_server.watching.request_facts import AnsweredRequest

Form = Literal["text", "json", "off"]

_MOST = 10_000
"""If so many lines wait, they are written before the minute ends. If twice as many wait, because
the disk is full or the terminal is stopped, further lines are dropped and no respondent waits."""


class Journal:
    """The access log of a process: holds lines and writes them to ``out``, by default standard
    error."""

    def __init__(self, form: Form = "text", out: TextIO | None = None) -> None:
        self._form: Form = form
        self._out = out
        self._answers: list[AnsweredRequest] = []
        self._lock, self._early = Lock(), Lock()

    def add(self, answer: AnsweredRequest) -> None:
        """Adds the line of an answered request, which ``write`` writes later."""
        if self._form == "off" or len(self._answers) >= 2 * _MOST:
            return
        self._answers.append(answer)
        if len(self._answers) >= _MOST and self._early.acquire(blocking=False):
            try:
                Thread(target=self._write_early, name="deniably-journal", daemon=True).start()
            except RuntimeError:  # no thread is available; the periodic task writes them
                self._early.release()

    def write(self) -> None:
        """Writes the lines that wait, in alphabetical order."""
        with self._lock:
            answers, self._answers = self._answers, []
            out = self._out or sys.stderr  # None if standard error is closed
            if answers and out:
                with suppress(OSError):  # a full disk or a closed pipe fails no request
                    out.write("".join(f"{self._line(each)}\n" for each in sorted(answers)))
                    out.flush()

    def _write_early(self) -> None:
        try:
            self.write()
        finally:
            self._early.release()

    def _line(self, answer: AnsweredRequest) -> str:
        if self._form == "json":
            return json.dumps(answer._asdict())
        method, route, status, took, request = answer
        return f"{method} {route} {status} {took} ms {request}"


class Faults(logging.Formatter):
    """A formatter of the server's errors, as text or JSON like the lines of the access log."""

    def __init__(self, form: Form) -> None:
        super().__init__()
        self._form: Form = form

    def format(self, record: logging.LogRecord) -> str:
        """Returns the line of a record."""
        parts = {"level": record.levelname, "message": record.getMessage()}
        return json.dumps(parts) if self._form == "json" else " ".join(parts.values())
