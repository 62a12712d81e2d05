"""Draws a heat table in a figure for a paper: a share with its interval in each cell."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import LiteralString

from deniably.results.drawing.heat import Heat, HeatCell
from deniably.results.drawing.letters import wrap
from deniably.results.drawing.rounding import Reading
from deniably.results.drawing.sheet import (
    AXIS,
    GRID,
    INTERVAL,
    LEADING,
    MARK,
    NOTE,
    SOFT,
    Sheet,
    needed,
    plain,
)

_SHADES = (0.04, 0.12, 0.22, 0.34, 0.48)
"""Opacities of the shades, as on the page."""
_PAD, _HATCH, _BROAD = 2.0, 3.0, 72.0
_LABELS = 0.3
"""The largest fraction of the width that labels of rows take."""


@dataclass(frozen=True)
class PaperTable:
    """A heat table with its margins, in a figure for a paper.

    Columns that do not fit side by side continue in another block below, which repeats the labels
    of the rows.
    """

    heat: Heat
    title: str = ""

    def draw(self, sheet: Sheet) -> None:
        """Draws the table on ``sheet``, block after block."""
        columns = list(_columns(self.heat))
        # The labels' column takes what it needs, so that more columns fit a block.
        labels = needed(
            [self.heat.rows.title, *_rows(self.heat)], INTERVAL, _LABELS * sheet.across - 2 * _PAD
        )
        labels += 2 * _PAD
        room = sheet.across - labels
        least = min(max(map(_least, columns)) + 2 * _PAD, room)
        blocks = math.ceil(len(columns) / max(math.floor(room / least), 1))
        # Columns are spread evenly over the blocks, so that the last one is not left with a single
        # column.
        size = math.ceil(len(columns) / blocks)
        for start in range(0, len(columns), size):
            if start:
                sheet.down(2 * _PAD)
            block = columns[start : start + size]
            _Block(sheet, self.heat, block, labels, min(room / size, max(_BROAD, least))).draw()

    def described(self) -> str:
        """Returns all cells and margins as text."""
        return "; ".join(
            f"{row}, {column.label} {cell.reading.value} ({cell.reading.interval})"
            for column in _columns(self.heat)
            for row, cell in zip(_rows(self.heat), column.cells, strict=True)
            if cell is not None
        )


# --- below ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Column:
    """A column with its label; the last cell is its margin. A margin has no shade of its own."""

    label: str
    cells: Sequence[HeatCell | None]
    shaded: bool = True


def _columns(heat: Heat) -> Iterator[_Column]:
    """The columns, and that of the margins of the rows where there is one."""
    below = [[_margin(reading)] for reading in heat.columns.readings] or [
        [] for _ in heat.columns.labels
    ]
    for label, cells, last in zip(
        heat.columns.labels, zip(*heat.cells, strict=True), below, strict=True
    ):
        yield _Column(label, [*cells, *last])
    if heat.rows.readings:
        corner = [None] if heat.columns.readings else []
        yield _Column("All", [*map(_margin, heat.rows.readings), *corner], shaded=False)


def _rows(heat: Heat) -> list[str]:
    return [*heat.rows.labels, *(["All"] if heat.columns.readings else [])]


def _margin(reading: Reading) -> HeatCell:
    return HeatCell(reading, 0, hatched=False)


def _least(column: _Column) -> float:
    """The width that a column wants: intervals on one line, and words whole."""
    readings = [cell.reading for cell in column.cells if cell is not None]
    words = [word for reading in readings for word in reading.value.split(" ")]
    return max(
        needed([reading.bare for reading in readings], NOTE, math.inf),
        needed(words, INTERVAL, math.inf, bold=True),
        needed(column.label.split(), AXIS, 60),
    )


class _Block:
    """Columns side by side, with the labels of their rows."""

    def __init__(
        self, sheet: Sheet, heat: Heat, columns: Sequence[_Column], labels: float, each: float
    ) -> None:
        self.sheet, self.heat, self.columns = sheet, heat, columns
        self.labels, self.each = labels, each

    def draw(self) -> None:
        sheet, room = self.sheet, self.each - 2 * _PAD
        room_of_title = len(self.columns) * self.each - 2 * _PAD
        head = wrap(plain(self.heat.columns.title), AXIS, room_of_title)
        sheet.down(sheet.lines(head, self.labels + _PAD, sheet.at, AXIS, colour=SOFT) + _PAD)
        names = [wrap(plain(column.label), AXIS, room) for column in self.columns]
        corner = wrap(plain(self.heat.rows.title), AXIS, self.labels - _PAD)
        height = max(map(len, [corner, *names])) * AXIS * LEADING
        self._raised(corner, 0, height, SOFT, "")
        for place, lines in enumerate(names):
            self._raised(lines, self._middle(place), height, "", "middle")
        sheet.down(height + _PAD)
        for index, label in enumerate(_rows(self.heat)):
            self._row(label, [column.cells[index] for column in self.columns], index)

    def _middle(self, place: int) -> float:
        return self.labels + (place + 0.5) * self.each

    def _raised(
        self,
        lines: Sequence[str],
        x: float,
        height: float,
        colour: LiteralString,
        anchor: LiteralString,
    ) -> None:
        """Lines that end at the foot of the heading."""
        top = self.sheet.at + height - len(lines) * AXIS * LEADING
        self.sheet.lines(lines, x, top, AXIS, colour=colour, anchor=anchor)

    def _row(self, label: str, cells: Sequence[HeatCell | None], index: int) -> None:
        sheet, room = self.sheet, self.each - 2 * _PAD
        left = wrap(plain(label), INTERVAL, self.labels - _PAD)
        texts: list[tuple[list[str], list[str]]] = [
            (
                wrap(plain(cell.reading.value), INTERVAL, room, bold=True),
                wrap(plain(cell.reading.bare), NOTE, room),
            )
            if cell
            else ([], [])
            for cell in cells
        ]
        inside = max((len(value) * INTERVAL + len(span) * NOTE) * LEADING for value, span in texts)
        height = max(inside, len(left) * INTERVAL * LEADING) + 2 * _PAD
        margin = index == len(self.heat.rows.labels)
        sheet.lines(left, 0, sheet.at + _PAD, INTERVAL, colour=SOFT if margin else "")
        for place, (column, cell, (value, span)) in enumerate(
            zip(self.columns, cells, texts, strict=True)
        ):
            if cell is None:
                continue
            if column.shaded and not margin:
                self._ground(place, cell, height)
            x, top = self._middle(place), sheet.at + _PAD
            top += sheet.lines(value, x, top, INTERVAL, bold=True, anchor="middle")
            # Soft grey could not be read on the darkest shade.
            sheet.lines(span, x, top, NOTE, anchor="middle")
        sheet.down(height)

    def _ground(self, place: int, cell: HeatCell, height: float) -> None:
        left, top = self.labels + place * self.each + 0.5, self.sheet.at + 0.5
        across, down = self.each - 1, height - 1
        if cell.hatched:
            self.sheet.strokes(_hatching(left, top, across, down), GRID, 0.7)
        else:
            self.sheet.box(left, top, across, down, MARK, _SHADES[cell.shade])


def _hatching(
    left: float, top: float, across: float, down: float
) -> Iterator[tuple[float, float, float, float]]:
    """Lines that rise to the right, within a box."""
    for step in range(1, math.ceil((across + down) / _HATCH)):
        reach = step * _HATCH  # where it would meet the upper edge, and the left one
        yield (
            left + max(reach - down, 0),
            top + min(reach, down),
            left + min(reach, across),
            top + max(reach - across, 0),
        )
