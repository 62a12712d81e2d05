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
    """Source code of Stata. A string literal has other characters in place of those that Stata
    would interpret.

    >>> Stata.text('"A" `x` /* B')
    Stata('"\\'A\\' \\'x\\' / * B"')
    """

    @classmethod
    def text(cls, text: str) -> Self:
        """Returns a Stata string literal of ``text``, in which an apostrophe replaces each quote,
        backtick, backslash, brace and dollar sign, which Stata would interpret.

        The marks that begin or end a comment are broken up by a space.
        """
        return cls._made(f'"{_plain(text)}"')

    @classmethod
    def comment(cls, text: str) -> Self:
        """Returns a line of Stata that is a comment with this text, in which the same characters
        are replaced as by ``text``."""
        return cls._made(f"* {_plain(text)}".rstrip())


def _plain(text: str) -> str:
    return _COMMENTS.sub(lambda match: f"{match[0]} ", _MARKS.sub("'", one_line(text)))
