"""Draws a map in a figure for a paper. Areas that stand out from the noise are shaded, and listed
below or beside the map."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from deniably.results.drawing import choropleth
from deniably.results.drawing.choropleth import AreaMap
from deniably.results.drawing.letters import fit, width, wrap
from deniably.results.drawing.paper_strips import PaperStrips
from deniably.results.drawing.sheet import AXIS, GAP, INTERVAL, LEADING, MARK, SOFT, Sheet, plain
from deniably.survey.parts import OUTLINE_SIDE

_MOST, _TICKS = 230.0, 60.0
"""The largest side of a map, and the room for labels beside it, in points."""
_GROUND = "#eceee9"
_RING = 6.5


@dataclass(frozen=True)
class PaperMap:
    """A map on which the areas that stand out are shaded. ``listed`` has a row for each of these
    areas; None if no area stands out.

    ``centres`` are drawn over the map as rings with the letters A, B and so on. Each is (fraction
    of the first side, fraction of the second), from 0 to 1.
    """

    map: AreaMap
    listed: PaperStrips | None
    title: str = ""
    centres: Sequence[tuple[float, float]] = ()

    def draw(self, sheet: Sheet) -> None:
        """Draws the map and the rows of ``listed``: beside the map in a wide figure, below it in a
        narrow one."""
        across = min(sheet.across, _MOST + _TICKS)
        side_by_side = sheet.wide and self.listed is not None
        left = sheet.column(0, across)
        _draw_map(left, self.map, self.centres)
        if side_by_side and self.listed:
            right = sheet.column(across + 2 * GAP, sheet.across - across - 2 * GAP)
            self.listed.draw(right)
            sheet.at = max(left.at, right.at)
            return
        sheet.at = left.at
        if self.listed:
            sheet.down(GAP)
            self.listed.draw(sheet)

    def described(self) -> str:
        """Returns the areas that stand out as text, or that no area does. Returns an empty string
        for a map with ``centres``, whose numbers are in a table of their own."""
        if self.centres:
            return ""
        return self.listed.described() if self.listed else "No area stands out from the noise"


# --- below ------------------------------------------------------------------------------------


def _draw_map(sheet: Sheet, shown: AreaMap, centres: Sequence[tuple[float, float]] = ()) -> None:
    across, up = shown.sides
    sheet.paragraph(f"{up.label} (upwards)", AXIS, colour=SOFT)
    sheet.down(AXIS)
    ticks = [(at, plain(text)) for at, text in choropleth.boundaries(up)]
    ticks = [(at, fit(text, AXIS, _TICKS - 4)) for at, text in ticks]
    left = max(width(text, AXIS) for _, text in ticks) + 4
    side, top = min(sheet.across - left - AXIS, _MOST), sheet.at
    for at, text in ticks:
        # The baseline is 0.35 of the size below the line: digits are 0.7 high, so they are centred
        # on it.
        base = top + side * (1 - at / 100) - 0.65 * AXIS
        sheet.lines([text], left - 4, base, AXIS, colour=SOFT, anchor="end")
    rings = [
        (left + side * across.middle(x) / 100, top + side * (1 - up.middle(y) / 100))
        for x, y in centres
    ]
    _draw_areas(sheet, shown, left, top, side, rings)
    for index, (x, y) in enumerate(rings):
        sheet.ring(x, y, _RING, choropleth.group_letter(index))
    sheet.down(side + 2)
    below = choropleth.boundaries(across)
    sheet.ticks([(left + side * at / 100, text) for at, text in below])
    sheet.down(1)
    words = wrap(plain(f"{across.label} (to the right)"), AXIS, sheet.across - left)
    sheet.down(sheet.lines(words, left, sheet.at, AXIS, colour=SOFT))


def _draw_areas(
    sheet: Sheet,
    shown: AreaMap,
    left: float,
    top: float,
    side: float,
    rings: Sequence[tuple[float, float]],
) -> None:
    """The areas with their shares, where those have room and no ring is in the way."""
    sheet.box(left, top, side, side, _GROUND)
    for area in shown.areas:
        x, y, wide, high = (side * part / 100 for part in shown.box(area.column, area.row))
        # White below the shade, so that the grey ground does not darken it.
        sheet.box(left + x, top + y, wide, high, "#fff")
        sheet.box(left + x, top + y, wide, high, MARK, round(shown.opacity(area), 2))
    across, up = (map_side.borders[1:-1] for map_side in shown.sides)
    lines = [top + side * (1 - at / 100) for at in up]
    sheet.strokes([(left, y, left + side, y) for y in lines], "#fff")
    lines = [left + side * at / 100 for at in across]
    sheet.strokes([(x, top, x, top + side) for x in lines], "#fff")
    sheet.strokes(_outline(shown.outline, left, top, side / OUTLINE_SIDE), SOFT, 0.6)
    for area in shown.areas:
        begins, above, wide, high = (side * part / 100 for part in shown.box(area.column, area.row))
        text = plain(area.reading.value)
        long = width(text, INTERVAL, bold=True)
        x, y = left + begins + wide / 2, top + above + high / 2
        # A share under a ring could not be read; the list beside the map has it.
        free = not any(
            abs(x - at) < long / 2 + _RING and abs(y - down) < INTERVAL / 2 + _RING
            for at, down in rings
        )
        if free and long <= wide - 2 and high >= INTERVAL * LEADING:
            sheet.lines([text], x, y - 0.7 * INTERVAL, INTERVAL, bold=True, anchor="middle")


def _outline(
    outline: str, left: float, top: float, unit: float
) -> Iterator[tuple[float, float, float, float]]:
    """The straight lines of an outline of SPEC 4.1, from one point to the next."""
    for line in filter(None, outline.split("M")):
        numbers = [unit * int(text) for text in line.split()]
        points = [(left + x, top + y) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
        for begin, end in pairwise(points):
            yield (*begin, *end)
