"""The group's own page: its drafts, its surveys, and how to begin one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, redirect, render_template

from deniably_server.guard.app_state import current_store
from deniably_server.guard.session import signed_in
from deniably_server.web.operation import PAGE, Operation

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue

blueprint = Blueprint("studio_home", __name__, url_prefix="/studio")


@blueprint.get("/")
@Operation({**PAGE, 303: {}}, headers=("Location",))
def home() -> ResponseReturnValue:
    """The drafts and the surveys of the group; whoever is signed out is asked to sign in."""
    member = signed_in()
    if member is None:
        return redirect("/studio/in", 303)
    drafts = current_store().studio.drafts(member.team.id)
    return render_template(
        "studio/home.html",
        team=member.team,
        drafts=[draft for draft in drafts if not draft.gone],
        gone=[draft for draft in drafts if draft.gone],
    )
