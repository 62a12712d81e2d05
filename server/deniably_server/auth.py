"""The author's token: who may publish and close. 256 random bits; only their hash is kept."""

from __future__ import annotations

import hashlib
import hmac
import secrets

from flask import request

from deniably_server.current import current_store
from deniably_server.errors import Unauthorised
from deniably_server.store import Store

_KEY = "author_token_sha256"


def first_token(store: Store) -> str | None:
    """A token on the very first start; None where there is one already."""
    token = secrets.token_urlsafe(32)
    return token if store.set_setting(_KEY, _hash(token), replace=False) else None


def new_token(store: Store) -> str:
    """A new token; the old one is worth nothing from now on."""
    token = secrets.token_urlsafe(32)
    store.set_setting(_KEY, _hash(token), replace=True)
    return token


def require_author() -> None:
    """Raise Unauthorised unless the request carries the author's token."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    # Read each time: `deniably token` in another process takes effect at once.
    known = current_store().setting(_KEY)
    if scheme.lower() != "bearer" or not known or not hmac.compare_digest(_hash(token), known):
        raise Unauthorised(
            "this needs the author's token, as the header Authorization: Bearer <token>"
        )


def _hash(token: str) -> str:
    # The token is random and long, so a plain hash cannot be searched; no slow one is needed.
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
