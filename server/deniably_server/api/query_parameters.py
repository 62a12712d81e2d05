"""Refuses unknown query parameters and suggests the nearest known one.

If a misspelt parameter were ignored, the answer would be to another question than was asked. Each
view declares its parameters (``web.operation``).
"""

from __future__ import annotations

from difflib import get_close_matches

from flask import Flask, request
from werkzeug.datastructures import ImmutableMultiDict

from deniably.survey.strata import APPENDED
from deniably_server.errors import BadParameter, NotFound
from deniably_server.guard.app_state import current_store
from deniably_server.web.operation import Operation, current_operation

_READS = ("GET", "HEAD")
_LONGEST = 32


def refuse_unknown(app: Flask) -> None:
    """Makes ``app`` refuse a GET with an unknown or repeated query parameter (BadParameter)."""

    @app.before_request
    def _() -> None:  # pyright: ignore[reportUnusedFunction]
        operation = current_operation() if request.args else None
        if operation is not None and (request.method in _READS or operation.query):
            _check(operation)


def _check(operation: Operation) -> None:
    """Removes ignored parameters from the request. Raises BadParameter for other unknown ones.

    Pages ignore what networks append to links, so that a shared link to a survey works.
    """
    known = sorted([key.rstrip("!") for key in operation.query or {}] + _keys(operation))
    for name, values in request.args.lists():
        if name in known:
            if len(values) > 1:
                raise BadParameter(f"“{name}” is given {len(values)} times; give it once")
        elif not (operation.is_page and name.casefold().startswith(APPENDED)):
            raise BadParameter(_unknown(name, known))
    own = {name: value for name, value in request.args.items() if name in known}
    request.args = ImmutableMultiDict(own)  # pyright: ignore[reportAttributeAccessIssue]


def _keys(operation: Operation) -> list[str]:
    """Returns the keys of the survey's strata, where they are parameters."""
    if not operation.strata:
        return []
    try:
        survey = current_store().survey((request.view_args or {})["name"])
    except NotFound:  # the view says so
        return []
    return list(survey.strata or ())


def _unknown(name: str, known: list[str]) -> str:
    # Only text that looks like a name is repeated in the refusal.
    plain = name.isascii() and name.isidentifier() and len(name) <= _LONGEST
    quoted = f"“{name}”" if plain else "what stands behind the question mark"
    if not known:
        return f"{quoted} is no parameter here: this address has none"
    near = get_close_matches(name[:_LONGEST].casefold(), known, n=1, cutoff=0.5)
    suggestion = f"; did you mean “{near[0]}”?" if near else "."
    return f"{quoted} is no parameter of this address{suggestion} It has {_listed(known)}"


def _listed(names: list[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else f"{last} alone"
