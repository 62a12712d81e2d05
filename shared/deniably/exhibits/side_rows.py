"""Draws and prints one figure in several places (waves or strata), one row per place on a common
axis."""

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
"""The most figures that are shown in one figure for a paper."""
HEADS = ("Estimate", "interval", "Std. error")
_SHORT_END = 20
"""The most characters of the label at an end of an axis."""


def row(figure: FigureHead, place: FigureResult, label: str, unit: str = "") -> Row:
    """Returns the drawn row of a figure in one ``place``, which is a stratum or a wave. The row
    has this ``label``, and a mean is printed with its ``unit``."""
    interval = place["interval"]
    if figure["name"] is None:
        drawn = mean_row(label, place["estimate"], interval, figure["extent"], unit)
    elif place["estimate"] is None:
        reading = rounding.share_untold(interval)
        # Only the interval is known, but a row must be drawn somewhere: at the middle.
        drawn = share_row(label, sum(interval) / 2, interval)
        drawn = replace(drawn, reading=reading, open=reading.open)
    else:
        drawn = share_row(label, place["estimate"], interval)
    return banded(drawn, place["interval_80"], place["interval_50"])


def axis(figure: FigureHead, drawn: Sequence[Row], *, upright: bool = False) -> Axis:
    """Returns the axis of a figure: for a mean from the smallest to the largest possible value,
    for shares from 0 to the end of the widest interval.

    ``upright`` makes the axis of a mean vertical.
    """
    if figure["name"] is None:
        low, high = figure["extent"]
        first, last = (cut(label, _SHORT_END) for label in figure["ends"] or ["", ""])
        made = axes.upright if upright else axes.of_numbers
        return made(low, high, figure["unit"], first=first, last=last)
    return axes.of_shares(drawn)


def numbers(figure: FigureHead, place: FigureResult) -> list[str]:
    """Returns the estimate, interval and standard error of a figure in one stratum or wave, as
    texts for the columns ``HEADS``."""
    if place["estimate"] is None or place["standard_error"] is None:
        return [rounding.UNKNOWN, "", ""]
    factor, decimals = scale(figure, place["interval"])
    ends = " to ".join(rounding.number(factor * end, decimals) for end in place["interval"])
    estimate, error = factor * place["estimate"], factor * place["standard_error"]
    return [rounding.number(estimate, decimals), ends, rounding.number(error, decimals)]


def scale(figure: FigureHead, interval: Sequence[float]) -> tuple[float, int]:
    """Returns the factor by which a table multiplies a figure, and the number of decimals. Shares
    are in per cent with one decimal; means have one decimal more than in pictures."""
    return (1.0, rounding.places(interval) + 1) if figure["name"] is None else (100.0, 1)


def largest(figures: Sequence[_Figure], order: Callable[[_Figure], Any]) -> list[_Figure]:
    """Returns the first ``MOST_PANELS`` of the figures when sorted by the key ``order``, or all if
    there are fewer. They are returned in their original order."""
    chosen = sorted(figures, key=order)[:MOST_PANELS]
    return [figure for figure in figures if figure in chosen]


def most(figures: Sequence[FigureHead], where: str) -> str:
    """Returns a note that only the ``MOST_PANELS`` answers with the largest estimates are shown;
    empty if all are. The note ends with ``where``: in which strata or wave the estimates were
    compared."""
    if len(figures) <= MOST_PANELS:
        return ""
    return f"Of {len(figures)} answers, the {MOST_PANELS} with the largest estimates {where}."
