"""What a view tells of itself, by a decorator above it: what it answers, what it refuses, which
parameters it has. The OpenAPI document is collected from it (``api.openapi``), and a parameter that
is not named here is refused (``api.parameters``).

The decorator only notes. SpecTree, the one kept library that knows msgspec's types, would read and
refuse bodies by itself, in a shape of its own, and knows neither our problems nor roles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from flask import current_app, request

from deniably_server.storage.tables.tokens import Role

HTML, TEXT, CSV = "text/html", "text/plain", "text/csv"

Parameters = Mapping[str, Mapping[str, object]]
"""The schema of each parameter, by its name; those that are needed with a ``!`` at their end."""

PAGE: Mapping[int, Mapping[str, Any]] = {200: {HTML: None}}
"""The answers of a page for people."""
KEPT_PAGE: Mapping[int, Mapping[str, Any]] = {**PAGE, 304: {}}
"""The answers of a page for people that browsers may keep."""
BODY = ("malformed", "too-large", "unsupported-media-type")
"""What a view refuses that reads a body."""
TOKEN = ("unauthorised", "forbidden", "too-many")
"""What a view refuses that asks for a token."""
NAMED: Mapping[str, object] = {"type": "string", "maxLength": 64}
"""The name of something that a survey has."""

_View = TypeVar("_View", bound=Callable[..., Any])
_KEY = "operation"


@dataclass(frozen=True)
class Operation:
    """What only a view knows of itself."""

    answers: Mapping[int, Mapping[str, Any]]
    """Status -> media type -> the type of the answer; None where it is a text."""
    problems: Sequence[str] = ()
    """The names of what it refuses, beside what every view does."""
    role: Role | None = None
    query: Parameters | None = None
    body: Mapping[str, Any] | None = None
    """Media type -> its type."""
    headers: Sequence[str] = ()
    """Of the answer."""
    needs: Sequence[str] = ()
    may: Sequence[str] = ()
    """Headers of the request that are needed, and that are not always."""

    def __call__(self, view: _View) -> _View:
        """As a decorator: note it."""
        setattr(view, _KEY, self)
        return view

    @property
    def is_page(self) -> bool:
        """Whether it answers with a page for people, and with nothing else."""
        return self.answers in (PAGE, KEPT_PAGE)


def told_by(view: Callable[..., Any]) -> Operation:
    """What a view told of itself. Raises AttributeError for one that told nothing."""
    found: Operation = getattr(view, _KEY)
    return found


def current_operation() -> Operation | None:
    """What the view of the current request told; None where the address has none, or its view
    told nothing: a fault has to be answered all the same."""
    view = current_app.view_functions.get(request.endpoint or "")
    return getattr(view, _KEY, None)
