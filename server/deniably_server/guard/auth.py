"""Who asks: the bearer token of a request, and what it may do."""

from __future__ import annotations

from typing import NoReturn

from flask import request
from werkzeug.datastructures import Headers

from deniably_server.errors import Forbidden, Unauthorised
from deniably_server.guard.app_state import current_limits, current_store
from deniably_server.storage.tables.tokens import A, Role, Token, id_in

_SCHEME = "bearer"


def is_bearer(headers: Headers) -> bool:
    """Whether a request shows a token of ours, and not what a proxy in front of us asks for."""
    return headers.get("Authorization", "").partition(" ")[0].lower() == _SCHEME


def require(role: Role, survey: str | None = None, *, too: Role | None = None) -> Token:
    """The request's token, which is of this role, or of the one that may do this ``too``, and
    which may act on the survey where one is named.

    Raises Unauthorised where there is none that is valid, and Forbidden where it may not do this.
    """
    token = _presented(role)
    if token.role not in (role, too):
        raise Forbidden(f"this needs {A[role]} token, and this one is {A[token.role]}")
    if survey is not None:
        require_scope(token, survey)
    return token


def require_scope(token: Token, survey: str) -> None:
    """Raise Forbidden unless the token may act on this survey."""
    if token.survey not in (None, survey):
        raise Forbidden(f"this token is for the survey {token.survey} alone")


def _presented(role: Role) -> Token:
    """The token of the request, as it is now: one that is revoked elsewhere is refused at once."""
    _, _, text = request.headers.get("Authorization", "").partition(" ")
    if not is_bearer(request.headers):
        _refuse(role)
    current_limits().guess(request.environ)
    name = id_in(text)
    found = None if name is None else current_store().token(name)
    if found is None or not found.is_of(text):
        current_limits().wrong(request.environ)
        _refuse(role)
    # Only who holds the secret learns what became of the token.
    if found.revoked:
        raise Unauthorised("this token was revoked; ask the operator for another")
    if found.expired:
        raise Unauthorised(f"this token was valid until {found.until}; ask for another")
    return found


def _refuse(role: Role) -> NoReturn:
    raise Unauthorised(f"this needs {A[role]} token, as the header Authorization: Bearer <token>")
