"""Turns results about combined answers into pictures: the heat table of a product of two questions,
and a map."""

from __future__ import annotations

from collections.abc import Sequence

from deniably.results import places, shown
from deniably.results.document import ChoicePartResult, PointResult, ProductResult, SideResult
from deniably.results.drawing import choropleth
from deniably.results.drawing.choropleth import AreaMap, MapSide
from deniably.results.drawing.heat import Heat, HeatMargin, heat_cell

_MOST_COLUMNS = 8  # that fit a page side by side


def table(question: ProductResult) -> Heat | None:
    """Returns the joint shares of a product question with two parts as a heat table with both
    margins; the part with fewer answers is in the columns.

    Returns None for more than two parts, and where both parts have more answers than columns fit
    on a page.
    """
    if len(question.parts) != 2 or min(len(p.choices) for p in question.parts) > _MOST_COLUMNS:
        return None
    down, across = question.parts
    rows = [
        question.cells[start : start + len(across.choices)]
        for start in range(0, len(question.cells), len(across.choices))
    ]
    if len(across.choices) > len(down.choices):
        # Fewer columns fit a phone, so the table may be turned.
        down, across, rows = across, down, [list(column) for column in zip(*rows, strict=True)]
    # Shades are relative: shares of many cells are all small.
    largest = max(cell.estimate for cell in question.cells)
    cells = [
        [heat_cell(cell.estimate, cell.interval, largest, seen=cell.stands_out) for cell in row]
        for row in rows
    ]
    return Heat(_margin(down), _margin(across), cells)


def areas(question: PointResult) -> AreaMap:
    """Returns the map of a question about a place, with only the areas that stand out from the
    noise."""
    # A map has as many areas along both of its sides.
    cells = round(len(question.cells) ** 0.5)
    names = [cell.names for cell in question.cells]
    first = _side(question.sides[0], [names_of_cell[0] for names_of_cell in names[::cells]])
    second = _side(question.sides[1], [names_of_cell[1] for names_of_cell in names[:cells]])
    out = [
        choropleth.Area(
            index // cells, index % cells, cell.estimate, shown.of_cell("", cell).reading
        )
        for index, cell in enumerate(question.cells)
        if cell.stands_out
    ]
    return AreaMap((first, second), out, question.outline or "")


def _side(side: SideResult, names: Sequence[str]) -> MapSide:
    """The axis of areas with these names, such as "-5 to -3"; there are two or more."""
    firsts, lasts = zip(*(map(float, places.ends(name)) for name in names), strict=True)
    return MapSide(side.label, side.unit, firsts, lasts[-1], firsts[1] - lasts[0])


def _margin(part: ChoicePartResult) -> HeatMargin:
    readings = [shown.of_choice(choice).reading for choice in part.choices]
    return HeatMargin(part.label, [choice.label for choice in part.choices], readings)
