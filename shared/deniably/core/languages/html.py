"""HTML, and SVG within it or alone: texts in elements and in quoted attributes."""

from __future__ import annotations

from html import escape
from typing import LiteralString, Self

from deniably.core.languages.code import Code
from deniably.core.steering import printable


class Html(Code):
    """Source code of HTML or SVG, which the templates of pages insert without escaping.

    >>> Html.filled("<b>{label}</b>", label=Html.text("<script>"))
    Html('<b>&lt;script&gt;</b>')
    """

    @classmethod
    def text(cls, text: str) -> Self:
        """Returns a text, escaped for use in an element or in a quoted attribute."""
        return cls._made(escape(printable(text)))

    @classmethod
    def style(cls, sheet: str) -> Self:
        """Returns a style sheet for a ``style`` element. Raises ValueError if the style sheet has
        a ``<``, which could end the element."""
        if "<" in sheet:
            raise ValueError("a style sheet within a page has no <")
        return cls._made(sheet)

    @classmethod
    def filled(cls, template: LiteralString, **parts: Self | float) -> Self:
        """Returns the template with each ``{name}`` replaced by the part of that name. A part may
        be a number, which is formatted as in ``{name:.2f}``.

        >>> Html.filled('<line y1="{y:.1f}"/>', y=1 / 3)
        Html('<line y1="0.3"/>')
        """
        written = {
            name: part.source if isinstance(part, Code) else part for name, part in parts.items()
        }
        return cls._made(template.format(**written))

    @classmethod
    def data(cls, json: str) -> Self:
        """Returns JSON for a ``script`` element that holds data.

        JSON can have ``<`` only inside strings. There it is escaped, so that no string ends the
        element.
        """
        return cls._made(json.replace("<", r"\u003c"))

    @classmethod
    def from_library(cls, made: str) -> Self:
        """Returns ``made``, HTML or SVG from a library, unchanged. Only modules that call such a
        library may use this."""
        return cls._made(made)

    def __html__(self) -> str:
        return self.source
