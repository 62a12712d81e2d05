"""The studio's session: a cookie that pages under /studio get, and nobody else does.

Requests that write come from a page of this very server: the browser says so. ``/api`` never reads
the cookie, and ``/studio`` never a bearer token.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast
from urllib.parse import quote

from flask import Response, current_app, redirect, request

from deniably.core.loopback import is_here
from deniably_server.errors import Forbidden, Unauthorised
from deniably_server.guard.app_state import current_store
from deniably_server.guard.own_address import own_address
from deniably_server.storage.tables.deeds import Doer
from deniably_server.storage.tables.sessions import AT_MOST
from deniably_server.storage.tables.teams import Team
from deniably_server.storage.tables.tokens import Token, hash_of

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue

COOKIE, PATH = "deniably-studio", "/studio"
_SECONDS = AT_MOST * 24 * 60 * 60


@dataclass(frozen=True)
class Member:
    """Whoever is signed in: their token, its group, and their browser: the hash of its cookie."""

    token: Token
    team: Team
    browser: str

    @property
    def doer(self) -> Doer:
        """Who does what is stored as a deed."""
        return Doer(self.team.id, self.token.id)


def signed_in() -> Member | None:
    """Returns who is signed in; None where nobody is."""
    cookie = request.cookies.get(COOKIE)
    studio = current_store().studio
    if cookie is None or (token := studio.session(cookie)) is None:
        return None
    team = studio.team_of(token.id)
    return None if team is None else Member(token, team, hash_of(cookie))


def sign_in_first() -> ResponseReturnValue:
    """Leads whoever is not signed in to where they sign in, and from there back to this page. The
    page stands in the fragment, which no server and no log sees."""
    return redirect(f"{PATH}/in#{quote(request.full_path.removesuffix('?'), safe='/?=&')}", 303)


def require_member() -> Member:
    """Returns who is signed in. Raises Unauthorised where nobody is."""
    if (member := signed_in()) is None:
        raise Unauthorised("you were signed out; nothing is lost: sign in, and you are back here")
    return member


def require_own_page() -> None:
    """Raises Forbidden unless a page of this server sends the request."""
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    if site != "same-origin" if site is not None else origin is None or origin != own_origin():
        raise Forbidden("the studio takes this from its own pages alone")


def own_origin() -> str | None:
    """Returns the address of this server as the browser reached it; None where that cannot be
    believed."""
    return own_address(request.environ, cast(str, current_app.config["HOSTS"]))


def set_cookie(response: Response, cookie: str) -> None:
    """Gives the browser the cookie of a session."""
    _set(response, cookie, _SECONDS)


def clear_cookie(response: Response) -> None:
    """Takes the cookie away."""
    _set(response, "", 0)


def _set(response: Response, value: str, seconds: int) -> None:
    response.set_cookie(
        COOKIE,
        value,
        max_age=seconds,
        path=PATH,
        secure=not is_here(own_origin() or ""),
        httponly=True,
        samesite="Strict",
    )
