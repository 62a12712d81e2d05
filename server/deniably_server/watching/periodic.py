"""Runs tasks once a minute, and once more when the process ends."""

from __future__ import annotations

import threading
from collections.abc import Callable

SECONDS = 60.0


def every_minute(*tasks: Callable[[], None], seconds: float = SECONDS) -> None:
    """Starts a thread that runs the ``tasks``, in order, every ``seconds``, and a last time when
    the main thread ends."""

    def run() -> None:
        # The pause waits for the main thread's end, so the last run follows it at once.
        main = threading.main_thread()
        while main.is_alive():
            main.join(seconds)
            for task in tasks:
                task()

    threading.Thread(target=run, name="deniably-minute").start()
