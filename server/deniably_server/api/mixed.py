"""Serves surveys whose answers come through a mixer: issues the key that opens them, and takes the
batch (SPEC 14.5).

A batch may be large, and its sender or this server may end at any moment. So it comes in pieces,
and each answer says from where to go on.
"""

from __future__ import annotations

import re
from hmac import compare_digest
from typing import Annotated, TypedDict, cast

import msgspec
from flask import Blueprint, Response, current_app, request

from deniably.core.errors import BadSignature, BadSurvey, Problem
from deniably.survey.mixer import Mixer, is_address
from deniably.survey.survey import Survey
from deniably.trust.batch import Manifest
from deniably.trust.opened_batch import batch_size, check_manifest
from deniably.trust.signing import Signature, verify_text
from deniably_server.api.batch_taking import take_batches_now
from deniably_server.errors import BadParameter, NotFound, Unsigned
from deniably_server.guard.app_state import current_store
from deniably_server.guard.auth import require
from deniably_server.guard.own_address import is_own_host
from deniably_server.storage.mixed import HASH, read_manifest
from deniably_server.storage.tables.mixed import BatchState, StoredManifest
from deniably_server.web.answer import json_answer
from deniably_server.web.body import JSON, decoded, read_body
from deniably_server.web.operation import BODY, TOKEN, Operation

blueprint = Blueprint("mixed", __name__)

OCTETS = "application/octet-stream"
SIGNATURE = "Deniably-Signature"
"""The header that shows that a piece of a batch comes from its mixer."""
_FOR_EVER = "public, max-age=31536000, immutable"
_PLACE = re.compile(r"[0-9]{1,12}")
_NO_BATCH = "the mixer of this survey has passed on no manifest yet"


class EnvelopeKeyAnswer(TypedDict):
    """The public half of a new key of envelopes, for ``mixer.open`` of one survey."""

    open: str


class NoChoices(msgspec.Struct, forbid_unknown_fields=True):
    """A body without members."""


class SignedManifest(msgspec.Struct, forbid_unknown_fields=True):
    """The manifest of a mixer's batch, with the mixer's signature."""

    manifest: Manifest
    signature: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{128}\Z")]


class ProgressAnswer(TypedDict):
    """How many ``bytes`` of a batch are stored, ``of`` how many, and whether it was taken."""

    bytes: int
    of: int
    state: BatchState


class TakenAnswer(TypedDict):
    """The manifest of a batch that was taken, the mixer's signature, and how many envelopes were
    refused because they are no reports."""

    manifest: Manifest
    signature: str
    refused: int


_NO_CHOICES = msgspec.json.Decoder(NoChoices)
_SIGNED_MANIFEST = msgspec.json.Decoder(SignedManifest, strict=True)


@blueprint.post("/api/envelope-keys")
@Operation(
    {201: {JSON: EnvelopeKeyAnswer}}, (*BODY, *TOKEN, "quota"), "author", body={JSON: NoChoices}
)
def issue_key() -> Response:
    """Makes the key that opens the answers to one survey with a mixer. The author publishes its
    public half as ``mixer.open``, with the same token. Unused keys are deleted after 30 days."""
    token = require("author")
    if request.content_length:
        decoded(_NO_CHOICES, read_body(JSON), "the body is empty, or {}")
    response = json_answer({"open": current_store().mixed.issue_key(token.id)}, 201)
    response.headers["Cache-Control"] = "no-store"
    return response


@blueprint.put("/api/surveys/<name>/mixed")
@Operation(
    {200: {JSON: ProgressAnswer}},
    (*BODY, "not-found", "not-closed", "conflict", "bad-batch", "unsigned"),
    body={JSON: SignedManifest},
)
def announce(name: str) -> Response:
    """Takes the signed manifest of a mixer's batch, once the survey is closed. The same manifest
    may be sent again; another one is refused for ever. One of no senders and no envelopes says that
    too few people sent: then the state is "refused"."""
    store, survey = current_store(), _mixed_survey(name)
    form = 'the body is {"manifest": {...}, "signature": "<128 hexadecimal digits>"} (SPEC 14.4)'
    sent = decoded(_SIGNED_MANIFEST, read_body(JSON), form)
    check_manifest(survey, sent.manifest)
    try:
        verify_text(sent.manifest.message, Signature(_mixer(survey).signing, sent.signature))
    except BadSignature:
        raise Unsigned("the survey's mixer did not sign this manifest") from None
    if store.mixed.manifest(name) is None and store.mixed.key(name) is None:
        raise NotFound("this server has no key of envelopes for the survey")
    store.mixed.begin_batch(name, sent.manifest, sent.signature)
    return _progress(survey)


