"""Makes the batches of closed surveys in a running mixer, in the background."""

from __future__ import annotations

import logging
import threading

from deniably_server.mixing.batches import finish
from deniably_server.storage.mixer_store import MixerStore
from deniably_server.web.problems import error_location

AGAIN_SECONDS = 60.0

log = logging.getLogger("deniably")


def make_batches_after_closings(store: MixerStore) -> None:
    """Starts a thread that makes the batch of each closed survey, and begins with those that an
    earlier process left. It looks again every minute, as another process may have closed one."""

    def run() -> None:
        while True:
            finish_all(store)
            store.needs_batch.wait(AGAIN_SECONDS)
            # Cleared before the work: a survey that is closed meanwhile sets it again.
            store.needs_batch.clear()

    threading.Thread(target=run, name="deniably-batches", daemon=True).start()


def finish_all(store: MixerStore) -> None:
    """Makes the batch of every closed survey that has none. Logs what fails, and goes on with the
    others."""
    try:
        for digest in store.in_state("closed"):
            _finished(store, digest)
    except Exception as error:  # the database may refuse, and answer again in a minute
        log.error("closed surveys cannot be read: %s", error_location(error))


def _finished(store: MixerStore, digest: str) -> None:
    try:
        finish(store, digest)
    except Exception as error:  # one survey must not hold up the others
        log.error("a batch is not made; tried again in a minute: %s", error_location(error))
