"""Stata: strings and comments.

Stata expands macros, which begin with a backtick or a dollar sign, in strings and in comments too,
and heeds the marks of a comment in both (StataCorp, Programming Reference Manual, comments).
"""

from __future__ import annotations

import re
from typing import Self

from deniably.core.languages.code import ScriptCode
from deniably.core.steering import one_line

_MARKS = re.compile(r"[`\"$\\{}]")
# /* and // and */ would begin or end a comment.
_COMMENTS = re.compile(r"/(?=[/*])|\*(?=/)")


class Stata(ScriptCode):
    """Source code of Stata.

    >>> Stata.text('"A" `x` /* B')
    Stata('"\\'A\\' \\'x\\' / * B"')
    """

    @classmethod
    def text(cls, text: str) -> Self:
        """Returns a Stata string literal, with an apostrophe for each mark that Stata interprets.

        A space is put into each mark of a comment.
        """
        return cls._made(f'"{_plain(text)}"')

    @classmethod
    def comment(cls, text: str) -> Self:
        """Returns a line of Stata that is a comment with this text, changed as by ``text``."""
        return cls._made(f"* {_plain(text)}".rstrip())


def _plain(text: str) -> str:
    return _COMMENTS.sub(lambda match: f"{match[0]} ", _MARKS.sub("'", one_line(text)))
