"""Numbers and names as people read them: rounded, without exponents, short."""

from __future__ import annotations

from fractions import Fraction

from msgspec import UNSET

from deniably.survey.parts import MOST_SHORT, Range
from deniably.survey.questions import Question

_ELLIPSIS = "\u2026"


def number_text(value: Fraction | float) -> str:
    """Returns a number with at most 7 digits, no exponent and no trailing zeros."""
    digits = f"{float(value):.7g}"
    return f"{float(digits):f}".rstrip("0").rstrip(".") if "e" in digits else digits


def short_label(question: Question) -> str:
    """Returns a label of a question for tables, figures and titles, in at most 32 characters.

    The label is the author's ``short``, or else the question's wording, cut at a word.
    """
    return cut(question.label) if question.short is UNSET else question.short


def listed_label(question: Question) -> str:
    """Returns the label of a question in a list to choose from: the author's ``short``, or else
    the full wording.

    Phones show only the beginning of an entry, and long wordings may begin alike.
    """
    return question.label if question.short is UNSET else question.short


def cut(label: str, longest: int = MOST_SHORT) -> str:
    """Returns a text of at most ``longest`` characters. A longer text is cut after a word, if it
    has spaces, and gets an ellipsis.

    >>> cut("Have you ever stolen from work?"), cut("Have you ever stolen anything from work?")
    ('Have you ever stolen from work?', 'Have you ever stolen anything\u2026')
    """
    text = " ".join(label.split())
    if len(text) <= longest:
        return text
    room = longest - 1
    words = text[:longest].rpartition(" ")[0]
    if len(words) < room / 2:  # one long word, or a language that writes no spaces
        words = text[:room]
    return words.rstrip(" ,;:.-(\u2013\u2014\u3001\uff0c\u3002") + _ELLIPSIS


def area_text(grid: Range, cell: int, cells: int) -> str:
    """Returns the lowest and highest number of a group, such as "0 to 9".

    ``grid`` is the range of all numbers, ``cells`` the number of groups that it is cut into, and
    ``cell`` the index of the group.
    """
    n = grid.positions
    # Position i has the cell floor(i * cells / n), so a cell begins at ceil(cell * n / cells).
    first, beyond = -(-cell * n // cells), -(-(cell + 1) * n // cells)
    return _span(number_text(grid.value(first)), number_text(grid.value(beyond - 1)))


def _span(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def rounded(value: float) -> float:
    """Returns a figure rounded to six decimals, so that sentences and tables show the same
    number."""
    return round(float(value), 6) + 0.0  # never -0.0
