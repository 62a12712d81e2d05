"""How a tested difference reads: in a picture, in the table below it, and in a terminal."""

from __future__ import annotations

from dataclasses import replace

from deniably.exhibits.printing import apart, p_text
from deniably.results.by_stratum import ApartResult
from deniably.results.differences import RISK, AdjustedResult
from deniably.results.drawing import rounding
from deniably.results.drawing.row import Row, banded, difference_row
from deniably.results.narrative import level_text

Tested = AdjustedResult | ApartResult
"""A difference of two answers, surveys or strata, with its test and its intervals."""
HEADS = ("interval", "Std. error", "p alone", "p adjusted (Holm)")
"""What ``numbers`` are, after the estimate."""


def differs(test: Tested) -> bool:
    """Returns whether the test shows a difference, adjusted for all that were tested with it."""
    return test["adjusted_p_value"] < RISK


def row(label: str, test: Tested, *, shares: bool = True, unit: str = "") -> Row:
    """Returns the row of a difference of shares, in points, or of means, in their ``unit``.

    It is grey with an open dot where no difference is shown.
    """
    drawn = difference_row(label, test["estimate"], test["interval"], shown=differs(test))
    value, interval = apart(test["estimate"], test["interval"], shares=shares, unit=unit)
    # The heading of the column says that these are points.
    value = value.removesuffix(f"{rounding.NARROW}points") if shares else value
    drawn = replace(drawn, reading=replace(drawn.reading, value=value, interval=interval))
    return banded(drawn, test["interval_80"], test["interval_50"])


def numbers(test: Tested, factor: float = 100, decimals: int = 1) -> list[str]:
    """Returns the estimate, and then as ``HEADS`` names them; by default in points."""
    return [
        rounding.signed(factor * test["estimate"], decimals),
        " to ".join(rounding.signed(factor * end, decimals) for end in test["interval"]),
        rounding.number(factor * test["standard_error"], decimals),
        rounding.p_cell(test["p_value"]),
        rounding.p_cell(test["adjusted_p_value"]),
    ]


def printed_heads(confidence: float) -> tuple[str, ...]:
    """Returns the headings of ``printed``."""
    return "difference", f"{level_text(confidence)} interval", "p", "p adjusted (Holm)"


def printed(test: Tested, *, shares: bool = True) -> tuple[str, ...]:
    """Returns the difference for the table of a terminal."""
    return (
        *apart(test["estimate"], test["interval"], shares=shares),
        p_text(test["p_value"]),
        p_text(test["adjusted_p_value"]),
    )
