"""Draws and prints a figure of a question in several places, as a row each on a common axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from deniably.results.drawing import axes, rounding
from deniably.results.drawing.axes import Axis
from deniably.results.drawing.row import Row, banded, mean_row, share_row
from deniably.results.side_by_side import FigureHead, FigureResult
from deniably.survey.readable import cut

_Figure = TypeVar("_Figure", bound=FigureHead)
MOST_PANELS = 12
"""The most figures that a figure for a paper has room for."""
HEADS = ("Estimate", "interval", "Std. error")
_SHORT_END = 20
"""Characters of the words at the ends of an axis."""


def row(figure: FigureHead, place: FigureResult, label: str, unit: str = "") -> Row:
    """The figure in one place; a mean has its unit behind it where one is given."""
    interval = place["interval"]
    if figure["name"] is None:
        drawn = mean_row(label, place["estimate"], interval, figure["extent"], unit)
    elif place["estimate"] is None:
        reading = rounding.share_untold(interval)
        drawn = share_row(label, sum(interval) / 2, interval)
        drawn = replace(drawn, reading=reading, open=reading.open)
    else:
        drawn = share_row(label, place["estimate"], interval)
    return banded(drawn, place["interval_80"], place["interval_50"])


def axis(figure: FigureHead, drawn: Sequence[Row], *, upright: bool = False) -> Axis:
    """The axis of a figure: over the whole range of a mean, or from 0 beyond all shares.

    An ``upright`` one runs upwards.
    """
    if figure["name"] is None:
        low, high = figure["extent"]
        first, last = (cut(label, _SHORT_END) for label in figure["ends"] or ["", ""])
        made = axes.upright if upright else axes.of_numbers
        return made(low, high, figure["unit"], first=first, last=last)
    return axes.of_shares(drawn)


def numbers(figure: FigureHead, place: FigureResult) -> list[str]:
    """The figure in one place, as ``HEADS`` names the columns."""
    if place["estimate"] is None or place["standard_error"] is None:
        return [rounding.UNKNOWN, "", ""]
    factor, decimals = scale(figure, place["interval"])
    ends = " to ".join(rounding.number(factor * end, decimals) for end in place["interval"])
    estimate, error = factor * place["estimate"], factor * place["standard_error"]
    return [rounding.number(estimate, decimals), ends, rounding.number(error, decimals)]


def scale(figure: FigureHead, interval: Sequence[float]) -> tuple[float, int]:
    """The factor and the decimals with which a table prints a figure: shares as per cents."""
    return (1.0, rounding.places(interval) + 1) if figure["name"] is None else (100.0, 1)


def largest(figures: Sequence[_Figure], order: Callable[[_Figure], Any]) -> list[_Figure]:
    """The figures that a figure for a paper has room for: the first in this order, as they were
    asked."""
    chosen = sorted(figures, key=order)[:MOST_PANELS]
    return [figure for figure in figures if figure in chosen]


def most(figures: Sequence[FigureHead], where: str) -> str:
    """Returns the note on the answers that ``largest`` left out; empty if there are none."""
    if len(figures) <= MOST_PANELS:
        return ""
    return f"Of {len(figures)} answers, the {MOST_PANELS} with the largest estimates {where}."
