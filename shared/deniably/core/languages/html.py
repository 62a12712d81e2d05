"""HTML, and SVG within it or alone: texts in elements and in quoted attributes."""

from __future__ import annotations

from html import escape
from typing import LiteralString, Self

from deniably.core.languages.code import Code
from deniably.core.steering import printable


class Html(Code):
    """Source code of HTML or SVG. Templates of pages insert it without escaping.

    >>> Html.filled("<b>{label}</b>", label=Html.text("<script>"))
    Html('<b>&lt;script&gt;</b>')
    """

    @classmethod
    def text(cls, text: str) -> Self:
        """Returns a text, escaped for an element or for between the quotes of an attribute."""
        return cls._made(escape(printable(text)))

    @classmethod
    def style(cls, sheet: str) -> Self:
        """Returns a style sheet for a ``style`` element. Raises ValueError if it has a ``<``, which
        could end it."""
        if "<" in sheet:
            raise ValueError("a style sheet within a page has no <")
        return cls._made(sheet)

    @classmethod
    def filled(cls, template: LiteralString, **parts: Self | float) -> Self:
        """Returns the template with these parts; a number is written as ``{name:.2f}`` says.

        >>> Html.filled('<line y1="{y:.1f}"/>', y=1 / 3)
        Html('<line y1="0.3"/>')
        """
        written = {
            name: part.source if isinstance(part, Code) else part for name, part in parts.items()
        }
        return cls._made(template.format(**written))

    @classmethod
    def data(cls, json: str) -> Self:
        """Returns JSON for a ``script`` element of data.

        It has ``<`` only inside strings. There it is escaped, so no string ends the element.
        """
        return cls._made(json.replace("<", r"\u003c"))

    @classmethod
    def from_library(cls, made: str) -> Self:
        """Returns the HTML or SVG that a library made, unchanged; only for modules that call
        one."""
        return cls._made(made)

    def __html__(self) -> str:
        return self.source
