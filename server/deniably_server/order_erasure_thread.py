"""Runs order erasure in a server, in the background, after every closing.

Order erasure rewrites the reports of a closed survey, so that their places on the disk no longer
show in which order they came.
"""

from __future__ import annotations

import logging
import threading

from deniably_server.errors import Unavailable
from deniably_server.storage.base_store import BaseStore
from deniably_server.web.problems import error_location

AGAIN_SECONDS = 60.0

log = logging.getLogger("deniably")


def erase_order_after_closings(store: BaseStore) -> None:
    """Starts a thread that rewrites closed surveys, so that the disk no longer shows in which
    order their reports came.

    The thread begins with closed surveys that an earlier process did not rewrite. After a failure
    it tries again in a minute. What it has not done when the process ends, the next process does.
    """

    def run() -> None:
        done = True
        while True:
            store.needs_rewrite.wait(None if done else AGAIN_SECONDS)
            # Cleared before the work: a survey that is closed meanwhile sets it again.
            store.needs_rewrite.clear()
            done = _erased(store)

    threading.Thread(target=run, name="deniably-order", daemon=True).start()


def _erased(store: BaseStore) -> bool:
    errors: tuple[type[Exception], ...] = (Unavailable, *store.engine.errors)
    try:
        store.erase_order()
    except errors as error:
        log.error(
            "of a closed survey the disk may still tell in which order reports came; tried again"
            " in a minute: %s",
            error_location(error),
        )
        return False
    return True
