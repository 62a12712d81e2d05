"""After a closing nothing may tell in which order reports came: who sees to it in a server."""

from __future__ import annotations

import logging
import threading

from deniably_server.errors import Unavailable
from deniably_server.storage.store import Store
from deniably_server.web.problems import where

AGAIN_SECONDS = 60.0

log = logging.getLogger("deniably")


def keep_tidy(store: Store) -> None:
    """Tidy after every closing from now on, and what was left untidy before, in a thread of its
    own. What fails is tried again in a minute; a process that ends leaves it to the next."""

    def run() -> None:
        done = True
        while True:
            store.untidy.wait(None if done else AGAIN_SECONDS)
            store.untidy.clear()
            done = _tidied(store)

    threading.Thread(target=run, name="deniably-tidier", daemon=True).start()


def _tidied(store: Store) -> bool:
    errors: tuple[type[Exception], ...] = (Unavailable, *store.engine.errors)
    try:
        store.tidy()
    except errors as error:
        log.error(
            "of a closed survey the disk may still tell in which order reports came; tried again"
            " in a minute: %s",
            where(error),
        )
        return False
    return True
