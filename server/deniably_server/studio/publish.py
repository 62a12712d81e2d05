"""Publishing a draft: what it will be for good, signed in the browser, and on its way.

The page works the digest out itself, over the definition that it shows, and signs that. The server
compiles the draft again when the signature comes: a draft that changed meanwhile is not published.
"""

from __future__ import annotations

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
from deniably_server.errors import Conflict, Unsigned
from deniably_server.guard.app_state import current_store
from deniably_server.guard.session import require_member, require_own_page, signed_in
from deniably_server.storage.studio import Draft
from deniably_server.studio.balance import people_expected
from deniably_server.studio.drafts import known
from deniably_server.studio.home import title_of
from deniably_server.web.answer import json_answer
from deniably_server.web.body import JSON, decoded, read_body
from deniably_server.web.operation import BODY, PAGE, Operation

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue

blueprint = Blueprint("studio_publish", __name__, url_prefix="/studio")

_SIGNED = ("unauthorised", "forbidden")


class DefinitionAnswer(TypedDict):
    """The definition as it would be published."""

    definition: dict[str, Any]


class PublishedAnswer(TypedDict):
    """Where the survey is."""

    name: str
    form: str


class Signed(msgspec.Struct, forbid_unknown_fields=True):
    """The digest that was signed, by whom, and the signature."""

    digest: str
    author: str
    signature: str


_SIGNED_BODY = msgspec.json.Decoder(Signed)


@blueprint.get("/d/<name>/publish")
@Operation({**PAGE, 303: {}}, ("not-found",), headers=("Location",))
def page(name: str) -> ResponseReturnValue:
    """What publishing means, before it is done."""
    member = signed_in()
    if member is None:
        return redirect("/studio/in", 303)
    draft = current_store().studio.draft(member.team.id, known(name))
    results: object = draft.document.get("results")
    rules = cast(dict[str, object], results) if isinstance(results, dict) else {}
    return render_template(
        "studio/publish.html",
        team=member.team,
        number=fingerprint(member.team.key),
        draft={"id": draft.id, "title": title_of(draft), "revision": draft.revision},
        document=to_json(draft.document),
        name=str(draft.document.get("name") or ""),
        minimum=rules.get("minimum", 100),
        analysts=rules.get("to") == "analysts",
        expect=people_expected(draft.document),
        questions=len(draft.document["questions"]),
        key=member.team.key,
    )


@blueprint.post("/drafts/<name>/definition")
@Operation(
    {200: {JSON: DefinitionAnswer}},
    (*_SIGNED, "not-found", "bad-survey", "conflict", "too-much", "busy"),
)
def definition(name: str) -> Response:
    """The definition that the draft would be published as; refused where devices would refuse
    it, or where its address is taken."""
    require_own_page()
    draft = current_store().studio.draft(require_member().team.id, known(name))
    survey = _publishable(draft)
    return json_answer({"definition": msgspec.Raw(survey.canonical)})


@blueprint.post("/drafts/<name>/published")
@Operation(
    {201: {JSON: PublishedAnswer}},
    (*BODY, *_SIGNED, "not-found", "bad-survey", "conflict", "unsigned", "quota", "too-much",
     "busy"),
    body={JSON: Signed},
)  # fmt: skip
def publish(name: str) -> Response:
    """Publish the draft for good, with the signature of the group."""
    require_own_page()
    member, store = require_member(), current_store()
    form = 'the body is {"digest": "...", "author": "...", "signature": "..."}'
    wanted = decoded(_SIGNED_BODY, read_body(JSON), form)
    draft = store.studio.draft(member.team.id, known(name))
    survey = _publishable(draft)
    if wanted.digest != survey.digest:
        raise Conflict("the draft was changed while you looked at it; look at it again")
    if wanted.author != member.team.key:
        raise Unsigned("this is the signature of another group")
    try:
        store.publish(survey, Signature(wanted.author, wanted.signature), member.token.id, quotas())
    except BadSignature as error:
        raise Unsigned(str(error)) from None
    store.studio.delete_draft(member.team.id, draft.id)
    return json_answer({"name": survey.name, "form": f"/s/{survey.name}"}, 201)


def _publishable(draft: Draft) -> Survey:
    """Raises BadSurvey where devices would refuse the survey, and Conflict where another survey has
    its address."""
    survey = compiled(to_yaml(written(draft.document)).encode())
    if refusals(survey):
        spent = privacy_spent(survey.total)
        why = f"devices would refuse this survey: it spends {spent} of {FULL}; go back, and mend it"
        raise BadSurvey([Problem("$", why)])
    if survey.name in current_store().names():
        raise Conflict(f"the address {survey.name} is taken; {survey.name}-b is another one")
    return survey
