"""Serves the page of a published survey: how many have answered, coarsely, and how to close it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict, cast

import msgspec
from flask import Blueprint, Response, render_template

from deniably.core.errors import BadSignature
from deniably.survey.mixer import Mixer
from deniably.survey.survey import Survey
from deniably.trust.register import closing_digest
from deniably.trust.signing import Signature, fingerprint, verify
from deniably_server.api.status import survey_status
from deniably_server.api.surveys import final_count, require_results
from deniably_server.errors import Malformed, NotFound, Unsigned
from deniably_server.guard.app_state import current_store
from deniably_server.guard.headers import CONTENT_POLICY, STUDIO_POLICY, policy_with
from deniably_server.guard.session import (
    Member,
    own_origin,
    require_member,
    require_own_page,
    sign_in_first,
    signed_in,
)
from deniably_server.studio.addresses import free_address
from deniably_server.studio.drafts import BeganAnswer
from deniably_server.studio.steps import steps_of_survey
from deniably_server.web.answer import json_answer
from deniably_server.web.body import JSON, decoded, read_body
from deniably_server.web.operation import BODY, PAGE, Operation
from deniably_server.web.qr_code import qr_code

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue

blueprint = Blueprint("studio_follow", __name__, url_prefix="/studio/s")


class ClosedAnswer(TypedDict):
    """The final number of reports; None where it is below the survey's minimum."""

    reports: int | None


class Closing(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a request to close a survey: the survey's name, typed by the person who closes
    it, and the group's public key (``author``) and signature. With ``anyway`` the survey is closed
    even if its results would stay hidden for good."""

    name: str
    author: str
    signature: str
    anyway: bool = False


_CLOSING = msgspec.json.Decoder(Closing)


@blueprint.get("/<name>")
@Operation({**PAGE, 303: {}}, ("not-found",), headers=("Location",))
def follow(name: str) -> ResponseReturnValue:
    """Renders the survey's page: its link, the number of reports in whole tens, what the group has
    done with the survey, and how to close it or ask it again. While a mixer has the answers, the
    page's script asks that one how many people have sent."""
    member = signed_in()
    if member is None:
        return sign_in_first()
    _require_own(member, name)
    store = current_store()
    survey = store.survey(name)
    status = survey_status(survey)
    link = f"{own_origin() or ''}/s/{name}"
    page = render_template(
        "studio/follow.html",
        team=member.team,
        survey=survey,
        status=status,
        steps=steps_of_survey(name, "Follow", is_open=status["state"] == "open"),
        number=fingerprint(member.team.key),
        deeds=store.studio.deeds_on(member.team.id, name),
        again=store.studio.published_document(member.team.id, name) is not None,
        link=link,
        code=qr_code(link, "The link as a code for phones") if own_origin() else "",
    )
    if status["state"] != "open" or not isinstance(survey.mixer, Mixer):
        return page
    return page, {CONTENT_POLICY: policy_with(survey.mixer.address, STUDIO_POLICY)}


@blueprint.post("/<name>/closed")
@Operation(
    {200: {JSON: ClosedAnswer}},
    (*BODY, "unauthorised", "forbidden", "not-found", "too-few", "unsigned"),
    body={JSON: Closing},
)
def close(name: str) -> Response:
    """Closes the survey for good, with the signature of the group."""
    require_own_page()
    member = require_member()
    _require_own(member, name)
    form = 'the body is {"name": "...", "author": "...", "signature": "...", "anyway": false}'
    wanted = decoded(_CLOSING, read_body(JSON), form)
    if wanted.name != name:
        raise Malformed(f"type {name} to close it")
    store = current_store()
    survey = store.survey(name)
    _require_signature(member, survey, Signature(wanted.author, wanted.signature))
    if not wanted.anyway:
        require_results(survey)
    store.close_survey(name, member.token.id, "closed")
    return json_answer({"reports": final_count(survey)})


@blueprint.post("/<name>/again")
@Operation(
    {201: {JSON: BeganAnswer}},
    ("unauthorised", "forbidden", "not-found", "quota"),
)
def ask_again(name: str) -> Response:
    """Begins a draft that is a copy of a survey of the group, as its author wrote it, with a new
    address that is free, and without the key that opened the answers of a mixer."""
    require_own_page()
    member, store = require_member(), current_store()
    _require_own(member, name)
    document = store.studio.published_document(member.team.id, name)
    if document is None:
        raise NotFound("this survey came from no draft of the studio")
    again = dict(document) | {"name": free_address(name, store.names())}
    if isinstance(mixer := again.get("mixer"), dict):
        kept = cast(Mapping[str, object], mixer)
        again["mixer"] = {key: kept[key] for key in kept if key != "open"}
    draft = store.studio.begin_draft(member.doer, again, "begun")
    return json_answer({"id": draft.id, "revision": draft.revision}, 201)


def _require_signature(member: Member, survey: Survey, signature: Signature) -> None:
    """Raises Unsigned unless the group signed that this survey is closed: that is for good, so a
    session alone is not enough."""
    if signature.author != member.team.key:
        raise Unsigned("this is the signature of another group")
    try:
        verify(closing_digest(survey.digest), signature)
    except BadSignature as error:
        raise Unsigned(str(error)) from None


def _require_own(member: Member, name: str) -> None:
    """Raises NotFound unless the survey is of the member's group."""
    if name not in current_store().studio.surveys(member.team.id):
        raise NotFound("your group has no such survey")
