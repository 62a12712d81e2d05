"""LaTeX: texts, names and tables."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Self

from deniably.core.languages.addresses import web_address
from deniably.core.languages.code import Code
from deniably.core.steering import one_line

_MARKS = {
    "\\": r"\textbackslash{}", "{": r"\textbraceleft{}", "}": r"\textbraceright{}",
    "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
}  # fmt: skip
"""BibTeX counts braces whether or not a backslash escapes them, so that a brace has to be named."""
_ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0308": '"',
    "\u030a": "r ", "\u030c": "v ", "\u0327": "c ",
}  # fmt: skip


class Latex(Code):
    """Source code of LaTeX.

    >>> Latex.text("50 % of R&D")
    Latex('50 \\\\% of R\\\\&D')
    """

    @classmethod
    def text(cls, text: str) -> Self:
        """Returns a text on one line, escaped so that LaTeX takes no character for a command."""
        return cls._made("".join(_MARKS.get(char, char) for char in one_line(text)))

    @classmethod
    def person(cls, name: str) -> Self:
        """Returns the name of an author for BibTeX, with accents written as LaTeX commands.

        BibTeX styles abbreviate a first name to its first byte, which would cut a letter that has
        two bytes.

        >>> Latex.person("Erlingsson, Ú.")
        Latex("Erlingsson, {\\\\'U}.")
        """
        letters = unicodedata.normalize("NFD", cls.text(name).source)
        written = re.sub(f"([A-Za-z])([{''.join(_ACCENTS)}])", _accented, letters)
        return cls._made(unicodedata.normalize("NFC", written))

    @classmethod
    def address(cls, address: str) -> Self:
        r"""Returns the argument of ``\url``; empty unless ``address`` is a web address."""
        return cls._made(web_address(address))

    @classmethod
    def table(cls, lines: Sequence[Sequence[str]], texts: int) -> Self:
        """Returns a ``tabular`` environment, which needs no LaTeX package. The first of ``lines``
        has the headings.

        The first ``texts`` columns are aligned left, for words; the others are aligned right, for
        numbers.
        """
        head, *rest = [[_cell(cell) for cell in line] for line in lines]
        sides = "".join("l" if place < texts else "r" for place in range(len(head)))
        body = "".join(rf"  {' & '.join(row)} \\" + "\n" for row in rest)
        return cls._made(
            rf"\begin{{tabular}}{{{sides}}}" + "\n" + r"  \hline" + "\n"
            rf"  {' & '.join(head)} \\" + "\n" + r"  \hline" + "\n"
            rf"{body}" + r"  \hline" + "\n" + r"\end{tabular}"
        )


def _accented(match: re.Match[str]) -> str:
    return f"{{\\{_ACCENTS[match[2]]}{match[1]}}}"


def _cell(text: str) -> str:
    """A cell; a hyphen before a digit is a minus sign."""
    if text[:1] == "-" and text[1:2].isdigit():
        return f"$-${Latex.text(text[1:]).source}"
    # After the end of a line, a bracket would begin an option, and a star belong to the command.
    return "{}" * text.lstrip().startswith(("[", "*")) + Latex.text(text).source
