"""Renders a page of Markdown as HTML that the site's Content-Security-Policy and a screen reader
accept.

CommonMark with tables, by markdown-it-py. Raw HTML in the text is shown as text. Headings get the
anchors that code hosts give them, so that one link works in both places.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from deniably.core.languages.html import Html

_LEFT_OUT = re.compile(r"[^\w\- ]")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


@dataclass(frozen=True)
class Heading:
    """A heading of a page: its text without markup, its level (1 for the title) and the id that
    links name (``anchor``)."""

    level: int
    text: str
    anchor: str


@dataclass(frozen=True)
class Rendered:
    """A page of Markdown as HTML, with its headings in order."""

    html: Html
    headings: Sequence[Heading]

    @property
    def title(self) -> str:
        """The text of the first heading. Raises IndexError where there is none."""
        return self.headings[0].text


def render(text: str, path: str, address: Callable[[str], str | None]) -> Rendered:
    """Returns the Markdown ``text``, which lies at ``path`` in the source tree, as HTML.

    ``address`` maps the path of another page in the source tree to its address on this server. It
    returns None where this server does not have the page: the link then becomes its text and the
    path.
    """
    tokens = _markdown().parse(text)
    headings = _name_headings(tokens)
    for token in tokens:
        token.attrs.pop("style", None)  # the Content-Security-Policy ignores it
        if token.children:
            token.children = _lead(token.children, posixpath.dirname(path), address)
    # The rules below name each table by its number and its section, for screen readers.
    env: EnvType = {"section": headings[0].text if headings else path, "tables": 0}
    html = _markdown().renderer.render(tokens, _markdown().options, env)
    return Rendered(Html.from_library(html), headings)


def headings(text: str) -> list[Heading]:
    """Returns the headings of a page of Markdown in order, with their anchors."""
    return _name_headings(_markdown().parse(text))


@cache
def _markdown() -> MarkdownIt:
    # Quotes are curled, as on the other pages; code stays as it is.
    options = {"html": False, "typographer": True}
    markdown = MarkdownIt("commonmark", options).enable(["table", "smartquotes"])
    markdown.add_render_rule("heading_open", _heading_open)
    markdown.add_render_rule("table_open", _table_open)
    markdown.add_render_rule("table_close", _table_close)
    markdown.add_render_rule("th_open", _th_open)
    markdown.add_render_rule("fence", _fence)
    return markdown


def _name_headings(tokens: Sequence[Token]) -> list[Heading]:
    """Gives every heading its anchor; a second heading of the same text gets ``-1``."""
    headings: list[Heading] = []
    used: dict[str, int] = {}
    for token, inline in pairwise(tokens):
        if token.type == "heading_open":
            parts = (child.content for child in inline.children or () if child.content)
            text = "".join(parts)
            slug = _LEFT_OUT.sub("", text.casefold()).strip().replace(" ", "-")
            count = used[slug] = used.get(slug, -1) + 1
            anchor = f"{slug}-{count}" if count else slug
            token.attrSet("id", anchor)
            token.meta["text"] = text
            headings.append(Heading(int(token.tag[1:]), text, anchor))
    return headings


def _lead(
    children: Sequence[Token], folder: str, address: Callable[[str], str | None]
) -> list[Token]:
    """Returns the tokens of a paragraph with links that lead to this server's pages."""
    linked: list[Token] = []
    outside = ""
    for token in children:
        if token.type == "link_open":
            target = str(token.attrGet("href"))
            outside = _point(token, target, folder, address)
            if outside:
                continue
        elif token.type == "link_close" and outside:
            linked.append(Token("text", "", 0, content=" ("))
            linked.append(Token("code_inline", "code", 0, content=outside))
            linked.append(Token("text", "", 0, content=" in the source)"))
            outside = ""
            continue
        linked.append(token)
    return linked


def _point(token: Token, target: str, folder: str, address: Callable[[str], str | None]) -> str:
    """Makes a link lead to its page on this server; returns the path of a page that this server
    does not have, else an empty text."""
    if _SCHEME.match(target) or target.startswith("#"):
        return ""
    path, hash_, anchor = target.partition("#")
    path = posixpath.normpath(posixpath.join(folder, path))
    local = address(path)
    if local is None:
        return path
    token.attrSet("href", local + hash_ + anchor)
    return ""


def _heading_open(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, _: OptionsDict, env: EnvType
) -> str:
    env["section"] = tokens[index].meta["text"]
    return renderer.renderToken(tokens, index, _, env)


def _table_open(
    _: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    env["tables"] += 1
    return Html.filled(
        '<div class="scroll" tabindex="0" role="region" aria-label="{label}">\n<table>\n',
        label=Html.text(f"Table {env['tables']}: {env['section']}"),
    ).source  # fmt: skip


def _table_close(*_: object) -> str:
    return "</table>\n</div>\n"


def _th_open(*_: object) -> str:
    return '<th scope="col">'


def _fence(
    _: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    # It scrolls sideways on a phone, so the keyboard has to reach it.
    return Html.filled(
        '<pre tabindex="0"><code>{code}</code></pre>\n', code=Html.text(tokens[index].content)
    ).source
