"""Numbers as people read them: rounded, without exponents."""

from __future__ import annotations

from fractions import Fraction

from deniably.survey.parts import Range


def number_text(value: Fraction | float) -> str:
    """A number with at most 7 digits, no exponent and no trailing zeros."""
    digits = f"{float(value):.7g}"
    return f"{float(digits):f}".rstrip("0").rstrip(".") if "e" in digits else digits


def area_text(grid: Range, cell: int, cells: int) -> str:
    """The numbers of one cell, "0 to 9", where a range is cut into ``cells`` areas."""
    n = grid.positions
    first, beyond = -(-cell * n // cells), -(-(cell + 1) * n // cells)
    return _span(number_text(grid.value(first)), number_text(grid.value(beyond - 1)))


def _span(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def rounded(value: float) -> float:
    """A figure rounded to six decimals, so that sentences and tables show the same number."""
    return round(float(value), 6) + 0.0  # never -0.0
