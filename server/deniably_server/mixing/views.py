"""The views of a mixer: a device reads its statement, and sends one envelope."""

from __future__ import annotations

from typing import NamedTuple, TypedDict, cast

from flask import Blueprint, Flask, Response, current_app, request

from deniably_server.errors import Uninvited
from deniably_server.guard.app_state import current_limits
from deniably_server.mixing.capacity import Capacity
from deniably_server.mixing.envelopes import begin_envelope
from deniably_server.mixing.statements import Statements
from deniably_server.storage.mixer_store import MixerStore
from deniably_server.web.body import JSON, read_body
from deniably_server.web.operation import BODY, Operation

OCTETS = "application/octet-stream"
_KEY = "deniably_mixer"

blueprint = Blueprint("mix", __name__)


class MixerContext(NamedTuple):
    """The store of a mixer, its statements, and how many people may still send."""

    store: MixerStore
    statements: Statements
    capacity: Capacity


class StoredAnswer(TypedDict):
    """That an envelope is on disk: ``status`` is "stored" or "stored before"."""

    status: str


def attach_mixer(app: Flask, store: MixerStore) -> None:
    """Keeps the store with ``app``, for its views."""
    app.extensions[_KEY] = MixerContext(store, Statements(store), Capacity(store))


@blueprint.get("/mix/<digest>")
@Operation({200: {JSON: None}}, ("not-found", "gone", "nobody-invited"))
def statement(digest: str) -> Response:
    """Returns the mixer's signed statement about a survey."""
    _mixer().capacity.refuse_if_full(digest)
    return Response(_mixer().statements.statement(digest), mimetype=JSON)


@blueprint.post("/mix/<digest>")
@Operation(
    {201: {JSON: StoredAnswer}, 200: {JSON: StoredAnswer}},
    (*BODY, "bad-envelope", "uninvited", "not-found", "used", "gone", "too-many"),
    body={OCTETS: None},
)
def add(digest: str) -> Response:
    """Stores one envelope."""
    limits, mixer = current_limits(), _mixer()
    limits.admit(request.environ)

    def count(size: int) -> None:
        limits.count_bytes(request.environ, size)
        mixer.capacity.take(digest)  # last, as whoever is refused takes nobody's place

    try:
        begun = begin_envelope(mixer.store, digest, read_body(OCTETS), count)
    except Uninvited:
        # Codes must not be guessed. Only here: many people share a network's address, and wrong
        # codes from there must not keep out who has a good one, or sends again.
        limits.check_failures(request.environ)
        limits.count_failure(request.environ)
        raise
    status, body = begun.answer()
    return Response(body, status, mimetype=JSON)


def _mixer() -> MixerContext:
    return cast(MixerContext, current_app.extensions[_KEY])
