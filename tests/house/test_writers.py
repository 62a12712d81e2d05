"""HTML and SVG are made by their one writer: elsewhere no text and no markup become one string."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ("shared/deniably", "client/deniably_client", "server/deniably_server")
WRITERS = ROOT / "shared/deniably/core/languages"
TEMPLATES = ROOT / "server/deniably_server/templates"
CALL_LIBRARIES = {"qr_code.py", "rendered_markdown.py"}
"""They hand what segno and markdown-it write to the writer, and nothing else does."""
MARKUP = re.compile(r"</?[A-Za-z][A-Za-z0-9]*[\\s/>]|<!(--|[Dd])")
WORTH_READING = re.compile(rf"{MARKUP.pattern}|from html |markupsafe|from_library")
NO_MARKUP = re.compile(r"<(name|question|room|file|token|folder|code)>")
"""Parts of an address, and what a reader of a sentence puts in."""


def modules() -> Iterator[tuple[Path, str]]:
    """Those but the writers that may make markup, with their text: to read all takes long."""
    for source in SOURCES:
        for path in (ROOT / source).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            if not path.is_relative_to(WRITERS) and WORTH_READING.search(text):
                yield path, text


def texts(node: ast.AST) -> Iterator[str]:
    """The texts that are part of a string made of several."""
    match node:
        case ast.JoinedStr(values):
            yield from (str(one.value) for one in values if isinstance(one, ast.Constant))
        case ast.BinOp(left, ast.Add() | ast.Mod(), right):
            for one in (left, right):
                if isinstance(one, ast.Constant) and isinstance(one.value, str):
                    yield one.value
        case ast.Call(ast.Attribute(ast.Constant(str() as text), "format" | "join")):
            yield text
        case _:
            pass


def offences(path: Path, source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        place = f"{path.name}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.ImportFrom) and node.module in ("html", "markupsafe"):
            yield from (f"{place} {one.name}" for one in node.names if one.name != "unescape")
        if isinstance(node, ast.Attribute) and node.attr == "from_library":
            yield from [place] * (path.name not in CALL_LIBRARIES)
        if any(MARKUP.search(NO_MARKUP.sub("", text)) for text in texts(node)):
            yield f"{place} {ast.unparse(node)[:60]}"


def test_no_module_but_the_writer_makes_markup_of_texts() -> None:
    found = [one for path, text in modules() for one in offences(path, text)]

    assert found == [], "let Html of deniably.core.languages.html write it"


@pytest.mark.parametrize(
    "source",
    [
        "from html import escape",
        "from markupsafe import Markup",
        'f"<b>{title}</b>"',
        '"<b>" + title',
        '"<b>%s</b>" % title',
        '"<b>{}</b>".format(title)',
        '"</p><p>".join(titles)',
        "Html.from_library(title)",
    ],
)
def test_each_way_to_do_so_is_found(source: str) -> None:
    assert list(offences(Path("cards.py"), source))


def test_a_template_calls_nothing_safe_but_what_it_says_itself() -> None:
    for template in TEMPLATES.glob("*.html"):
        text = template.read_text(encoding="utf-8")
        assert "autoescape" not in text
        filtered = re.findall(r"(.)\s*\|\s*safe\b", text)
        assert set(filtered) <= {'"'}, template.name
