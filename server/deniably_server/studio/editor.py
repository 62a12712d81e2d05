"""Serves the editor of a draft: its questions, the fields of one, and beside them what they
cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, redirect, render_template, request

from deniably.authoring.drafts import to_json
from deniably_server.errors import TooSlow
from deniably_server.guard.app_state import current_store
from deniably_server.guard.session import Member, require_member, sign_in_first, signed_in
from deniably_server.storage.studio import Draft
from deniably_server.studio.balance import Balance, balance_of, people_expected
from deniably_server.studio.checks import check_of
from deniably_server.studio.drafts import known
from deniably_server.studio.fields import (
    ALSO,
    KINDS,
    question_form,
    survey_fields,
)
from deniably_server.studio.home import title_of
from deniably_server.studio.steps import steps_of_draft
from deniably_server.web.operation import NAMED, PAGE, Operation

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue

blueprint = Blueprint("studio_editor", __name__, url_prefix="/studio/d")

_QUESTION = {"question": NAMED}


@blueprint.get("/<name>")
@Operation({**PAGE, 303: {}}, ("not-found",), query=_QUESTION, headers=("Location",))
def edit(name: str) -> ResponseReturnValue:
    """Renders the editor, at the first page of the survey or at a question.

    Redirects to the page of the survey if the draft is published, and to the first page if there
    is no such question.
    """
    member = signed_in()
    if member is None:
        return sign_in_first()
    studio = current_store().studio
    if published := studio.survey_of(member.team.id, known(name)):
        return redirect(f"/studio/s/{published}", 303)
    draft = studio.draft(member.team.id, name)
    question = request.args.get("question", "")
    form = question_form(draft.document, question) if question else None
    if question and form is None:
        return redirect(f"/studio/d/{draft.id}", 303)
    return render_template(
        "studio/edit.html",
        **_shared(member, draft, question),
        form=form,
        fields=survey_fields(draft.document),
        questions=[_listed(each) for each in draft.document["questions"]],
        document=to_json(draft.document),
        expect=people_expected(draft.document),
        steps=steps_of_draft(draft.id, "Questions"),
        also=ALSO,
        view=Balance(),  # empty: a check takes a while, and the page's script asks for it
    )


@blueprint.get("/<name>/balance")
@Operation(PAGE, ("not-found", "unauthorised", "too-many", "busy"), query=_QUESTION)
def balance(name: str) -> str:
    """Renders the piece of the editor's page that says how much privacy the draft costs
    respondents, and how precise its results will be."""
    member = require_member()
    draft = current_store().studio.draft(member.team.id, known(name))
    question = request.args.get("question", "")
    return render_template(
        "studio/balance.html",
        **_shared(member, draft, question),
        form=bool(question),
        expect=people_expected(draft.document),
        view=_balance(member, draft, question),
    )


def _balance(member: Member, draft: Draft, question: str) -> Balance:
    try:
        return balance_of(check_of(member, draft, compares=False), draft.document, question)
    except TooSlow:
        return Balance(slow=True)


def _shared(member: Member, draft: Draft, question: str) -> dict[str, object]:
    return {
        "team": member.team,
        "draft": {"id": draft.id, "title": title_of(draft), "revision": draft.revision},
    }


def _listed(question: dict[str, object]) -> dict[str, object]:
    kind = str(question.get("type", ""))
    title = question.get("short") or question.get("label")
    return {
        "id": question["id"],
        "title": str(title or "A new question"),
        "kind": KINDS.get(kind, "Another kind" if kind else "Not chosen yet"),
    }
