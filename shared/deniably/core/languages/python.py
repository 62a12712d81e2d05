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
        """Returns a Python string literal of ``text``, in ASCII."""
        return cls._made(ascii(one_line(text)))

    @classmethod
    def texts(cls, texts: Iterable[str]) -> Self:
        """Returns a Python list of string literals."""
        return cls.filled("[{each}]", each=cls.joined(", ", map(cls.text, texts)))

    @classmethod
    def comment(cls, text: str) -> Self:
        """Returns a line of Python that is a comment with this text.

        In one of a file's first two lines it could name an encoding: those belong to the template.
        """
        return cls._made(f"# {one_line(text)}".rstrip())
