"""Draws rows of a figure for a paper: label, drawn strip, estimate and interval, on one axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import LiteralString

from deniably.results.drawing.axes import Axis
from deniably.results.drawing.letters import wrap
from deniably.results.drawing.rounding import inside
from deniably.results.drawing.row import Ends, Row
from deniably.results.drawing.sheet import (
    BAND,
    BANDS,
    DOT,
    GAP,
    GRID,
    INTERVAL,
    LABEL,
    LEADING,
    MARK,
    SOFT,
    Sheet,
    needed,
    plain,
)

_EDGE = 4.0  # beside the strip, for half a dot


@dataclass(frozen=True)
class PaperStrips:
    """Rows with a common axis, in a figure for a paper. In a narrow figure, the drawn strip of a
    row is below the row's label and as wide as the figure."""

    rows: Sequence[Row]
    axis: Axis
    title: str = ""

    def draw(self, sheet: Sheet) -> None:
        """Draws the axis and then all rows on ``sheet``."""
        columns = _columns(sheet, self.rows)
        left, right = columns.strip
        along = [(self.axis.at(value) / 100, text) for value, text in self.axis.ticks]
        sheet.ticks([(left + (right - left) * at, text) for at, text in along])
        sheet.down(2)
        for row in self.rows:
            _draw_row(sheet, columns, self.axis, row)

    def described(self) -> str:
        """Returns each row as text, with its estimate and interval."""
        return "; ".join(
            f"{row.label} {row.reading.value} ({row.reading.interval})" for row in self.rows
        )


def colour(row: Row) -> LiteralString:
    """Returns the colour of a row's marks: grey for a row that is set aside (such as "Don't know")
    or muted (such as a difference that is not shown), otherwise green."""
    return SOFT if row.aside or row.muted else MARK


# --- below ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Columns:
    """Where the columns are: labels on the left, then the strip, two columns of figures."""

    label: float
    strip: Ends
    value: float
    value_room: float
    interval: float
    interval_room: float


def _draw_row(sheet: Sheet, columns: _Columns, axis: Axis, row: Row) -> None:
    top = sheet.at
    grey = SOFT if row.aside or row.muted else ""
    label = wrap(plain(row.label), LABEL, columns.label)
    value = wrap(plain(row.reading.value), LABEL, columns.value_room, bold=True)
    interval = wrap(plain(row.reading.interval), INTERVAL, columns.interval_room)
    lines = max(len(label), len(value), len(interval), 1)
    height = lines * LABEL * LEADING
    if sheet.wide:
        _draw_strip(sheet, columns, axis, row, top, height + 5)
        top += 2.5
    sheet.lines(label, 0, top, LABEL, colour=grey)
    sheet.lines(value, columns.value, top, LABEL, bold=True, colour=grey, anchor="end")
    sheet.lines(interval, columns.interval, top + 0.6, INTERVAL, colour=SOFT, anchor="end")
    if sheet.wide:
        sheet.down(height + 5)
        return
    _draw_strip(sheet, columns, axis, row, top + height + 1, BAND + 4)
    sheet.down(height + BAND + 9)


def _draw_strip(
    sheet: Sheet, columns: _Columns, axis: Axis, row: Row, top: float, height: float
) -> None:
    """The gridlines, the bands, the line and the dot of a row."""
    left, right = columns.strip

    def x(value: float) -> float:
        return left + (right - left) * axis.at(value) / 100

    for value, _ in axis.ticks:
        grid = SOFT if value == axis.zero else GRID
        sheet.strokes([(x(value), top, x(value), top + height)], grid)
    if not row.drawn:
        return
    y, mark = top + height / 2, colour(row)
    # The widest band first, so that the narrower ones lie on it.
    for ends, opacity in zip((row.interval, row.band_80, row.band_50), BANDS, strict=True):
        if ends is not None:
            sheet.box(x(ends[0]), y - BAND / 2, x(ends[1]) - x(ends[0]), BAND, mark, opacity)
    sheet.strokes([(x(row.interval[0]), y, x(row.interval[1]), y)], mark, 1)
    sheet.dot(x(inside(row.estimate, row.interval)), y, DOT, mark, open_=row.open)


def _columns(sheet: Sheet, rows: Sequence[Row]) -> _Columns:
    """Figures take the room they need, up to a quarter of the width each; labels have the rest."""
    across = sheet.across
    value = needed([row.reading.value for row in rows], LABEL, across / 4, bold=True)
    interval = needed([row.reading.interval for row in rows], INTERVAL, across / 4)
    figures = across - interval - GAP - value
    label = figures - GAP
    if not sheet.wide:
        strip = (_EDGE, across - _EDGE)
    else:
        label = needed([row.label for row in rows], LABEL, across / 3)
        strip = (label + GAP + _EDGE, figures - GAP - _EDGE)
    return _Columns(label, strip, across - interval - GAP, value, across, interval)
