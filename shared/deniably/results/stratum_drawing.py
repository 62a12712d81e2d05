"""Draws and words the strata of a survey side by side; what no test shows is not called different.

A figure in the strata is one strip each on a common axis, and below it are the differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from deniably.core.languages.html import Html
from deniably.results import side_drawing
from deniably.results.by_stratum import ApartResult, ByStratumResult, ComparedFigure
from deniably.results.comparison import RISK
from deniably.results.drawing import axes, digits
from deniably.results.drawing.axes import Axis
from deniably.results.drawing.row import Row, banded, difference_row
from deniably.results.drawing.strip import table as strip_table
from deniably.results.narrative import level_text, quoted
from deniably.results.side_drawing import axis

_MOST_OPEN = 12
"""Differences that a page shows at once; of more, those of each figure are folded."""
APART_HEADS = ("Difference", "interval", "Std. error", "p alone", "p adjusted (Holm)")


def finding(found: ByStratumResult) -> str:
    """One sentence on what differs; that nothing is shown to, if so."""
    every = [(figure, one) for figure in found["figures"] for one in figure["differences"]]
    apart = [(figure, one) for figure, one in every if _differs(one)]
    if not every:
        return "These reports allow no test of a difference."
    if not apart:
        return f"No difference by {found['by']} is shown."
    if len(apart) <= 2:
        return " ".join(_said(figure, one, found["tests"]) for figure, one in apart)
    figure, largest = max(apart, key=lambda pair: _size(*pair))
    return (
        f"{len(apart)} of {len(every)} differences are shown to be more than chance. The largest:"
        f" {_said(figure, largest, found['tests'])}"
    )


def is_of_asked(found: ByStratumResult) -> bool:
    """Whether the shares are those of people who were asked a question with ``show_if``."""
    return any("of" in figure for figure in found["figures"])


def adjusted(found: ByStratumResult, where: str) -> str:
    """How the tests were adjusted for being several; empty for one alone."""
    if found["tests"] < 2:
        return ""
    return (
        f"All {found['tests']} tests of this {where} are adjusted together (Holm 1979): the risk"
        f" that any difference shown is chance is 5{digits.NARROW}% over all."
    )


@dataclass(frozen=True)
class StrataCard:
    """A figure in every stratum, and its differences; ``folded`` where these are many."""

    figure: ComparedFigure
    strips: Html
    differences: Html | None
    folded: bool


def cards(found: ByStratumResult) -> list[StrataCard]:
    """What the page shows of each figure; the shares are on one axis, and so are differences."""
    every, by = found["figures"], found["by"]
    interval = f"{level_text(found['confidence'])} interval"
    shares = shares_axis(every)
    of_shares = apart_axis([one for one in every if one["name"] is not None])
    drawn: list[StrataCard] = []
    for figure in every:
        is_mean = figure["name"] is None
        places, apart = rows(figure), apart_rows(figure)
        strips = strip_table(
            f"{figure['label']}, by {by}", places, axis(figure, places) if is_mean else shares,
            heads=("Estimate", interval), heading=by,
        )  # fmt: skip
        forest = strip_table(
            f"{figure['label']}, differences by {by}", apart,
            apart_axis([figure]) if is_mean else of_shares,
            heads=("Difference" if is_mean else "Points", interval), heading="Two strata",
        ) if apart else None  # fmt: skip
        drawn.append(StrataCard(figure, strips, forest, found["tests"] > _MOST_OPEN))
    return drawn


def shares_axis(figures: Sequence[ComparedFigure]) -> Axis:
    """One axis for the shares of several choices."""
    return axes.of_shares(row for one in figures if one["name"] is not None for row in rows(one))


def rows(figure: ComparedFigure) -> list[Row]:
    """The figure in every stratum."""
    return [
        side_drawing.row(figure, place, place["value"], figure["unit"])
        for place in figure["places"]
    ]


def apart_rows(figure: ComparedFigure) -> list[Row]:
    """The differences of a figure, in points or in the unit of a mean."""
    return [_apart_row(figure, one) for one in figure["differences"]]


def apart_axis(figures: Sequence[ComparedFigure]) -> Axis:
    """One axis for the differences of figures in one unit, with nought on it."""
    drawn = [row for one in figures for row in apart_rows(one)]
    if figures and figures[0]["name"] is None:
        return axes.of_values(
            [0.0, *(end for row in drawn for end in row.interval)], figures[0]["unit"]
        )
    return axes.of_differences(drawn)


def numbers(found: ByStratumResult) -> list[list[str]]:
    """A line for each figure in each stratum, as ``side_drawing.HEADS`` names them."""
    return [
        [f"{figure['label']}, {place['value']}", *side_drawing.numbers(figure, place)]
        for figure in found["figures"]
        for place in figure["places"]
    ]


def differences(found: ByStratumResult) -> list[list[str]]:
    """A line for each difference, as ``APART_HEADS`` names them."""
    return [
        [
            f"{figure['label']}, {_pair(one)}",
            *_signed(figure, one),
            digits.p_cell(one["p_value"]),
            digits.p_cell(one["adjusted_p_value"]),
        ]
        for figure in found["figures"]
        for one in figure["differences"]
    ]


# --- below ------------------------------------------------------------------------------------


def _differs(one: ApartResult) -> bool:
    return one["adjusted_p_value"] < RISK


def _pair(one: ApartResult) -> str:
    return f"{one['first']} less {one['second']}"


def _size(figure: ComparedFigure, one: ApartResult) -> float:
    """How large a difference is, as a part of the range of its figure."""
    low, high = figure["extent"]
    return abs(one["estimate"]) / (high - low)


def _said(figure: ComparedFigure, one: ApartResult, tests: int) -> str:
    """A sentence on two strata that differ."""
    what = quoted([figure["label"]])
    if figure["name"] is None:
        what = "The mean" if figure["label"] == "Mean" else f"The mean of {what}"
    larger, smaller = one["first"], one["second"]
    if one["estimate"] < 0:
        larger, smaller = smaller, larger
    kind = "higher" if figure["name"] is None else "more frequent"
    row = _apart_row(figure, one)
    apart = row.reading.value.lstrip(f"+{digits.MINUS}")
    if figure["name"] is not None:
        apart = digits.with_unit(apart, "points")
    return (
        f"{what} is {kind} in {larger} than in {smaller}, by {apart}"
        f" ({digits.p_value(one['adjusted_p_value'])}{', adjusted' if tests > 1 else ''})."
    )


def _apart_row(figure: ComparedFigure, one: ApartResult) -> Row:
    row = difference_row(_pair(one), one["estimate"], one["interval"], shown=_differs(one))
    if figure["name"] is not None:
        short = row.reading.value.removesuffix(f"{digits.NARROW}points")
        row = replace(row, reading=replace(row.reading, value=short, interval=row.reading.bare))
    else:
        places = digits.places(one["interval"])
        ends = " to ".join(digits.signed(end, places) for end in one["interval"])
        value = digits.with_unit(digits.signed(one["estimate"], places), figure["unit"])
        row = replace(row, reading=replace(row.reading, value=value, interval=ends))
    return banded(row, one["interval_80"], one["interval_50"])


def _signed(figure: ComparedFigure, one: ApartResult) -> list[str]:
    factor, decimals = side_drawing.scale(figure, one["interval"])
    ends = " to ".join(digits.signed(factor * end, decimals) for end in one["interval"])
    estimate = digits.signed(factor * one["estimate"], decimals)
    return [estimate, ends, digits.number(factor * one["standard_error"], decimals)]
