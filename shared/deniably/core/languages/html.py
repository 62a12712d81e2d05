"""HTML: texts in elements and in quoted attributes."""

from __future__ import annotations

from html import escape
from typing import Self

from deniably.core.languages.code import Code
from deniably.core.steering import printable


class HtmlCode(Code):
    """A piece of HTML.

    >>> HtmlCode.filled("<b>{label}</b>", label=HtmlCode.text("<script>"))
    HtmlCode('<b>&lt;script&gt;</b>')
    """

    @classmethod
    def text(cls, text: str) -> Self:
        """A text, in an element or between the quotes of an attribute."""
        return cls._made(escape(printable(text)))
