"""Serves the privacy page of a draft, which compares ways to ask it: what each costs and shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, render_template

from deniably.authoring.drafts import to_json
from deniably_server.errors import TooSlow
from deniably_server.guard.app_state import current_store
from deniably_server.guard.session import require_member, sign_in_first, signed_in
from deniably_server.storage.studio import Draft
from deniably_server.studio.balance import Balance, people_expected
from deniably_server.studio.checks import check_of
from deniably_server.studio.comparison import (
    Comparison,
    comparison_of,
    mixer_slider_of,
    slider_of,
)
from deniably_server.studio.drafts import known
from deniably_server.studio.home import title_of
from deniably_server.studio.offers import offer_of, shown_offer
from deniably_server.studio.steps import steps_of_draft
from deniably_server.web.operation import PAGE, Operation

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue

blueprint = Blueprint("studio_privacy", __name__, url_prefix="/studio/d")


@blueprint.get("/<name>/privacy")
@Operation({**PAGE, 303: {}}, ("not-found",), headers=("Location",))
def privacy(name: str) -> ResponseReturnValue:
    """Renders the page that compares ways to ask the survey, without figures. The page's script
    then requests these from ``figures``."""
    member = signed_in()
    if member is None:
        return sign_in_first()
    draft = current_store().studio.draft(member.team.id, known(name))
    return render_template(
        "studio/privacy.html",
        # Empty: a check takes a while, and the page's script asks for it.
        **_shown(draft, Comparison(Balance())),
        team=member.team,
        steps=steps_of_draft(draft.id, "Privacy"),
        document=to_json(draft.document),
        expect=people_expected(draft.document),
    )


@blueprint.get("/<name>/privacy/figures")
@Operation(PAGE, ("not-found", "unauthorised", "too-many", "busy"))
def figures(name: str) -> str:
    """Renders the parts of the privacy page that state, for each way to ask the survey, its
    privacy cost and its precision."""
    member = require_member()
    draft = current_store().studio.draft(member.team.id, known(name))
    offer = shown_offer(member, draft.document)
    usable = None if offer is None or offer.wrong or offer.taken else offer_of(draft.document)
    try:
        check = check_of(member, draft, compares=True, offer=usable)
        comparison = comparison_of(check, draft.document)
    except TooSlow:
        comparison = Comparison(Balance(slow=True))
    return render_template("studio/privacy_figures.html", **_shown(draft, comparison), offer=offer)


def _shown(draft: Draft, comparison: Comparison) -> dict[str, object]:
    return {
        "draft": {
            "id": draft.id,
            "title": title_of(draft),
            "revision": draft.revision,
            "first": next((each["id"] for each in draft.document["questions"]), ""),
        },
        "all": comparison,
        "view": comparison.balance,
        "slider": slider_of(draft.document),
        "promise": mixer_slider_of(draft.document),
        "people": f"{people_expected(draft.document):,}",
    }
