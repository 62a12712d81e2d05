"""A survey after its publication: how many have answered, coarsely, and its closing for good."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import msgspec
from flask import Blueprint, Response, redirect, render_template

from deniably_server.api.status import survey_status
from deniably_server.api.surveys import final_count, require_results
from deniably_server.errors import Malformed, NotFound
from deniably_server.guard.app_state import current_store
from deniably_server.guard.session import (
    Member,
    own_origin,
    require_member,
    require_own_page,
    signed_in,
)
from deniably_server.web.answer import json_answer
from deniably_server.web.body import JSON, decoded, read_body
from deniably_server.web.operation import BODY, PAGE, Operation
from deniably_server.web.qr_code import qr_code

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue

blueprint = Blueprint("studio_follow", __name__, url_prefix="/studio/s")


class ClosedAnswer(TypedDict):
    """The final count; None where it is below the survey's minimum."""

    reports: int | None


class Closing(msgspec.Struct, forbid_unknown_fields=True):
    """The survey's address, typed by whoever closes it; ``anyway`` where nobody would ever see
    results."""

    name: str
    anyway: bool = False


_CLOSING = msgspec.json.Decoder(Closing)


@blueprint.get("/<name>")
@Operation({**PAGE, 303: {}}, ("not-found",), headers=("Location",))
def follow(name: str) -> ResponseReturnValue:
    """The survey's link, its coarse count, and what is left to do."""
    member = signed_in()
    if member is None:
        return redirect("/studio/in", 303)
    _require_own(member, name)
    survey = current_store().survey(name)
    link = f"{own_origin() or ''}/s/{name}"
    return render_template(
        "studio/follow.html",
        team=member.team,
        survey=survey,
        status=survey_status(survey),
        link=link,
        code=qr_code(link, "The link as a code for phones") if own_origin() else "",
    )


@blueprint.post("/<name>/closed")
@Operation(
    {200: {JSON: ClosedAnswer}},
    (*BODY, "unauthorised", "forbidden", "not-found", "too-few"),
    body={JSON: Closing},
)
def close(name: str) -> Response:
    """Close the survey for good."""
    require_own_page()
    _require_own(require_member(), name)
    form = 'the body is {"name": "...", "anyway": false}'
    wanted = decoded(_CLOSING, read_body(JSON), form)
    if wanted.name != name:
        raise Malformed(f"type {name} to close it")
    store = current_store()
    survey = store.survey(name)
    if not wanted.anyway:
        require_results(survey)
    store.close_survey(name)
    return json_answer({"reports": final_count(survey)})


def _require_own(member: Member, name: str) -> None:
    """Raises NotFound unless the survey is of the member's group."""
    if name not in current_store().studio.surveys(member.team.id):
        raise NotFound("your group has no such survey")
