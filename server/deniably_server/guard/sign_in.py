"""Signs people in by their group's signature: the server gives out a challenge, and whoever holds
the group's key signs it for this very server.

A challenge carries its own time and an HMAC by the server, so nothing is stored before it is used.
The session that it begins keeps its hash, so that no second session can begin with it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time

from deniably.core.errors import BadSignature
from deniably.trust.sign_in_request import sign_in_message
from deniably.trust.signing import Signature, verify_text
from deniably_server.errors import Unauthorised
from deniably_server.storage.store import Store

_KEY = "sign_in_key"
"""The setting with the key of the marks."""
_SECONDS = 3600
"""How long a word is good. It may be carried to another computer to be signed there."""


def new_word(store: Store) -> str:
    """Returns a new challenge to sign: "time-random-HMAC", each in hexadecimal, the time in seconds
    since 1970."""
    plain = f"{int(time.time()):x}-{secrets.token_hex(16)}"
    return f"{plain}-{_mark(store, plain)}"


def check_sign_in(store: Store, origin: str | None, word: str, signature: Signature) -> None:
    """Raises Unauthorised unless ``word`` is a challenge of this server that is at most an hour
    old, and ``signature`` signs it for this server at ``origin``."""
    plain, _, mark = word.rpartition("-")
    # ``compare_digest`` raises TypeError for a text that is not ASCII. After it the challenge is
    # known to be of this server's making, so what follows can be parsed.
    if not word.isascii() or not hmac.compare_digest(mark, _mark(store, plain)):
        raise Unauthorised("this server did not ask for this signature; load the page again")
    if not 0 <= time.time() - int(plain.partition("-")[0], 16) <= _SECONDS:
        raise Unauthorised("the page was open for too long before you signed in; load it again")
    if origin is None:
        raise Unauthorised("open the server by its own name; this one is not in its --hosts")
    try:
        verify_text(sign_in_message(origin, word), signature)
    except BadSignature:
        raise Unauthorised("this signature is not that of the group, for this server") from None


def hash_of_word(word: str) -> str:
    """Returns the SHA-256 of a challenge in hexadecimal. A session stores this hash of the
    challenge that began it."""
    return hashlib.sha256(word.encode()).hexdigest()


def _mark(store: Store, plain: str) -> str:
    # Where two processes draw a key at once, the first to be stored is that of both.
    while (key := store.setting(_KEY)) is None:
        store.set_setting(_KEY, secrets.token_hex(32), replace=False)
    return hmac.new(bytes.fromhex(key), plain.encode(), hashlib.sha256).hexdigest()
