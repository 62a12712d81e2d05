"""Numbers of a question's range as people read them."""

from __future__ import annotations

from fractions import Fraction

from deniably.survey.parts import Range


def number_text(value: Fraction | float) -> str:
    """A number for people: 7 digits at most, no exponent, no trailing zeros."""
    digits = f"{float(value):.7g}"
    return f"{float(digits):f}".rstrip("0").rstrip(".") if "e" in digits else digits


def area_text(grid: Range, cell: int, cells: int) -> str:
    """The numbers of one of the areas into which a range is cut."""
    n = grid.positions
    first, beyond = -(-cell * n // cells), -(-(cell + 1) * n // cells)
    return _span(number_text(grid.value(first)), number_text(grid.value(beyond - 1)))


def _span(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def rounded(value: float) -> float:
    """A figure of results, to six decimals: sentences and tables round the same numbers."""
    return round(float(value), 6) + 0.0  # never -0.0
