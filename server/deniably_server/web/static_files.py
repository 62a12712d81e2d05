"""Serves the files of the web client. Where a page needs many modules or stylesheets, they are
joined."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, cast

import brotli
from flask import Blueprint, Response, request

from deniably_server.errors import NotFound
from deniably_server.web.bundle import bundle_modules
from deniably_server.web.compression import prefers_brotli
from deniably_server.web.operation import Operation
from deniably_server.web.sheets import join_sheets, without_unused_tokens

web = Blueprint("web", __name__)

_KINDS = {
    ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".txt": "text/plain",
}  # fmt: skip
_TEXTS = dict.fromkeys(_KINDS.values())
_ENTRIES = ("form/exit", "form/form")
"""The modules that a form runs, in this order: "Exit this page" works first."""
_MIXER = ("survey/mixer",)
_SPECIAL = ("survey/strata", *_MIXER)
_WITH_STRATA = ("form/exit", "form/stratum", "form/form")
_NOT_MIXED = ("form/invited", "survey/strata", "device/part", "mechanisms/memoised")
"""What no survey with a mixer has."""
_SWAPPED = {
    "form/form": {"changes": "form/mixed", "remembered": "form/mixed"},
    "form/sending": {
        "hasChanged": "form/mixed",
        "record": "form/mixed",
        "recordSent": "form/mixed",
        "send": "form/mixed",
        "sha256": "form/mixed.receiptOf",
    },
}
"""What ``form/mixed.js`` does in the form of a survey with a mixer, instead of what the modules
import that are named here."""
_OF_A_DEVICE = ("storage", "kept_pages", "listing", "offline", "send", "waiting")
IN_TRIALS = {f"device/{name}": "form/trial" for name in _OF_A_DEVICE} | {
    "form/invited": "form/trial_invited"
}
"""What ``form/trial.js`` and ``form/trial_invited.js`` stand in for while a draft is tried out: all
that stores, fetches or sends. The published forms have none of it, and no way to it."""
IN_MIXED_TRIALS = IN_TRIALS | dict.fromkeys(
    ("device/to_mixer", "form/mixer_code", "trust/mixer_statement"), "form/trial_mixed"
)
"""The same of a draft with a mixer, which ``form/trial_mixed.js`` does not ask."""


@dataclass(frozen=True)
class _Bundle:
    """The modules that a bundle runs in turn (``entries``), those that it leaves out (``without``),
    for some modules the ones that stand in for them (``instead``), for some modules the names that
    they import from elsewhere (``swapped``), and whether unused functions go (``shaken``)."""

    entries: Sequence[str]
    without: Sequence[str] = ()
    instead: Mapping[str, str] = field(default_factory=dict[str, str])
    swapped: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    shaken: bool = False


_BUNDLES = {
    "form/page.js": _Bundle(_ENTRIES, ("form/invited", *_SPECIAL)),
    "form/page-invited.js": _Bundle(_ENTRIES, _SPECIAL),
    "form/page-strata.js": _Bundle(_WITH_STRATA, _MIXER),
    "form/page-mixed.js": _Bundle(_ENTRIES, _NOT_MIXED, swapped=_SWAPPED, shaken=True),
    "form/page-arrived.js": _Bundle(("form/arrived",), _NOT_MIXED, shaken=True),
    "form/page-trial.js": _Bundle(_WITH_STRATA, _MIXER, instead=IN_TRIALS),
    "form/page-trial-mixed.js": _Bundle(
        _ENTRIES, _NOT_MIXED, instead=IN_MIXED_TRIALS, swapped=_SWAPPED, shaken=True
    ),
}
"""The bundles of forms, and of the page that says whether what went to a mixer has arrived. All but
``page-mixed.js`` and ``page-trial-mixed.js`` refuse a survey with a mixer."""
SHEETS = {
    "style/page.css": ("tokens", "base", "notes"),
    "style/form-page.css": ("tokens", "base", "form", "fields"),
    "style/trial-page.css": ("tokens", "base", "form", "fields", "trial"),
    "style/handbook-page.css": ("tokens", "base", "notes", "results", "handbook"),
    "style/register-page.css": ("tokens", "base", "notes", "register"),
    "style/home-page.css": ("tokens", "base", "notes", "rain", "results", "home"),
    "style/how-page.css": ("tokens", "base", "notes", "rain", "how"),
    "style/lab-page.css": ("tokens", "base", "notes", "results", "lab"),
    "style/class-page.css": ("tokens", "base", "notes", "results", "lab", "class"),
    "style/studio-page.css": ("tokens", "base", "notes", "studio", "editor"),
    "style/privacy-page.css": ("tokens", "base", "notes", "studio", "privacy"),
    "style/dossier-page.css": ("tokens", "base", "notes", "dossier"),
}
"""For each joined stylesheet the sheets that it is made of, in order."""
ALONE = "style/form-page.css"
"""The only stylesheet of a form. Forms are fetched over the slowest lines."""
LEAN = (ALONE, "style/studio-page.css", "style/privacy-page.css")
"""Stylesheets of pages that have no other one. They leave out the custom properties (tokens) that
they do not use."""
_PACKED = {*_BUNDLES, ALONE}
"""The files that are packed with Brotli, because they are fetched over the slowest lines."""
_WINDOW = 18
"""The window of Brotli, as a power of two: 256 KiB, more than any of these files has. Brotli's best
quality takes 130 ms for a form's scripts. The first form that a process serves waits for that, and
each is 4 kB smaller than with gzip."""
_FOREVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True)
class File:
    """A file: its content (``body``), its media type (``kind``), and the SHA-256 of the content in
    hexadecimal (``tag``)."""

    body: bytes
    kind: str
    tag: str


@web.get("/web/<room>/<name>")
@Operation({200: _TEXTS, 304: {}}, ("not-found",), headers=("ETag",))
def current(room: str, name: str) -> Response:
    """Returns the file in its current version."""
    response = _response(f"{room}/{name}")
    response.set_etag(_files()[f"{room}/{name}"].tag)
    response.headers["Cache-Control"] = "no-cache"  # ask each time, but do not fetch again
    response.make_conditional(request)
    return response


@web.get("/web/<build>/<room>/<name>")
@Operation({200: _TEXTS}, ("not-found",), headers=("Service-Worker-Allowed",))
def built(build: str, room: str, name: str) -> Response:
    """Returns a file of one build. Its content never changes, so browsers may cache it for ever.

    Modules import each other by relative names, so no page mixes the modules of two builds, not
    even a page kept for use without a network.
    """
    if build != BUILD:
        raise NotFound("there is no such build")
    response = _response(f"{room}/{name}")
    response.headers["Cache-Control"] = _FOREVER
    if name == "sw.js":  # without this header a worker serves only addresses below its own folder
        response.headers["Service-Worker-Allowed"] = "/s/"
    return response


@web.app_template_global("web")
def address(name: str) -> str:
    """Returns the address of a file of this build, such as ``form/page.js``."""
    assert name in _files(), name
    return f"/web/{BUILD}/{name}"


def text_of(name: str) -> str:
    """Returns the text of a file, for a page that has to stand alone. ``name`` is such as
    ``style/base.css``. Raises KeyError where there is no such file."""
    return _files()[name].body.decode()


def _response(name: str) -> Response:
    file = _files().get(name)
    if file is None:
        raise NotFound("there is no such file")
    if name in _PACKED and prefers_brotli():
        response = Response(_packed(name), mimetype=file.kind)
        response.headers["Content-Encoding"] = "br"
        return response
    return Response(file.body, mimetype=file.kind)


@cache
def _files() -> dict[str, File]:
    """Returns the files by room and name. Other paths do not exist, so none leads out of the
    folder."""
    by_name: dict[str, File] = {}
    for room in (files("deniably_client") / "web").iterdir():
        for file in room.iterdir() if room.is_dir() else ():
            kind = next((kind for end, kind in _KINDS.items() if file.name.endswith(end)), None)
            if kind is not None:
                by_name[f"{room.name}/{file.name}"] = _file(file.read_bytes(), kind)
    words = files("deniably.trust") / "words.txt"  # Python reads them, too
    by_name["studio/words.txt"] = _file(words.read_bytes(), _KINDS[".txt"])
    modules = {
        name[:-3]: file.body.decode() for name, file in by_name.items() if name[-3:] == ".js"
    }
    for name, bundle in _BUNDLES.items():
        text = bundle_modules(
            modules,
            bundle.entries,
            bundle.without,
            bundle.instead,
            bundle.swapped,
            shaken=bundle.shaken,
        )
        by_name[name] = _file(text.encode(), _KINDS[".js"])
    for name, parts in SHEETS.items():
        joined = join_sheets(by_name[f"style/{part}.css"].body.decode() for part in parts)
        sheet = without_unused_tokens(joined) if name in LEAN else joined
        by_name[name] = _file(sheet.encode(), _KINDS[".css"])
    return by_name


def _file(body: bytes, kind: str) -> File:
    return File(body, kind, hashlib.sha256(body).hexdigest())


@cache
def _packed(name: str) -> bytes:
    library = cast(Any, brotli)  # it has no types
    body = _files()[name].body
    packed: bytes = library.compress(body, mode=library.MODE_TEXT, quality=11, lgwin=_WINDOW)
    return packed


def _build() -> str:
    # Templates, too: a page and the files that it names belong to one build.
    pages = sorted(_contents(files("deniably_server") / "templates"))
    tags = sorted((name, file.tag) for name, file in _files().items())
    return hashlib.sha256(repr((tags, pages)).encode()).hexdigest()[:16]


def _contents(folder: Traversable) -> Iterator[tuple[str, bytes]]:
    """The files of a folder and of those in it, with their names."""
    for each in folder.iterdir():
        if each.is_dir():
            yield from _contents(each)
        else:
            yield each.name, each.read_bytes()


BUILD = _build()
"""A hash of all files and templates: it changes if any of them does."""
