"""R: strings, names and comments."""

from __future__ import annotations

import re
from typing import Self

from deniably.core.languages.code import ScriptCode
from deniably.core.steering import one_line


class R(ScriptCode):
    """Source code of R.

    >>> R.filled("share({label}, {column})", label=R.text('"A" \\\\'), column=R.name("q__a"))
    R('share("\\\\"A\\\\" \\\\\\\\", `q__a`)')
    """

    @classmethod
    def text(cls, text: str) -> Self:
        """Returns an R string literal in ASCII whose value is ``text`` on one line, in every
        locale."""
        parts = (_character(character) for character in one_line(text))
        return cls._made(f'"{"".join(parts)}"')

    @classmethod
    def name(cls, name: str) -> Self:
        """Returns the name of a column in backticks. Raises ValueError unless the name consists of
        letters, digits and ``_ . -``."""
        if not re.fullmatch(r"[\w.-]+", name, re.ASCII):
            raise ValueError(f"{name!r} is no name of a column")
        return cls._made(f"`{name}`")

    @classmethod
    def comment(cls, text: str) -> Self:
        """Returns a line of R that is a comment with this text."""
        return cls._made(f"# {one_line(text)}".rstrip())


def _character(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if " " <= character <= "~" else f"\\U{{{ord(character):x}}}"
