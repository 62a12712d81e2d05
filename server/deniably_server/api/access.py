"""Serves tokens over HTTP: operators make, list and revoke them; the admin link gives the first
two."""

from __future__ import annotations

from typing import TypedDict

import msgspec
from flask import Blueprint, Response, render_template, request

from deniably_server.errors import Malformed, NotFound, Unauthorised
from deniably_server.guard.admin_link import use_link
from deniably_server.guard.app_state import current_limits, current_store
from deniably_server.guard.auth import require
from deniably_server.storage.tables.tokens import DAYS, ROLES, Role, Token, make
from deniably_server.web.answer import json_answer
from deniably_server.web.body import JSON, decoded, read_body
from deniably_server.web.operation import BODY, PAGE, TOKEN, Operation

blueprint = Blueprint("access", __name__)

_KEPT_NOWHERE = "no-store, no-transform"
"""Not cached, and not compressed: the length of a compressed secret helps to guess it (BREACH)."""


class Wanted(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a request for a new token."""

    role: Role
    survey: str | None = None
    days: int = DAYS
    note: str = ""


class TokenAnswer(TypedDict):
    """A token, without its secret. ``until`` is its last valid day, and ``state`` is valid, expired
    or revoked."""

    id: str
    role: Role
    survey: str | None
    until: str
    note: str
    state: str


class NewTokenAnswer(TokenAnswer):
    """A new token. ``token`` is its text, with the secret."""

    token: str


class TokensAnswer(TypedDict):
    """All tokens of the server."""

    tokens: list[TokenAnswer]


class FirstTokensAnswer(TypedDict):
    """The operator's and the author's token that the admin link gives."""

    operator: NewTokenAnswer
    author: NewTokenAnswer


class Secret(msgspec.Struct, forbid_unknown_fields=True):
    """The secret of the admin link: the part of it after #."""

    secret: str


_WANTED = msgspec.json.Decoder(Wanted)
_LINK = msgspec.json.Decoder(Secret)


@blueprint.get("/api/tokens")
@Operation({200: {JSON: TokensAnswer}}, TOKEN, "operator")
def tokens() -> Response:
    """Returns every token, including expired and revoked ones. The answer holds no secret."""
    require("operator")
    return json_answer({"tokens": [token.document for token in current_store().tokens()]})


@blueprint.post("/api/tokens")
@Operation({201: {JSON: NewTokenAnswer}}, (*BODY, *TOKEN), "operator", body={JSON: Wanted})
def new() -> Response:
    """Makes a token. Only this answer ever shows its secret."""
    require("operator")
    token, text = _made(read_body(JSON))
    current_store().add_token(token)
    return secret_answer({**token.document, "token": text}, 201)


@blueprint.delete("/api/tokens/<name>")
@Operation({200: {JSON: TokenAnswer}}, (*TOKEN, "not-found"), "operator")
def revoke(name: str) -> Response:
    """Revokes a token for good."""
    require("operator")
    store = current_store()
    well_formed = name.isascii() and name.isalnum()  # a database may refuse other characters
    token = store.token(name) if well_formed and store.revoke_token(name) else None
    if token is None:
        raise NotFound("there is no token of this id")
    return json_answer(token.document)


@blueprint.get("/admin")
@Operation(PAGE)
def admin() -> str:
    """Returns the page of the admin link, which the first start prints. The browser keeps the part
    after #, the secret, to itself."""
    return render_template("admin.html")


@blueprint.post("/api/admin")
@Operation(
    {200: {JSON: FirstTokensAnswer}}, (*BODY, "unauthorised", "too-many"), body={JSON: Secret}
)
def first_tokens() -> Response:
    """Exchanges the admin link's secret for an operator's and an author's token, once."""
    form = 'the body is {"secret": "..."}: what is behind the # of the link'
    secret = decoded(_LINK, read_body(JSON), form).secret
    limits = current_limits()
    limits.check_failures(request.environ)
    try:
        tokens_made = use_link(current_store(), secret)
    except Unauthorised:
        limits.count_failure(request.environ)
        raise
    return secret_answer(
        {token.role: {**token.document, "token": text} for token, text in tokens_made}
    )


def secret_answer(value: object, status: int = 200) -> Response:
    """Returns a JSON response that holds a secret: it is neither cached nor compressed."""
    response = json_answer(value, status)
    response.headers["Cache-Control"] = _KEPT_NOWHERE
    return response


def _made(body: bytes) -> tuple[Token, str]:
    form = (
        f"the body is a role ({', '.join(ROLES)}) and, if you like, the name of a survey,"
        ' days and a note: {"role": "author", "survey": "workplace", "days": 90, "note": "..."}'
    )
    request_body = decoded(_WANTED, body, form)
    try:
        return make(request_body.role, request_body.survey, request_body.days, request_body.note)
    except ValueError as error:
        raise Malformed(str(error)) from None
