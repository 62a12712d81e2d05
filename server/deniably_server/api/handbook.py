"""Serves the handbook: the Markdown pages of the package, which need no network."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from flask import Blueprint, Response, render_template, request

from deniably_server.errors import NotFound
from deniably_server.web.operation import KEPT_PAGE, Operation
from deniably_server.web.rendered_markdown import Rendered, render
from deniably_server.web.static_files import BUILD

blueprint = Blueprint("handbook", __name__)

_FOLDER = "server/deniably_server/handbook"
"""The folder in the source. Links of the pages are relative to it."""
_INDEX = "index"
_END = ".md"


@blueprint.get("/handbook")
@Operation(KEPT_PAGE, headers=("ETag",))
def index() -> Response:
    """Returns the handbook's table of contents."""
    return _response(_INDEX)


@blueprint.get("/handbook/<name>")
@Operation(KEPT_PAGE, ("not-found",), headers=("ETag",))
def page(name: str) -> Response:
    """Returns a page of the handbook."""
    return _response(name)


@blueprint.get("/handbook/<folder>/<name>")
@Operation(KEPT_PAGE, ("not-found",), headers=("ETag",))
def inner_page(folder: str, name: str) -> Response:
    """Returns a page in a folder of the handbook, such as a decision."""
    return _response(f"{folder}/{name}")


@cache
def texts() -> dict[str, str]:
    """Returns {name: Markdown} for every page of the handbook; the name is its path without
    ``.md``."""
    return dict(_texts(files("deniably_server") / "handbook", ""))


def _texts(folder: Traversable, before: str) -> list[tuple[str, str]]:
    pages: list[tuple[str, str]] = []
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            pages += _texts(entry, f"{before}{entry.name}/")
        elif entry.name.endswith(_END):
            name = before + entry.name.removesuffix(_END)
            pages.append((name, entry.read_text(encoding="utf-8")))
    return pages


@cache
def _rendered(name: str) -> Rendered:
    return render(texts()[name], f"{_FOLDER}/{name}{_END}", _address)


def _address(path: str) -> str | None:
    """Returns the address of the page at ``path``; None where no page is there."""
    name = path.removeprefix(f"{_FOLDER}/").removesuffix(_END)
    if f"{_FOLDER}/{name}{_END}" != path or name not in texts():
        return None
    return "/handbook" if name == _INDEX else f"/handbook/{name}"


def _response(name: str) -> Response:
    """The response with a page. Browsers cache it and revalidate it each time."""
    if name not in texts() or (name == _INDEX and request.path != "/handbook"):
        raise NotFound("the handbook has no such page")
    rendered = _rendered(name)
    body = render_template(
        "handbook.html", title=rendered.title, rendered=rendered, is_index=name == _INDEX
    )
    response = Response(body, mimetype="text/html")
    response.set_etag(hashlib.sha256(f"{BUILD} {body}".encode()).hexdigest())
    response.headers["Cache-Control"] = "no-cache"
    response.make_conditional(request)
    return response
