"""Serves trials of drafts: the form as people will get it, which sends nothing and keeps nothing.

It is the published form's own page, with one module in place of those of the device that store,
fetch and send. An author sees it in a frame beside the editor, and on the page "Try it". A phone
has no session. It opens a link, which shows this one draft as long as it is good.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

from flask import Blueprint, Response, render_template, request

from deniably.authoring.drafts import Document, question_names, to_json, written
from deniably.core.errors import BadSurvey
from deniably.core.loopback import is_here
from deniably.survey.survey import Survey
from deniably.wording.words import ENGLISH
from deniably_server.api.access import secret_answer
from deniably_server.api.pages import trial_form
from deniably_server.api.quick_checks import drafted_survey
from deniably_server.errors import Busy, NotFound, TooMany, TooSlow, Uncomputed
from deniably_server.guard.app_state import current_limits, current_store
from deniably_server.guard.session import (
    own_origin,
    require_member,
    require_own_page,
    sign_in_address,
    sign_in_first,
    signed_in,
)
from deniably_server.storage.studio import Draft
from deniably_server.studio.balance import ShownMistake, mistakes_of
from deniably_server.studio.drafts import known
from deniably_server.studio.fields import CHOOSING
from deniably_server.studio.home import title_of
from deniably_server.studio.steps import steps_of_draft
from deniably_server.web.body import JSON
from deniably_server.web.operation import NAMED, PAGE, Operation
from deniably_server.web.qr_code import new_qr_code

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue

blueprint = Blueprint("studio_trial", __name__, url_prefix="/studio")


class LinkAnswer(TypedDict):
    """A link with which others can try out a draft (``address``), and its last day (``until``).
    ``code`` is a QR code of the link as SVG; it is empty where the server does not know its own
    origin."""

    address: str
    until: str
    code: str


_LANGUAGE = {"language": {"type": "string"}}


@blueprint.get("/d/<name>/page")
@Operation(PAGE, ("not-found", "unauthorised"), query={"question": NAMED, **_LANGUAGE})
def page(name: str) -> ResponseReturnValue:
    """Renders the form of the draft, at its start or at a question, to try it out in a frame.

    No other page may be in a frame. Whoever is signed out therefore finds a link here that leads
    the whole tab to the page for signing in, and back to the page with the frame.
    """
    member, question = signed_in(), request.args.get("question")
    if member is None:
        around = "/try" if question is None else f"?question={question}" if question else ""
        place = sign_in_address(f"/studio/d/{known(name)}{around}")
        page = _waiting("You were signed out", sign_in=place)
        return page, 401, {"WWW-Authenticate": "Bearer"}
    draft = current_store().studio.draft(member.team.id, known(name))
    return _trial(draft, member.browser, question or "")


@blueprint.get("/d/<name>/try")
@Operation({**PAGE, 303: {}}, ("not-found",), headers=("Location",))
def try_it(name: str) -> ResponseReturnValue:
    """Renders the page that shows the form as on a phone, and on which an author can make a link
    to try it out on a real phone."""
    member, store = signed_in(), current_store()
    if member is None:
        return sign_in_first()
    draft = store.studio.draft(member.team.id, known(name))
    return render_template(
        "studio/try.html",
        team=member.team,
        draft={"id": draft.id, "title": title_of(draft)},
        steps=steps_of_draft(draft.id, "Try it"),
        until=store.studio.trial_until(member.team.id, draft.id),
        here_only=is_here(own_origin() or ""),
    )


@blueprint.post("/drafts/<name>/trial")
@Operation({201: {JSON: LinkAnswer}}, ("unauthorised", "forbidden", "not-found"))
def make_link(name: str) -> Response:
    """Makes a link with which others can try out the draft. An earlier link no longer works. Only
    this answer ever shows the link."""
    require_own_page()
    member = require_member()
    secret, until = current_store().studio.begin_trial(member.team.id, known(name))
    origin = own_origin()
    address = f"{origin or ''}/studio/try/{secret}"
    code = new_qr_code(address, "The link as a code for phones").source if origin else ""
    return secret_answer({"address": address, "until": until, "code": code}, 201)


@blueprint.get("/try/<secret>")
@Operation(PAGE, ("not-found", "too-many"), query=_LANGUAGE)
def tried(secret: str) -> ResponseReturnValue:
    """Renders the form of a draft, to try it out, for anybody who has the link."""
    limits = current_limits()
    # A secret must not be found by trying many.
    limits.check_failures(request.environ)
    try:
        draft = current_store().studio.tried(secret)
    except NotFound:
        limits.count_failure(request.environ)
        heading = "This link is no longer good"
        text = "Ask for a new one. A link to try a survey out lasts a few days."
        home = ("/", ENGLISH("missing.link"))
        page = render_template("message.html", title=heading, heading=heading, text=text, link=home)
        return page, 404
    return _trial(draft, "link")


def _trial(draft: Draft, browser: str, question: str = "") -> str:
    """The form of a draft at a question of it, or why it cannot be shown yet. All who have its link
    count as one ``browser``."""
    document = _filled(draft.document)
    asker = f"{browser}/{draft.id}/trial"
    try:
        current_limits().count_check(asker)
        # Two pages of one author may ask at once, such as the editor and the page "Try it".
        survey = drafted_survey(f"{asker}/{question}", to_json(written(document)).encode())
    except BadSurvey as error:
        return _waiting("Not ready yet", mistakes_of(error, document))
    except (TooMany, Busy, TooSlow, Uncomputed):
        return _waiting("This takes too long to work out just now")
    return trial_form(survey, "studio/trial_form.html", at=_step(survey, document, question))


def _waiting(title: str, mistakes: Sequence[ShownMistake] = (), sign_in: str = "") -> str:
    return render_template(
        "studio/trial_waits.html", title=title, mistakes=mistakes, sign_in=sign_in
    )


def _filled(draft: Document) -> Document:
    """A draft that can be looked at sooner: something stands in for what is not written yet."""
    texts = {"name": draft.get("name") or "draft", "title": draft.get("title") or "Without a title"}
    return {**draft, **texts, "questions": [_filled_question(each) for each in draft["questions"]]}


def _filled_question(question: Document) -> Document:
    kind = question.get("type")
    needed: dict[str, object] = {"label": "A new question"}
    if kind in CHOOSING:
        needed["choices"] = ["One answer", "Another answer"]
    elif kind == "number":
        needed |= {"minimum": 0, "maximum": 10}
    return needed | {key: value for key, value in question.items() if value not in (None, "", [])}


def _step(survey: Survey, draft: Document, question: str) -> int:
    """The step of the form that shows a question of the draft, by its id; 0 is the start.

    Several questions may be asked as one, whose parts they are.
    """
    name = question_names(draft).get(question)
    for number, each in enumerate(survey.questions, 1):
        parts = {part.name for part in getattr(each, "parts", ())}
        if name in {each.name, *parts}:
            return number
    return 0
