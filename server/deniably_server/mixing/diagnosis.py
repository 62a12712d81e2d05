"""Says of every survey of a mixer how far it is, what is left to do, and what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from deniably.core.counting import people
from deniably.core.errors import DeniablyError
from deniably.trust.batch import Manifest
from deniably_server.mixing.capacity import few_left
from deniably_server.mixing.survey_server import SurveyServer
from deniably_server.storage.engines.database_urls import file_at
from deniably_server.storage.mixer_store import MixerStore
from deniably_server.watching.coarse_counts import tens

_OTHERS = 0o077
"""The rights of all but a file's owner."""
_SUFFIXES = ("", "-wal", "-shm")
"""Of the database's own files."""


@dataclass(frozen=True)
class Diagnosis:
    """A mixer's condition, in sentences: a line for each survey (``surveys``), and what is
    ``wrong``."""

    surveys: tuple[str, ...]
    wrong: tuple[str, ...]


def diagnose(store: MixerStore) -> Diagnosis:
    """Returns the condition of a mixer. Asks the server of each survey that it has not finished;
    the mixer may run meanwhile."""
    surveys, wrong = list[str](), list[str]()
    for digest in store.digests():
        condition, faults = _survey(store, digest)
        name = store.accepted(digest).source.name
        surveys.append(f"{name}: {condition}")
        wrong += (f"{name}: {fault}" for fault in faults)
    wrong += store.problems()
    wrong += _readable_files(store)
    wrong += (
        f"{store.accepted(digest).source.name}: the disk may still tell in which order envelopes"
        " came; a running mixer mends this within a minute"
        for digest in store.revealing_order()
    )
    return Diagnosis(tuple(surveys), tuple(wrong))


def _survey(store: MixerStore, digest: str) -> tuple[str, list[str]]:
    """The condition of a survey, and what is wrong with it."""
    accepted = store.accepted(digest)
    match store.state(digest):
        case "open":
            senders = store.senders(digest)
            few = few_left(accepted.survey, senders)
            left = "; fewer than a tenth of its places are left" if few else ""
            sent = f"{tens(senders):,} people or a few more have sent{left}"
            return f"open until {accepted.until}; {sent}", _server(store, digest)
        case "closed":
            return "closed; its batch is made by the running mixer within a minute", []
        case "made":
            return f"{_batch(store, digest)}, not passed on yet", _server(store, digest)
        case "passed":
            return f"{_batch(store, digest)}; its server took it, and all is deleted", []
        case "too few":
            told = "fewer people sent than it needs; all is deleted, and its server does not know"
            return told, _server(store, digest)
        case "told":
            return "fewer people sent than it needs; all is deleted, and its server knows", []
        case "refused":
            fault = (
                f"its server refused the batch: {store.reason(digest)} All is still here; to"
                f" delete it: deniably mix delete {accepted.source.name}"
            )
            return _batch(store, digest), [fault]
        case "given up":
            return f"{_batch(store, digest)}; deleted here, its server did not take it", []


def _batch(store: MixerStore, digest: str) -> str:
    manifest = msgspec.json.decode(store.batch(digest).manifest, type=Manifest)
    return f"a batch of {manifest.envelopes:,} envelopes, of {people(manifest.senders)}"


def _server(store: MixerStore, digest: str) -> list[str]:
    try:
        SurveyServer(store.accepted(digest).source).state(digest)
    except DeniablyError as error:
        return [str(error)]
    return []


def _readable_files(store: MixerStore) -> Iterator[str]:
    file = file_at(store.engine.address)
    if file is None:
        return
    for each in (file.with_name(file.name + suffix) for suffix in _SUFFIXES):
        with suppress(FileNotFoundError):  # the log of the database comes and goes
            if each.stat().st_mode & _OTHERS:
                yield f"other users of this machine may read {each.name}: chmod 600 {each.name}"
