"""Writes the pages of results of a tally file into a folder that needs no server.

The server's own views make them. From the dashboard every link to a page or file of results is
followed once, and becomes a relative one.
"""

from __future__ import annotations

import posixpath
import re
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import unescape
from pathlib import Path
from posixpath import relpath
from typing import cast
from urllib.parse import parse_qsl, urlencode

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from deniably.core.errors import NoResults
from deniably.core.languages.html import Html
from deniably.workbench.engines.tallying import TalliedSet
from deniably.workbench.files.whole_folder import whole_folder
from deniably_server.api.document_cache import cache_documents
from deniably_server.app import create_app
from deniably_server.offline.tally_store import TallyStore
from deniably_server.storage.store import Store
from deniably_server.storage.tables.tokens import make
from deniably_server.web.operation import HTML, operation_of

FIRST = "index.html"
"""The file of the dashboard, from which all other pages are reached."""
_LINK = re.compile(r' (href|src)="([^"]*)"')
_MODULE = '<script type="module"'
_PLAIN = "<script defer"
"""Browsers run no module from a file. What these pages load imports nothing, so it need be none."""
_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 120
"""The most characters of a file name without its ending: far below the 255 bytes that file systems
allow."""
_VALUE_ALONE = ("question", "rows", "columns")
"""Parameters of an address of which the name of a file has the value alone, without the key."""
_LEVEL = "confidence"


def write_pages(
    to: Path,
    tallied: TalliedSet,
    confidence: float,
    done: Callable[[int], None] = lambda count: None,
) -> int:
    """Writes the pages of results of ``tallied`` into the new folder ``to``; returns how many files
    it wrote.

    ``confidence`` is the level of the intervals, such as 0.95. ``done`` is called after each file
    with the number of files so far. A server's rules about what is shown hold here, too. Raises
    NoResults, with the reason, where they hide all results; NoExport, and leaves nothing behind,
    where the folder is there already or the disk refuses.
    """
    analyst, secret = make("analyst", tallied.survey.name)
    store = cast(Store, TallyStore(tallied, analyst))
    app = create_app({"OFFLINE": True}, store=store)
    cache_documents(app)
    site = _Site(app, tallied.survey.name, f"Bearer {secret}", f"{confidence:g}")
    answer = site.answer(f"{site.api}/results")
    if answer.status_code != 200:
        raise NoResults(f"{tallied.survey.name}: {answer.get_json()['detail']}")
    with whole_folder(to) as folder:
        site.file_of(site.pages)
        count = 0
        while site.waiting:
            target = site.waiting.popleft()
            file = folder / site.files[target]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(site.content(target))
            done(count := count + 1)
    return count


@dataclass(frozen=True, eq=False)
class _Site:
    """The pages of one survey: the files that its views are written to, by address.

    ``authorization`` is the header of the requests, ``level`` the confidence level as text.
    ``waiting`` are the addresses whose files are not written yet.
    """

    app: Flask
    survey: str
    authorization: str
    level: str
    files: dict[str, str] = field(default_factory=dict[str, str])
    waiting: deque[str] = field(default_factory=deque[str])
    _taken: set[str] = field(default_factory=set[str])

    @property
    def pages(self) -> str:
        """The address of the dashboard, which is the prefix of every page of results."""
        return f"/surveys/{self.survey}"

    @property
    def api(self) -> str:
        """The prefix of the addresses of all files of results."""
        return f"/api/surveys/{self.survey}"

    @cached_property
    def client(self) -> FlaskClient:
        """The client that sends requests to the views."""
        return self.app.test_client()

    def answer(self, target: str) -> TestResponse:
        """Returns the response of the view at the address ``target``."""
        headers = {"Authorization": self.authorization, "Accept": HTML}
        return self.client.get(self._with_level(target), headers=headers)

    def content(self, target: str) -> bytes:
        """Returns the content of the file for the address ``target``; links of a page are relative.

        Raises NoResults where the view refuses.
        """
        answer = self.answer(target)
        if answer.mimetype == HTML:
            # Whatever the status: a page that says why nothing is shown belongs to the export, too.
            return self._linked(answer.get_data(as_text=True), self.files[target]).encode()
        if answer.status_code != 200:
            raise NoResults(f"{target}: {answer.get_json()['detail']}")
        return answer.get_data()

    def file_of(self, target: str) -> str:
        """Returns the path of the file for the address ``target``. An address that is new is queued
        to be written."""
        path, query = self._split(target)
        target = f"{path}?{urlencode(query)}" if query else path
        if target not in self.files:
            name, number = self._file_name(path, query), 1
            stem, dot, end = name.rpartition(".")
            while name.casefold() in self._taken:  # Windows and macOS ignore case in file names
                number += 1
                name = f"{stem}_{number}{dot}{end}"
            self._taken.add(name.casefold())
            self.files[target] = name
            self.waiting.append(target)
        return self.files[target]

    def _linked(self, page: str, file: str) -> str:
        """Returns a page whose links lead to files, relative to its own."""

        def link(match: re.Match[str]) -> str:
            target, hash_, part = unescape(match[2]).partition("#")
            if not target.startswith("/"):
                return match[0]
            relative = relpath(self.file_of(target), posixpath.dirname(file) or ".")
            return f' {match[1]}="{Html.text(relative + hash_ + part).source}"'

        return _LINK.sub(link, page).replace(_MODULE, _PLAIN)

    def _split(self, target: str) -> tuple[str, list[tuple[str, str]]]:
        """Returns the path of an address, and its query in order and without the level."""
        path, _, query = target.partition("?")
        return path, sorted(parameter for parameter in parse_qsl(query) if parameter[0] != _LEVEL)

    def _with_level(self, target: str) -> str:
        """Returns the address with the level, where its view takes one."""
        path, query = self._split(target)
        endpoint, _ = self.app.url_map.bind("").match(path)
        if _LEVEL in (operation_of(self.app.view_functions[endpoint]).query or {}):
            query.append((_LEVEL, self.level))
        return f"{path}?{urlencode(query)}" if query else path

    def _file_name(self, path: str, query: Sequence[tuple[str, str]]) -> str:
        """Returns the path of the file for an address, in its folder."""
        if path == self.pages and not query:
            return FIRST
        if path.startswith("/web/"):
            return f"web/{posixpath.basename(path)}"
        if path == self.pages:
            folder, stem, end = "pages", "results", ".html"
        elif path.startswith(self.pages):
            folder, stem, end = "pages", path.removeprefix(f"{self.pages}/"), ".html"
        elif path == self.api:
            return "data/survey.json"
        else:
            folder = "figures" if path.endswith(".svg") else "data"
            stem, end = posixpath.splitext(posixpath.basename(path))
            end = end or ".json"
        parameters = dict(query)
        values = [parameters.pop(key) for key in _VALUE_ALONE if key in parameters]
        name = _UNFIT.sub(
            "-", "-".join([stem, *values, *(f"{key}-{parameters[key]}" for key in parameters)])
        )
        return f"{folder}/{name[:_LONGEST]}{end}"
