"""Serves the first start in the browser: the bearer of the link founds the group that writes
surveys on this server.

The browser makes the group's signature and keeps it. The server gets its public half alone, and a
first proof that the browser holds the other one.
"""

from __future__ import annotations

from typing import TypedDict

import msgspec
from flask import Blueprint, Response, render_template, request

from deniably.trust.signing import Signature
from deniably_server.api.access import NewTokenAnswer, secret_answer
from deniably_server.errors import Malformed, Unauthorised
from deniably_server.guard.admin_link import first_tokens, link_setting, refuse_link
from deniably_server.guard.app_state import current_limits, current_store
from deniably_server.guard.session import own_origin, require_own_page, set_cookie
from deniably_server.guard.sign_in import check_sign_in, hash_of_word
from deniably_server.storage.tables.teams import new_team
from deniably_server.web.body import JSON, decoded, read_body
from deniably_server.web.operation import BODY, PAGE, Operation

blueprint = Blueprint("studio_start", __name__, url_prefix="/studio")


class Founding(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a request to found a group: the admin link's ``secret``, and the group's
    ``name``, ``contact`` and public ``key``. ``signature`` signs ``word``, a nonce of the server,
    as proof that the browser has the private key."""

    secret: str
    name: str
    contact: str
    key: str
    word: str
    signature: str


class FoundedAnswer(TypedDict):
    """The operator's new token: the person who founds the group may also run the server."""

    operator: NewTokenAnswer


_FOUNDING = msgspec.json.Decoder(Founding)
_FORM = "the body is a link's secret, a group's name, contact and key, and a signed word"


@blueprint.get("/start")
@Operation(PAGE)
def start() -> str:
    """Renders the page of the first start, where the browser makes the group's private key and a
    copy of it to keep."""
    return render_template("studio/start.html")


@blueprint.post("/start")
@Operation(
    {201: {JSON: FoundedAnswer}},
    (*BODY, "unauthorised", "forbidden", "too-many"),
    body={JSON: Founding},
    headers=("Set-Cookie",),
)
def found() -> Response:
    """Founds the group in exchange for the link's secret, and signs the browser in."""
    require_own_page()
    wanted = decoded(_FOUNDING, read_body(JSON), _FORM)
    store, limits = current_store(), current_limits()
    limits.check_failures(request.environ)
    try:
        setting = link_setting(store, wanted.secret)
        check_sign_in(store, own_origin(), wanted.word, Signature(wanted.key, wanted.signature))
        team = new_team(wanted.name, wanted.contact, wanted.key)
    except Unauthorised:
        limits.count_failure(request.environ)
        raise
    except ValueError as error:
        raise Malformed(str(error)) from None
    # Nobody gets the author's text: the group signs in by its signature, which renews the token.
    (operator, text), (author, _) = first_tokens()
    if not store.studio.found_team(team, author, [operator], setting):
        refuse_link()  # somebody else used it meanwhile
    answer = secret_answer({"operator": {**operator.document, "token": text}}, 201)
    if cookie := store.studio.sign_in(author.id, hash_of_word(wanted.word)):
        set_cookie(answer, cookie)
    return answer
