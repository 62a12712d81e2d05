"""Serves surveys whose answers come through a mixer: issues the key that opens them (SPEC 14)."""

from __future__ import annotations

from typing import TypedDict, cast

import msgspec
from flask import Blueprint, Response, current_app, request

from deniably.core.errors import BadSurvey, Problem
from deniably.survey.mixer import Mixer
from deniably.survey.survey import Survey
from deniably_server.guard.app_state import current_store
from deniably_server.guard.auth import require
from deniably_server.guard.own_address import is_own_host
from deniably_server.web.answer import json_answer
from deniably_server.web.body import JSON, decoded, read_body
from deniably_server.web.operation import BODY, TOKEN, Operation

blueprint = Blueprint("mixed", __name__)


class EnvelopeKeyAnswer(TypedDict):
    """The public half of a new key of envelopes, for ``mixer.open`` of one survey."""

    open: str


class NoChoices(msgspec.Struct, forbid_unknown_fields=True):
    """A body without members."""


_NO_CHOICES = msgspec.json.Decoder(NoChoices)


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


def refuse_own_mixer(survey: Survey) -> None:
    """Raises BadSurvey where a survey's mixer is at this server's own host: who runs both could
    see who sent which answer."""
    mixer, hosts = survey.mixer, cast(str, current_app.config["HOSTS"])
    if isinstance(mixer, Mixer) and is_own_host(mixer.address, request.environ, hosts):
        why = (
            f"{mixer.address} is this server's own host; a mixer hides who sent which answer only"
            " if somebody else runs it, on another machine"
        )
        raise BadSurvey([Problem("$.mixer.address", why)])
