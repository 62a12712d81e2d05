"""Authenticates requests: reads the bearer token, and checks its role and its scope."""

from __future__ import annotations

from typing import NoReturn

from flask import g, request
from werkzeug.datastructures import Headers

from deniably_server.errors import Forbidden, Unauthorised
from deniably_server.guard.app_state import current_limits, current_store
from deniably_server.storage.tables.tokens import A, Role, Token, id_in

_SCHEME = "bearer"
_WRONG = "deniably_wrong_token"
"""Noted for the request, which may ask for many surveys: its token is one failure, not as many."""


def is_bearer(headers: Headers) -> bool:
    """Returns whether a request carries a bearer token. The header Authorization may have other
    credentials instead, such as those for a proxy."""
    return headers.get("Authorization", "").partition(" ")[0].lower() == _SCHEME


def require(role: Role, survey: str | None = None, *, or_role: Role | None = None) -> Token:
    """Returns the request's token if it has ``role`` or ``or_role`` and may act on ``survey``.

    Raises Unauthorised if the request has no valid token, Forbidden if the token has another role
    or is limited to another survey, and TooMany after too many wrong tokens from this network.
    """
    token = _presented(role)
    if token.role not in (role, or_role):
        raise Forbidden(f"this needs {A[role]} token, and this one is {A[token.role]}")
    if survey is not None:
        require_scope(token, survey)
    return token


def require_scope(token: Token, survey: str) -> None:
    """Raises Forbidden if the token is limited to another survey than this one."""
    if token.survey not in (None, survey):
        raise Forbidden(f"this token is for the survey {token.survey} alone")


def _presented(role: Role) -> Token:
    """The request's token, read from the store, so that revoking takes effect at once."""
    _, _, text = request.headers.get("Authorization", "").partition(" ")
    if not is_bearer(request.headers):
        _refuse(role)
    if _WRONG in g:
        _refuse(role)
    # Before the look-up: above the limit, not even a right guess is told from a wrong one.
    current_limits().check_failures(request.environ)
    name = id_in(text)
    token = None if name is None else current_store().token(name)
    if token is None or not token.is_of(text):
        g.setdefault(_WRONG, True)
        current_limits().count_failure(request.environ)
        _refuse(role)
    # Only the holder of the secret learns that a token was revoked or has expired.
    if token.revoked:
        raise Unauthorised("this token was revoked; ask the operator for another")
    if token.expired:
        raise Unauthorised(f"this token was valid until {token.until}; ask for another")
    return token


def _refuse(role: Role) -> NoReturn:
    raise Unauthorised(f"this needs {A[role]} token, as the header Authorization: Bearer <token>")
