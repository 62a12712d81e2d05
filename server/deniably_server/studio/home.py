"""Serves the group's own page: its drafts, its surveys, and how to begin one."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from flask import Blueprint, render_template

from deniably.authoring.drafts import to_json
from deniably_server.guard.app_state import current_store
from deniably_server.guard.session import sign_in_first, signed_in
from deniably_server.storage.studio import Draft
from deniably_server.storage.tables.teams import Team
from deniably_server.studio.addresses import season_address
from deniably_server.web.operation import PAGE, Operation

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue

blueprint = Blueprint("studio_home", __name__, url_prefix="/studio")

_DEEDS = 20
"""The most deeds (who did what and when) that the page shows: the last ones."""


@blueprint.get("/")
@Operation({**PAGE, 303: {}}, headers=("Location",))
def home() -> ResponseReturnValue:
    """Renders the drafts and the surveys of the group. A browser that is signed out is led to the
    page to sign in."""
    member = signed_in()
    if member is None:
        return sign_in_first()
    store = current_store()
    drafts = store.studio.drafts(member.team.id)
    surveys = store.studio.surveys(member.team.id)
    return render_template(
        "studio/home.html",
        team=member.team,
        drafts=[_card(draft) for draft in drafts if not draft.gone],
        gone=[_card(draft) for draft in drafts if draft.gone],
        surveys=[
            {"name": name, "title": store.survey(name).title, "state": store.state(name)}
            for name in surveys
        ],
        empty=to_json(_empty(member.team, store.names())),
        deeds=store.studio.deeds(member.team.id, _DEEDS),
    )


def title_of(draft: Draft) -> str:
    """Returns the title of a draft, or words that say that it has none."""
    return str(draft.document.get("title") or "") or "Without a title"


def _card(draft: Draft) -> dict[str, object]:
    return {
        "id": draft.id,
        "title": title_of(draft),
        "questions": len(draft.document["questions"]),
        "day": draft.day,
        "gone": draft.gone,
    }


def _empty(team: Team, taken: Collection[str]) -> dict[str, Any]:
    """A first draft."""
    return {
        "name": season_address(taken),
        "contact": f"{team.name}, {team.contact}",
        "questions": [{"type": "yes_no", "odds": 3}],
    }