@blueprint.patch("/api/surveys/<name>/mixed")
@Operation(
    {200: {JSON: ProgressAnswer}},
    (*BODY, "bad-parameter", "not-found", "unsigned", "wrong-place", "bad-batch"),
    query={"from!": {"type": "integer", "minimum": 0}},
    body={OCTETS: None},
    required_headers=(SIGNATURE,),
)
def add(name: str) -> Response:
    """Takes the next bytes of a mixer's batch, at most 1 MiB, from the place that ``from`` says.
    The last byte has the batch checked. The header has the signature of the manifest, which nobody
    but the mixer and this server knows before the batch is taken."""
    store, survey = current_store(), _mixed_survey(name)
    start = _place(request.args.get("from", ""))
    stored = store.mixed.manifest(name)
    if stored is None:
        raise NotFound(_NO_BATCH)
    shown = request.headers.get(SIGNATURE, "")
    if not compare_digest(shown.encode(), stored.signature.encode()):
        raise Unsigned(f"the header {SIGNATURE} is not the signature of the batch's manifest")
    data = read_body(OCTETS)
    size = batch_size(survey, read_manifest(stored))
    store.mixed.add_piece(name, start, data, size)
    return _progress(survey)


@blueprint.get("/api/surveys/<name>/mixed")
@Operation({200: {JSON: TakenAnswer}}, ("not-found",))
def taken(name: str) -> Response:
    """Returns the signed manifest of a batch that was taken."""
    stored = _taken(_mixed_survey(name))
    answer = {
        "manifest": read_manifest(stored),
        "signature": stored.signature,
        "refused": stored.refused,
    }
    response = Response(msgspec.json.encode(answer), mimetype=JSON)
    response.headers["Cache-Control"] = _FOR_EVER
    return response


@blueprint.get("/api/surveys/<name>/mixed/envelopes")
@Operation({200: {OCTETS: None}}, ("not-found",))
def envelopes(name: str) -> Response:
    """Returns the SHA-256 of every envelope in a batch that was taken, 32 bytes each, ascending. A
    device takes the whole list and looks for its own, so nobody learns whose it looks for."""
    stored = _taken(_mixed_survey(name))
    response = Response(current_store().mixed.hashes(name), mimetype=OCTETS)
    response.content_length = HASH * read_manifest(stored).envelopes
    response.headers["Cache-Control"] = _FOR_EVER
    return response


def _mixed_survey(name: str) -> Survey:
    """Raises NotFound for a survey without a mixer."""
    survey = current_store().survey(name)
    if not survey.mixer:
        raise NotFound("this survey has no mixer")
    return survey


def _mixer(survey: Survey) -> Mixer:
    assert isinstance(survey.mixer, Mixer)
    return survey.mixer


def _place(text: str) -> int:
    if not _PLACE.fullmatch(text):
        raise BadParameter("“from” is the number of bytes that were sent before")
    return int(text)


def _progress(survey: Survey) -> Response:
    """How far the batch is; has it taken first, if it is whole."""
    progress = _held(survey)
    if progress["state"] == "open" and progress["bytes"] == progress["of"]:
        take_batches_now(survey.name)
        progress = _held(survey)
    return json_answer(progress)


def _held(survey: Survey) -> ProgressAnswer:
    store = current_store().mixed
    # First, as a batch that is taken meanwhile has no bytes any more.
    held = store.held(survey.name)
    stored = store.manifest(survey.name)
    assert stored is not None
    size = batch_size(survey, read_manifest(stored))
    return {
        "bytes": held if stored.state == "open" else size,
        "of": size,
        "state": stored.state,
    }


def _taken(survey: Survey) -> StoredManifest:
    """Raises NotFound before the batch is taken."""
    stored = current_store().mixed.manifest(survey.name)
    if stored is None or stored.state == "open":
        raise NotFound("the mixer has not passed on the answers yet")
    if stored.state == "refused":
        if read_manifest(stored).too_few:
            raise NotFound(f"there is no batch: {stored.why}")
        raise NotFound(f"the batch of the survey's mixer was refused: {stored.why}")
    return stored


def refuse_own_mixer(survey: Survey) -> None:
    """Raises BadSurvey where a survey's mixer is at this server's own host: who runs both could
    see who sent which answer. Also where its address is none, as nobody could send."""
    mixer, hosts = survey.mixer, cast(str, current_app.config["HOSTS"])
    if not isinstance(mixer, Mixer):
        return
    if not is_address(mixer.address):
        why = f"{mixer.address} is no address; ask the mixer's owner for another offer"
        raise BadSurvey([Problem("$.mixer.address", why)])
    if is_own_host(mixer.address, request.environ, hosts):
        why = (
            f"{mixer.address} is this server's own host; a mixer hides who sent which answer only"
            " if somebody else runs it, on another machine"
        )
        raise BadSurvey([Problem("$.mixer.address", why)])
