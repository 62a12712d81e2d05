"""Shows, in place of a page of hidden results, a page that says that they are hidden, and why."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING

from flask import render_template

from deniably.core.errors import TravelledApart
from deniably_server.api.analysts import View
from deniably_server.api.visibility import visible_survey
from deniably_server.errors import Hidden, Refusal
from deniably_server.guard.app_state import current_store
from deniably_server.web.problems import kind_of, sentence

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue


def hidden_page(name: str, hidden: Hidden | TravelledApart) -> str:
    """Returns the page that says why a survey's results, or this view of them, are not shown."""
    why = sentence(str(hidden))
    survey = current_store().survey(name)
    closed = current_store().state(name) == "closed"
    others = _are_shown(name)
    return render_template("hidden.html", survey=survey, why=why, others=others, closed=closed)


def _are_shown(name: str) -> bool:
    """Whether the survey's results are shown, where one view of them is not."""
    try:
        visible_survey(name)
    except Refusal:
        return False
    return True


def or_say_why_hidden(view: View) -> View:
    """Decorates a page of results: while the results are hidden, the browser gets a page that says
    why, in place of the problem document. The page also says so of what a mixer took apart."""

    @wraps(view)
    def page(name: str) -> ResponseReturnValue:
        try:
            return view(name)
        except (Hidden, TravelledApart) as hidden:
            return hidden_page(name, hidden), kind_of(hidden).status

    return page
