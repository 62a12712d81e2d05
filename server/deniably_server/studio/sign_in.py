"""Signs browsers in and out, by the group's signature, which the browser keeps or a copy brings."""

from __future__ import annotations

from typing import TypedDict

import msgspec
from flask import Blueprint, Response, render_template, request

from deniably.trust.signing import Signature
from deniably_server.errors import Unauthorised
from deniably_server.guard.app_state import current_limits, current_store
from deniably_server.guard.session import (
    COOKIE,
    clear_cookie,
    own_origin,
    require_own_page,
    set_cookie,
)
from deniably_server.guard.sign_in import check_sign_in, hash_of_word, new_word
from deniably_server.web.answer import json_answer
from deniably_server.web.body import JSON, decoded, read_body
from deniably_server.web.operation import BODY, PAGE, Operation

blueprint = Blueprint("studio_sign_in", __name__, url_prefix="/studio")


class WordAnswer(TypedDict):
    """A word to sign: a nonce of this server."""

    word: str


class SigningIn(msgspec.Struct, forbid_unknown_fields=True):
    """The group's public ``key``, and a ``signature`` of a ``word`` of this server, which proves
    that the browser has the private key."""

    key: str
    word: str
    signature: str


class SignedIn(TypedDict):
    """The name of the group that was signed in."""

    team: str


_SIGNING_IN = msgspec.json.Decoder(SigningIn)


@blueprint.get("/in")
@Operation(PAGE)
def page() -> str:
    """Renders the page where a group signs in."""
    return render_template("studio/in.html")


@blueprint.post("/word")
@Operation({200: {JSON: WordAnswer}}, ("forbidden",))
def word() -> Response:
    """Returns a word to sign, which is good once and for an hour."""
    require_own_page()
    return json_answer({"word": new_word(current_store())})


@blueprint.post("/in")
@Operation(
    {200: {JSON: SignedIn}},
    (*BODY, "unauthorised", "forbidden", "too-many"),
    body={JSON: SigningIn},
    headers=("Set-Cookie",),
)
def sign_in() -> Response:
    """Begins a session of the group whose signature the browser sends; refused where the word was
    not given out, was used, or is too old."""
    require_own_page()
    form = 'the body is {"key": "...", "word": "...", "signature": "..."}'
    wanted = decoded(_SIGNING_IN, read_body(JSON), form)
    studio, limits = current_store().studio, current_limits()
    # Before anything is looked up: an address that failed often is told to wait.
    limits.check_failures(request.environ)
    try:
        check_sign_in(
            current_store(), own_origin(), wanted.word, Signature(wanted.key, wanted.signature)
        )
        token = studio.signer(wanted.key)
        if token is None:
            raise Unauthorised("no group of this server has this signature")
        cookie = studio.sign_in(token.id, hash_of_word(wanted.word))
        # A word is good once, and this one began a session before.
        if cookie is None:
            raise Unauthorised("this signature was used already; load the page again")
    except Unauthorised:
        limits.count_failure(request.environ)
        raise
    team = studio.team_of(token.id)
    answer = json_answer({"team": "" if team is None else team.name})
    set_cookie(answer, cookie)
    return answer


@blueprint.post("/out")
@Operation({204: {}}, ("forbidden",), headers=("Set-Cookie",))
def sign_out() -> Response:
    """Ends the session of this browser."""
    require_own_page()
    if cookie := request.cookies.get(COOKIE):
        current_store().studio.sign_out(cookie)
    answer = Response(status=204)
    clear_cookie(answer)
    return answer
