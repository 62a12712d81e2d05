"""Prints a tested difference: in a picture, in the table below it, and in a terminal."""

from __future__ import annotations

from dataclasses import replace

from deniably.exhibits.printing import apart, p_text
from deniably.results.by_stratum import ApartResult
from deniably.results.differences import RISK, AdjustedResult
from deniably.results.drawing import rounding
from deniably.results.drawing.row import Row, banded, difference_row
from deniably.results.narrative import level_text

Tested = AdjustedResult | ApartResult
"""The difference of two answers, surveys or strata, with its test and its intervals."""
HEADS = ("interval", "Std. error", "p alone", "p adjusted (Holm)")
"""The headings of ``numbers`` after the first, which is the estimate's."""


def differs(test: Tested) -> bool:
    """Returns whether a test shows a difference: whether its p-value is below ``RISK``, after the
    adjustment for all tests made together."""
    return test["adjusted_p_value"] < RISK


def row(label: str, test: Tested, *, shares: bool = True, unit: str = "") -> Row:
    """Returns the drawn row of a difference: in percentage points if it is between ``shares``,
    otherwise in the ``unit`` of the means.

    The row is grey with an open dot where the test shows no difference.
    """
    drawn = difference_row(label, test["estimate"], test["interval"], shown=differs(test))
    value, interval = apart(test["estimate"], test["interval"], shares=shares, unit=unit)
    # The heading of the column says that these are points.
    value = value.removesuffix(f"{rounding.NARROW}points") if shares else value
    drawn = replace(drawn, reading=replace(drawn.reading, value=value, interval=interval))
    return banded(drawn, test["interval_80"], test["interval_50"])


def numbers(test: Tested, factor: float = 100, decimals: int = 1) -> list[str]:
    """Returns the estimate, the interval, the standard error and the two p-values of a difference
    as texts. The first three are multiplied by ``factor``, by default to percentage points."""
    return [
        rounding.signed(factor * test["estimate"], decimals),
        " to ".join(rounding.signed(factor * end, decimals) for end in test["interval"]),
        rounding.number(factor * test["standard_error"], decimals),
        rounding.p_cell(test["p_value"]),
        rounding.p_cell(test["adjusted_p_value"]),
    ]


def printed_heads(confidence: float) -> tuple[str, ...]:
    """Returns the column headings for the texts that ``printed`` returns."""
    return "difference", f"{level_text(confidence)} interval", "p", "p adjusted (Holm)"


def printed(test: Tested, *, shares: bool = True) -> tuple[str, ...]:
    """Returns the difference, its interval and its two p-values as texts for a table in a
    terminal."""
    return (
        *apart(test["estimate"], test["interval"], shares=shares),
        p_text(test["p_value"]),
        p_text(test["adjusted_p_value"]),
    )
