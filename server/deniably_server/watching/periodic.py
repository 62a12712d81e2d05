"""What a process does once a minute, and once more when it ends."""

from __future__ import annotations

import threading
from collections.abc import Callable

SECONDS = 60.0


def every_minute(*tasks: Callable[[], None], seconds: float = SECONDS) -> None:
    """Do the ``tasks`` from now on, in a thread of their own."""

    def run() -> None:
        # Waiting for the end of the process is also the pause, so nothing is lost at the end.
        main = threading.main_thread()
        while main.is_alive():
            main.join(seconds)
            for task in tasks:
                task()

    threading.Thread(target=run, name="deniably-minute").start()
