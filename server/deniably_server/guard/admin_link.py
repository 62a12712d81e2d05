"""The admin link of the first start: it gives an operator's and an author's token, once.

Its secret is in the part after ``#``, which browsers never send; the page sends it in a body. The
server stores the secret's hash and the link's last day.
"""

from __future__ import annotations

import hmac
import secrets
from typing import NoReturn

from deniably_server.errors import Unauthorised
from deniably_server.storage.store import Store
from deniably_server.storage.tables.tokens import Token, day_in, hash_of, make

_KEY = "admin_link"
_DAYS = 1
"""The link is good for the day of the first start and the next, in UTC."""


def first_link(store: Store) -> str | None:
    """Makes a new admin link and stores its hash; returns its secret. Returns None if there is a
    token or a link that is still valid."""
    if store.tokens():
        return None
    _, _, until = (store.setting(_KEY) or "").partition(" ")
    if until >= day_in(0):
        return None
    secret = secrets.token_urlsafe(32)
    kept = f"{hash_of(secret)} {day_in(_DAYS)}"
    # Where several processes start at once, the first to store its link is the one to show it.
    return secret if store.set_setting(_KEY, kept, replace=bool(until)) else None


def use_link(store: Store, secret: str) -> list[tuple[Token, str]]:
    """Exchanges the admin link's secret for an operator's and an author's token; returns each
    token with its text. The text is what its holder sends; it is not stored.

    Raises Unauthorised if the link was used, is too old, or the secret is wrong.
    """
    key, kept = link_setting(store, secret)
    made = first_tokens()
    if not store.exchange(key, kept, [token for token, _ in made]):
        refuse_link()  # somebody else used it meanwhile
    return made


def first_tokens() -> list[tuple[Token, str]]:
    """Makes an operator's and an author's token; returns each token with its text. Stores neither
    token."""
    return [make(role, note="first start") for role in ("operator", "author")]


def link_setting(store: Store, secret: str) -> tuple[str, str]:
    """Returns the stored setting of the admin link, as (key, value). Whoever uses the link deletes
    this setting, so only one request can.

    Raises Unauthorised if the link was used, is too old, or the secret is wrong.
    """
    kept = store.setting(_KEY) or ""
    known, _, until = kept.partition(" ")
    if not hmac.compare_digest(hash_of(secret), known) or until < day_in(0):
        refuse_link()
    return _KEY, kept


def refuse_link() -> NoReturn:
    """Raises Unauthorised, with the command that makes a token without the link."""
    raise Unauthorised(
        "this link was used already, is too old or is not right; on the server's machine,"
        " deniably token new --role operator makes a token"
    )
