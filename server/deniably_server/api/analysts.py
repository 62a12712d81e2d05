"""Pages of results for analysts: a browser without a token gets a page that asks for one."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING

from flask import render_template, request

from deniably_server.errors import Unauthorised
from deniably_server.guard.app_state import current_store
from deniably_server.guard.auth import is_bearer

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue

View = Callable[..., "ResponseReturnValue"]
"""A view function: of a survey's name, and of the other parts of its address by their names."""


def or_ask_for_a_token(view: View) -> View:
    """Decorates a page of results, so that a browser without a token gets a page that asks for
    one.

    ``analysts.js`` then fetches the same address with the token. A request with a wrong token gets
    an error response.
    """

    @wraps(view)
    def page(name: str, **part: str) -> ResponseReturnValue:
        try:
            return view(name, **part)
        except Unauthorised:
            if is_bearer(request.headers):
                raise
            title = current_store().survey(name).title
            return render_template("analysts.html", title=title, name=name)

    return page
