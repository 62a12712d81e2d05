"""Plain text inside LaTeX and Markdown, where some characters are marks of their own."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from deniably.core.steering import one_line

_LATEX = {
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
_MARKDOWN = str.maketrans({char: f"\\{char}" for char in "\\`*_[]<>#|"})


def latex(text: str) -> str:
    """A text for LaTeX or BibTeX, on one line.

    >>> latex("50 % of R&D")
    '50 \\\\% of R\\\\&D'
    """
    return "".join(_LATEX.get(char, char) for char in one_line(text))


def latex_name(text: str) -> str:
    """The name of an author for BibTeX, whose accents are commands of LaTeX.

    Styles abbreviate first names to their first byte, which would cut a letter of two bytes.

    >>> latex_name("Erlingsson, Ú.")
    "Erlingsson, {\\\\'U}."
    """
    letters = unicodedata.normalize("NFD", latex(text))
    written = re.sub(f"([A-Za-z])([{''.join(_ACCENTS)}])", _accented, letters)
    return unicodedata.normalize("NFC", written)


def _accented(found: re.Match[str]) -> str:
    return f"{{\\{_ACCENTS[found[2]]}{found[1]}}}"


def markdown(text: str) -> str:
    """A text for Markdown, on one line."""
    return one_line(text).translate(_MARKDOWN)


def markdown_table(lines: Sequence[Sequence[str]], texts: int) -> str:
    """A table whose first line has the headings; its first ``texts`` columns are words, the others
    figures, which stand on the right."""
    head, *rest = [[markdown(cell) for cell in line] for line in lines]
    sides = [":---" if place < texts else "---:" for place in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, sides, *rest))


def latex_table(lines: Sequence[Sequence[str]], texts: int) -> str:
    """The same as a ``tabular`` of LaTeX, which needs no package."""
    head, *rest = [[_cell(cell) for cell in line] for line in lines]
    sides = "".join("l" if place < texts else "r" for place in range(len(head)))
    body = "".join(rf"  {' & '.join(row)} \\" + "\n" for row in rest)
    return (
        rf"\begin{{tabular}}{{{sides}}}" + "\n" + r"  \hline" + "\n"
        rf"  {' & '.join(head)} \\" + "\n" + r"  \hline" + "\n"
        rf"{body}" + r"  \hline" + "\n" + r"\end{tabular}"
    )


def _cell(text: str) -> str:
    """A cell; a hyphen before a digit is a minus sign."""
    if text[:1] == "-" and text[1:2].isdigit():
        return f"$-${latex(text[1:])}"
    # After the end of a line, a bracket would begin an option.
    return "{}" * text.startswith("[") + latex(text)
