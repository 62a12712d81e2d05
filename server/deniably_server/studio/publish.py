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
from deniably.survey.mixer import Mixer
from deniably.survey.spending import FULL, privacy_spent
from deniably.survey.survey import Survey
from deniably.trust.signing import Signature, fingerprint
from deniably_server.api.cached_views import compiled
from deniably_server.api.mixed import EnvelopeKeyAnswer
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
from deniably_server.studio.offers import shown_offer
from deniably_server.studio.steps import steps_of_draft
from deniably_server.web.answer import json_answer
from deniably_server.web.body import JSON, decoded, read_body
from deniably_server.web.operation import BODY, PAGE, Operation

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue

blueprint = Blueprint("studio_publish", __name__, url_prefix="/studio")

_NO_KEY = "this server has no key for this survey yet, so nobody could read the answers"
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


@blueprint.post("/drafts/<name>/envelope-key")
@Operation(
    {201: {JSON: EnvelopeKeyAnswer}},
    (*_SIGNED, "not-found", "quota"),
)
def issue_key(name: str) -> Response:
    """Makes the key with which this server will open the answers to a draft with a mixer. The page
    writes its public half into the draft, as ``open`` of the mixer."""
    require_own_page()
    member, store = require_member(), current_store()
    store.studio.draft(member.team.id, known(name))  # raises NotFound
    response = json_answer({"open": store.mixed.issue_key(member.token.id)}, 201)
    response.headers["Cache-Control"] = "no-store"
    return response


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
    survey = _publishable(member, current_store().studio.draft(member.team.id, name))
    if full := _quota_used_up(member):
        raise Quota(full)
    return json_answer({"definition": msgspec.Raw(survey.canonical)})


def _publish(member: Member, name: str, wanted: Signed) -> Response:
    store = current_store()
    draft = store.studio.draft(member.team.id, name)
    survey = _publishable(
        member, draft
    )  # compiled again: what was signed must be what is published
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
    offer = shown_offer(member, draft.document)
    reasons += [offer.wrong.removesuffix(".")] if offer and offer.taken and offer.wrong else []
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


def _publishable(member: Member, draft: Draft) -> Survey:
    """Raises BadSurvey where devices would refuse the survey or its mixer cannot be used, and
    Conflict where another survey has its address."""
    # As the file that an author can download: from that a terminal makes the same definition.
    survey = compiled(to_yaml(written(draft.document)).encode())
    if isinstance(survey.mixer, Mixer):
        _require_usable(member, draft, survey.mixer)
    if refusals(survey):
        spent = privacy_spent(survey.server_loss)
        much = f"it spends {spent} of {FULL}"
        if spent <= FULL:
            much = "the mixer and this server together would learn more than phones allow"
        why = f"nobody could answer all of it: {much}; go back, and mend it"
        raise BadSurvey([Problem("$", why)])
    if survey.name in (taken := current_store().names()):
        raise Conflict(_taken(survey.name, taken))
    return survey


def _require_usable(member: Member, draft: Draft, mixer: Mixer) -> None:
    """Raises BadSurvey where the offer of a draft's mixer cannot be used, and where the draft has
    no key of this server for the member's token."""
    offer = shown_offer(member, draft.document)
    if offer and offer.wrong:
        raise BadSurvey([Problem("$.mixer.offer", offer.wrong)])
    if not current_store().mixed.is_unused_key(mixer.open, member.token.id):
        raise BadSurvey([Problem("$.mixer.open", _NO_KEY)])
