"""Draws figures over the waves of a panel in a figure for a paper, a small picture for each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deniably.results.drawing.axes import Axis
from deniably.results.drawing.letters import fit, width, wrap
from deniably.results.drawing.rounding import inside
from deniably.results.drawing.row import Ends, Row
from deniably.results.drawing.sheet import (
    AXIS,
    BAND,
    BANDS,
    DOT,
    GAP,
    GRID,
    LABEL,
    LEADING,
    MARK,
    SOFT,
    Sheet,
    needed,
    plain,
)

_ABOVE = AXIS * LEADING + 2  # room for a value above the highest band
_HEIGHT, _SMALL = 110.0, 62.0
_SIDE = 8.0  # points at least from the ends of a picture to its first and last wave


@dataclass(frozen=True)
class Panel:
    """One figure in every wave of a panel: ``rows`` has one row for each wave, and the label of a
    row is the name of the wave."""

    label: str
    rows: Sequence[Row]


@dataclass(frozen=True)
class PaperTrends:
    """Small pictures on a common vertical axis; ``waves`` are the labels of the horizontal axis."""

    panels: Sequence[Panel]
    axis: Axis
    waves: Sequence[str]
    title: str = ""

    def draw(self, sheet: Sheet) -> None:
        """Draws the pictures on ``sheet`` side by side, four in a row in a wide figure, two in a
        narrow one."""
        in_row = min(len(self.panels), 4 if sheet.wide else 2)
        across = (sheet.across - (in_row - 1) * GAP) / in_row
        for start in range(0, len(self.panels), in_row):
            line = self.panels[start : start + in_row]
            titles = [wrap(plain(panel.label), LABEL, across) for panel in line]
            above = max(map(len, titles)) * LABEL * LEADING
            parts: list[Sheet] = []
            for place, (panel, words) in enumerate(zip(line, titles, strict=True)):
                part = sheet.column(place * (across + GAP), across)
                part.lines(words, 0, part.at, LABEL)
                part.down(above)
                _Picture(part, self, panel).draw(_HEIGHT if in_row == 1 else _SMALL)
                parts.append(part)
            sheet.at = max(part.at for part in parts) + GAP

    def described(self) -> str:
        """Returns each figure in each wave as text."""
        return "; ".join(
            f"{panel.label}: "
            + ", ".join(
                f"{row.label} {row.reading.value} ({row.reading.interval})" for row in panel.rows
            )
            for panel in self.panels
        )


# --- below ------------------------------------------------------------------------------------


class _Picture:
    """One panel on a part of the sheet."""

    def __init__(self, sheet: Sheet, trends: PaperTrends, panel: Panel) -> None:
        self.sheet, self.axis, self.waves, self.rows = (
            sheet, trends.axis, trends.waves, panel.rows
        )  # fmt: skip
        ticks = [text for _, text in self.axis.ticks]
        self.left = needed(ticks, AXIS, sheet.across / 3) + 3
        # Room for half of the first and of the last label.
        side = max(_SIDE, *(width(self.waves[place], AXIS) / 2 + 1 for place in (0, -1)))
        first, last = self.left + side, sheet.across - side
        self.step = (last - first) / max(len(self.rows) - 1, 1)
        self.places = [first + place * self.step for place in range(len(self.rows))]

    def draw(self, height: float) -> None:
        top = self.sheet.at + _ABOVE
        self.foot = top + height
        self.height = height
        for value, text in self.axis.ticks:
            y = self._y(value)
            grid = SOFT if value == self.axis.low else GRID
            self.sheet.strokes([(self.left, y, self.sheet.across, y)], grid)
            word = fit(plain(text), AXIS, self.left - 3) if text else ""
            self.sheet.lines(
                [word] if word else [], self.left - 3, y - 0.7 * AXIS, AXIS, colour=SOFT,
                anchor="end",
            )  # fmt: skip
        drawn = [(x, row) for x, row in zip(self.places, self.rows, strict=True) if row.drawn]
        dots = [(x, self._y(inside(row.estimate, row.interval))) for x, row in drawn]
        self.sheet.strokes(
            [(*dot, *other) for dot, other in zip(dots, dots[1:], strict=False)],  # noqa: RUF007
            MARK,
        )
        for x, row in drawn:
            self._mark(x, row)
        self._values(drawn)
        self.sheet.at = self.foot + 1
        self._names()

    def _y(self, value: float) -> float:
        return self.foot - self.height * self.axis.at(value) / 100

    def _mark(self, x: float, row: Row) -> None:
        # With many waves, bands of neighbours would touch.
        across = min(BAND, 0.6 * self.step)
        for ends, opacity in zip((row.interval, row.band_80, row.band_50), BANDS, strict=True):
            if ends is not None:
                high = self._y(ends[1])
                self.sheet.box(x - across / 2, high, across, self._y(ends[0]) - high, MARK, opacity)
        low, high = (self._y(end) for end in row.interval)
        self.sheet.strokes([(x, low, x, high)], MARK, 1)
        y = self._y(inside(row.estimate, row.interval))
        self.sheet.dot(x, y, min(DOT, 0.4 * self.step), MARK, open_=row.open)

    def _values(self, drawn: Sequence[tuple[float, Row]]) -> None:
        """Values above their bands, the last one first; none that would touch a neighbour."""
        taken: list[Ends] = []
        for x, row in [*drawn[-1:], *drawn[:-1]]:
            text = plain(row.reading.value)
            half = width(text, AXIS, bold=True) / 2
            middle = min(max(x, self.left + half), self.sheet.across - half)
            low, high = middle - half, middle + half
            occupied = [
                *taken,
                *((place - BAND / 2, place + BAND / 2) for place in self.places if place != x),
            ]
            if low < self.left or any(low < right and left < high for left, right in occupied):
                continue
            taken.append((low, high))
            top = self._y(row.interval[1]) - AXIS * LEADING - 1
            self.sheet.lines([text], middle, top, AXIS, bold=True, anchor="middle")

    def _names(self) -> None:
        """The waves, as far as they fit side by side."""
        for x, text in _apart(list(zip(self.places, self.waves, strict=True))):
            self.sheet.lines([text], x, self.sheet.at, AXIS, colour=SOFT, anchor="middle")
        self.sheet.down(AXIS * LEADING)


def _apart(words: Sequence[tuple[float, str]]) -> Iterator[tuple[float, str]]:
    """The last word, and of the others those that touch neither it nor one before them."""
    *others, (end, last) = words
    yield end, last
    taken, free = -math.inf, end - width(last, AXIS) / 2 - 2
    for x, text in others:
        half = width(text, AXIS) / 2
        if taken <= x - half and x + half <= free:
            yield x, text
            taken = x + half + 2
