"""On whose account a request is computed: that of its token, or of its network address.

Requests with a valid token have places of their own, which nobody without a token can fill. The
name of an account is used while a request is there. It is never stored or logged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from deniably_server.errors import Unavailable
from deniably_server.guard.client_network import network_of
from deniably_server.storage.store import Store
from deniably_server.storage.tables.tokens import Token, id_in

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

_KEY = "deniably.asker"
_SCHEME = "bearer"


class Asker(NamedTuple):
    """The account that a request is charged to. ``name`` is the id of its token where
    ``has_token``, else its network address.

    The name is empty for this machine itself, and for a proxy on it whose clients are not known:
    there may be many people behind it, so limits for one account do not apply.
    """

    name: str = ""
    has_token: bool = False


ANYBODY = Asker()


def asker_of(environ: WSGIEnvironment, store: Store, proxies: int) -> Asker:
    """Returns the account that a request is charged to. The result is kept in ``environ``, so that
    it is looked up once for each request.

    A request whose token is wrong, expired or revoked is charged to its network address. Whether a
    token allows what is asked for is decided elsewhere (``guard.auth``).
    """
    known: Asker | None = environ.get(_KEY)
    if known is None:
        token = _token(environ, store)
        network = network_of(environ, proxies) or ""
        known = environ[_KEY] = Asker(network) if token is None else Asker(token.id, True)
    return known


def _token(environ: WSGIEnvironment, store: Store) -> Token | None:
    scheme, _, text = str(environ.get("HTTP_AUTHORIZATION", "")).partition(" ")
    name = id_in(text) if scheme.lower() == _SCHEME else None
    if name is None:
        return None
    try:
        token = store.token(name)
    except Unavailable:  # the view itself meets the fault, and answers it
        return None
    valid = token is not None and token.is_of(text) and not (token.revoked or token.expired)
    return token if valid else None
