"""Python: strings and comments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from deniably.core.languages.code import ScriptCode
from deniably.core.steering import one_line


class Python(ScriptCode):
    """Source code of Python."""

    @classmethod
    def text(cls, text: str) -> Self:
        """Returns a Python string literal in ASCII whose value is ``text`` on one line."""
        return cls._made(ascii(one_line(text)))

    @classmethod
    def texts(cls, texts: Iterable[str]) -> Self:
        """Returns the source of a Python list of string literals, one for each text."""
        return cls.filled("[{each}]", each=cls.joined(", ", map(cls.text, texts)))

    @classmethod
    def comment(cls, text: str) -> Self:
        """Returns a line of Python that is a comment with this text.

        Do not put it in the first two lines of a file, where a comment can set the file's
        encoding.
        """
        return cls._made(f"# {one_line(text)}".rstrip())
