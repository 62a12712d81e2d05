"""Takes the batches that mixers passed on: opens all envelopes, and stores the reports.

To open a large batch takes minutes of processor time. A server does it in a process of its own,
and a thread hands it one batch after the other. A process that ends in between loses nothing: the
next one begins with the batches that are whole.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable
from typing import cast

from flask import Flask, current_app

from deniably.core.errors import BadBatch
from deniably.trust.opened_batch import BatchReader, batch_size
from deniably_server.errors import Unavailable
from deniably_server.guard.app_state import current_store
from deniably_server.storage.mixed import read_manifest
from deniably_server.storage.store import Store
from deniably_server.web.problems import error_location
from deniably_server.web.worker_process import Answerer

_KEY = "deniably_batch_taker"
_PATIENCE_SECONDS = 10.0
"""How long a mixer waits for its batch to be taken before it is told that it is still open."""
_AGAIN_SECONDS = 60.0

log = logging.getLogger("deniably")


class BatchTaker:
    """Takes whole batches in the background, one after the other.

    ``take`` takes the batch of the survey with this name, in a process of its own. ``store`` says
    which batches are whole.
    """

    def __init__(self, store: Store, take: Callable[[bytes], object]) -> None:
        self._store, self._take = store, take
        self._changed = threading.Condition()
        self._rounds, self._wanted = 0, 1
        threading.Thread(target=self._run, name="deniably-batches", daemon=True).start()

    def take_soon(self, seconds: float = _PATIENCE_SECONDS) -> None:
        """Has all whole batches taken. Returns when that is done, but after ``seconds`` at the
        latest."""
        with self._changed:
            # A round that runs now may have looked before the last byte came.
            self._wanted = wanted = self._rounds + 2
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._rounds >= wanted, seconds)

    def _run(self) -> None:
        while True:
            done = self._take_all()
            with self._changed:
                self._rounds += 1
                self._changed.notify_all()
                rest = None if done else _AGAIN_SECONDS
                self._changed.wait_for(lambda: self._wanted > self._rounds, rest)

    def _take_all(self) -> bool:
        """Takes each whole batch; returns whether nothing failed."""
        errors: tuple[type[Exception], ...] = (Unavailable, *self._store.engine.errors)
        try:
            outcomes = list(map(self._taken, whole_batches(self._store)))
        except errors as error:
            _log(error)
            return False
        return all(outcomes)

    def _taken(self, name: str) -> bool:
        try:
            self._take(name.encode())
        except Exception as error:  # one batch must not hold up the others
            _log(error)
            return False
        self._store.needs_rewrite.set()  # the process that took it has no thread that erases
        return True


def _log(error: Exception) -> None:
    log.error("a mixer's batch is not taken; tried again in a minute: %s", error_location(error))


def use_taker(app: Flask, taker: BatchTaker) -> None:
    """Makes ``app`` take batches in the background. Without a taker, a batch is taken while the
    request waits that brought its last byte."""
    app.extensions[_KEY] = taker


def take_batches_now(name: str) -> None:
    """Has the batch of a survey taken, if it is whole. It may still be open afterwards."""
    taker = cast("BatchTaker | None", current_app.extensions.get(_KEY))
    if taker is not None:
        taker.take_soon()
    else:
        take(current_store(), name)


def taking(store: Store) -> Answerer:
    """Returns the function that takes the batch of the survey that it is asked for, in the process
    that does nothing else."""

    def answer(name: bytes) -> bytes:
        take(store, name.decode())
        return b""

    return answer


def whole_batches(store: Store) -> list[str]:
    """Returns the names of the surveys whose batches are open, and whole."""
    return [name for name in store.mixed.open_batches() if _is_whole(store, name)]


def take(store: Store, name: str) -> None:
    """Checks the batch of a survey, if it is whole, and stores its reports.

    A batch that breaks the rules of SPEC 14.5 is refused for good. Bytes that are not those that
    the mixer signed are deleted, as somebody else may have sent them.
    """
    key = store.mixed.key(name)
    stored = store.mixed.manifest(name)
    if key is None or stored is None or not _is_whole(store, name):
        return  # another process took it
    survey, manifest = store.survey(name), read_manifest(stored)
    # First, because to open envelopes takes long, and anybody may have sent these bytes.
    sha256 = hashlib.sha256()
    for piece in store.mixed.pieces(name):
        sha256.update(piece)
    if sha256.hexdigest() != manifest.sha256:
        store.mixed.begin_again(name)
        return
    reader = BatchReader(survey, key, manifest)
    for piece in store.mixed.pieces(name):
        reader.add(piece)
    try:
        opened = reader.finish()
        if opened is None:
            store.mixed.begin_again(name)
        else:
            store.mixed.take(survey, opened)
    except BadBatch as error:
        store.mixed.refuse(name, str(error))


def _is_whole(store: Store, name: str) -> bool:
    stored = store.mixed.manifest(name)
    if stored is None or stored.state != "open":
        return False
    return store.mixed.held(name) == batch_size(store.survey(name), read_manifest(stored))
