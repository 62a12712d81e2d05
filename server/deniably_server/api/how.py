"""Serves the page that says in one picture how this works, in the reader's language."""

from __future__ import annotations

from flask import Blueprint, render_template

from deniably.wording.words import LANGUAGES, Words
from deniably_server.web import language, thirty_people
from deniably_server.web.operation import PAGE, Operation

blueprint = Blueprint("how", __name__)

_WIDEST = 15
"""People to whom the sum's bars would be full."""


@blueprint.get("/how")
@Operation(PAGE, query={"language": {"type": "string"}})
def how() -> str:
    """Returns the page that explains how this works: 30 people, what is sent, and how the true
    number is worked out."""
    words = language.asked_for()
    return render_template(
        "how.html",
        words=words,
        languages=[(code, Words(code)("language.name")) for code in LANGUAGES],
        example_numbers=thirty_people.example_numbers(),
        sum=thirty_people.undoing(),
        widest=_WIDEST,
        picture=thirty_people.picture(words, moves=True),
    )
