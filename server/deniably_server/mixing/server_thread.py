"""Asks the servers of all surveys in a running mixer, in the background: whether a survey is
closed, and to take its batch."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime

from deniably.core.errors import DeniablyError
from deniably.core.steering import printable
from deniably_server.mixing.closing import close_if_over
from deniably_server.mixing.passing_on import pass_on, tell_too_few
from deniably_server.mixing.pauses import Pauses
from deniably_server.storage.mixer_store import MixerStore
from deniably_server.web.problems import error_location

AGAIN_SECONDS = 60.0

log = logging.getLogger("deniably")


def attend_servers(store: MixerStore) -> None:
    """Starts a thread that closes each survey once its server has closed it, and passes its batch
    on. It looks every minute, and at a server that does not answer ever more seldom."""
    pauses = Pauses()

    def run() -> None:
        while True:
            attend(store, pauses)
            store.needs_server.wait(AGAIN_SECONDS)
            # Cleared before the work: a batch that is made meanwhile sets it again.
            store.needs_server.clear()

    threading.Thread(target=run, name="deniably-servers", daemon=True).start()


def attend(store: MixerStore, pauses: Pauses) -> None:
    """Looks once at the server of every survey that is open, whose batch is not taken, or that too
    few people sent to. Logs what
    fails, and goes on with the others."""
    try:
        for digest in store.in_state("open"):
            _tried(store, digest, pauses, lambda each: close_if_over(store, each, _today()))
        for digest in store.in_state("made"):
            _tried(store, digest, pauses, lambda each: _passed(store, each))
        for digest in store.in_state("too few"):
            _tried(store, digest, pauses, lambda each: tell_too_few(store, each))
    except Exception as error:  # the database may refuse, and answer again in a minute
        log.error("surveys cannot be read: %s", error_location(error))


def _passed(store: MixerStore, digest: str) -> None:
    pass_on(store, digest)
    name = store.accepted(digest).source.name
    if store.state(digest) == "refused":
        log.error("%s: its server refused the batch: %s", name, printable(store.reason(digest)))


def _tried(store: MixerStore, digest: str, pauses: Pauses, attempt: Callable[[str], None]) -> None:
    """Try something with a survey, unless its pause lasts. One survey must not hold up the
    others."""
    if not pauses.is_over(digest):
        return
    name = store.accepted(digest).source.name
    try:
        attempt(digest)
    except Exception as error:
        minutes = max(1, round(pauses.grow(digest) / 60))
        what = str(error) if isinstance(error, DeniablyError) else error_location(error)
        log.error("%s: %s; tried again in %d min", name, printable(what), minutes)
    else:
        pauses.end(digest)


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
