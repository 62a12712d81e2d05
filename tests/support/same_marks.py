"""Compares two outputs of one view: files byte for byte, figures and pages by what is seen in
them."""

from __future__ import annotations

import json
import re
from collections import Counter
from difflib import unified_diff
from html.parser import HTMLParser
from typing import Any

_DRAWN = {"line", "rect", "circle", "path", "polygon", "polyline", "text", "image", "svg", "g"}
_OF_A_RUN = re.compile(r"/requests/[-\w]+|(?:[0-9a-f]{4} ){7}[0-9a-f]{4}")
"""The id of a request, and the fingerprint of an author who has a new key each time."""
_NAMES_OF_FILES = re.compile(r"/web/[^\"' ]+")


class _Reader(HTMLParser):
    """Marks of pictures as a multiset, and texts, links and names of elements in order."""

    def __init__(self) -> None:
        super().__init__()
        self.marks = Counter[str]()
        self.texts: list[str] = []
        self.links: list[str] = []
        self.shape: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _DRAWN:
            self.marks[f"{tag} {sorted(attrs, key=str)}"] += 1
            return
        given = {key: value or "" for key, value in attrs}
        for key in ("href", "src", "action"):
            if key in given:
                link = _NAMES_OF_FILES.sub("/web/", given.pop(key))
                path, _, query = link.partition("?")
                query, _, anchor = query.partition("#")
                self.links.append(f"{path} {sorted(query.split('&'))} {anchor}")
        self.shape.append(f"{tag} {sorted(given.items())}")

    def handle_data(self, data: str) -> None:
        if text := " ".join(data.split()):
            self.texts.append(text)


def read(text: str) -> _Reader:
    """What is seen in a page or a figure."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    return reader


def differences_of(name: str, old: str | None, new: str | None) -> tuple[str, str]:
    """The kind of an output, and how it differs; empty if it does not."""
    kind = _kind(name, old or new or "")
    old, new = (text and _OF_A_RUN.sub("", text) for text in (old, new))
    if old == new:
        return kind, ""
    if old is None or new is None:
        return kind, "there before alone" if new is None else "there after alone"
    if kind not in ("figure", "page", "notebook html"):
        if kind == "openapi":
            return kind, _first_difference(
                json.loads(old.partition("\n")[2]), json.loads(new.partition("\n")[2])
            )
        return kind, _lines(old.splitlines(), new.splitlines())
    before, after = read(old), read(new)
    if old.partition("\n")[0] != new.partition("\n")[0]:
        return kind, f"head {old.partition(chr(10))[0]} -> {new.partition(chr(10))[0]}"
    if before.marks != after.marks:
        gone, came = before.marks - after.marks, after.marks - before.marks
        return kind, f"marks -{[*gone][:2]} +{[*came][:2]}"
    if " ".join(before.texts) != " ".join(after.texts):
        return kind, f"texts {_lines(before.texts, after.texts)}"
    if before.links != after.links:
        return kind, f"links {_lines(before.links, after.links)}"
    if kind == "page" and before.shape != after.shape:
        return kind, f"elements {_lines(before.shape, after.shape)}"
    return kind, ""  # the same, drawn in another order


def _kind(name: str, text: str) -> str:
    head = text.partition("\n")[0]
    if "openapi" in name:
        return "openapi"
    if name.startswith("notebook"):
        return (
            "figure"
            if name.endswith(".svg")
            else "notebook html"
            if name.endswith(" html")
            else "notebook"
        )
    for media, kind in (
        ("svg", "figure"),
        ("csv", "csv"),
        ("html", "page"),
        ("problem", "refusal"),
    ):
        if media in head:
            return kind
    return "json" if "json" in head else "text"


def _lines(old: list[str], new: list[str]) -> str:
    lines = [
        one[:160]
        for one in unified_diff(old, new, n=0, lineterm="")
        if one[:3] not in ("---", "+++")
    ]
    return " | ".join(one for one in lines[:7] if not one.startswith("@@"))


def _first_difference(old: Any, new: Any, path: str = "") -> str:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old.keys() | new.keys():
            if old.get(key) != new.get(key):
                return _first_difference(old.get(key), new.get(key), f"{path}/{key}")
    return "" if old == new else f"{path}: {str(old)[:80]} -> {str(new)[:80]}"
