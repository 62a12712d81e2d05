"""Decides whose a survey is: the token that published it, or its author's key.

An author's token without a scope may publish any survey. It gives no say over another author's.
"""

from __future__ import annotations

from contextlib import suppress

from flask import request

from deniably.core.errors import BadSignature
from deniably.survey.survey import Survey
from deniably.trust.register import closing_digest
from deniably.trust.signing import Signature, verify
from deniably_server.errors import Forbidden
from deniably_server.guard.app_state import current_store
from deniably_server.storage.tables.tokens import Token

SIGNATURE = ("Deniably-Author", "Deniably-Signature")
"""The headers of a request with its author's public key and signature."""


def is_owner(survey: Survey, token: Token) -> bool:
    """Returns whether a request comes from the survey's owner: its ``token`` published the survey,
    or the author's key signed the request. Also true for a survey that was stored without a
    token."""
    store = current_store()
    if store.owner(survey.name) in (None, token.id):
        return True
    with suppress(BadSignature):
        signature = request_signature()
        verify(closing_digest(survey.digest), signature)
        return signature.author == store.author(survey.name)
    return False


def require_owner_or_scope(survey: Survey, token: Token) -> None:
    """Raises Forbidden unless the token may manage the survey. It may if it is an operator's token
    or was made for this survey alone, or if ``is_owner`` is true."""
    if token.role == "operator" or token.survey == survey.name or is_owner(survey, token):
        return
    raise Forbidden(
        f"{survey.name} was published with another token; use that one, or ask the operator for"
        f" one of this survey (deniably token new --role author --survey {survey.name})"
    )


def request_signature() -> Signature:
    """Returns the author's key and signature from the request's headers, not yet verified.

    Raises BadSignature where one of the two headers is missing.
    """
    values = [request.headers.get(name) for name in SIGNATURE]
    if None in values:
        raise BadSignature("the headers Deniably-Author and Deniably-Signature are needed")
    return Signature(*map(str, values))
