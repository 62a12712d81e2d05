"""Publishes drafts: shows what a survey will be for good, and takes the browser's signature of it.

The page works the digest out itself, over the definition that it shows, and signs that. The server
compiles the draft again when the signature comes: a draft that changed meanwhile is not published.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict, cast

import msgspec
from flask import Blueprint, Response, redirect, render_template

from deniably.authoring.checking import refusals
from deniably.authoring.drafts import to_json, written
from deniably.authoring.yaml_writing import to_yaml
from deniably.core.errors import BadSignature, BadSurvey, Problem
from deniably.survey.spending import FULL, privacy_spent
from deniably.survey.survey import Survey
from deniably.trust.signing import Signature, fingerprint
from deniably_server.api.cached_views import compiled
from deniably_server.api.surveys import quotas
from deniably_server.errors import Conflict, NotFound, Quota, Unsigned
from deniably_server.guard.app_state import current_store
from deniably_server.guard.session import (
    Member,
    require_member,
    require_own_page,
    sign_in_first,
    signed_in,
)
from deniably_server.storage.studio import Draft, DraftSource
from deniably_server.studio.addresses import free_address
from deniably_server.studio.balance import people_expected
from deniably_server.studio.drafts import known
from deniably_server.studio.home import title_of
from deniably_server.studio.steps import steps_of_draft
from deniably_server.web.answer import json_answer
from deniably_server.web.body import JSON, decoded, read_body
from deniably_server.web.operation import BODY, PAGE, Operation

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue

blueprint = Blueprint("studio_publish", __name__, url_prefix="/studio")

_NO_MIXER = (
    "the studio publishes no survey with a mixer yet; download the draft and publish it with"
    " deniably publish, or leave out mixer"
)
_SIGNED = ("unauthorised", "forbidden")


class DefinitionAnswer(TypedDict):
    """The definition that would be published of the draft."""

    definition: dict[str, Any]


class PublishedAnswer(TypedDict):
    """The name of the published survey, and the address of its form."""

    name: str
    form: str


class Signed(msgspec.Struct, forbid_unknown_fields=True):
    """The digest of the definition that was signed, the signer's public key (``author``) and the
    signature, all in hexadecimal."""

    digest: str
    author: str
    signature: str


_SIGNED_BODY = msgspec.json.Decoder(Signed)


@blueprint.get("/d/<name>/publish")
@Operation({**PAGE, 303: {}}, ("not-found",), headers=("Location",))
def page(name: str) -> ResponseReturnValue:
    """Renders the page on which an author publishes a draft, and which says what publishing means.

    Redirects to the survey's page if the draft is published already.
    """
    member = signed_in()
    if member is None:
        return sign_in_first()
    store = current_store()
    if published := store.studio.survey_of(member.team.id, known(name)):
        return redirect(f"/studio/s/{published}", 303)
    draft = store.studio.draft(member.team.id, name)
    results: object = draft.document.get("results")
    rules = cast(dict[str, object], results) if isinstance(results, dict) else {}
    return render_template(
        "studio/publish.html",
        team=member.team,
        steps=steps_of_draft(draft.id, "Publish"),
        number=fingerprint(member.team.key),
        draft={"id": draft.id, "title": title_of(draft), "revision": draft.revision},
        document=to_json(draft.document),
        name=str(draft.document.get("name") or ""),
        warnings=_warnings(member, draft),
        minimum=rules.get("minimum", 100),
        analysts=rules.get("to") == "analysts",
        expect=people_expected(draft.document),
        key=member.team.key,
    )


@blueprint.post("/drafts/<name>/definition")
@Operation(
    {200: {JSON: DefinitionAnswer}, 409: {JSON: PublishedAnswer}},
    (*_SIGNED, "not-found", "bad-survey", "conflict", "quota", "too-much", "busy"),
)
def definition(name: str) -> Response:
    """Returns the definition that the draft would be published as.

    Refused where devices would refuse the survey, where its address is taken, or where the group's
    quota is used up.
    """
    require_own_page()
    member, draft = require_member(), known(name)
    return _unless_published(member, draft, partial(_definition, member, draft))


@blueprint.post("/drafts/<name>/published")
@Operation(
    {201: {JSON: PublishedAnswer}, 409: {JSON: PublishedAnswer}},
    (*BODY, *_SIGNED, "not-found", "bad-survey", "conflict", "unsigned", "quota", "too-much",
     "busy"),
    body={JSON: Signed},
)  # fmt: skip
def publish(name: str) -> Response:
    """Publishes the draft for good, with the signature of the group; answers 409, with the survey,
    where it is published already."""
    require_own_page()
    member, draft = require_member(), known(name)
    form = 'the body is {"digest": "...", "author": "...", "signature": "..."}'
    wanted = decoded(_SIGNED_BODY, read_body(JSON), form)
    return _unless_published(member, draft, partial(_publish, member, draft, wanted))


def _definition(member: Member, name: str) -> Response:
    survey = _publishable(current_store().studio.draft(member.team.id, name))
    if full := _quota_used_up(member):
        raise Quota(full)
    return json_answer({"definition": msgspec.Raw(survey.canonical)})


def _publish(member: Member, name: str, wanted: Signed) -> Response:
    store = current_store()
    draft = store.studio.draft(member.team.id, name)
    survey = _publishable(draft)  # compiled again: what was signed must be what is published
    if wanted.digest != survey.digest:
        raise Conflict("the draft was changed while you looked at it; look at it again")
    if wanted.author != member.team.key:
        raise Unsigned("this is the signature of another group")
    signature = Signature(wanted.author, wanted.signature)
    source = DraftSource(member.doer, draft.id, draft.revision)
    try:
        store.publish(survey, signature, member.token.id, quotas(), source)
    except BadSignature as error:
        raise Unsigned(str(error)) from None
    except Quota as error:
        raise Quota(error.plainly) from None
    return _published(survey.name, 201)


def _unless_published(member: Member, name: str, answer: Callable[[], Response]) -> Response:
    """Returns what ``answer`` does; 409 and the survey where another tab published the draft, be it
    before or meanwhile."""
    try:
        return answer()
    except (Conflict, NotFound):
        if survey := current_store().studio.survey_of(member.team.id, name):
            return _published(survey, 409)
        raise


def _published(name: str, status: int) -> Response:
    return json_answer({"name": name, "form": f"/s/{name}"}, status)


def _warnings(member: Member, draft: Draft) -> list[str]:
    """Why the draft could not be published as it is, besides what is wrong in its questions."""
    name, taken = str(draft.document.get("name") or ""), current_store().names()
    reasons = [_taken(name, taken)] if name in taken else []
    reasons += [full] if (full := _quota_used_up(member)) else []
    return [f"{reason[:1].upper()}{reason[1:]}." for reason in reasons]


def _quota_used_up(member: Member) -> str:
    """Why the group cannot publish one more survey now; empty where it can."""
    try:
        current_store().studio.check_quotas(member.token.id, quotas())
    except Quota as error:
        return error.plainly
    return ""


def _taken(name: str, taken: Collection[str]) -> str:
    return f"this address is taken; {free_address(name, taken)} is free"


def _publishable(draft: Draft) -> Survey:
    """Raises BadSurvey where devices would refuse the survey, and Conflict where another survey has
    its address."""
    # As the file that an author can download: from that a terminal makes the same definition.
    survey = compiled(to_yaml(written(draft.document)).encode())
    if survey.mixer:
        raise BadSurvey([Problem("$.mixer", _NO_MIXER)])
    if refusals(survey):
        spent = privacy_spent(survey.total)
        why = f"nobody could answer all of it: it spends {spent} of {FULL}; go back, and mend it"
        raise BadSurvey([Problem("$", why)])
    if survey.name in (taken := current_store().names()):
        raise Conflict(_taken(survey.name, taken))
    return survey
