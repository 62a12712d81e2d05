"""Declares a view's answers, problems, parameters and headers, by a decorator.

The OpenAPI document is collected from these declarations (``api.openapi``). Query parameters that
are not declared are refused (``api.query_parameters``).

SpecTree, the maintained library that supports msgspec's types, would also validate bodies, with
refusals of its own shape, and does not support our problems and roles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from flask import current_app, request

from deniably_server.storage.tables.tokens import Role

HTML, TEXT, CSV, SVG = "text/html", "text/plain", "text/csv", "image/svg+xml"

QueryParameters = Mapping[str, Mapping[str, object]]
"""The JSON Schema of each parameter by its name; the names of required ones end with ``!``."""

PAGE: Mapping[int, Mapping[str, Any]] = {200: {HTML: None}}
"""The answers of a view that renders an HTML page."""
KEPT_PAGE: Mapping[int, Mapping[str, Any]] = {**PAGE, 304: {}}
"""The answers of a view whose HTML page browsers may cache."""
BODY = ("malformed", "too-large", "unsupported-media-type")
"""The problems of a view that reads a body."""
TOKEN = ("unauthorised", "forbidden", "too-many")
"""The problems of a view that needs a token."""
NAMED: Mapping[str, object] = {"type": "string", "maxLength": 64}
"""The schema of a name in a survey."""

_View = TypeVar("_View", bound=Callable[..., Any])
_KEY = "operation"


@dataclass(frozen=True)
class Operation:
    """The declaration of a view: which answers it may give, and which parameters, headers and body
    a request may have.

    An instance is a decorator, which attaches itself to the view.
    """

    answers: Mapping[int, Mapping[str, Any]]
    """Status -> media type -> type of the body; None for text."""
    problems: Sequence[str] = ()
    """Names of the view's problems, as ``problems.KINDS`` has them, besides those of every view."""
    role: Role | None = None
    """The role of the token that the view needs; None where it needs no token."""
    query: QueryParameters | None = None
    body: Mapping[str, Any] | None = None
    """Media type -> type of the request's body; None for text."""
    headers: Sequence[str] = ()
    """Headers of the answer, besides those of every answer."""
    required_headers: Sequence[str] = ()
    optional_headers: Sequence[str] = ()
    """Headers of the request, required and optional ones."""
    strata: bool = False
    """Whether the keys of the survey's strata are parameters of the address, too."""

    def __call__(self, view: _View) -> _View:
        """Attaches the declaration to a view; returns the view."""
        setattr(view, _KEY, self)
        return view

    @property
    def is_page(self) -> bool:
        """Whether every answer is an HTML page."""
        return self.answers in (PAGE, KEPT_PAGE)


def operation_of(view: Callable[..., Any]) -> Operation:
    """Returns the declaration that was attached to a view. Raises AttributeError if it has none."""
    operation: Operation = getattr(view, _KEY)
    return operation


def current_operation() -> Operation | None:
    """Returns the declaration of the current request's view.

    Returns None if no view has the address, or the view has no declaration: this is asked while a
    fault is answered, and must not fail itself.
    """
    view = current_app.view_functions.get(request.endpoint or "")
    return getattr(view, _KEY, None)
