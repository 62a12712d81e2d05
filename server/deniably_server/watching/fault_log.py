"""Logs the faults of a process to standard error, so that a stuck log holds up no answer."""

from __future__ import annotations

import logging
from logging.handlers import QueueHandler, QueueListener
from multiprocessing.util import Finalize
from queue import Queue

from deniably_server.watching.journal import Faults, Form

_LINES = 10_000
"""The number of lines about faults that wait for a log that takes none; further ones are lost."""


def log_faults(form: Form, *, by_thread: bool = False) -> None:
    """Logs to stderr. The process that answers does it ``by_thread``: where a pipe is full, or a
    terminal is stopped, the line of one fault would hold up every answer."""
    logging.raiseExceptions = False  # if the log is not writable, neither is an error about it
    handler: logging.Handler = logging.StreamHandler()
    if by_thread:
        lines = Queue[object](_LINES)
        listener = QueueListener(lines, handler)
        listener.start()
        # A forked process ends without handlers of ``atexit``, but calls this.
        Finalize(None, listener.stop, exitpriority=0)
        handler = QueueHandler(lines)
    # Before the queue: that makes a text of what it takes, with what an exception says in it.
    handler.setFormatter(Faults(form))
    log = logging.getLogger("deniably")
    log.handlers = [handler]
    log.propagate = False
