"""The studio's session: a cookie that browsers send to pages under /studio alone.

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
    """A person who is signed in to the studio: the person's token, the group of the token, and
    ``browser``, which is the hash of the session's cookie."""

    token: Token
    team: Team
    browser: str

    @property
    def doer(self) -> Doer:
        """The group and the token of this person, to be recorded with what the person does."""
        return Doer(self.team.id, self.token.id)


def signed_in() -> Member | None:
    """Returns who sends the current request; None if nobody is signed in."""
    cookie = request.cookies.get(COOKIE)
    studio = current_store().studio
    if cookie is None or (token := studio.session(cookie)) is None:
        return None
    team = studio.team_of(token.id)
    return None if team is None else Member(token, team, hash_of(cookie))


def sign_in_first() -> ResponseReturnValue:
    """Returns a redirect to the page for signing in, which leads back to the current page
    afterwards."""
    return redirect(sign_in_address(request.full_path.removesuffix("?")), 303)


def sign_in_address(page: str) -> str:
    """Returns the address of the page for signing in, which leads to ``page`` of the studio
    afterwards. That stands in the fragment, which no server and no log sees."""
    return f"{PATH}/in#{quote(page, safe='/?=&')}"


def require_member() -> Member:
    """Returns who sends the current request. Raises Unauthorised if nobody is signed in."""
    if (member := signed_in()) is None:
        raise Unauthorised("you were signed out; nothing is lost: sign in, and you are back here")
    return member


def require_own_page() -> None:
    """Raises Forbidden unless a page of this server sends the request. This prevents cross-site
    request forgery."""
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    # Browsers send Sec-Fetch-Site only where the connection is safe; elsewhere Origin has to do.
    if site != "same-origin" if site is not None else origin is None or origin != own_origin():
        raise Forbidden("the studio takes this from its own pages alone")


def own_origin() -> str | None:
    """Returns the base URL of this server as the browser reached it; None where the request's Host
    is not to be trusted."""
    return own_address(request.environ, cast(str, current_app.config["HOSTS"]))


def set_cookie(response: Response, cookie: str) -> None:
    """Adds the cookie of a session to the response."""
    _set(response, cookie, _SECONDS)


def clear_cookie(response: Response) -> None:
    """Adds to the response what makes the browser delete the session's cookie."""
    _set(response, "", 0)


def _set(response: Response, value: str, seconds: int) -> None:
    response.set_cookie(
        COOKIE,
        value,
        max_age=seconds,
        path=PATH,
        secure=not is_here(own_origin() or ""),  # on this machine itself there is no https
        httponly=True,
        samesite="Strict",  # another site cannot make the browser send it, not even by a link
    )
